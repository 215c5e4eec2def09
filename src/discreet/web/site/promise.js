// The promise in words, and what epsilon means: how sure somebody can become who was unsure before.

const $ = (id) => document.getElementById(id);
const LARGEST = 10, SMALLEST = 0.01;

/** At most so sure can become who was half sure, in percent: with e^epsilon against 1 in favour. */
export function certainty(epsilon) {
  return 100 / (1 + Math.exp(-epsilon));
}

export function showPromise(guarantee, card) {
  const { proven, sentences } = guarantee;
  $("sentence").textContent = sentences.slice(0, proven ? 2 : 1).join(" ");
  $("sentences").replaceChildren(...sentences.map((sentence) => text("li", sentence)));
  $("ledger").replaceChildren(...card.ledger.map((spend) => text("li", `${spend.what}: ${spend.mechanism} noise of scale ${spend.scale.toPrecision(3)} on a sensitivity of ${spend.sensitivity.toPrecision(3)}`)));
  $("made").textContent = card.note ? `${card.note}.` : "";
  const own = proven ? proven.epsilon : null, slider = $("epsilon");
  slider.value = Math.log10(Math.min(Math.max(own ?? 1, SMALLEST), LARGEST));
  $("marks").replaceChildren(...(own ? [option(slider.value)] : []));
  const show = () => showOdds(slider, own, guarantee.unit);
  slider.addEventListener("input", show);
  show();
}

function showOdds(slider, own, unit) {
  const isOwn = own !== null && Math.abs(slider.value - Math.log10(Math.min(Math.max(own, SMALLEST), LARGEST))) < 0.006;
  const epsilon = isOwn ? own : 10 ** slider.value, sure = certainty(epsilon), shown = epsilon.toPrecision(2).replace(/\.?0+$/, "");
  const rounded = sure > 99.9 ? "more than 99.9" : sure.toFixed(1).replace(/\.0$/, "");
  const what = unit?.name === "user" ? "that somebody took part" : "that somebody gave a certain rating";
  const whose = isOwn ? " This is the promise of this release." : own === null ? " This release promises no epsilon at all." : ` This release promises ${own.toPrecision(2).replace(/\.?0+$/, "")}.`;
  $("odds").textContent = `Epsilon ${shown}: whoever was 50 % sure ${what}, and then studies everything that was released, can become at most ${rounded} % sure.${whose}`;
  slider.setAttribute("aria-valuetext", `epsilon ${shown}, at most ${rounded} % sure`);
  const bar = document.querySelector(".sure");
  bar.style.setProperty("--sure", `${sure}%`);
  bar.querySelector(".sure-label").textContent = `${rounded} %`;
}

function text(tag, content) {
  const made = document.createElement(tag);
  made.textContent = content;
  return made;
}

function option(value) {
  const made = document.createElement("option");
  made.value = value;
  return made;
}
