// The file of a release: docs/device.md describes it byte by byte.

const MAGIC = "DISCREET", VERSION = 1;
const TYPES = {
  U8: Uint8Array, I8: Int8Array, U16: Uint16Array, I16: Int16Array, U32: Uint32Array, F16: Uint16Array, F32: Float32Array,
};

/** Header and arrays of a release, from the bytes of its file, compressed or not. */
export async function decode(content) {
  let bytes = content instanceof Uint8Array ? content : new Uint8Array(content);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = await unzip(bytes);
  if (bytes.length < 16 || new TextDecoder().decode(bytes.subarray(0, 8)) !== MAGIC) {
    throw new Error("this is no release for devices: export one with `discreet export RELEASE --web -o DIR`");
  }
  if (bytes.byteOffset % 8) bytes = bytes.slice(); // arrays are read in place, so they must be aligned
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(8, true), length = view.getUint32(12, true);
  if (version !== VERSION) throw new Error(`this release is of version ${version}; this program reads version ${VERSION}`);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(16, 16 + length)));
  return { header, arrays: new Arrays(header.arrays, bytes, 16 + length) };
}

async function unzip(bytes) {
  const stream = new Response(bytes).body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The arrays of a file, each made when it is asked for. */
export class Arrays {
  constructor(table, bytes, start) {
    Object.assign(this, { table, bytes, start, made: new Map() });
  }

  has(name) {
    return name in this.table;
  }

  /** A list of numbers. */
  vector(name) {
    return this.#once(name, () => {
      const said = this.#said(name), stored = this.#stored(name, size(said.shape));
      return said.scales ? Float32Array.from(stored, (value) => value * this.vector(said.scales)[0]) : stored;
    });
  }

  /** A matrix as {rows, columns, at}: entry (r, c) is at[r * columns + c]. */
  matrix(name) {
    return this.#once(name, () => {
      const said = this.#said(name), [rows, columns] = said.shape;
      const places = said.rows ? this.vector(said.rows) : null, kept = places ? places.length : rows;
      const fine = said.fine ? Array.from(this.vector(said.fine_columns)) : [];
      const others = Array.from({ length: columns }, (_, c) => c).filter((c) => !fine.includes(c)), width = others.length;
      const stored = this.#stored(name, kept * width), scales = said.scales ? this.vector(said.scales) : null;
      if (!places && !scales && !fine.length && said.by !== "columns") return { rows, columns, at: stored };
      const at = new Float32Array(rows * columns), halves = fine.length ? this.vector(said.fine) : null;
      for (let r = 0; r < kept; r++) {
        const row = (places ? places[r] : r) * columns;
        for (let c = 0; c < width; c++) {
          const value = stored[said.by === "columns" ? c * kept + r : r * width + c];
          at[row + others[c]] = scales ? value * scales[c] : value;
        }
        for (let c = 0; c < fine.length; c++) at[row + fine[c]] = halves[c * kept + r]; // column after column
      }
      return { rows, columns, at };
    });
  }

  /** A list of strings. */
  strings(name) {
    return this.#once(name, () => {
      const utf8 = this.vector(`${name}.utf8`), lengths = this.vector(`${name}.lengths`), decoder = new TextDecoder();
      let from = 0;
      return Array.from(lengths, (length) => decoder.decode(utf8.subarray(from, (from += length))));
    });
  }

  #said(name) {
    if (!this.has(name)) throw new Error(`this release is damaged: it has no array ${name}`);
    return this.table[name];
  }

  #stored(name, count) {
    const said = this.#said(name), Kind = TYPES[said.type], from = this.start + said.at;
    if (!Kind || from + count * Kind.BYTES_PER_ELEMENT > this.bytes.length) {
      throw new Error(`this release is damaged: its array ${name} is cut off`);
    }
    const found = new Kind(this.bytes.buffer, this.bytes.byteOffset + from, count);
    return said.type === "F16" ? Float32Array.from(found, half) : found;
  }

  #once(name, make) {
    if (!this.made.has(name)) this.made.set(name, make());
    return this.made.get(name);
  }
}

function size(shape) {
  return shape.reduce((all, axis) => all * axis, 1);
}

/** The number that 16 bits stand for. */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
}
