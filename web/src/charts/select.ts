// What of a run a chart shows: variants with their looks, points, operations, costs. Only picks; computes nothing.
import type { Cost, Estimate, Quantity, Summary, Unit, VariantSummary } from "../data/schema.ts";
import { QUANTITIES } from "../data/schema.ts";
import { type Look, look, type Theme } from "./theme.ts";
import type { ChartOptions, PageData, Point } from "./types.ts";
import { hasFigures } from "./words.ts";

/** Each value once, in order of appearance. */
export function distinct<T>(values: Iterable<T>): T[] {
  return [...new Set(values)];
}

export function samePoint(a: Point | undefined, b: Point | undefined): boolean {
  const [left, right] = [Object.entries(a ?? {}), b ?? {}];
  return left.length === Object.keys(right).length && left.every(([key, value]) => right[key] === value);
}

/** Each point once, in order of appearance. */
export function distinctPoints(points: Iterable<Point | undefined>): Point[] {
  const found: Point[] = [];
  for (const point of points) if (!found.some((one) => samePoint(one, point))) found.push(point ?? {});
  return found;
}

/** Names of all variants, in the order of colours. */
export function variantNames(summary: Summary): string[] {
  return distinct(summary.variants.map((variant) => variant.name));
}

/** Names of the variants to show. */
export function shownVariants(data: PageData, options: ChartOptions): string[] {
  const names = variantNames(data.summary);
  return options.variants ? names.filter((name) => options.variants?.includes(name)) : names;
}

/** How each variant looks, the same in every chart of a run. */
export function looks(data: PageData, theme: Theme): (name: string) => Look {
  const names = variantNames(data.summary);
  return (name) => look(theme, Math.max(0, names.indexOf(name)));
}

/** The points of a run. */
export function points(summary: Summary): Point[] {
  return distinctPoints([...summary.variants, ...summary.costs].map((of) => of.point));
}

/** The point to show out of those that there are: the one that is asked for, or the first. */
export function chosenPoint(there: readonly Point[], options: ChartOptions): Point | null {
  const wanted = options.point;
  const fits = (point: Point) =>
    wanted === undefined || Object.entries(wanted).every(([key, value]) => point[key] === value);
  return there.find(fits) ?? null;
}

/** Names of operations, `all` first where there are several. */
export function operations(summary: Summary): string[] {
  return distinct(summary.variants.flatMap((variant) => variant.figures.map((figure) => figure.operation)));
}

/** The name under which figures of the whole workload stand: `all`, or its only operation's. */
export function whole(summary: Summary): string {
  const names = operations(summary);
  return names.includes("all") ? "all" : (names[0] ?? "all");
}

/** The operation of a chart of one: what is asked for first, else the whole workload. */
export function chosenOperation(data: PageData, options: ChartOptions): string {
  return options.operations?.[0] ?? whole(data.summary);
}

export function variantAt(summary: Summary, name: string, point: Point): VariantSummary | undefined {
  return summary.variants.find((variant) => variant.name === name && samePoint(variant.point, point));
}

/** A figure; `null` where it was withheld or not measured. */
export function figure(
  summary: Summary,
  name: string,
  point: Point,
  operation: string,
  quantity: Quantity,
): Estimate | null {
  const variant = variantAt(summary, name, point);
  const found = variant?.figures.find((one) => one.quantity === quantity && one.operation === operation);
  return found?.estimate ?? null;
}

export function cost(
  summary: Summary,
  name: string,
  point: Point,
  operation: string,
  quantity: Quantity,
): Cost | undefined {
  return summary.costs.find(
    (one) =>
      one.variant === name &&
      one.operation === operation &&
      one.quantity === quantity &&
      samePoint(one.point, point),
  );
}

/** The cost that is furthest from none, of those that have figures. */
export function furthest(costs: Iterable<Cost | undefined>): Cost | null {
  let best: Cost | null = null;
  const distance = (of: Cost) => Math.abs(Math.log(of.ratio?.point ?? 1));
  for (const one of costs) {
    if (one && hasFigures(one) && (best === null || distance(one) > distance(best))) best = one;
  }
  return best;
}

/** The unit of a quantity. */
export function unitOf(quantity: Quantity): Unit {
  return QUANTITIES[quantity].unit;
}
