// Building blocks of the page.

const STARS = 5;
const NS = "http://www.w3.org/2000/svg";

/** An element with attributes and children; text is always text. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function button(text, label, pressed, look = "") {
  const made = element("button", { type: "button", "aria-label": label, class: look }, text);
  made.addEventListener("click", pressed);
  return made;
}

/** The rating that so many of five stars stand for. */
export function ratingOf(count, [low, high]) {
  return high === STARS && low <= 1 ? count : low + ((count - 1) / (STARS - 1)) * (high - low);
}

/** Five stars as a group of radio buttons: arrow keys move, screen readers say what they are. */
export function stars(name, title, value, scale, changed) {
  const group = element("fieldset", { class: "stars" }, element("legend", { class: "visually-hidden" }, `Your rating of ${title}`));
  for (let count = 1; count <= STARS; count++) {
    const rating = ratingOf(count, scale);
    const input = element("input", { type: "radio", name, value: count, "aria-label": `${count} of ${STARS} stars`, class: "visually-hidden" });
    input.checked = nearest(value, scale) === count;
    input.addEventListener("change", () => changed(rating));
    group.append(element("label", { class: rating <= value + 1e-9 ? "star on" : "star", title: `${count} of ${STARS}` }, input, star()));
  }
  return group;
}

function nearest(value, scale) {
  let best = 1;
  for (let count = 2; count <= STARS; count++) if (Math.abs(ratingOf(count, scale) - value) < Math.abs(ratingOf(best, scale) - value)) best = count;
  return best;
}

function star() {
  const svg = document.createElementNS(NS, "svg"), path = document.createElementNS(NS, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", "m12 2.6 2.9 6 6.5.9-4.7 4.6 1.1 6.5-5.8-3.1-5.8 3.1 1.1-6.500L2.6 9.500l6.5-.9Z");
  svg.append(path);
  return svg;
}
