// The page: what was entered on one side, what follows from it on the other.

import { open } from "./discreet.js";
import { showPromise } from "./promise.js";
import { attempt, fetched, keep, lock, watch } from "./proof.js";
import { searchBox } from "./search.js";
import { Store } from "./store.js";
import { button, element, ratingOf, stars } from "./view.js";

const STEP = 10, STARTERS = 6, MOST = 100; // of the 100 that fit best, those with the highest expected rating
const $ = (id) => document.getElementById(id);

const inside = $("release"); // of a page that is one file
const opened = await open(inside ? Uint8Array.from(atob(inside.textContent), (letter) => letter.charCodeAt(0)) : "release.discreet").catch((error) => {
  $("chip").textContent = "Could not load";
  $("list").replaceChildren(element("li", { class: "empty" }, `The release could not be read: ${error.message}.`));
  throw error;
});
const { catalogue } = opened;
const store = new Store(opened.card.catalogue_fingerprint);
let shown = STEP;

const known = (item) => catalogue.items.includes(item);
if (store.ratings.size || store.unwanted.size) store.keepOnly(known);

function describe({ position }) {
  const year = catalogue.yearOf(position), genres = catalogue.genresOf(position).slice(0, 3);
  const inTitle = year && catalogue.titles[position].includes(String(year));
  return [...(year && !inTitle ? [year] : []), ...genres].join(" · ");
}

/** Everything is computed and drawn anew after each change. */
function update(announce = "") {
  const started = performance.now();
  const best = suggestions();
  const took = performance.now() - started;
  $("timing").textContent = `computed here in ${took < 1 ? "less than 1" : Math.round(took)} ms`;
  $("results-title").textContent = store.ratings.size ? "Recommended for you" : "To start with";
  $("list").replaceChildren(...best.map(result));
  $("more").hidden = best.length < shown || shown >= MOST;
  showOwn();
  document.body.dataset.took = (performance.now() - started).toFixed(2); // drawing included
  if (announce) $("announce").textContent = `${announce}. First recommendation: ${best[0]?.title ?? "none"}.`;
  return best;
}

function suggestions() {
  const history = [...store.ratings].map(([item, value]) => [catalogue.find(item), value]), exclude = [...store.unwanted];
  const byRating = opened.predicts && store.ratings.size > 0 && document.querySelector("[name=order]:checked").value === "rating";
  $("order").hidden = !opened.predicts || store.ratings.size === 0;
  if (!byRating) return opened.recommend(history, shown, { exclude });
  const fitting = opened.recommend(history, MOST, { exclude, explain: false }).sort((one, two) => two.rating - one.rating).slice(0, shown);
  return fitting.map((one) => ({ ...one, because: opened.explains ? opened.explain(history, one.position) : [] }));
}

function showOwn() {
  const own = [...store.ratings].reverse();
  $("own-count").textContent = own.length;
  $("own-empty").hidden = $("starters").hidden = own.length > 0;
  $("jump").hidden = own.length === 0;
  $("delete").hidden = own.length === 0 && store.unwanted.size === 0;
  $("own").replaceChildren(...own.map(([item, value]) => {
    const position = catalogue.find(item), { title } = catalogue.at(position);
    const remove = button("Remove", `Remove ${title}`, () => { store.remove(item); update(`${title} removed`); $("search").focus(); }, "icon");
    const rate = opened.usesRatings ? [stars(`rate-${position}`, title, value, opened.scale, (next) => { store.rate(item, next); update(`${title} rated`); focusStar(position); })] : [];
    return element("li", { "data-item": item }, element("div", { class: "own-title" }, element("b", {}, title), element("small", {}, describe({ position }))), ...rate, remove);
  }));
}

function focusStar(position) {
  document.querySelector(`input[name="rate-${position}"]:checked`)?.focus();
}

function result(one, place) {
  const rating = one.rating === null ? [] : [element("span", { class: "expected", title: "the rating that is expected of you" }, `★ ${one.rating.toFixed(1)}`)];
  const seen = button("I know it", `I know it: ${one.title}`, () => choose(one));
  const never = button("Not for me", `Not for me: ${one.title}`, () => { store.refuse(one.item); update(`${one.title} is not shown any more`); $("results").focus(); });
  return element("li", { "data-item": one.item },
    element("div", { class: "result-head" }, element("span", { class: "rank", "aria-hidden": "true" }, String(place + 1)), element("h3", {}, one.title), ...rating),
    element("p", { class: "about" }, describe(one)),
    ...(one.because.length ? [because(one.because)] : []),
    element("p", { class: "actions" }, seen, never));
}

function because(reasons) {
  return element("p", { class: "because" }, element("span", { class: "because-word" }, "because of "), ...reasons.flatMap((reason, place) => [
    ...(place ? [", "] : []),
    element("span", { class: "reason" }, reason.title, " ", element("span", { class: "share" }, `${Math.round(100 * reason.share)} %`)),
  ]));
}

function choose({ item, title }) {
  if (!store.ratings.has(item)) store.rate(item, opened.usesRatings ? ratingOf(5, opened.scale) : opened.scale[1]);
  update(`${title} added`);
  $("search").focus();
}

// ── Wiring ──

if (!opened.usesRatings) $("own-word").textContent = "What you like";
showPromise(opened.guarantee, opened.card);
const popular = update();
if (!store.ratings.size) $("starters").replaceChildren(...popular.slice(0, STARTERS).map((one) => element("li", {}, button(one.title, `Add ${one.title}`, () => choose(one), "chip"))));
$("catalogue-size").textContent = `${catalogue.size.toLocaleString("en")} titles`;
searchBox($("search"), $("found"), {
  find: (text, limit) => opened.search(text, limit + store.ratings.size).filter((one) => !store.ratings.has(one.item)).slice(0, limit),
  describe,
  choose,
});
$("search").disabled = false;
$("order").addEventListener("change", () => update("The order was changed"));
$("more").addEventListener("click", () => { shown += STEP; update(); });
$("delete").addEventListener("click", () => $("sure").showModal());
$("sure").addEventListener("close", () => {
  if ($("sure").returnValue !== "delete") return;
  store.clear();
  shown = STEP;
  const best = update("All your ratings were deleted");
  $("starters").replaceChildren(...best.slice(0, STARTERS).map((one) => element("li", {}, button(one.title, `Add ${one.title}`, () => choose(one), "chip"))));
  $("search").focus();
});
$("attempt").addEventListener("click", async () => {
  $("attempt-said").textContent = (await attempt()) ? "It was let through: this browser does not keep to the policy." : "Refused by your browser.";
});
document.body.dataset.ready = performance.now().toFixed(1);
for (let round = 0; round < 2; round++) { // have everything compiled before the first rating comes
  await new Promise((later) => setTimeout(later));
  opened.recommend(popular.slice(0, 3).map((one) => one.position), MOST);
}

const kept = inside !== null || (await keep());
const { files, bytes } = fetched();
$("loaded").textContent = inside ? "1 file" : `${Math.max(1, Math.round(bytes / 1024))} KB`;
$("loaded-in").textContent = inside ? "this page, and nothing else" : `fetched to load this page, in ${files} files`;
$("offline").textContent = kept ? "yes" : "no";
lock();
watch(({ requests, refused }) => {
  $("requests").textContent = requests;
  $("refused").textContent = refused;
  $("chip").textContent = requests === 1 ? "1 request" : `${requests} requests`;
  $("chip-more").hidden = false;
  document.body.classList.toggle("sent", requests > 0);
});
document.body.dataset.locked = "true";
