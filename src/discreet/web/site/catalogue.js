// The public items: their names, what is known of them, and a search by title.

const MANY_MATCHES = 500;

export class Catalogue {
  #positions = null;
  #plain = null;

  constructor(header, arrays) {
    this.items = arrays.strings("items");
    this.titles = arrays.has("titles.utf8") ? arrays.strings("titles") : this.items;
    this.years = arrays.has("years") ? arrays.vector("years") : null;
    this.genres = header.genres;
    this.marks = this.genres.length ? arrays.matrix("genres") : null;
    this.order = arrays.has("popular") ? arrays.vector("popular") : null; // the most rated first
    this.size = this.items.length;
  }

  /** What is known of the item at a position. */
  at(position) {
    return { position, item: this.items[position], title: this.titles[position] };
  }

  genresOf(position) {
    return this.marks ? this.genres.filter((_, g) => this.marks.at[position * this.genres.length + g]) : [];
  }

  yearOf(position) {
    return this.years?.[position] || null;
  }

  /** Position of an item, by title, identifier or position. */
  find(name) {
    if (Number.isInteger(name) && name >= 0 && name < this.size) return name;
    this.#positions ??= this.#index();
    const found = this.#positions.get(name);
    if (found === undefined) throw new Error(`there is no item ${JSON.stringify(name)} in this release`);
    return found;
  }

  /** Items whose titles fit a text: those that start with it first, then by words, popular ones before others. */
  search(text, limit = 10) {
    const words = plain(text).split(" ").filter(Boolean);
    if (!words.length) return [];
    this.#plain ??= this.titles.map(plain);
    const found = [], joined = words.join(" ");
    for (let rank = 0; rank < this.size && found.length < MANY_MATCHES; rank++) {
      const position = this.order ? this.order[rank] : rank, title = this.#plain[position];
      if (!words.every((word) => title.includes(word))) continue;
      const starts = words.every((word) => title.startsWith(word) || title.includes(` ${word}`));
      found.push({ position, rank: title.startsWith(joined) ? 0 : starts ? 1 : 2 });
    }
    return found.sort((one, two) => one.rank - two.rank).slice(0, limit).map(({ position }) => this.at(position));
  }

  #index() {
    const found = new Map();
    for (let position = this.size - 1; position >= 0; position--) found.set(this.items[position], position);
    for (let position = this.size - 1; position >= 0; position--) found.set(this.titles[position], position); // titles win
    return found;
  }
}

/** Text without accents, case and punctuation. */
function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();
}
