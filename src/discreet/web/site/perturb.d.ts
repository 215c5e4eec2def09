/** Perturbing ratings at home, with the laws and the report of `discreet perturb`. */

export type Mechanism =
  | { name: "uniform"; gamma: number }
  | { name: "response"; epsilon: number; step?: number }
  | { name: "piecewise"; epsilon: number }
  | { name: "hidden-items"; epsilon: number; step?: number };

/** What may leave the device: docs/collection.md describes it field by field. */
export interface Report {
  readonly format: "discreet report";
  readonly version: 2;
  readonly id: string;
  readonly mechanism: { readonly name: string; readonly epsilon?: number; readonly gamma?: number; readonly step?: number };
  /** True where the words came from elsewhere: then nothing is promised. */
  readonly seeded: boolean;
  readonly scale: readonly [number, number];
  readonly reported: readonly [number, number];
  readonly guarantee: string;
  readonly entries: readonly { readonly item: string; readonly value: number }[];
}

export interface PerturbOptions {
  /** The lowest and the highest rating. */
  scale: readonly [number, number];
  /** The public list of items, which `hidden-items` needs. */
  items?: readonly string[] | null;
  /** Where random words of 64 bits come from: the browser's cryptographic generator, unless a test says otherwise. */
  words?: () => bigint;
}

export function perturb(
  history: Record<string, number> | ReadonlyMap<string, number> | readonly (readonly [string, number])[],
  mechanism: Mechanism,
  options: PerturbOptions,
): Report;

/** Count a report before it is sent; throws for a second one of the same ratings, unless it is asked for. */
export function countReport(
  report: Report,
  name: string,
  options?: { again?: boolean; storage?: Pick<Storage, "getItem" | "setItem"> },
): readonly { readonly time: string; readonly mechanism: string; readonly epsilon: number | null; readonly id: string }[];

export function secureWords(): bigint;
