/** Recommendations on the user's own device, from a release of Discreet. Nothing is sent anywhere. */

/** A title, an identifier, or a position in the catalogue. */
export type Name = string | number;

/** One user's own ratings: by name, as pairs, as records, or as names that are liked (the highest rating each). */
export type History =
  | Record<string, number>
  | ReadonlyMap<Name, number>
  | ReadonlyArray<readonly [Name, number] | { item?: Name; title?: Name; rating: number } | Name>;

export interface Item {
  /** Position in the catalogue. */
  readonly position: number;
  /** Identifier. */
  readonly item: string;
  readonly title: string;
}

/** One of the user's own ratings that carried a suggestion, and its share of the whole. */
export interface Reason extends Item {
  readonly share: number;
}

export interface Suggestion extends Item {
  /** Higher is better; it means nothing else. */
  readonly score: number;
  /** The rating that is expected; null for a model that only ranks. */
  readonly rating: number | null;
  /** The strongest reasons first, at most three; empty for a model that has none. */
  readonly because: readonly Reason[];
}

export interface Loss {
  readonly epsilon: number;
  readonly delta: number;
}

/** What is promised to those whose ratings the release was learned from. */
export interface Guarantee {
  /** In plain words, the most important first. */
  readonly sentences: readonly string[];
  readonly sentence: string;
  readonly proven: Loss | null;
  readonly claimed: Loss | null;
  readonly reason: string;
  readonly unit: { readonly name: string; readonly neighbours: string; readonly max_ratings?: number | null } | null;
  readonly protects_from: readonly string[];
  readonly exposed_to: readonly string[];
  readonly public: readonly string[];
  readonly notes: readonly string[];
  readonly seeded: boolean;
}

export interface Catalogue {
  readonly size: number;
  readonly items: readonly string[];
  readonly titles: readonly string[];
  readonly genres: readonly string[];
  at(position: number): Item;
  find(name: Name): number;
  genresOf(position: number): string[];
  yearOf(position: number): number | null;
  search(text: string, limit?: number): Item[];
}

export interface Options {
  /** Items that are not wanted; those of the history never are. */
  exclude?: Iterable<Name>;
  /** Only these items, for example those in stock. */
  only?: Iterable<Name> | null;
  /** Whether reasons are worked out; true if nothing is said. */
  explain?: boolean;
}

export class Release {
  readonly model: string;
  /** The lowest and the highest rating. */
  readonly scale: readonly [number, number];
  readonly guarantee: Guarantee;
  readonly card: {
    readonly discreet: string;
    readonly settings: Record<string, unknown>;
    readonly note: string;
    readonly remark: string;
    readonly ledger: readonly Record<string, unknown>[];
    readonly catalogue_fingerprint: string;
    readonly precision: "float32" | "float16" | "int8";
  };
  readonly catalogue: Catalogue;
  readonly predicts: boolean;
  readonly explains: boolean;
  readonly usesRatings: boolean;
  recommend(history: History, k?: number, options?: Options): Suggestion[];
  /** The expected rating of each item. Throws for a model that only ranks. */
  predict(history: History, items: Iterable<Name>): number[];
  /** The own ratings that carry the score of an item. Throws for a model that has no reasons. */
  explain(history: History, item: Name): Reason[];
  /** What each own rating adds to the score of an item, in the order of their positions. */
  shares(history: History, item: Name): number[];
  /** Ranking score of every item, by position. */
  scores(history: History): Float32Array;
  /** Items whose titles fit a text, best first. */
  search(text: string, limit?: number): Item[];
}

/** Open a release: the address of its file, or its bytes. */
export function open(source: string | URL | ArrayBuffer | Uint8Array): Promise<Release>;
