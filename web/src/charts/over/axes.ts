// Axes of charts over size: linear or logarithmic, from where to where, with how many steps, as somebody wants them.

import { ratioTicks } from "../forest.ts";
import { extent, linearTicks, logTicks, type Tick, tickText } from "../frame.ts";
import type { AxisOptions } from "../types.ts";
import type { Measure } from "./measure.ts";

export interface Axis {
  log: boolean;
  min: number;
  max: number;
  ticks: Tick[];
  /** From a value to its position. */
  place(value: number): number;
}

/** Below a range of this an axis is linear unless it is asked for. */
const LOG_FROM = 6;

/** Equal parts of an axis, as many as were asked for. */
function parts(low: number, high: number, steps: number): number[] {
  return Array.from({ length: steps + 1 }, (_, at) =>
    Number((low + ((high - low) * at) / steps).toPrecision(12)),
  );
}

function made(
  [low, high]: readonly [number, number],
  want: AxisOptions,
  log: boolean,
  ticks: readonly number[],
  text: (value: number) => string,
): Axis {
  const place = log ? (value: number) => Math.log10(Math.max(value, low * 1e-6)) : (value: number) => value;
  const inside = ticks.filter((tick) => !log || tick > 0);
  return {
    log,
    min: place(want.min !== undefined && (want.min > 0 || !log) ? want.min : low),
    max: place(want.max ?? high),
    ticks: inside.map((tick) => ({ at: place(tick), text: text(tick) })),
    place,
  };
}

/** The axis of sizes. Sizes that are spread evenly by their ratio get a logarithmic one. */
export function sizeAxis(sizes: readonly number[], want: AxisOptions, width: number): Axis {
  const [low, high] = extent(sizes) ?? [1, 2];
  const middle = sizes[Math.floor(sizes.length / 2)] ?? low;
  const isEven = middle ** 2 <= 2 * Math.max(low, 1) * high;
  const log = (want.scale ?? (high / Math.max(low, 1) >= 8 && isEven ? "log" : "linear")) === "log";
  const count = want.steps ?? Math.max(3, Math.floor(width / 64));
  const from = want.min ?? (log ? Math.max(low, 1) : 0);
  const to = want.max ?? high;
  const room = log ? 1.12 : 1 + 0.02;
  const ends: [number, number] = log
    ? [Math.max(from, 1) / (want.min ? 1 : room), to * room]
    : [from, to * room];
  const linear = () => {
    if (want.steps) return parts(from, to, want.steps);
    const unit = to >= 2 ** 21 ? 2 ** 20 : to >= 2048 ? 1024 : 1;
    return linearTicks(from / unit, to / unit, count).map((tick) => tick * unit);
  };
  const ticks = log ? logTicks(ends[0], ends[1], count, 2) : linear();
  const text = (value: number) => tickText("bytes", value, log ? value : to);
  return made(ends, want, log, ticks, want.steps && !log && isDecimal(ticks) ? decimalText : text);
}

/** Whether sizes are round in thousands and not in 1,024s: somebody thinks in kB. */
function isDecimal(sizes: readonly number[]): boolean {
  return sizes.every((size) => size % 1000 === 0) && !sizes.every((size) => size % 1024 === 0);
}

function decimalText(size: number): string {
  const [divisor, unit] = size >= 1e9 ? [1e9, "GB"] : size >= 1e6 ? [1e6, "MB"] : [1000, "kB"];
  return size === 0 ? "0" : `${Number((size / divisor).toPrecision(4))} ${unit}`;
}

/** The upright axis of a measure over a range of figures. */
export function figureAxis(
  measure: Measure,
  [low, high]: readonly [number, number],
  want: AxisOptions,
  count: number,
): Axis {
  const wide = low > 0 && high / low > LOG_FROM;
  const log = (want.scale ?? (wide ? "log" : "linear")) === "log" && high > 0;
  const least = log ? Math.max(low, high * 1e-9) / 1.12 : Math.min(0, low);
  const most = log ? high * 1.12 : high + (high - least || 1) * 0.05;
  const [from, to] = [want.min !== undefined && (want.min > 0 || !log) ? want.min : least, want.max ?? most];
  const ticks = log
    ? measure.unit === "bytes"
      ? byteTicks(from, to, want.steps ?? count)
      : logTicks(from, to, want.steps ?? count)
    : want.steps
      ? parts(from, to, want.steps)
      : linear(measure, from, to, count);
  return made([from, to], want, log, ticks, (value) => measure.text(value, log ? Math.abs(value) : to));
}

/** Round numbers of KiB, MiB … on a logarithmic axis. */
function byteTicks(low: number, high: number, count: number): number[] {
  for (const factors of [[1, 2, 5, 10, 20, 50, 100, 200, 500], [1, 10, 100], [1, 32], [1]]) {
    const all = [0, 1, 2, 3, 4].flatMap((power) => factors.map((factor) => factor * 1024 ** power));
    const inside = all.filter((tick) => tick >= low && tick <= high);
    if (inside.length <= count + 1) return inside;
  }
  return logTicks(low, high, count, 2);
}

function linear(measure: Measure, from: number, to: number, count: number): number[] {
  // Round numbers of KiB, MiB …, not of thousands of bytes.
  const unit = measure.unit === "bytes" ? 2 ** (10 * Math.floor(Math.log2(Math.max(to, 1)) / 10)) : 1;
  return linearTicks(from / unit, to / unit, count).map((tick) => tick * unit);
}

/** Ratios beyond this are told as factors, not as percents. */
const FACTORS_FROM = 3;

/** Whether ratios are told as factors. */
export function isFactor(ratio: number): boolean {
  return ratio >= FACTORS_FROM || ratio <= 1 / FACTORS_FROM;
}

/** `×0.5`, `×20` */
export function factorText(ratio: number): string {
  return `×${Number(ratio.toPrecision(3))}`;
}

/** The upright axis of ratios to a reference: even steps of percents near none, factors far from it. */
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
  const plain = want.steps ? parts(min, max, want.steps) : linearTicks(min, max, count);
  const even = () => {
    const changes = ratioTicks(min, max, want.steps ?? count);
    const wide = isFactor(Math.exp(max)) || isFactor(Math.exp(min));
    return wide ? changes.map(({ at }) => ({ at, text: factorText(Math.exp(at)) })) : changes;
  };
  const ticks = log ? even() : plain.map((tick) => ({ at: tick, text: tick <= 0 ? "0" : factorText(tick) }));
  return { log, min, max, ticks, place };
}
