// Selects what a chart shows: variants with their looks, points, operations, costs. Computes nothing.
import type { Cost, Estimate, Quantity, Summary, Unit, VariantSummary } from "../data/schema.ts";
import { QUANTITIES } from "../data/schema.ts";
import { type Look, look, type Theme } from "./theme.ts";
import type { ChartOptions, PageData, Point } from "./types.ts";
import { hasFigures } from "./words.ts";

export function distinct<T>(values: Iterable<T>): T[] {
  return [...new Set(values)];
}

export function samePoint(a: Point | undefined, b: Point | undefined): boolean {
  const [left, right] = [Object.entries(a ?? {}), b ?? {}];
  return left.length === Object.keys(right).length && left.every(([key, value]) => right[key] === value);
}

export function distinctPoints(points: Iterable<Point | undefined>): Point[] {
  const found: Point[] = [];
  for (const point of points) if (!found.some((one) => samePoint(one, point))) found.push(point ?? {});
  return found;
}

/** Names of all variants. The position gives a variant its colour. */
export function variantNames(summary: Summary): string[] {
  return distinct(summary.variants.map((variant) => variant.name));
}

export function shownVariants(data: PageData, options: ChartOptions): string[] {
  const names = variantNames(data.summary);
  return options.variants ? names.filter((name) => options.variants?.includes(name)) : names;
}

export function looks(data: PageData, theme: Theme): (name: string) => Look {
  const names = variantNames(data.summary);
  return (name) => look(theme, Math.max(0, names.indexOf(name)));
}

export function points(summary: Summary): Point[] {
  return distinctPoints([...summary.variants, ...summary.costs].map((one) => one.point));
}

/** The requested point, or the first. */
export function chosenPoint(available: readonly Point[], options: ChartOptions): Point | null {
  const wanted = options.point;
  const fits = (point: Point) =>
    wanted === undefined || Object.entries(wanted).every(([key, value]) => point[key] === value);
  return available.find(fits) ?? null;
}

/** Names of operations; `all` is first if there are several. */
export function operations(summary: Summary): string[] {
  return distinct(summary.variants.flatMap((variant) => variant.figures.map((figure) => figure.operation)));
}

/** The operation name of figures for the whole workload: `all`, or the only operation. */
export function whole(summary: Summary): string {
  const names = operations(summary);
  return names.includes("all") ? "all" : (names[0] ?? "all");
}

/** For charts of one operation: the first requested one, else the whole workload. */
export function chosenOperation(data: PageData, options: ChartOptions): string {
  return options.operations?.[0] ?? whole(data.summary);
}

export function variantAt(summary: Summary, name: string, point: Point): VariantSummary | undefined {
  return summary.variants.find((variant) => variant.name === name && samePoint(variant.point, point));
}

/** `null` if it was withheld or not measured. */
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

/** The cost whose ratio is furthest from 1. */
export function furthest(costs: Iterable<Cost | undefined>): Cost | null {
  let best: Cost | null = null;
  const distance = (of: Cost) => Math.abs(Math.log(of.ratio?.point ?? 1));
  for (const one of costs) {
    if (one && hasFigures(one) && (best === null || distance(one) > distance(best))) best = one;
  }
  return best;
}

export function unitOf(quantity: Quantity): Unit {
  return QUANTITIES[quantity].unit;
}
