// How items are ranked, and which own ratings carry a score: one class for each kind of the header's "rank" part.

import { rowTimes, solve, sumOfRows } from "./algebra.js";
import { Logit } from "./logit.js";
import { Lists, Ridge, userBias } from "./ratings.js";

export function ranker(part, arrays, size, width, rating) {
  return new KINDS[part.kind](part, arrays, size, width, rating);
}

class ByRatings {
  constructor(part, arrays, size, width, rating) {
    Object.assign(this, { size, rating });
  }

  scores(history) {
    return Float32Array.from({ length: this.size }, byItem(this.rating.predictor(history)));
  }
}

class Constant {
  constructor(part, arrays) {
    this.all = arrays.vector("rank.scores");
  }

  scores() {
    return Float32Array.from(this.all);
  }
}

/** How much of an item's neighbourhood the user rated, more so where they liked it. */
class Neighbours {
  constructor(part, arrays, size, width) {
    Object.assign(this, { part, lists: new Lists(arrays), base: arrays.vector("rank.base") });
    Object.assign(this, { weights: arrays.vector("rank.weights"), width });
  }

  /** 1 + residual / width of the scale, of each rating. */
  liked(history) {
    const { base, part, width } = this, own = part.centre === "item" ? 0 : userBias(history, base, part.user_damping);
    return history.values.map((value, place) => 1 + (value - base[history.items[place]] - own) / width);
  }

  scores(history) {
    const { lists, weights } = this, rated = new Float64Array(weights.length), sums = new Float32Array(weights.length);
    this.liked(history).forEach((weight, place) => (rated[history.items[place]] = weight));
    for (let item = 0; item < sums.length; item++) {
      let sum = 0;
      for (let k = lists.starts[item]; k < lists.starts[item + 1]; k++) {
        const weight = rated[lists.items[k]];
        if (weight !== 0 && this.counts(lists.similarities[k])) sum += lists.similarities[k] * weight;
      }
      sums[item] = sum * weights[item];
    }
    return sums;
  }

  explainer(history) {
    const { lists, weights } = this, liked = this.liked(history);
    return (item) => {
      const similar = new Map();
      for (let k = lists.starts[item]; k < lists.starts[item + 1]; k++) {
        if (this.counts(lists.similarities[k])) similar.set(lists.items[k], lists.similarities[k]);
      }
      return history.items.map((other, place) => (similar.get(other) ?? 0) * weights[item] * liked[place]);
    };
  }

  counts(similarity) {
    return similarity > 0 || !this.part.positive;
  }
}

/** How often an item is rated, more so where it should suit the user. */
class Covariance {
  constructor(part, arrays, size, width) {
    Object.assign(this, { ridge: new Ridge(part.ridge, arrays), counts: arrays.vector("rank.counts"), width });
  }

  scores(history) {
    const { ridge, counts, width } = this, own = ridge.own(history);
    own[own.length - 1] = 0; // the user's bias lifts all items alike
    return Float32Array.from(counts, (count, item) => Math.sqrt(count) * (1 + rowTimes(ridge.design, item, own) / width));
  }

  explainer({ items, values }) {
    const { ridge, counts, width } = this, d = ridge.design.columns, { gram, row } = ridge.gram(items);
    return (item) => {
      const right = Float64Array.from(row(item), (value) => (value * Math.sqrt(counts[item])) / width);
      right[d - 1] = 0;
      const along = solve(gram.slice(), right);
      return items.map((other, place) => rowTimes(ridge.design, other, along) * (values[place] - ridge.base[other]));
    };
  }
}

/** The product with the sum of what belongs to the user's own items. */
class Sums {
  constructor(part, arrays, size) {
    const bias = arrays.has("rank.bias") ? arrays.vector("rank.bias") : new Float32Array(size);
    Object.assign(this, { inputs: arrays.matrix("rank.inputs"), outputs: arrays.matrix(part.outputs), bias, root: part.root });
  }

  scores({ items }) {
    const own = sumOfRows(this.inputs, items).map((value) => value / this.length(items));
    return Float32Array.from(this.bias, (bias, item) => bias + rowTimes(this.outputs, item, own));
  }

  explainer({ items }) {
    const { columns, at } = this.outputs;
    return (item) => {
      const output = at.subarray(item * columns, (item + 1) * columns);
      return items.map((other) => rowTimes(this.inputs, other, output) / this.length(items));
    };
  }

  length(items) {
    return this.root ? Math.sqrt(Math.max(items.length, 1)) : 1;
  }
}

class Weights {
  constructor(part, arrays) {
    this.weights = arrays.matrix("rank.weights");
  }

  scores({ items }) {
    return Float32Array.from(sumOfRows(this.weights, items));
  }

  explainer({ items }) {
    return (item) => items.map((other) => this.weights.at[other * this.weights.columns + item]);
  }
}

/** A user's factors by a few steps of conjugate gradients, in the basis in which the Gram matrix of the items is diagonal. */
class Implicit {
  constructor(part, arrays) {
    Object.assign(this, { part, factors: arrays.matrix("rank.factors"), spectrum: arrays.vector("rank.spectrum") });
  }

  own({ items }) {
    const { factors, spectrum, part } = this, d = factors.columns, x = new Float64Array(d);
    if (!items.length) return x;
    const penalty = Math.fround(part.regularisation * (items.length + part.unobserved_weight * factors.rows));
    const diagonal = Float64Array.from(spectrum, (value) => Math.fround(value + penalty));
    const residual = sumOfRows(factors, items), direction = residual.map((value, c) => value / diagonal[c]);
    let old = dot(residual, direction);
    for (let step = 0; step < part.steps && old >= 1e-20; step++) {
      const image = direction.map((value, c) => value * diagonal[c]);
      for (const item of items) {
        const along = rowTimes(factors, item, direction);
        for (let c = 0; c < d; c++) image[c] += along * factors.at[item * d + c];
      }
      const length = old / dot(direction, image);
      for (let c = 0; c < d; c++) {
        x[c] += length * direction[c];
        residual[c] -= length * image[c];
      }
      const next = residual.reduce((sum, value, c) => sum + (value * value) / diagonal[c], 0);
      for (let c = 0; c < d; c++) direction[c] = residual[c] / diagonal[c] + (next / old) * direction[c];
      old = next;
    }
    return x;
  }

  scores(history) {
    const own = this.own(history);
    return Float32Array.from({ length: this.factors.rows }, byItem((item) => rowTimes(this.factors, item, own)));
  }
}

/** An autoencoder: encode who rated what, and decode. */
class Network {
  constructor(part, arrays) {
    const layer = (weights, bias) => (arrays.has(`rank.${weights}`) ? { weights: arrays.matrix(`rank.${weights}`), bias: arrays.vector(`rank.${bias}`) } : null);
    Object.assign(this, { variational: part.variational, input: layer("input_weights", "input_bias"), code: layer("code_weights", "code_bias") });
    Object.assign(this, { expand: layer("expand_weights", "expand_bias"), output: layer("output_weights", "output_bias") });
  }

  scores({ items }) {
    const root = Math.sqrt(Math.max(items.length, 1));
    let rows = sumOfRows(this.input.weights, items).map((value, c) => value / root + this.input.bias[c]);
    if (this.code) rows = through(this.code, rows.map(Math.tanh));
    let code = this.variational ? rows : rows.map(Math.tanh);
    if (this.expand) code = through(this.expand, code).map(Math.tanh);
    return Float32Array.from(through(this.output, code));
  }
}

function through({ weights, bias }, values) {
  return Float64Array.from(bias, (constant, row) => constant + rowTimes(weights, row, values));
}

function dot(one, two) {
  return one.reduce((sum, value, c) => sum + value * two[c], 0);
}

function byItem(score) {
  return (_, item) => score(item);
}

const KINDS = {
  logit: Logit, ratings: ByRatings, constant: Constant, neighbours: Neighbours, covariance: Covariance, sums: Sums,
  weights: Weights, implicit: Implicit, network: Network,
};
