// The next item a user rates: a conditional logit over the items, fitted on the user's own history.
// The maths is in discreet/models/almanac/ranking.py, and the names here are the same.

import { factorise, rowTimes, solve, substitute } from "./algebra.js";
import { Lists } from "./ratings.js";

export class Logit {
  constructor(part, arrays, size) {
    Object.assign(this, part, { size, share: arrays.vector("rank.share"), precision: arrays.vector("rank.precision") });
    this.covariates = sparse(arrays.matrix("rank.covariates"));
    this.outward = arrays.has("rank.outward") ? arrays.matrix("rank.outward") : null;
    if (this.outward) Object.assign(this, { scales: arrays.vector("rank.scales"), strength: arrays.vector("rank.strength") });
    this.lists = arrays.has("lists.items") ? new Lists(arrays) : null;
    this.popular = this.outward ? this.along(Array.from({ length: size }, (_, item) => item), this.share) : null;
  }

  /** Σ of weight · inward row of each of some items. */
  along(items, weights) {
    const { columns, at } = this.outward, sum = new Float64Array(columns);
    items.forEach((item, place) => {
      const scale = this.scales[item] * (weights ? weights[place] : 1);
      if (scale !== 0) for (let c = 0, from = item * columns; c < columns; c++) sum[c] += at[from + c] * scale;
    });
    return sum;
  }

  /** How far each pattern is followed by a user with n ratings. */
  pull(n) {
    return Float64Array.from(this.strength, (strength) => (n * strength) / (n * strength + this.interaction_variance));
  }

  /** log b: the user's expected interactions; and Σb / Σe, 0 without weights of neighbours. */
  expectations(items) {
    const { share, outward, scales, size, popularity_floor: floor } = this, n = items.length, logs = new Float64Array(size);
    for (let item = 0; item < size; item++) logs[item] = Math.log((1 + floor) * Math.max(n, 1) * share[item]);
    if (!outward || n === 0) return { logs, ratio: 0 };
    const pull = this.pull(n), moved = this.along(items).map((value, c) => pull[c] * (value - n * this.popular[c]));
    const own = new Set(items), columns = outward.columns, expected = new Float64Array(size), byWeights = this.byWeights(items);
    let here = 0, there = 0;
    for (let item = 0; item < size; item++) {
      const least = floor * n * share[item];
      if (scales[item] === 0) {
        expected[item] = byWeights[item] = n * share[item] + least;
      } else {
        let found = rowTimes(outward, item, moved) + n * share[item];
        if (own.has(item)) {
          for (let c = 0, from = item * columns; c < columns; c++) found -= pull[c] * outward.at[from + c] ** 2 * scales[item];
        }
        expected[item] = Math.max(found, 0) + least;
        byWeights[item] = Math.max(byWeights[item], 0) + least;
      }
      here += expected[item];
      there += byWeights[item];
    }
    const ratio = this.lists ? here / there : 0;
    for (let item = 0; item < size; item++) logs[item] = Math.log(this.mixed(expected[item], ratio * byWeights[item]));
    return { logs, ratio };
  }

  /** What patterns say, with a part of what weights of neighbours say, where there are any. */
  mixed(byPatterns, byWeights) {
    return this.lists ? byPatterns + this.part_of_weights * (byWeights - byPatterns) : byPatterns;
  }

  /** Σ of the weights of the rated items, for each item. */
  byWeights(items) {
    const sums = new Float64Array(this.size);
    if (!this.lists) return sums;
    const { starts, items: others, similarities } = this.lists, own = new Uint8Array(this.size);
    for (const item of items) own[item] = 1;
    for (let item = 0; item < this.size; item++) {
      for (let k = starts[item]; k < starts[item + 1]; k++) if (own[others[k]]) sums[item] += similarities[k];
    }
    return sums;
  }

  scores({ items }) {
    const { logs: start } = this.expectations(items), n = items.length;
    if (n === 0) return Float32Array.from(start);
    const f = this.precision.length, eta = new Float64Array(f), target = new Float64Array(f);
    for (const item of items) this.covariates.add(target, item, 1);
    let logits = start;
    for (let step = 0; step < this.newton_steps; step++) {
      const { mean, hessian } = this.moments(logits, n);
      const gradient = target.map((value, a) => value - n * mean[a] - this.precision[a] * eta[a]);
      const move = solve(hessian, gradient.slice());
      const length = gradient.reduce((sum, value, a) => sum + value * move[a], 0);
      const shorter = 1 / Math.max(1, Math.sqrt(Math.max(length, 0) / n));
      for (let a = 0; a < f; a++) eta[a] += shorter * move[a];
      logits = start.map((value, item) => value + this.covariates.times(item, eta));
    }
    return Float32Array.from(logits);
  }

  /** The mean of the covariates under P, and n times their covariance plus the prior's precision. */
  moments(logits, n) {
    const f = this.precision.length, mean = new Float64Array(f), gram = new Float64Array(f * f);
    let highest = -Infinity, total = 0;
    for (const value of logits) if (value > highest) highest = value;
    for (let item = 0; item < this.size; item++) {
      const weight = Math.exp(logits[item] - highest);
      total += weight;
      this.covariates.addMoments(mean, gram, item, weight, f);
    }
    for (let a = 0; a < f; a++) mean[a] /= total;
    for (let a = 0; a < f; a++) {
      for (let b = 0; b <= a; b++) gram[a * f + b] = n * (gram[a * f + b] / total - mean[a] * mean[b]);
      gram[a * f + a] += this.precision[a];
    }
    return { mean, hessian: gram };
  }

  /** The weight of each neighbour of an item. */
  weightsOf(item) {
    const byWeights = new Map();
    if (!this.lists) return byWeights;
    for (let k = this.lists.starts[item]; k < this.lists.starts[item + 1]; k++) byWeights.set(this.lists.items[k], this.lists.similarities[k]);
    return byWeights;
  }

  /** What each rating of a history adds to the score of an item, to first order. */
  explainer({ items }) {
    const n = items.length, f = this.precision.length;
    if (n === 0) return () => [];
    const { logs, ratio } = this.expectations(items), { mean, hessian } = this.moments(logs, n);
    factorise(hessian, f);
    const pull = this.outward ? this.pull(n) : null;
    return (item) => {
      const along = mean.map((value) => -value);
      this.covariates.add(along, item, 1);
      substitute(hessian, along);
      const constant = mean.reduce((sum, value, a) => sum + value * along[a], 0);
      const added = items.map((other) => this.covariates.times(other, along) - constant);
      if (this.outward && this.scales[item] !== 0) {
        const { columns, at } = this.outward, pattern = pull.map((value, c) => value * at[item * columns + c]);
        const below = Math.exp(logs[item]), byWeights = this.weightsOf(item);
        items.forEach((other, place) => {
          const moved = rowTimes(this.outward, other, pattern) * this.scales[other];
          added[place] += this.mixed(moved, ratio * (byWeights.get(other) ?? 0)) / below;
        });
      }
      return added;
    };
  }
}

/** A matrix with few numbers in each row: most items have one or two genres of many. */
function sparse({ rows, columns, at }) {
  const starts = new Uint32Array(rows + 1);
  for (let r = 0, found = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) if (at[r * columns + c] !== 0) found++;
    starts[r + 1] = found;
  }
  const places = new Uint16Array(starts[rows]), values = new Float64Array(starts[rows]);
  for (let r = 0, k = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      if (at[r * columns + c] === 0) continue;
      places[k] = c;
      values[k++] = at[r * columns + c];
    }
  }
  return {
    times(row, vector) {
      let sum = 0;
      for (let k = starts[row]; k < starts[row + 1]; k++) sum += values[k] * vector[places[k]];
      return sum;
    },
    add(sum, row, weight) {
      for (let k = starts[row]; k < starts[row + 1]; k++) sum[places[k]] += weight * values[k];
    },
    addMoments(mean, gram, row, weight, f) {
      for (let k = starts[row]; k < starts[row + 1]; k++) {
        const a = places[k], along = weight * values[k];
        mean[a] += along;
        for (let m = starts[row]; m <= k; m++) gram[a * f + places[m]] += along * values[m];
      }
    },
  };
}
