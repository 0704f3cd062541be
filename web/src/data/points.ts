// Points in words, and back: a filter names a point as a reader sees it.

import type { PageRun } from "./schema.ts";

/** A point's factor values: `workload.size` to `64 B`. */
export type Point = Readonly<Record<string, string>>;

/** A point in words: `64 B`, `connections 4, keep_alive true, 64 B`; empty where the experiment has one point. As words.rs has it. */
export function pointWords(label: Point | undefined): string {
  const words = Object.entries(label ?? {})
    .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
    // A bare number does not say what it counts, nor `true` what is so; a number with a unit does.
    .map(([key, value]) =>
      /\p{Alphabetic}/u.test(value) && /[0-9]/.test(value)
        ? value
        : `${key.slice(key.lastIndexOf(".") + 1)} ${value}`,
    );
  return words.join(", ");
}

/** Every point of a run by its words, in order of appearance. */
export function points({ summary }: PageRun): Map<string, Point> {
  const all = [...summary.variants, ...summary.costs].map(({ point }) => point ?? {});
  // The first of equal ones stays.
  return new Map(
    all
      .reverse()
      .map((point) => [pointWords(point), point] as const)
      .reverse(),
  );
}

/** Names of a run's variants, in order of appearance. */
export function variants({ summary }: PageRun): string[] {
  return [...new Set(summary.variants.map(({ name }) => name))];
}
