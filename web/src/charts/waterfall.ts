// What each layer adds, from a bare variant to the one that has them all: rows from above to below, each bar beginning
// where the one before ended.
import type { Level, Unit, Waterfall } from "../data/schema.ts";
import { room } from "./bars.ts";
import { base, described, extent, figureScale, head, sheet, shorten, valueAxis } from "./frame.ts";
import { words as texts_, type Whisker, type Words, whiskers } from "./marks.ts";
import { chosenPoint, distinctPoints, samePoint } from "./select.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import { absolute, bounds, clean, difference, joined, label, pointWords } from "./words.ts";

const ROW = 34;

// biome-ignore lint/suspicious/noExplicitAny: the library types what it hands to a drawing function as any.
type Api = any;

export function waterfallPoints({ detail }: PageData): Point[] {
  return distinctPoints((detail.waterfalls ?? []).map((one) => one.point));
}

interface Bar {
  level: Level;
  from: number;
  to: number;
  kind: "level" | "more" | "less";
}

function bars(of: Waterfall): Bar[] {
  let at = of.from.estimate.point;
  const layers = of.layers.map((level): Bar => {
    const from = at;
    at += level.estimate.point;
    return { level, from, to: at, kind: level.estimate.point < 0 ? "less" : "more" };
  });
  return [
    { level: of.from, from: 0, to: of.from.estimate.point, kind: "level" },
    ...layers,
    { level: of.to, from: 0, to: of.to.estimate.point, kind: "level" },
  ];
}

export function waterfall(data: PageData, options: ChartOptions): Description | null {
  const point = chosenPoint(waterfallPoints(data), options);
  const of = (data.detail.waterfalls ?? []).find(
    (one) =>
      point &&
      samePoint(one.point, point) &&
      (!options.quantity || one.quantity === options.quantity) &&
      (!options.operations || options.operations.includes(one.operation)),
  );
  if (!of) return null;
  const on = sheet("waterfall", options, 900);
  const all = bars(of);
  const dearest = of.layers.reduce<Level | null>(
    (best, one) => (!best || one.estimate.point > best.estimate.point ? one : best),
    null,
  );
  const words = {
    title: dearest
      ? `${clean(dearest.name)} adds most to ${label(of.quantity)}: ${joined(difference(of.unit, dearest.estimate))}`
      : `${label(of.quantity)} of ${clean(of.to.name)}`,
    subtitle: [
      `${label(of.quantity)} from ${clean(of.from.name)} (${joined(absolute(of.unit, of.from.estimate))}) to ${clean(of.to.name)} (${joined(absolute(of.unit, of.to.estimate))})`,
      pointWords(of.point),
    ]
      .filter(Boolean)
      .join(" · "),
    note: "Each bar is what a layer adds; hatched: what it saves. Whiskers are 95 % intervals.",
  };
  const { top, texts } = head(on, words);
  const left =
    room(
      all.map((bar) => clean(bar.level.name)),
      12,
      60,
      240,
      true,
    ) + 12;
  const numbers = all.map((bar) => text(of.unit, bar));
  const right = room(numbers, 11.5, 40, 200) + 8;
  const [, most] = extent(all.flatMap((bar) => [bar.to, bar.from, bar.to + half(bar)])) ?? [0, 1];
  const scale = figureScale(of.unit, 0, most, Math.floor((on.width - left - right) / 90), { log: false });
  const intervals = all.flatMap((bar, row): Whisker[] =>
    half(bar) > 0 ? [{ across: row + 0.5, low: bar.to - half(bar), high: bar.to + half(bar) }] : [],
  );
  const labels = all.flatMap((bar, row): Words[] => [
    {
      x: "left",
      dx: -10,
      y: row + 0.5,
      align: "right",
      text: shorten(clean(bar.level.name), left - 28, 12, bar.kind === "level"),
      fill: on.theme.ink,
      size: 12,
      bold: bar.kind === "level",
    },
    {
      x: Math.max(bar.from, bar.to + half(bar)),
      dx: 9,
      y: row + 0.5,
      text: text(of.unit, bar),
      fill: on.theme.ink,
    },
  ]);
  return described(
    on,
    words,
    {
      ...base(on, texts),
      grid: { left, right, top: top + 4, bottom: 48 },
      xAxis: valueAxis(on, "x", { name: label(of.quantity), ...scale }),
      yAxis: { type: "value", min: 0, max: all.length, inverse: true, show: false },
      series: [
        {
          type: "custom",
          z: 2,
          data: all.map((bar, row) => ({
            value: [bar.to, row],
            tip: `${clean(bar.level.name)}\n${text(of.unit, bar)}`,
          })),
          encode: { x: -1, y: -1 },
          renderItem: (params: { dataIndex: number }, api: Api) => {
            const bar = all[params.dataIndex];
            return bar ? drawn(on.theme, bar, params.dataIndex, all.length, api) : null;
          },
        },
        whiskers("", on.theme.ink, "x", intervals, { width: 1.4, cap: 4.5 }),
        texts_(labels),
      ],
    },
    on.options.height ?? top + all.length * ROW + 56,
  );
}

function half(bar: Bar): number {
  const [low, high] = bounds(bar.level.estimate);
  return (high - low) / 2;
}

function text(unit: Unit, bar: Bar): string {
  return joined(
    bar.kind === "level" ? absolute(unit, bar.level.estimate) : difference(unit, bar.level.estimate),
  );
}

function drawn(theme: import("./theme.ts").Theme, bar: Bar, row: number, rows: number, api: Api) {
  const [x0, y] = api.coord([bar.from, row + 0.5]);
  const [x1] = api.coord([bar.to, row + 0.5]);
  const thick = ROW * 0.56;
  const fill = { level: theme.neutral, more: theme.hues[1], less: theme.hues[0] }[bar.kind];
  const shape = {
    x: Math.min(x0, x1),
    y: y - thick / 2,
    width: Math.max(1, Math.abs(x1 - x0)),
    height: thick,
  };
  const hatch = [];
  if (bar.kind === "less") {
    for (let at = 3; at < shape.width; at += 5)
      hatch.push({
        type: "line",
        shape: { x1: shape.x + at, y1: shape.y, x2: shape.x + at, y2: shape.y + thick },
        style: { stroke: theme.ground, lineWidth: 1.4 },
      });
  }
  const link =
    row < rows - 1
      ? [
          {
            type: "line",
            shape: { x1, y1: y + thick / 2, x2: x1, y2: y + ROW - thick / 2 },
            style: { stroke: theme.faint, lineWidth: 1, lineDash: [2, 2] },
          },
        ]
      : [];
  return {
    type: "group",
    children: [
      { type: "rect", shape, style: { fill, opacity: bar.kind === "level" ? 0.75 : 0.85 } },
      ...hatch,
      ...link,
    ],
  };
}
