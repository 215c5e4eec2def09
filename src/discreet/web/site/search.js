// The search box: a combobox with a list of titles, for mouse, finger and keyboard.

const SHOWN = 8;

export function searchBox(input, list, { find, describe, choose }) {
  let found = [], active = -1;

  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  };

  const mark = (place) => {
    active = place;
    [...list.children].forEach((row, at) => row.setAttribute("aria-selected", String(at === place)));
    if (place < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", list.children[place].id);
    list.children[place].scrollIntoView({ block: "nearest" });
  };

  const pick = (place) => {
    const one = found[place];
    input.value = "";
    close();
    if (one) choose(one);
  };

  const show = () => {
    found = find(input.value, SHOWN);
    list.replaceChildren(...found.map((one, place) => row(one, place, describe)));
    if (input.value.trim() && !found.length) list.replaceChildren(none());
    list.hidden = !list.children.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark(found.length ? 0 : -1);
  };

  input.addEventListener("input", show);
  input.addEventListener("focus", () => input.value && show());
  input.addEventListener("blur", () => setTimeout(() => document.activeElement !== input && close(), 150)); // a tap on the list comes first
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return input.value ? ((input.value = ""), close()) : undefined;
    if (list.hidden || !found.length) return undefined;
    const moves = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves) mark((active + moves[event.key] + found.length) % found.length);
    else if (event.key === "Enter") pick(active);
    else return undefined;
    return event.preventDefault();
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the box keeps the focus
  list.addEventListener("click", (event) => {
    const place = [...list.children].indexOf(event.target.closest("[role=option]"));
    if (place >= 0) pick(place);
  });
}

function row(one, place, describe) {
  const made = document.createElement("li"), title = document.createElement("span"), more = document.createElement("small");
  made.id = `found-${place}`;
  made.setAttribute("role", "option");
  title.textContent = one.title;
  more.textContent = describe(one);
  made.append(title, more);
  return made;
}

function none() {
  const made = document.createElement("li");
  made.className = "none";
  made.setAttribute("role", "presentation");
  made.textContent = "No title fits";
  return made;
}
