// Figures, intervals and names as text. Rounding is the same as in the tables (digits end where the
// interval's half-width begins), so that a figure reads the same everywhere.

import * as format from "../data/format.ts";
import { clean, label, typeset, scale as unitScale } from "../data/format.ts";
import type { Cost, Estimate, Summary, Unit } from "../data/schema.ts";
import type { Point } from "./types.ts";

export type { UnitScale } from "../data/format.ts";
export { clean, label, unitScale };

export interface Shown {
  point: string;
  interval: string | null;
}

/** Both bounds; without an interval, the point twice. */
export function bounds(estimate: Estimate): [lower: number, upper: number] {
  return [estimate.lower ?? estimate.point, estimate.upper ?? estimate.point];
}

function typesetAll({ point, interval }: format.Shown): Shown {
  return { point: typeset(point), interval: interval === undefined ? null : typeset(interval) };
}

export function difference(unit: Unit, estimate: Estimate): Shown {
  return typesetAll(format.difference(unit, estimate));
}

export function absolute(unit: Unit, estimate: Estimate): Shown {
  return typesetAll(format.absolute(unit, estimate));
}

/** A ratio as a change: 2.31 is `+131 %`. */
export function change(ratio: Estimate): Shown {
  return typesetAll(format.change(ratio));
}

/** `+131 % [+129, +133]`. */
export function joined(of: Shown): string {
  return of.interval === null ? of.point : `${of.point} ${of.interval}`;
}

/** A value without an interval: `15.3 µs`. */
export function value(unit: Unit, of: number): string {
  const scale = unitScale(unit, Math.abs(of));
  const scaled = of / scale.divisor;
  const decimals = unit === "bytes" && Number.isInteger(scaled) ? 0 : scale.decimals;
  return typeset(format.number(scaled, decimals, "negative")) + scale.suffix;
}

/** 0.02 is `2 %`, with a no-break space. */
export function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))}\u00a0%`;
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A factor's value: `64 B`; but `connections 4` and `keep_alive true`, whose values need their key. */
export function valueWords(key: string, value: string): string {
  const hasUnit = /\p{L}/u.test(value) && /[0-9]/.test(value);
  return hasUnit ? clean(value) : `${clean(key.split(".").at(-1) ?? key)} ${clean(value)}`;
}

/** A point: `64 B`, `connections 4, 64 B`; empty if the experiment has one point. */
export function pointWords(point: Point | undefined): string {
  return Object.entries(point ?? {})
    .map(([key, value]) => valueWords(key, value))
    .join(", ");
}

/** `higher (worse)`, `undecided` … */
export function verdict(cost: Cost): string {
  return cost.effect ? `${cost.verdict} (${cost.effect})` : cost.verdict;
}

/** Whether the cost has usable figures. */
export function hasFigures(cost: Cost): boolean {
  return cost.ratio != null && cost.verdict !== "invalid" && cost.verdict !== "withheld";
}

/** `higher (worse): +131 % [+129, +133]`; only the verdict if there is no figure. */
export function effect(cost: Cost): string {
  return hasFigures(cost) && cost.ratio ? `${verdict(cost)}: ${joined(change(cost.ratio))}` : verdict(cost);
}

/** `go: response p50 higher (worse): +131 % [+129, +133]` */
export function finding(cost: Cost): string {
  return `${clean(cost.variant)}: ${label(cost.quantity)} ${effect(cost)}`;
}

/** A count with thousands separators: `1,204,332`. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function baseline(summary: Summary): string {
  return summary.variants.find((variant) => variant.baseline)?.name ?? "baseline";
}
