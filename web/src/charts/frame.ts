// Shared by all charts: header, legend, axes, sizes. Layout only; no figure is computed here.
import { format } from "echarts/core";
import { unbroken } from "../data/format.ts";
import type { Unit } from "../data/schema.ts";
import { FONT, type Look, type Theme, themes } from "./theme.ts";
import type { ChartKind, ChartOptions, Description } from "./types.ts";
import { clean, unitScale } from "./words.ts";

export function textWidth(text: string, size: number, bold = false): number {
  return format.getTextRect(text, `${bold ? "600 " : ""}${size}px ${FONT}`).width;
}

/** Shortens `text` to `width` pixels. It cuts the middle, since variant names often differ at their ends. */
export function shorten(text: string, width: number, size: number, bold = false): string {
  if (textWidth(text, size, bold) <= width) return text;
  const letters = Array.from(text);
  let [low, high] = [1, letters.length - 1];
  const cut = (keep: number) => {
    const head = Math.ceil(keep / 2);
    return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (keep - head)).join("")}`;
  };
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (textWidth(cut(middle), size, bold) <= width) low = middle;
    else high = middle - 1;
  }
  return cut(low);
}

const FIGURE_SIZES = [12, 10.5, 9, 8];

/**
 * A figure in the largest font size that fits `width`, or its `rounded` form. Figures are never shortened as
 * names are, since the rest would be a different number; what fits in no size is left out.
 */
export function fitFigure(
  figure: string,
  width: number,
  { bold = false, rounded = figure } = {},
): { text: string; size: number } {
  const tries = [figure, rounded].flatMap((text) => FIGURE_SIZES.map((size) => ({ text, size })));
  return tries.find(({ text, size }) => textWidth(text, size, bold) <= width) ?? { text: "…", size: 10.5 };
}

/** Breaks text at spaces, but not before a unit, into lines of at most `width` pixels; a longer word gets a line of its own. */
export function wrap(text: string, width: number, size: number, bold = false): string[] {
  const lines: string[] = [];
  for (const word of unbroken(text).split(" ")) {
    const last = lines.at(-1);
    const joined = last === undefined ? word : `${last} ${word}`;
    if (last !== undefined && textWidth(joined, size, bold) <= width) lines[lines.length - 1] = joined;
    else lines.push(textWidth(word, size, bold) <= width ? word : shorten(word, width, size, bold));
  }
  return lines;
}

export interface Entry {
  name: string;
  look: Look;
}

export interface Sheet {
  kind: ChartKind;
  theme: Theme;
  width: number;
  interactive: boolean;
  options: ChartOptions;
}

export function sheet(kind: ChartKind, options: ChartOptions, width: number): Sheet {
  return {
    kind,
    theme: themes[options.theme],
    width: options.width ?? width,
    interactive: options.interactive ?? false,
    options,
  };
}

/** Below this width, labels go above what they name instead of beside it, and panels are stacked. */
const NARROW = 520;

export function isNarrow(on: Sheet): boolean {
  return on.width < NARROW;
}

const TITLE = 15;
const SUBTITLE = 12;
const EDGE = 16;

interface Head {
  title: string;
  subtitle?: string;
  legend?: readonly Entry[];
  /** A line below the legend that explains dashes, bands or marks. */
  note?: string;
}

/** The header's texts and legend, and the y position below them. */
export function head(on: Sheet, { title, subtitle, legend = [], note }: Head) {
  const room = on.width - 2 * EDGE;
  const texts: unknown[] = [];
  let top = on.options.titled ? 14 : 2;
  const write = (lines: string[], size: number, fill: string, bold: boolean) => {
    for (const line of lines) {
      texts.push({
        type: "text",
        silent: true,
        left: EDGE,
        top,
        style: { text: line, fill, font: `${bold ? "600 " : ""}${size}px ${FONT}` },
      });
      top += Math.round(size * 1.4);
    }
  };
  if (on.options.titled) {
    write(wrap(on.options.title ?? title, room, TITLE, true), TITLE, on.theme.ink, true);
    top += 1;
    if (subtitle) write(wrap(subtitle, room, SUBTITLE), SUBTITLE, on.theme.quiet, false);
  }
  if (note) write(wrap(note, room, SUBTITLE), SUBTITLE, on.theme.quiet, false);
  const rows = legendRows(legend, room);
  const option = legend.length < 2 ? [] : rows.map((row, at) => legendRow(on, row, top + 6 + at * 20));
  if (option.length > 0) top += 6 + rows.length * 20;
  return { top: top + 8, texts, legend: option };
}

const ENTRY = 12;
const ICON = 26;
const GAP = 18;

function entryText(entry: Entry): string {
  return shorten(clean(entry.name), 260, ENTRY);
}

function legendRows(legend: readonly Entry[], room: number): Entry[][] {
  const rows: Entry[][] = [];
  let left = 0;
  for (const entry of legend) {
    const needs = ICON + 5 + textWidth(entryText(entry), ENTRY) + GAP;
    const row = rows.at(-1);
    if (row && left + needs <= room) row.push(entry);
    else {
      rows.push([entry]);
      left = 0;
    }
    left += needs;
  }
  return rows;
}

function legendRow(on: Sheet, row: readonly Entry[], top: number) {
  return {
    type: "plain",
    selectedMode: on.interactive,
    orient: "horizontal",
    left: EDGE,
    right: "auto",
    top,
    padding: 0,
    itemGap: GAP,
    itemWidth: ICON,
    itemHeight: 9,
    textStyle: { color: on.theme.ink, fontSize: ENTRY, fontFamily: FONT, rich: {} },
    inactiveColor: on.theme.faint,
    data: row.map((entry) => ({ name: entry.name, icon: undefined })),
    formatter: (name: string) => shorten(clean(name), 260, ENTRY),
  };
}

export function lineStyle(look: Look, width = 2) {
  return { color: look.color, width, type: look.dash, cap: "butt" };
}

export function markStyle(theme: Theme, look: Look) {
  // A border would cover these thin shapes.
  if (!look.hollow && look.symbol.startsWith("path:")) return { color: look.color, borderWidth: 0 };
  return look.hollow
    ? { color: theme.ground, borderColor: look.color, borderWidth: 1.8 }
    : { color: look.color, borderColor: theme.ground, borderWidth: 0.8 };
}

export interface Tick {
  at: number;
  text: string;
}

/** About `count` round values between `low` and `high`. */
export function linearTicks(low: number, high: number, count: number): number[] {
  const raw = (high - low) / Math.max(1, count);
  if (!(raw > 0) || !Number.isFinite(raw)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw * 0.75) ?? 10) * power;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, at) => {
    const tick = (first + at) * step;
    return Number(tick.toPrecision(12));
  });
}

/** About `count` round values between `low` and `high` for a logarithmic axis: 1, 10, 100 or 1, 2, 5, 10 … */
export function logTicks(low: number, high: number, count: number, base: 2 | 10 = 10): number[] {
  if (base === 2) {
    const [from, to] = [Math.ceil(Math.log2(low) - 1e-9), Math.floor(Math.log2(high) + 1e-9)];
    const step = Math.max(1, Math.ceil((to - from + 1) / Math.max(1, count)));
    return Array.from(
      { length: Math.max(0, Math.floor((to - from) / step) + 1) },
      (_, at) => 2 ** (from + at * step),
    );
  }
  const decades = Math.log10(high / low);
  if (decades < 0.7) return linearTicks(low, high, count);
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const within = (factors: readonly number[], every = 1) => {
    const ticks: number[] = [];
    for (let exponent = from; exponent <= to; exponent += every) {
      for (const factor of factors) ticks.push(Number((factor * 10 ** exponent).toPrecision(6)));
    }
    return ticks.filter((tick) => tick >= low * 0.9999 && tick <= high * 1.0001);
  };
  const choices = [
    within([1, 1.5, 2, 3, 4, 5, 6, 8]),
    within([1, 2, 3, 5]),
    within([1, 2, 5]),
    within([1, 3]),
    within([1]),
  ];
  return (
    choices.find((ticks) => ticks.length <= count && ticks.length >= 2) ??
    within([1], Math.ceil((to - from) / Math.max(1, count)))
  );
}

/** A tick label. A linear axis has one unit (of `magnitude`), a logarithmic axis a unit for each tick. */
export function tickText(unit: Unit, value: number, magnitude = Math.abs(value)): string {
  const { divisor, suffix } = unitScale(unit, magnitude);
  if (value === 0) return "0";
  return (
    Number((value / divisor).toPrecision(4))
      .toString()
      .replace("-", "−") + suffix
  );
}

export interface AxisSpec {
  name: string;
  min: number;
  max: number;
  ticks: readonly Tick[];
  kind?: "value" | "log";
  grid?: number;
  /** No grid lines. */
  bare?: boolean;
}

export function valueAxis(on: Sheet, direction: "x" | "y", spec: AxisSpec) {
  const words = new Map(spec.ticks.map((tick) => [tick.at, tick.text]));
  const positions = spec.ticks.map((tick) => tick.at);
  const nearest = (at: number) =>
    words.get(at) ??
    spec.ticks.find((tick) => Math.abs(tick.at - at) <= 1e-9 * Math.max(1, Math.abs(at)))?.text ??
    "";
  return {
    type: "value",
    position: direction === "x" ? "bottom" : "left",
    gridIndex: spec.grid ?? 0,
    min: spec.min,
    max: spec.max,
    name: direction === "x" ? spec.name : "",
    nameLocation: "middle",
    nameGap: 28,
    nameTextStyle: { color: on.theme.quiet, fontSize: 11.5, fontFamily: FONT },
    axisLine: { show: direction === "x", onZero: false, lineStyle: { color: on.theme.faint, width: 1 } },
    axisTick: {
      show: direction === "x",
      customValues: positions,
      lineStyle: { color: on.theme.faint },
      length: 4,
    },
    axisLabel: {
      customValues: positions,
      formatter: nearest,
      color: on.theme.quiet,
      fontSize: 11,
      fontFamily: FONT,
      hideOverlap: false,
      showMinLabel: true,
      showMaxLabel: true,
      margin: 7,
    },
    splitLine: {
      show: !spec.bare,
      showMinLine: true,
      showMaxLine: true,
      lineStyle: { color: on.theme.grid, width: 1 },
    },
    minorTick: { show: false },
    axisPointer: { show: false },
  };
}

/** The name of a y axis, placed above it. */
export function axisName(on: Sheet, text: string, top: number) {
  return {
    type: "text",
    silent: true,
    left: EDGE,
    top: top + 1,
    style: { text, fill: on.theme.quiet, font: `11.5px ${FONT}` },
  };
}

/** Empty line series, for variants that are drawn otherwise: the legend shows their line and mark. */
export function legendSeries(on: Sheet, entries: readonly Entry[]) {
  return entries.map(({ name, look }) => ({
    type: "line",
    name,
    symbol: look.symbol,
    symbolSize: 8,
    lineStyle: lineStyle(look),
    itemStyle: markStyle(on.theme, look),
    data: [],
  }));
}

export function base(on: Sheet, texts: readonly unknown[]) {
  return {
    animation: false,
    backgroundColor: on.options.titled ? on.theme.ground : "transparent",
    textStyle: { fontFamily: FONT, color: on.theme.ink },
    graphic: texts,
    tooltip: on.interactive
      ? {
          show: true,
          trigger: "item",
          // "richText" draws the tooltip as SVG instead of HTML: names from the data cannot inject markup.
          renderMode: "richText",
          confine: true,
          transitionDuration: 0,
          backgroundColor: on.theme.name === "dark" ? "#2a2f38" : "#ffffff",
          borderColor: on.theme.faint,
          borderWidth: 1,
          padding: [6, 9],
          textStyle: { color: on.theme.ink, fontSize: 12, fontFamily: FONT },
          formatter: (at: { data?: { tip?: string } }) => at.data?.tip ?? "",
        }
      : { show: false },
  };
}

/** Least readable height of a panel; and the height of its axis and axis name below it, in pixels. */
const LEAST_PANEL = 80;
const BELOW = 48;

function leastHeight(option: { grid?: unknown }): number {
  const grids = [option.grid ?? []].flat() as { top?: number; bottom?: number; height?: number }[];
  return Math.max(
    0,
    ...grids.map(({ top = 0, bottom = BELOW, height = LEAST_PANEL }) => top + height + bottom),
  );
}

/** `least`: the least height. The default fits drawings whose panels take the height that is left. */
export function described(
  on: Sheet,
  words: Head,
  option: object,
  height: number,
  least = leastHeight(option),
): Description {
  return {
    kind: on.kind,
    title: on.options.title ?? words.title,
    ...(words.subtitle ? { subtitle: words.subtitle } : {}),
    option: option as Description["option"],
    width: on.width,
    height,
    least,
  };
}

/** Minimum and maximum of the finite values; `null` if there are none. */
export function extent(values: Iterable<number>): [low: number, high: number] | null {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

/** Times whose range (highest / lowest) is above this are drawn on a logarithmic axis, others from zero. */
export const LOG_FROM = 6;

export interface TimeScale {
  log: boolean;
  min: number;
  max: number;
  ticks: Tick[];
  place(value: number): number;
}

/** An axis for figures from `low` to `high`; a linear one begins at zero unless `tight`. */
export function figureScale(
  unit: Unit,
  low: number,
  high: number,
  count: number,
  { tight = false, log = high / Math.max(low, 1e-9) > LOG_FROM && low > 0 } = {},
): TimeScale {
  if (log) {
    const [least, most] = [low / 1.08, high * 1.08];
    const ticks = logTicks(least, most, count).map((tick) => ({
      at: Math.log10(tick),
      text: tickText(unit, tick),
    }));
    const place = (value: number) => Math.log10(Math.max(value, least));
    return { log, min: Math.log10(least), max: Math.log10(most), ticks, place };
  }
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  const [least, most] = [tight ? low - room : Math.min(0, low), high + room];
  const base = unit === "bytes" ? byteTicks(least, most, count) : linearTicks(least, most, count);
  const ticks = base.map((tick) => ({ at: tick, text: tickText(unit, tick, most) }));
  return { log, min: least, max: most, ticks, place: (value) => value };
}

function byteTicks(low: number, high: number, count: number): number[] {
  const { divisor } = unitScale("bytes", high);
  return linearTicks(low / divisor, high / divisor, count).map((tick) => tick * divisor);
}
