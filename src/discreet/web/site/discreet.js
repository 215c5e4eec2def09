// Recommendations on the user's own device, from a release of Discreet: nothing is sent anywhere.
//
//   import { open } from "./discreet.js";
//   const release = await open("release.discreet");
//   release.recommend({ "Toy Story (1995)": 5 }, 10);
//
// Types and descriptions are in discreet.d.ts; docs/device.md describes the file.

import { decode } from "./format.js";
import { ranker } from "./rankings.js";
import { rater } from "./ratings.js";
import { Catalogue } from "./catalogue.js";

const MOST_REASONS = 3;

/** Open a release: the address of its file (in node also its path), or its bytes. */
export async function open(source) {
  const content = typeof source === "string" || source instanceof URL ? await read(source) : source;
  const { header, arrays } = await decode(content);
  return new Release(header, arrays);
}

async function read(source) {
  const path = String(source);
  if (globalThis.process?.versions?.node && !globalThis.document && !/^https?:/i.test(path)) {
    const files = "node:fs/promises"; // not written into the import, or bundlers would look for it
    const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ files);
    return readFile(path.startsWith("file:") ? new URL(path) : path).catch(() => {
      throw new Error(`${path} cannot be read: there is no such file`);
    });
  }
  const answer = await fetch(source);
  if (!answer.ok) throw new Error(`${source} cannot be read: the server says ${answer.status}`);
  return answer.arrayBuffer();
}

/** A release: everything about a user is computed from that user's own history. */
export class Release {
  #ranking;
  #rating;
  #latest = { key: null, own: null, explainer: null };

  constructor(header, arrays) {
    this.model = header.model;
    this.scale = header.scale;
    this.guarantee = header.guarantee;
    this.card = header.card;
    this.catalogue = new Catalogue(header, arrays);
    this.#rating = rater(header.rate, arrays);
    this.#ranking = ranker(header.rank, arrays, this.catalogue.size, header.width, this.#rating);
    this.predicts = header.predicts;
    this.explains = header.explains;
    const goesByRatings = this.predicts || header.rank.kind === "neighbours"; // others go by what was rated alone
    this.usesRatings = goesByRatings && this.scale[0] < this.scale[1]; // clicks and plays have no ratings
  }

  /** Items whose titles fit a text, best first. */
  search(text, limit = 10) {
    return this.catalogue.search(text, limit);
  }

  /** Ranking score of every item, by position. */
  scores(history) {
    return this.#ranking.scores(this.#read(history)).slice();
  }

  /** The k best items that the history does not hold, best first, with reasons and predicted ratings. */
  recommend(history, k = 10, { exclude = [], only = null, explain = true } = {}) {
    if (!Number.isInteger(k) || k < 1) throw new RangeError(`k must be a whole number from 1 on, got ${k}`);
    const own = this.#read(history), scores = this.#ranking.scores(own);
    if (scores.some((score) => !(score < Infinity))) throw new Error("this release computes what is no finite number: it is damaged");
    const left = new Set([...own.items, ...Array.from(exclude, (name) => this.catalogue.find(name))]);
    const places = only === null ? scores.keys() : new Set(Array.from(only, (name) => this.catalogue.find(name)).sort((a, b) => a - b));
    const best = top(scores, places, left, k), rated = this.predicts ? this.#rating.predictor(own) : null;
    return best.map((position) => ({
      ...this.catalogue.at(position),
      score: scores[position],
      rating: rated ? this.#clipped(rated(position)) : null,
      because: explain && this.explains ? this.#reasons(own, position) : [],
    }));
  }

  /** The expected rating of each item. */
  predict(history, items) {
    if (!this.predicts) throw new Error(`${this.model} ranks items and does not predict ratings`);
    const rated = this.#rating.predictor(this.#read(history));
    return Array.from(items, (name) => this.#clipped(rated(this.catalogue.find(name))));
  }

  /** The own ratings that carry the score of an item, the strongest first. */
  explain(history, item) {
    if (!this.explains) throw new Error(`${this.model} cannot explain its suggestions`);
    return this.#reasons(this.#read(history), this.catalogue.find(item));
  }

  /** What each own rating adds to the score of an item, in the order of positions. */
  shares(history, item) {
    if (!this.explains) throw new Error(`${this.model} cannot explain its suggestions`);
    return this.#explainer(this.#read(history))(this.catalogue.find(item));
  }

  #reasons(own, position) {
    const carried = this.#explainer(own)(position).map((share) => Math.max(Math.fround(share), 0));
    const all = carried.reduce((sum, share) => sum + share, 0);
    return carried
      .map((share, place) => ({ ...this.catalogue.at(own.items[place]), share: share / all }))
      .filter((reason) => reason.share > 0)
      .sort((one, two) => two.share - one.share || one.position - two.position)
      .slice(0, MOST_REASONS);
  }

  #explainer(own) {
    if (this.#latest.own !== own) return this.#ranking.explainer(own);
    this.#latest.explainer ??= this.#ranking.explainer(own); // the same for every item, so that asking again is cheap
    return this.#latest.explainer;
  }

  #clipped(rating) {
    return Math.fround(Math.min(Math.max(rating, this.scale[0]), this.scale[1]));
  }

  /** A history as positions and values; takes {name: rating}, a Map, pairs, or a list of liked names. */
  #read(history) {
    const [low, high] = this.scale;
    const pairs = history instanceof Map ? [...history] : Array.isArray(history) ? history : Object.entries(history);
    const found = new Map();
    for (const pair of pairs) {
      const [name, value] = Array.isArray(pair) ? pair : typeof pair === "object" ? [pair.item ?? pair.title, pair.rating] : [pair, high];
      const position = this.catalogue.find(name);
      if (found.has(position)) throw new Error("the history names one item twice");
      if (typeof value !== "number" || !(value >= low && value <= high)) throw new RangeError(`a rating in the history is outside the scale ${low} to ${high}`);
      found.set(position, Math.fround(value));
    }
    const items = [...found.keys()].sort((one, two) => one - two);
    const values = items.map((item) => found.get(item)), key = `${items} ${values}`;
    if (this.#latest.key !== key) this.#latest = { key, own: { items, values }, explainer: null };
    return this.#latest.own;
  }
}

/** The k places with the highest scores; of equal scores the lower place first. */
function top(scores, places, without, k) {
  const heap = []; // the worst of the best first
  const worse = (one, two) => scores[one] < scores[two] || (scores[one] === scores[two] && one > two);
  for (const place of places) {
    if (without.has(place) || !(scores[place] > -Infinity)) continue;
    if (heap.length < k) {
      heap.push(place);
      for (let at = heap.length - 1; at > 0; ) {
        const parent = (at - 1) >> 1;
        if (!worse(heap[at], heap[parent])) break;
        [heap[at], heap[parent]] = [heap[parent], heap[at]];
        at = parent;
      }
    } else if (worse(heap[0], place)) {
      heap[0] = place;
      for (let at = 0; ; ) {
        let least = at;
        for (const child of [2 * at + 1, 2 * at + 2]) if (child < k && worse(heap[child], heap[least])) least = child;
        if (least === at) break;
        [heap[at], heap[least]] = [heap[least], heap[at]];
        at = least;
      }
    }
  }
  return heap.sort((one, two) => (worse(one, two) ? 1 : -1));
}
