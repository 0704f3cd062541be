// Axes of charts over message size: linear or logarithmic, range and steps, each as requested or chosen here.

import { ratioTicks } from "../forest.ts";
import { extent, linearTicks, logTicks, type Tick, tickText } from "../frame.ts";
import type { AxisOptions } from "../types.ts";
import { value as worded } from "../words.ts";
import type { Measure } from "./measure.ts";

export interface Axis {
  log: boolean;
  min: number;
  max: number;
  ticks: Tick[];
  place(value: number): number;
  /** A single value as text, in the kind of unit that the axis uses. */
  words(value: number): string;
}

/** Up to this range (highest / lowest) an axis is linear by default. */
const LOG_FROM = 6;

const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** `count` equal steps in multiples of `unit`. An end that was not requested moves to a round step. */
function steps([low, high]: readonly [number, number], want: AxisOptions, count: number, unit: number) {
  const from = want.min ?? low;
  if (want.max !== undefined) return parts(from, want.max, count);
  const raw = (high - from) / count / unit;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = (ROUND.find((factor) => factor * power >= raw * (1 - 1e-9)) ?? 10) * power * unit;
  const first = want.min ?? Math.floor(low / step) * step;
  return parts(first, first + step * count, count);
}

function parts(low: number, high: number, count: number): number[] {
  return Array.from({ length: count + 1 }, (_, at) =>
    Number((low + ((high - low) * at) / count).toPrecision(12)),
  );
}

function makeAxis(
  [low, high]: readonly [number, number],
  want: AxisOptions,
  log: boolean,
  ticks: readonly number[],
  text: (value: number) => string,
  words: (value: number) => string,
): Axis {
  const place = log ? (value: number) => Math.log10(Math.max(value, low * 1e-6)) : (value: number) => value;
  const inside = ticks.filter((tick) => !log || tick > 0);
  return {
    log,
    min: place(want.min !== undefined && (want.min > 0 || !log) ? want.min : low),
    max: place(want.max ?? high),
    ticks: inside.map((tick) => ({ at: place(tick), text: text(tick) })),
    place,
    words,
  };
}

/** Sizes whose range (highest / lowest) is below this are spread evenly enough on either scale. */
const WIDE = 8;

/** Whether ascending sizes are more even by ratio than by difference (Kolmogorov distance to uniform). */
function isLogSpaced(sizes: readonly number[]): boolean {
  const [low, high] = [Math.max(sizes[0] ?? 1, 1), sizes.at(-1) ?? 1];
  if (high / low < WIDE) return false;
  const off = (place: (size: number) => number) => {
    const [from, to] = [place(low), place(high)];
    return Math.max(
      ...sizes.map((size, at) =>
        Math.abs(at / (sizes.length - 1) - (place(Math.max(size, low)) - from) / (to - from)),
      ),
    );
  };
  return off(Math.log) < off((size) => size);
}

export function sizeAxis(sizes: readonly number[], want: AxisOptions, width: number): Axis {
  const [low, high] = extent(sizes) ?? [1, 2];
  const log = (want.scale ?? (isLogSpaced(sizes) ? "log" : "linear")) === "log";
  const count = want.steps ?? Math.max(3, Math.floor(width / 64));
  const from = want.min ?? (log ? Math.max(low, 1) : 0);
  const to = want.max ?? high;
  const room = log ? 1.12 : 1 + 0.02;
  // If the requested ends are in kB, ticks and all sizes in words are in kB too.
  const decimal = isDecimal([want.min, want.max].filter((end) => end !== undefined));
  const unit =
    [1e6, 1000].map((of) => (decimal ? of : of === 1e6 ? 2 ** 20 : 1024)).find((of) => to >= 2 * of) ?? 1;
  const linear = want.steps
    ? steps([from, to], want, want.steps, unit)
    : linearTicks(from / unit, to / unit, count).map((tick) => tick * unit);
  const end = want.steps && !log ? (linear.at(-1) ?? to) : to * room;
  const ends: [number, number] = log ? [Math.max(from, 1) / (want.min ? 1 : room), end] : [from, end];
  const ticks = log ? logTicks(ends[0], ends[1], count, decimal ? 10 : 2) : linear;
  const binary = (size: number) => tickText("bytes", size, log ? size : to);
  const words = decimal ? decimalText : (size: number) => worded("bytes", size);
  return makeAxis(ends, want, log, ticks, decimal ? decimalText : binary, words);
}

/** Whether sizes are round multiples of 1,000 rather than 1,024: then the user thinks in kB. */
function isDecimal(sizes: readonly number[]): boolean {
  const positive = sizes.filter((size) => size > 0);
  return positive.some((size) => size % 1024 !== 0) && positive.every((size) => size % 1000 === 0);
}

function decimalText(size: number): string {
  const [divisor, unit] =
    size >= 1e9 ? [1e9, "GB"] : size >= 1e6 ? [1e6, "MB"] : size >= 1000 ? [1000, "kB"] : [1, "B"];
  return size === 0 ? "0" : `${Number((size / divisor).toPrecision(4))} ${unit}`;
}

/** Whether the y axis is logarithmic by default; `isLinear`: the axis of sizes is linear. */
export function isLogFigure(
  measure: Measure,
  [low, high]: readonly [number, number],
  want: AxisOptions,
  isLinear: boolean,
): boolean {
  // Rates over linear sizes stay linear: a few small messages with tiny rates would take most of a
  // logarithmic axis.
  const wide = low > 0 && high / low > LOG_FROM && !(measure.inverse && isLinear);
  return (want.scale ?? (wide ? "log" : "linear")) === "log" && high > 0;
}

export function figureAxis(
  measure: Measure,
  [low, high]: readonly [number, number],
  want: AxisOptions,
  count: number,
  log: boolean,
): Axis {
  const least = log ? Math.max(low, high * 1e-9) / 1.12 : Math.min(0, low);
  const most = log ? high * 1.12 : high + (high - least || 1) * 0.05;
  const from = want.min !== undefined && (want.min > 0 || !log) ? want.min : least;
  const to = want.max ?? most;
  const unit = binaryUnit(measure, to);
  const even = !log && want.steps ? steps([from, to], want, want.steps, unit) : null;
  const logarithmic = () => (measure.unit === "bytes" ? byteTicks : logTicks)(from, to, want.steps ?? count);
  const ticks = log
    ? logarithmic()
    : (even ?? linearTicks(from / unit, to / unit, count).map((tick) => tick * unit));
  const text = (value: number) => measure.text(value, log ? Math.abs(value) : to);
  return makeAxis([even?.[0] ?? from, even?.at(-1) ?? to], want, log, ticks, text, measure.words);
}

function byteTicks(low: number, high: number, count: number): number[] {
  for (const factors of [[1, 2, 5, 10, 20, 50, 100, 200, 500], [1, 10, 100], [1, 32], [1]]) {
    const all = [0, 1, 2, 3, 4].flatMap((power) => factors.map((factor) => factor * 1024 ** power));
    const inside = all.filter((tick) => tick >= low && tick <= high);
    if (inside.length <= count + 1) return inside;
  }
  return logTicks(low, high, count, 2);
}

/** Bytes are shown in KiB, MiB …, so ticks are multiples of 1,024. */
function binaryUnit(measure: Measure, to: number): number {
  return measure.unit === "bytes" ? 2 ** (10 * Math.floor(Math.log2(Math.max(to, 1)) / 10)) : 1;
}

/** Ratios from this on (or below its inverse) are written as factors, others as percentages. */
const FACTORS_FROM = 3;

export function isFactor(ratio: number): boolean {
  return ratio >= FACTORS_FROM || ratio <= 1 / FACTORS_FROM;
}

/** `×0.5`, `×20`. */
export function factorText(ratio: number): string {
  return `×${Number(ratio.toPrecision(3))}`;
}

/** The y axis of ratios: even percentages near 1, factors farther out. */
export function ratioAxis([low, high]: readonly [number, number], want: AxisOptions, count: number): Axis {
  const log = want.scale !== "linear";
  const [least, most] = log
    ? [
        Math.log(want.min && want.min > 0 ? want.min : low),
        Math.log(want.max && want.max > 0 ? want.max : high),
      ]
    : [want.min ?? Math.min(0, low), want.max ?? high];
  const room = want.min !== undefined || want.max !== undefined ? 0 : 0.05 * (most - least || 0.1);
  const [min, max] = [log ? least - room : least, most + room];
  const place = log ? (value: number) => Math.log(Math.max(value, 1e-9)) : (value: number) => value;
  const plain = want.steps ? steps([min, most], want, want.steps, 1) : linearTicks(min, max, count);
  const even = () => {
    const changes = ratioTicks(min, max, want.steps ?? count);
    const wide = isFactor(Math.exp(max)) || isFactor(Math.exp(min));
    return wide ? changes.map(({ at }) => ({ at, text: factorText(Math.exp(at)) })) : changes;
  };
  const ticks = log ? even() : plain.map((tick) => ({ at: tick, text: tick <= 0 ? "0" : factorText(tick) }));
  const end = !log && want.steps ? (plain.at(-1) ?? max) : max;
  return { log, min, max: end, ticks, place, words: factorText };
}
