// Figures and intervals as text, by the same rounding rules as crates/report/src/words.rs. Both are tested
// with the cases of format.cases.json.

import type { Estimate, Quantity, Unit } from "./schema.ts";

/** `+20.1 µs` and `[+19.8, +20.4]`. */
export interface Shown {
  point: string;
  /** Absent if the estimate has none. */
  interval?: string;
}

/** How a unit is displayed: divisor, the text after the figure, decimals that give three digits. */
export interface UnitScale {
  divisor: number;
  suffix: string;
  decimals: number;
}

/** When to write a sign. */
export type Sign = "always" | "negative";
/** From this ratio on, what is certainly higher is a factor: `× 2,447` rather than `+244,600 %`. */
const FACTOR_FROM = 3;
/** Decimals that no figure needs unless a bound would else be rounded to no change. */
const DECIMALS_MOST = 3;
/** Then this many at most. */
const DECIMALS_LIMIT = 9;

type Step = readonly [from: number, divisor: number, suffix: string];

const STEPS: Readonly<Record<Unit, readonly Step[]>> = {
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
  count: [[0, 1, ""]],
  share: [[0, 0.01, " %"]],
};

export function scale(unit: Unit, magnitude: number): UnitScale {
  const steps = STEPS[unit];
  const [, divisor, suffix] = steps.find(([from]) => magnitude >= from) ?? (steps.at(-1) as Step);
  const scaled = magnitude / divisor;
  const isWhole = divisor === 1 && (unit === "ns" || unit === "bytes");
  const decimals = isWhole || scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
  return { divisor, suffix, decimals };
}

/** Decimals that show the first digit of `halfWidth`, and the second if the first is a 1. */
function decimalsOf(halfWidth: number): number {
  if (!(halfWidth > 0) || !Number.isFinite(halfWidth)) {
    return 0;
  }
  const exponent = Math.floor(Math.log10(halfWidth));
  const leading = halfWidth / 10 ** exponent;
  return Math.min(DECIMALS_MOST, Math.max(0, -exponent + (leading < 1.95 ? 1 : 0)));
}

/** Rounds halves to even, as Rust does; `toFixed` alone would round them up. */
function toFixedHalfEven(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  // A double is a sum of powers of two: with 100 decimals it is visible whether it is an exact half.
  const exact = Math.abs(value).toFixed(100);
  const cut = exact.indexOf(".") + 1 + decimals;
  if (!/^50*$/.test(exact.slice(cut))) {
    return text;
  }
  const down = decimals === 0 ? exact.slice(0, cut - 1) : exact.slice(0, cut);
  const isEven = "02468".includes(down.at(-1) as string);
  return isEven ? (value < 0 ? `-${down}` : down) : text;
}

/** `value` with `decimals` decimals; what rounds to zero has no sign. */
export function number(value: number, decimals: number, sign: Sign): string {
  const digits = toFixedHalfEven(value, decimals);
  const text = sign === "always" && !digits.startsWith("-") ? `+${digits}` : digits;
  return /[1-9]/.test(text) ? text : text.replace(/^[+-]+/, "");
}

function roundsToZero(value: number, decimals: number): boolean {
  // Halves round to even, which is zero.
  return value !== 0 && Math.abs(value) <= 0.5 * 10 ** -decimals;
}

/** Decimals for an interval, of which no bound may be rounded to `unchanged`: its side carries the verdict. */
function decimalsFor(lower: number, upper: number, unchanged: number): number {
  let decimals = decimalsOf((upper - lower) / 2);
  while (
    decimals < DECIMALS_LIMIT &&
    [lower, upper].some((bound) => roundsToZero(bound - unchanged, decimals))
  ) {
    decimals += 1;
  }
  return decimals;
}

/** The text of an estimate that is already divided by its scale. */
function shown(
  [point, lower, upper]: readonly [number, number, number],
  suffix: string,
  interval: boolean,
  fallback: number,
  sign: Sign,
): Shown {
  if (!Number.isFinite(point)) {
    return { point: "–" };
  }
  const decimals = interval ? decimalsFor(lower, upper, 0) : fallback;
  const text = (value: number) => number(value, decimals, sign);
  const of = `${text(point)}${suffix}`;
  return interval ? { point: of, interval: `[${text(lower)}, ${text(upper)}]` } : { point: of };
}

export function bounds(estimate: Estimate): readonly [number, number] | undefined {
  const { lower, upper } = estimate;
  return lower == null || upper == null ? undefined : [lower, upper];
}

function inUnit(unit: Unit, estimate: Estimate, sign: Sign): Shown {
  const interval = bounds(estimate);
  const [lower, upper] = interval ?? [estimate.point, estimate.point];
  const { divisor, suffix, decimals } = scale(
    unit,
    Math.max(Math.abs(estimate.point), Math.abs(upper - lower) / 2),
  );
  const scaled = [estimate.point / divisor, lower / divisor, upper / divisor] as const;
  // 2 % more than 90 % could be 92 % or 91.8 %.
  const unitOrPoints = unit === "share" && sign === "always" ? " pp" : suffix;
  return shown(scaled, unitOrPoints, interval !== undefined, decimals, sign);
}

/** `+20.1 µs`, `[+19.8, +20.4]`. */
export function difference(unit: Unit, estimate: Estimate): Shown {
  return inUnit(unit, estimate, "always");
}

/** `35.4 µs`, `[35.1, 35.7]`. */
export function absolute(unit: Unit, estimate: Estimate): Shown {
  return inUnit(unit, estimate, "negative");
}

/** A ratio as a change: 2.31 is `+131 %`, and 3.02 `× 3.02` if the interval lies above 1. */
export function change(ratio: Estimate): Shown {
  const percent = (value: number) => (value - 1) * 100;
  const interval = bounds(ratio);
  const [lower, upper] = interval ?? [ratio.point, ratio.point];
  if (ratio.point >= FACTOR_FROM && lower > 1 && Number.isFinite(upper)) {
    return factor(ratio.point, interval);
  }
  const point = percent(ratio.point);
  const fallback = Math.abs(point) >= 99.95 ? 0 : Math.abs(point) >= 0.995 ? 1 : 2;
  return shown([point, percent(lower), percent(upper)], " %", interval !== undefined, fallback, "always");
}

/** `× 3.02`, `[2.96, 3.08]` */
function factor(point: number, interval: readonly [number, number] | undefined): Shown {
  const decimals = interval ? decimalsFor(...interval, 1) : point >= 99.95 ? 0 : 1;
  const text = (value: number) => {
    const [whole = "", ...rest] = number(value, decimals, "negative").split(".");
    return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...rest].join(".");
  };
  const of = `× ${text(point)}`;
  return interval ? { point: of, interval: `[${text(interval[0])}, ${text(interval[1])}]` } : { point: of };
}

/** Replaces hyphens before figures by true minus signs, and lets no line end before a unit. */
export function typeset(text: string): string {
  return unbroken(text.replaceAll("-", "−"));
}

/** With no-break spaces between numbers and units. */
export function unbroken(text: string): string {
  return text.replace(
    /(?<=[\d\]]) (?=(?:%|pp|ns|µs|ms|s|min|B|kB|KiB|MiB|GiB)(?![\p{L}\p{N}%]))/gu,
    "\u00a0",
  );
}

/** A quantity's name, in text, tables and charts alike: `response p50`, `CPU/op`. */
export function label(quantity: Quantity): string {
  return quantity.replaceAll("_", " ").replace("cpu", "CPU").replace(" per operation", "/op");
}

/**
 * Replaces control and bidirectional formatting characters by their codes (`\u{1b}`), as
 * crates/report/src/text.rs does: a service's name must not reverse the direction of a line.
 */
export function clean(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (c) => {
    return `\\u{${c.charCodeAt(0).toString(16)}}`;
  });
}

/** Applies {@link clean} to every string in `value`, keys included. */
export function cleaned<T>(value: T): T {
  if (typeof value === "string") {
    return clean(value) as T;
  }
  if (Array.isArray(value)) {
    // A list of numbers may be long and contains no text.
    return (typeof value[0] === "number" ? value : value.map(cleaned)) as T;
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, of]) => [clean(key), cleaned(of)])) as T;
  }
  return value;
}
