// How figures, intervals and names are put into words: the digits end where an interval's half-width begins, exactly as
// in the tables, so that a figure reads the same wherever it stands.
import type { Cost, Estimate, Quantity, Summary, Unit } from "../data/schema.ts";
import type { Point } from "./types.ts";

/** A figure and its interval as text. */
export interface Shown {
  point: string;
  interval: string | null;
}

export interface UnitScale {
  divisor: number;
  suffix: string;
  decimals: number;
}

const STEPS: Record<Unit, readonly (readonly [least: number, divisor: number, suffix: string])[]> = {
  ns: [
    [999.5e6, 1e9, " s"],
    [999.5e3, 1e6, " ms"],
    [999.5, 1e3, " µs"],
    [0, 1, " ns"],
  ],
  bytes: [
    [2 ** 30, 2 ** 30, " GiB"],
    [2 ** 20, 2 ** 20, " MiB"],
    [1024, 1024, " KiB"],
    [0, 1, " B"],
  ],
  per_second: [
    [999.5e6, 1e9, "G/s"],
    [999.5e3, 1e6, "M/s"],
    [9999.5, 1e3, "k/s"],
    [0, 1, "/s"],
  ],
};

/** The scale that suits figures of this magnitude. */
export function unitScale(unit: Unit, magnitude: number): UnitScale {
  const steps = STEPS[unit];
  const [, divisor, suffix] = steps.find(([least]) => magnitude >= least) ?? [0, 1, ""];
  const scaled = magnitude / divisor;
  const whole = divisor === 1 && unit !== "per_second";
  return { divisor, suffix, decimals: whole || scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2 };
}

function decimalsOf(halfWidth: number): number {
  if (!(halfWidth > 0) || !Number.isFinite(halfWidth)) return 0;
  const exponent = Math.floor(Math.log10(halfWidth));
  const leading = halfWidth / 10 ** exponent;
  return Math.min(3, Math.max(0, -exponent + (leading < 1.95 ? 1 : 0)));
}

function fixed(value: number, decimals: number, signed: boolean): string {
  const text = Math.abs(value).toFixed(decimals);
  if (!/[1-9]/.test(text)) return text;
  return (value < 0 ? "−" : signed ? "+" : "") + text;
}

type Triple = readonly [point: number, lower: number, upper: number];

function shown(
  [point, lower, upper]: Triple,
  suffix: string,
  between: boolean,
  fallback: number,
  signed: boolean,
): Shown {
  if (!Number.isFinite(point)) return { point: "–", interval: null };
  const roundsToZero = (value: number, decimals: number) =>
    value !== 0 && Math.abs(value) < 0.5 * 10 ** -decimals;
  let decimals = between ? decimalsOf((upper - lower) / 2) : fallback;
  while (between && decimals < 3 && (roundsToZero(lower, decimals) || roundsToZero(upper, decimals))) {
    decimals += 1;
  }
  const text = (value: number) => fixed(value, decimals, signed);
  return { point: text(point) + suffix, interval: between ? `[${text(lower)}, ${text(upper)}]` : null };
}

/** Both bounds, or the point twice. */
export function bounds(estimate: Estimate): [lower: number, upper: number] {
  return [estimate.lower ?? estimate.point, estimate.upper ?? estimate.point];
}

export function hasInterval(estimate: Estimate): boolean {
  return estimate.lower != null && estimate.upper != null;
}

function inUnit(unit: Unit, estimate: Estimate, signed: boolean): Shown {
  const [lower, upper] = bounds(estimate);
  const scale = unitScale(unit, Math.max(Math.abs(estimate.point), Math.abs(upper - lower) / 2));
  const scaled: Triple = [estimate.point / scale.divisor, lower / scale.divisor, upper / scale.divisor];
  return shown(scaled, scale.suffix, hasInterval(estimate), scale.decimals, signed);
}

/** A difference in its unit: `+20.1 µs`, `[+19.8, +20.4]`. */
export function difference(unit: Unit, estimate: Estimate): Shown {
  return inUnit(unit, estimate, true);
}

/** A figure in its unit: `35.4 µs`, `[35.1, 35.7]`. */
export function absolute(unit: Unit, estimate: Estimate): Shown {
  return inUnit(unit, estimate, false);
}

/** A ratio as a change: 2.31 is `+131 %`. */
export function change(ratio: Estimate): Shown {
  const percent = (value: number) => (value - 1) * 100;
  const [lower, upper] = bounds(ratio);
  const point = percent(ratio.point);
  const magnitude = Math.abs(point);
  const fallback = magnitude >= 99.95 ? 0 : magnitude >= 0.995 ? 1 : 2;
  return shown([point, percent(lower), percent(upper)], " %", hasInterval(ratio), fallback, true);
}

/** `+131 % [+129, +133]` */
export function joined(of: Shown): string {
  return of.interval === null ? of.point : `${of.point} ${of.interval}`;
}

/** A plain value on the scale that suits it: `15.3 µs`. */
export function value(unit: Unit, of: number): string {
  const scale = unitScale(unit, Math.abs(of));
  const scaled = of / scale.divisor;
  const decimals = unit === "bytes" && Number.isInteger(scaled) ? 0 : scale.decimals;
  return fixed(scaled, decimals, false) + scale.suffix;
}

/** A share as people write it: 0.02 is `2 %`. */
export function percent(share: number): string {
  return `${Number((share * 100).toPrecision(3))} %`;
}

const HARMFUL = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Foreign text without control and direction-changing characters, each shown as its code. */
export function clean(text: string): string {
  return text.replace(HARMFUL, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
}

/** `response p50`, `CPU per operation` */
export function label(quantity: Quantity): string {
  return quantity.replaceAll("_", " ").replace("cpu", "CPU");
}

/** `text` with its first letter large. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A point in words: `64 B`, `connections 4, 64 B`; empty where there is one point. */
export function pointWords(point: Point | undefined): string {
  const word = ([key, value]: [string, string]) =>
    /\p{L}/u.test(value) ? clean(value) : `${clean(key.split(".").at(-1) ?? key)} ${clean(value)}`;
  return Object.entries(point ?? {})
    .map(word)
    .join(", ");
}

/** `higher (worse)`, `undecided` … */
export function verdict(cost: Cost): string {
  return cost.effect ? `${cost.verdict} (${cost.effect})` : cost.verdict;
}

/** Whether a cost has figures a reader may use. */
export function hasFigures(cost: Cost): boolean {
  return cost.ratio != null && cost.verdict !== "invalid" && cost.verdict !== "withheld";
}

/** `go: response p50 +131 % [+129, +133]`, or why there is no such figure. */
export function finding(cost: Cost): string {
  const what = `${clean(cost.variant)}: ${label(cost.quantity)}`;
  if (!hasFigures(cost) || cost.ratio == null) return `${what} ${cost.verdict}`;
  return `${what} ${joined(change(cost.ratio))}`;
}

/** A count with its thousands apart: `1,204,332`. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** The name of the baseline. */
export function baseline(summary: Summary): string {
  return summary.variants.find((variant) => variant.baseline)?.name ?? "baseline";
}
