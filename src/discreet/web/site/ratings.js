// How ratings are predicted, from a user's own history: one class for each kind of the header's "rate" part.
// A history is {items, values}: positions of rated items, increasing, and the rating of each.

import { rowTimes, solve } from "./algebra.js";

export function rater(part, arrays) {
  return part === null ? null : new KINDS[part.kind](part, arrays);
}

/** A user's ridge regression of own ratings on the design; also for models whose items are known with different certainty. */
export class Ridge {
  constructor(part, arrays) {
    this.base = arrays.vector("rate.base");
    this.design = arrays.matrix("rate.design");
    this.weights = arrays.has("rate.weights") ? arrays.vector("rate.weights") : null;
    Object.assign(this, { penalty: part.penalty, growing: part.penalty_of_a_rating });
  }

  /** The coefficients of a user. */
  own({ items, values }) {
    const d = this.design.columns, { gram, row } = this.gram(items), right = new Float64Array(d);
    if (!items.length) return right;
    items.forEach((item, place) => {
      const target = (values[place] - this.base[item]) * (this.weights ? this.weights[item] : 1);
      for (let a = 0, z = row(item); a < d; a++) right[a] += target * z[a];
    });
    return solve(gram, right);
  }

  /** Σ ω z zᵀ plus the penalties, over rated items. */
  gram(items) {
    const d = this.design.columns, gram = new Float64Array(d * d);
    const row = (item) => this.design.at.subarray(item * d, (item + 1) * d);
    for (const item of items) {
      const z = row(item), weight = this.weights ? this.weights[item] : 1;
      for (let a = 0; a < d; a++) {
        const along = weight * z[a];
        if (along !== 0) for (let b = 0; b <= a; b++) gram[a * d + b] += along * z[b];
      }
    }
    for (let a = 0; a < d; a++) gram[a * d + a] += this.penalty[a] + (this.growing ? this.growing[a] * items.length : 0);
    return { gram, row };
  }

  predictor(history) {
    const own = this.own(history);
    return (item) => this.base[item] + rowTimes(this.design, item, own);
  }
}

/** How far a user's ratings lie above what is expected of the items, damped. */
export function userBias({ items, values }, base, damping) {
  let sum = 0;
  items.forEach((item, place) => (sum += values[place] - base[item]));
  const weight = items.length + damping;
  return weight > 0 ? sum / weight : 0;
}

class Bias {
  constructor(part, arrays) {
    Object.assign(this, { base: arrays.vector("rate.base"), damping: part.user_damping });
  }

  predictor(history) {
    const own = userBias(history, this.base, this.damping);
    return (item) => this.base[item] + own;
  }
}

/** A Gaussian belief about the user, from beliefs about the items. */
class Beliefs {
  constructor(part, arrays) {
    const [means, covariances, precision] = [arrays.matrix("rate.means"), arrays.matrix("rate.covariances"), arrays.vector("rate.precision")];
    Object.assign(this, part, { means, covariances, precision });
  }

  predictor({ items, values }) {
    const d = this.size - 1, size = this.size, packed = (d * (d + 1)) / 2, { means, covariances, unit, mean } = this;
    const matrix = Float64Array.from(this.precision), right = new Float64Array(size);
    items.forEach((item, place) => {
      const m = means.at.subarray(item * size, (item + 1) * size);
      const c = covariances.at.subarray(item * covariances.columns, (item + 1) * covariances.columns);
      const left = (values[place] - mean) / unit - m[d];
      for (let a = 0, at = 0; a < d; a++) {
        for (let b = 0; b <= a; b++, at++) matrix[a * size + b] += c[at] + m[a] * m[b];
        matrix[d * size + a] += m[a];
        right[a] += left * m[a] - c[packed + a];
      }
      matrix[d * size + d] += 1;
      right[d] += left;
    });
    const own = solve(matrix, right);
    return (item) => {
      const m = means.at.subarray(item * size, (item + 1) * size);
      let sum = own[d] * unit + mean + unit * m[d];
      for (let a = 0; a < d; a++) sum += unit * own[a] * m[a];
      return sum;
    };
  }
}

/** The lists of similar items: of item i they are items[k], similarities[k] for k from starts[i] to starts[i + 1]. */
export class Lists {
  constructor(arrays) {
    const lengths = arrays.vector("lists.lengths");
    this.starts = new Uint32Array(lengths.length + 1);
    lengths.forEach((length, item) => (this.starts[item + 1] = this.starts[item] + length));
    this.items = arrays.vector("lists.items");
    this.similarities = arrays.vector("lists.similarities");
  }
}

/** A mean of residuals over similar items that the user rated, added to what is expected otherwise. */
class Means {
  constructor(part, arrays) {
    this.part = part;
    this.lists = new Lists(arrays);
    this.home = part.over === "ridge" ? new Ridge(part.ridge, arrays) : null;
    this.base = this.home ? this.home.base : arrays.vector("rank.base");
  }

  predictor(history) {
    const { part, lists, base } = this, own = this.home ? 0 : userBias(history, base, part.user_damping);
    const centred = part.centre === "item" ? 0 : own;
    const expected = this.home ? this.home.predictor(history) : (item) => base[item] + centred;
    const residual = new Map(history.items.map((item, place) => [item, history.values[place] - expected(item)]));
    return (item) => {
      const near = [];
      for (let k = lists.starts[item]; k < lists.starts[item + 1]; k++) {
        const other = lists.items[k], similar = lists.similarities[k];
        if (residual.has(other) && !(other === item && (part.nearest || part.floor !== undefined))) near.push([other, similar]);
      }
      return expected(item) + this.mean(near, residual, part.centre === "item" ? own : 0);
    };
  }

  mean(near, residual, otherwise) {
    const { nearest, floor, damping } = this.part;
    let kept = near;
    if (nearest) {
      kept = near.filter(([, similar]) => similar > 0).sort((one, two) => two[1] - one[1] || one[0] - two[0]).slice(0, nearest);
    }
    let above = 0, below = 0;
    for (const [item, similar] of kept) {
      above += similar * residual.get(item);
      below += floor === undefined ? similar : Math.abs(similar);
    }
    if (floor !== undefined) return below > 0 ? above / Math.max(below, floor, 1e-30) : otherwise;
    if (nearest && !(below > 0)) return 0;
    return below + damping > 0 ? above / (below + damping) : 0;
  }
}

/** Weights of the nearest rated items, solved jointly from covariances of the items. */
class Interpolation {
  constructor(part, arrays) {
    this.part = part;
    this.ridge = new Ridge(part.ridge, arrays);
  }

  predictor(history) {
    const { base, design } = this.ridge, { nearest, residual_variance: variance } = this.part, columns = design.columns;
    const own = userBias(history, base, this.part.user_damping);
    const covariance = (one, two) => {
      let sum = 0;
      for (let c = 0; c < columns - 1; c++) sum += design.at[one * columns + c] * design.at[two * columns + c]; // the last is the bias
      return sum;
    };
    const rated = history.items.map((item, place) => ({
      item, residual: history.values[place] - base[item] - own, root: Math.sqrt(covariance(item, item) + variance),
    }));
    return (item) => {
      const near = rated
        .filter((other) => other.item !== item)
        .map((other) => ({ ...other, to: covariance(item, other.item) }))
        .filter((other) => other.to > 0)
        .sort((one, two) => two.to / two.root - one.to / one.root || one.item - two.item)
        .slice(0, nearest);
      const d = near.length, gram = new Float64Array(d * d), right = new Float64Array(d);
      near.forEach((one, a) => {
        right[a] = one.to;
        for (let b = 0; b <= a; b++) gram[a * d + b] = covariance(one.item, near[b].item) + (a === b ? variance : 0);
      });
      solve(gram, right);
      return base[item] + own + near.reduce((sum, one, a) => sum + right[a] * one.residual, 0);
    };
  }
}

const KINDS = { ridge: Ridge, bias: Bias, beliefs: Beliefs, means: Means, interpolation: Interpolation };
