// What each layer adds, from the bare variant to the one with all layers. Rows go down; each bar begins where
// the one before ended.
import type { Level, Quantity, Unit, Waterfall } from "../data/schema.ts";
import { QUANTITIES } from "../data/schema.ts";
import { labelWidth } from "./bars.ts";
import {
  base,
  described,
  extent,
  figureScale,
  head,
  isNarrow,
  type Sheet,
  sheet,
  shorten,
  valueAxis,
} from "./frame.ts";
import { type Api, words as textSeries, type Whisker, type Words, whiskers } from "./marks.ts";
import { chosenPoint, distinctPoints, samePoint } from "./select.ts";
import type { Theme } from "./theme.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import { absolute, bounds, clean, difference, joined, label, pointWords } from "./words.ts";

const ROW = 34;
const LEAST_ROW_SHARE = 0.6;

export function waterfallPoints({ detail }: PageData): Point[] {
  return distinctPoints((detail.waterfalls ?? []).map((one) => one.point));
}

export function waterfallQuantities({ detail }: Pick<PageData, "detail">): Quantity[] {
  return [...new Set((detail.waterfalls ?? []).map((one) => one.quantity))];
}

interface Bar {
  level: Level;
  from: number;
  to: number;
  kind: "level" | "worse" | "better";
  isLast?: boolean;
}

/** Whether higher is better: true of rates, false of costs. */
function isGain(quantity: Quantity): boolean {
  return QUANTITIES[quantity].higher_is === "better";
}

function bars(chain: Waterfall): Bar[] {
  let at = chain.from.estimate.point;
  const layers = chain.layers.map((level): Bar => {
    const from = at;
    at += level.estimate.point;
    const isBetter = isGain(chain.quantity) ? level.estimate.point > 0 : level.estimate.point < 0;
    return { level, from, to: at, kind: isBetter ? "better" : "worse" };
  });
  return [
    { level: chain.from, from: 0, to: chain.from.estimate.point, kind: "level" },
    ...layers,
    { level: chain.to, from: 0, to: chain.to.estimate.point, kind: "level", isLast: true },
  ];
}

/** The chains of one point in one quantity: the requested quantity, else the headline, else the first. */
function chosen(data: PageData, options: ChartOptions): Waterfall[] {
  const point = chosenPoint(waterfallPoints(data), options);
  const here = (data.detail.waterfalls ?? []).filter(
    (one) =>
      point &&
      samePoint(one.point, point) &&
      (!options.operations || options.operations.includes(one.operation)),
  );
  const { headline } = data.summary;
  // A chain may lack the headline; the others are still drawn in it.
  const usual = here.find((one) => one.quantity === headline) ?? here[0];
  const quantity = options.quantity ?? usual?.quantity;
  return here.filter((one) => one.quantity === quantity);
}

/** Rows of a chain under its heading; a single chain has no heading. */
interface Rows {
  heading: string | undefined;
  bars: Bar[];
  y: number;
}

const HEADING = 26;

/** `rust with veth + vxlan`: the caption of its table. */
function headingOf(chain: Waterfall): string {
  const layers = chain.layers.map((level) => clean(level.name)).join(" + ");
  return chain.of ? `${clean(chain.of)} with ${layers}` : layers;
}

function arrangeRows(all: readonly Waterfall[]): { rows: Rows[]; height: number } {
  let y = 0;
  const rows = all.map((chain): Rows => {
    const heading = all.length > 1 ? headingOf(chain) : undefined;
    const start = y + (heading === undefined ? 0 : HEADING);
    const each = bars(chain);
    y = start + each.length * ROW + 6;
    return { heading, bars: each, y: start };
  });
  return { rows, height: y };
}

export function waterfall(data: PageData, options: ChartOptions): Description | null {
  const all = chosen(data, options);
  const [first] = all;
  if (!first) return null;
  const on = sheet("waterfall", options, 900);
  const { rows, height } = arrangeRows(all);
  const words = chartWords(all, first);
  const { top, texts } = head(on, words);
  const narrow = isNarrow(on);
  const every = rows.flatMap((of) => of.bars.map((bar, at) => ({ bar, y: of.y + (at + 0.5) * ROW })));
  const names = every.map(({ bar }) => clean(bar.level.name));
  const left = Math.min(labelWidth(names, 12, 60, 240, true) + 12, on.width * (narrow ? 0.34 : 0.4));
  const numbers = every.map(({ bar }) => text(first.unit, bar));
  const right = narrow ? 16 : labelWidth(numbers, 11.5, 40, 220) + 8;
  const ends = every.flatMap(({ bar }) => [
    bar.to,
    bar.from,
    bar.to + halfWidth(bar),
    bar.to - halfWidth(bar),
  ]);
  const [lowest, most] = extent(ends) ?? [0, 1];
  // An interval that extends below zero is drawn to this limit; an arrow shows that it continues.
  const least = Math.max(Math.min(0, lowest * 1.04), -BELOW_NONE * most);
  const count = Math.floor((on.width - left - right) / 90);
  const scale = figureScale(first.unit, least, most, count, { log: false });
  const intervals = every.flatMap(({ bar, y }): Whisker[] => {
    const low = bar.to - halfWidth(bar);
    const cut = { low: Math.max(low, least), cutLow: low < least };
    return halfWidth(bar) > 0
      ? [{ across: y + (narrow ? DOWN : 0), ...cut, high: bar.to + halfWidth(bar) }]
      : [];
  });
  return described(
    on,
    words,
    {
      ...base(on, texts),
      grid: { left, right, top: top + 4, bottom: 48 },
      xAxis: valueAxis(on, "x", { name: label(first.quantity), ...scale }),
      yAxis: { type: "value", min: 0, max: height, inverse: true, show: false },
      series: [
        {
          type: "custom",
          z: 2,
          data: every.map(({ bar, y }) => ({
            value: [bar.to, y],
            tip: `${clean(bar.level.name)}\n${text(first.unit, bar)}`,
          })),
          encode: { x: -1, y: -1 },
          renderItem: (params: { dataIndex: number }, api: Api) => {
            const one = every[params.dataIndex];
            return one ? drawBar(on.theme, one.bar, one.y + (narrow ? DOWN : 0), narrow, api) : null;
          },
        },
        whiskers("", on.theme.ink, "x", intervals, { width: 1.4, cap: 4.5 }),
        textSeries([
          ...rows.flatMap((of) => headed(on, of, left)),
          ...every.flatMap(({ bar, y }) => labelled(on, bar, y, { left, narrow, unit: first.unit })),
        ]),
      ],
    },
    on.options.height ?? top + height + 56,
    top + height * LEAST_ROW_SHARE + 56,
  );
}

/** At most this share of the largest figure is drawn below zero. */
const BELOW_NONE = 0.25;

/** Where there is no room beside a bar, its numbers are above it and the bar moves down by so many pixels. */
const DOWN = 7;

function headed(on: Sheet, of: Rows, left: number): Words[] {
  if (of.heading === undefined) return [];
  const words = shorten(of.heading, on.width - 32, 12, true);
  return [
    {
      x: "left",
      dx: 16 - left,
      y: of.y - HEADING / 2 + 4,
      text: words,
      fill: on.theme.ink,
      size: 12,
      bold: true,
    },
  ];
}

/** A bar's name at the left; its figure beside it, or above it if there is no room. */
function labelled(
  on: Sheet,
  bar: Bar,
  y: number,
  { left, narrow, unit }: { left: number; narrow: boolean; unit: Unit },
): Words[] {
  const bold = bar.kind === "level";
  const name: Words = {
    x: "left",
    dx: -10,
    y: y + (narrow ? DOWN : 0),
    align: "right",
    text: shorten(clean(bar.level.name), left - 28, 12, bold),
    fill: on.theme.ink,
    size: 12,
    bold,
  };
  const figure: Words = narrow
    ? {
        x: "right",
        y: y - 8,
        align: "right",
        text: text(unit, bar),
        fill: on.theme.ink,
        size: 11,
        ground: on.theme.ground,
      }
    : {
        x: Math.max(bar.from, bar.to + halfWidth(bar)),
        dx: 9,
        y,
        text: text(unit, bar),
        fill: on.theme.ink,
      };
  return [name, figure];
}

function chartWords(all: readonly Waterfall[], first: Waterfall) {
  const alone = all.length === 1;
  const title = alone ? titleOf(first) : `What each layer does to ${label(first.quantity)}`;
  const from = `${clean(first.from.name)} (${joined(absolute(first.unit, first.from.estimate))})`;
  const to = `${clean(first.to.name)} (${joined(absolute(first.unit, first.to.estimate))})`;
  const subtitle = [
    alone ? `${label(first.quantity)}${first.of ? ` of ${clean(first.of)}` : ""} from ${from} to ${to}` : "",
    pointWords(first.point),
  ];
  return {
    title,
    subtitle: subtitle.filter(Boolean).join(" · "),
    note: "Each bar begins where the one above ends, and is what a layer adds or takes away; hatched: for the better. Whiskers are 95 % intervals.",
  };
}

/** Names the layer with the highest cost distinguishable from zero; if none, the one that saves most. */
function titleOf({ layers, quantity, unit }: Waterfall): string {
  const what = label(quantity);
  if (layers.every(({ estimate }) => estimate.lower == null)) return `What each layer does to ${what}`;
  const clear = layers.filter(({ estimate: { lower, upper } }) => (lower ?? 0) > 0 || (upper ?? 0) < 0);
  const bad = clear.filter(({ estimate }) => estimate.point > 0 !== isGain(quantity));
  const among = bad.length > 0 ? bad : clear;
  const size = (of: Level) => Math.abs(of.estimate.point);
  const most = [...among].sort((a, b) => size(b) - size(a))[0];
  if (!most) return `What single layers add to ${what} cannot be distinguished from nothing`;
  const verb = most.estimate.point > 0 ? "adds" : "takes";
  const to = most.estimate.point > 0 ? "to" : "from";
  const how = layers.length > 1 ? `${verb} most ${to}` : `${verb} ${to}`;
  return `${clean(most.name)} ${how} ${what}: ${joined(difference(unit, most.estimate))}`;
}

function halfWidth(bar: Bar): number {
  const [low, high] = bounds(bar.level.estimate);
  return (high - low) / 2;
}

function text(unit: Unit, bar: Bar): string {
  return joined(
    bar.kind === "level" ? absolute(unit, bar.level.estimate) : difference(unit, bar.level.estimate),
  );
}

function drawBar(theme: Theme, bar: Bar, middle: number, narrow: boolean, api: Api) {
  const [x0, y] = api.coord([bar.from, middle]);
  const [x1] = api.coord([bar.to, middle]);
  const [, below] = api.coord([bar.to, middle + ROW]);
  const thick = narrow ? 13 : ROW * 0.56;
  const fill = { level: theme.neutral, worse: theme.hues[1], better: theme.hues[0] }[bar.kind];
  const shape = {
    x: Math.min(x0, x1),
    y: y - thick / 2,
    width: Math.max(1, Math.abs(x1 - x0)),
    height: thick,
  };
  const hatch = [];
  if (bar.kind === "better") {
    for (let at = 3; at < shape.width; at += 5)
      hatch.push({
        type: "line",
        shape: { x1: shape.x + at, y1: shape.y, x2: shape.x + at, y2: shape.y + thick },
        style: { stroke: theme.ground, lineWidth: 1.4 },
      });
  }
  // A chain's last bar has no successor to be linked to.
  const link = bar.isLast
    ? []
    : [
        {
          type: "line",
          shape: { x1, y1: y + thick / 2, x2: x1, y2: below - thick / 2 },
          style: { stroke: theme.faint, lineWidth: 1, lineDash: [2, 2] },
        },
      ];
  return {
    type: "group",
    children: [
      { type: "rect", shape, style: { fill, opacity: bar.kind === "level" ? 0.75 : 0.85 } },
      ...hatch,
      ...link,
    ],
  };
}
