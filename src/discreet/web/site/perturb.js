// Perturbing ratings at home: the mechanisms and the report of `discreet perturb`, with the same laws to the last bit.
//
// All laws are drawn in integers (BigInt), by rejection from words of the browser's cryptographic generator: no
// floating-point number decides what is sent. The proofs are in discreet/collect/windows.py; the names are the same.

const FORMAT = "discreet report", VERSION = 2;
const INSIDE = 1n << 40n, STEPS = 720720, GRID = 1e-6, DIGITS = 6;
const SMALLEST_EPSILON = 1e-9, LARGEST_EPSILON = 1000;
const PRECISION = 256n; // binary digits of e^-epsilon: far more than the 60 decimal ones of Python
const EVERYONE = "the recommender and the public and other users";
const SEEDED = "No privacy: the noise was seeded, so whoever knows the seed can take it away.";
const SLACK = 1n << 32n; // more than e^-epsilon can be off, in units of 2^-256

/** The laws of the mechanisms: outputs in a window that moves with the secret are more likely than others. */
export class Windows {
  constructor(inputs, width, inside = 1n, outside = 0n) {
    Object.assign(this, { inputs, width, inside, outside, size: inputs - 1 + width });
    this.total = BigInt(width) * inside + BigInt(this.size - width) * outside;
    if (this.total >= 1n << 62n) throw new RangeError("the scale is too wide for the grid of this mechanism");
  }

  static ofEpsilon(inputs, width, epsilon) {
    const outside = ceilTimes(INSIDE, expMinus(epsilon) + SLACK); // rounded up, so that epsilon is never exceeded
    if (outside >= INSIDE) throw new RangeError(`epsilon ${epsilon} is too small to leave anything of a rating`);
    return new Windows(inputs, width, INSIDE, outside);
  }

  get slope() {
    return quotient((this.inside - this.outside) * BigInt(this.width), this.total);
  }

  get offset() {
    const extra = (this.inside - this.outside) * BigInt(this.width) * BigInt(this.width - 1);
    return quotient(this.outside * BigInt(this.size) * BigInt(this.size - 1) + extra, 2n * this.total);
  }

  /** One output for a secret, exactly by the law. */
  draw(secret, words) {
    const more = this.inside - this.outside, number = below(this.total, words);
    if (number < more * BigInt(this.width)) return secret + Number(number / more);
    return Number((number - more * BigInt(this.width)) / (this.outside || 1n));
  }
}

/** Perturb a history ({name of item: rating} or pairs); `mechanism` is {name, epsilon | gamma, step}. */
export function perturb(history, mechanism, { scale, items = null, words = secureWords } = {}) {
  const [low, high] = scale, ratings = [...(Array.isArray(history) || history instanceof Map ? history : Object.entries(history))];
  if (!ratings.length) throw new Error("the history holds no rating");
  if (new Set(ratings.map(([item]) => item)).size !== ratings.length) throw new Error("the history names one item twice");
  if (!ratings.every(([, value]) => value >= low && value <= high)) throw new RangeError(`a rating is outside the scale ${low} to ${high}`);
  const made = MECHANISMS[mechanism.name];
  if (!made) throw new Error(`there is no mechanism ${mechanism.name}; there are ${Object.keys(MECHANISMS).join(", ")}`);
  const { settings, reported, entries, guarantee } = made(ratings, mechanism, scale, items, words), seeded = words !== secureWords;
  return {
    format: FORMAT, version: VERSION, id: randomId(words), mechanism: { name: mechanism.name, ...settings }, seeded,
    scale: [low, high], reported, guarantee: seeded ? SEEDED : guarantee, entries: entries.map(([item, value]) => ({ item, value })),
  };
}

/** Count a report before it is sent, since each of the same ratings costs epsilon again; refuses a second one. */
export function countReport(report, name, { again = false, storage = localStorage } = {}) {
  const key = `discreet sent:${name}`, before = JSON.parse(storage.getItem(key) ?? "[]");
  if (before.length && !again) throw new Error("of these ratings there is a report already, and another one costs epsilon once more: send that one, or ask for another with again");
  const after = [...before, { time: new Date().toISOString(), mechanism: report.mechanism.name, epsilon: report.mechanism.epsilon ?? null, id: report.id }];
  storage.setItem(key, JSON.stringify(after));
  return after;
}

// ── The mechanisms ──

const MECHANISMS = {
  uniform(ratings, { gamma }, scale, items, words) {
    if (!(gamma >= 0 && gamma <= 1000)) throw new RangeError(`gamma must be at least 0 and at most 1000, got ${gamma}`);
    const law = new Windows(even((scale[1] - scale[0]) / GRID) + 1, 2 * even(gamma / GRID) + 1);
    const apart = gamma === 0 ? 1 : Math.min(1, 1 / (2 * gamma)), shown = `${even(apart * 100)}%`;
    const why = gamma === 0 ? "gamma is 0, so the ratings themselves are sent" : `noise within ${general(gamma)} of a rating rules out every rating further away, so no epsilon is finite; a report tells two ratings that are 1 apart from each other for certain with probability ${shown}, and which items were rated is not hidden at all`;
    return { settings: { gamma }, guarantee: `No privacy: ${why}.`, ...channel(law, ratings, scale, GRID, false, words) };
  },
  response(ratings, { epsilon, step = 1 }, scale, items, words) {
    const law = Windows.ofEpsilon(levels(scale, step), 1, checked(epsilon));
    return { settings: { epsilon, step }, guarantee: promise(epsilon, VALUE), ...channel(law, ratings, scale, step, true, words) };
  },
  piecewise(ratings, { epsilon }, scale, items, words) {
    const width = Math.max(1, Number(roundTimes(BigInt(STEPS), expMinus(checked(epsilon), 2n))));
    const law = Windows.ofEpsilon(STEPS + 1, width, epsilon);
    return { settings: { epsilon }, guarantee: promise(epsilon, VALUE), ...channel(law, ratings, scale, (scale[1] - scale[0]) / STEPS, false, words) };
  },
  "hidden-items"(ratings, { epsilon, step = 1 }, scale, items, words) {
    if (!items) throw new Error("hidden-items needs the public list of items, rated or not");
    const law = Windows.ofEpsilon(levels(scale, step) + 1, 1, checked(epsilon)), own = new Map(ratings);
    for (const item of own.keys()) if (!items.includes(item)) throw new Error("a rated item is not in the public list");
    const answers = items.map((item) => [item, law.draw(own.has(item) ? secretOf(own.get(item), scale, step, law.inputs - 1, true) + 1 : 0, words)]);
    const entries = answers.filter(([, answer]) => answer > 0).map(([item, answer]) => [item, scale[0] + step * (answer - 1)]);
    return { settings: { epsilon, step }, guarantee: promise(epsilon, PRESENCE), reported: [...scale], entries };
  },
};

function channel(law, ratings, scale, step, levelsOnly, words) {
  const { slope, offset } = law, digits = Math.max(DIGITS, Math.ceil(-Math.log10(step)));
  const value = (output) => rounded(scale[0] + step * ((output - offset) / slope), digits);
  const entries = ratings.map(([item, rating]) => [item, value(law.draw(secretOf(rating, scale, step, law.inputs, levelsOnly), words))]);
  return { reported: [value(0), value(law.size - 1)], entries };
}

function secretOf(rating, scale, step, inputs, levelsOnly) {
  const exact = (rating - scale[0]) / step, found = even(exact);
  if (found < 0 || found >= inputs) throw new RangeError(`a rating is outside the scale ${scale[0]} to ${scale[1]}`);
  if (levelsOnly && Math.abs(exact - found) >= 1e-4) throw new RangeError(`a rating is not one of the levels ${scale[0]}, ${scale[0] + step}, …`);
  return found;
}

function levels(scale, step) {
  const steps = (scale[1] - scale[0]) / step, whole = even(steps);
  if (!(step > 0 && whole >= 1 && whole <= 10000 && Math.abs(steps - whole) < 1e-6)) throw new RangeError(`steps of ${step} do not lead from one end of the scale to the other`);
  return whole + 1;
}

function checked(epsilon) {
  if (!(epsilon >= SMALLEST_EPSILON && epsilon <= LARGEST_EPSILON)) throw new RangeError(`epsilon must be between ${SMALLEST_EPSILON} and ${LARGEST_EPSILON}, got ${epsilon}`);
  return epsilon;
}

// ── What is promised, in the words of Python ──

const VALUE = "whether they gave a rating this value or another", PRESENCE = "whether or not they gave a rating";

function promise(epsilon, what) {
  return `Proven: whoever sees this release (${EVERYONE}) learns almost the same about a user ${what}: epsilon ${roundedUp(epsilon)}. Whatever they may conclude is at most ${epsilon <= 700 ? roundedUp(Math.exp(epsilon)) : `e^${roundedUp(epsilon)}`} times as likely in the one case as in the other.`;
}

/** Three digits, never less than the number. */
function roundedUp(number) {
  const step = 10 ** (Math.floor(Math.log10(number)) - 2);
  return general(Math.ceil((number / step) * (1 - 1e-12)) * step, number >= 1 ? 6 : 3);
}

/** A number as Python's format "g" writes it. */
function general(number, digits = 6) {
  const [mantissa, exponent] = number.toExponential(digits - 1).split("e"), power = Number(exponent);
  const trimmed = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (power < -4 || power >= digits) return `${trimmed(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  return trimmed(number.toFixed(Math.max(0, digits - 1 - power)));
}

// ── Exact arithmetic ──

/** e^(-epsilon / divisor), in units of 2^-256, but for a rounding far below SLACK. */
function expMinus(epsilon, divisor = 1n) {
  const one = 1n << PRECISION, guard = 64n, unit = one << guard;
  let [numerator, denominator] = ratio(epsilon);
  denominator *= divisor;
  let halvings = 0n;
  while (numerator > denominator * (1n << halvings)) halvings += 1n; // e^-x = (e^(-x / 2^h))^(2^h)
  const x = (numerator * unit) / (denominator << halvings);
  let term = unit, sum = unit;
  for (let k = 1n; term !== 0n; k++) {
    term = (term * x) / (unit * k);
    sum += k % 2n ? -term : term;
  }
  for (let h = 0n; h < halvings; h++) sum = (sum * sum) / unit;
  return sum >> guard;
}

/** A positive double as an exact fraction. */
function ratio(number) {
  let denominator = 1n;
  while (!Number.isInteger(number)) {
    number *= 2;
    denominator *= 2n;
  }
  return [BigInt(number), denominator];
}

function ceilTimes(whole, fraction) {
  return (whole * fraction + (1n << PRECISION) - 1n) >> PRECISION;
}

function roundTimes(whole, fraction) {
  return (whole * fraction + (1n << (PRECISION - 1n))) >> PRECISION;
}

/** The double nearest to a fraction of two integers, as Python divides them. */
function quotient(above, below) {
  if (above === 0n) return 0;
  let shift = 0n;
  while ((above << shift) / below < 1n << 64n) shift += 1n;
  const whole = (above << shift) / below, sticky = (above << shift) % below ? 1n : 0n;
  return Number((whole << 1n) | sticky) / 2 ** Number(shift + 1n);
}

/** The nearest whole number, of two the even one. */
function even(number) {
  const floor = Math.floor(number), left = number - floor;
  return left < 0.5 || (left === 0.5 && floor % 2 === 0) ? floor : floor + 1;
}

/** As numpy rounds to digits. */
function rounded(number, digits) {
  const power = 10 ** digits;
  return even(number * power) / power + 0;
}

// ── Randomness ──

/** A word of 64 secret bits. */
export function secureWords() {
  return crypto.getRandomValues(new BigUint64Array(1))[0];
}

/** A uniform number below a bound: words cut to its length, and those too large thrown away. */
function below(bound, words) {
  const bits = BigInt((bound - 1n).toString(2).length);
  if (bound === 1n) return 0n;
  for (;;) {
    const word = words() >> (64n - bits);
    if (word < bound) return word;
  }
}

function randomId(words) {
  return [words(), words()].map((word) => word.toString(16).padStart(16, "0")).join("");
}
