// Points as text and back: filters and links name a point by its text.

import type { PageRun } from "./schema.ts";

/** A point's factor values, by key: `workload.size` is `64 B`. */
export type Point = Readonly<Record<string, string>>;

/** `64 B`, `connections 4, keep_alive true, 64 B`; empty if there is one point. The same as in words.rs. */
export function pointWords(label: Point | undefined): string {
  const words = Object.entries(label ?? {})
    .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
    // A bare number or `true` needs its key to be understood; a number with a unit does not.
    .map(([key, value]) =>
      /\p{Alphabetic}/u.test(value) && /[0-9]/.test(value)
        ? value
        : `${key.slice(key.lastIndexOf(".") + 1)} ${value}`,
    );
  return words.join(", ");
}

export function points({ summary }: PageRun): Map<string, Point> {
  const all = [...summary.variants, ...summary.costs].map(({ point }) => point ?? {});
  // Of equal texts, the first point wins.
  return new Map(
    all
      .reverse()
      .map((point) => [pointWords(point), point] as const)
      .reverse(),
  );
}

export function variants({ summary }: PageRun): string[] {
  return [...new Set(summary.variants.map(({ name }) => name))];
}
