// A figure against a numeric factor: size, rate, connections. Bands are intervals; withheld points are gaps.
import type { Axis, Estimate, Unit } from "../data/schema.ts";
import {
  axisName,
  base,
  described,
  extent,
  figureScale,
  head,
  linearTicks,
  lineStyle,
  logTicks,
  markStyle,
  sheet,
  tickText,
  valueAxis,
} from "./frame.ts";
import { band } from "./marks.ts";
import {
  chosenOperation,
  cost,
  distinctPoints,
  figure,
  furthest,
  looks,
  points,
  samePoint,
  shownVariants,
  unitOf,
} from "./select.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import { absolute, bounds, capitalize, clean, effect, joined, label, valueWords } from "./words.ts";

/** A line through fewer figures shows no trend. */
const LEAST_TREND = 3;

/** A drawing for each factor and each setting of the others; its point has all keys but the factor's. */
export function sizePoints(data: PageData): Point[] {
  return axesByLength(data).flatMap((axis) => otherSettings(data, axis));
}

function axesByLength(data: PageData): Axis[] {
  return [...(data.detail.axes ?? [])].sort((a, b) => b.values.length - a.values.length);
}

/** Settings of all other factors. The missing key identifies the axis. */
function otherSettings(data: PageData, axis: Axis): Point[] {
  const rest = points(data.summary)
    .filter((point) => axis.key in point)
    .map((point) => Object.fromEntries(Object.entries(point).filter(([key]) => key !== axis.key)));
  return distinctPoints(rest);
}

function chosen(data: PageData, options: ChartOptions): { axis: Axis; rest: Point } | null {
  const axes = axesByLength(data);
  // A factor that the requested point fixes is not the axis.
  const free = axes.filter((axis) => options.point === undefined || !(axis.key in options.point));
  for (const axis of [...free, ...axes]) {
    const rest = otherSettings(data, axis).find((one) =>
      Object.entries(options.point ?? {}).every(([key, value]) => key === axis.key || one[key] === value),
    );
    if (rest) return { axis, rest };
  }
  return null;
}

export function size(data: PageData, options: ChartOptions): Description | null {
  const picked = chosen(data, options);
  if (!picked) return null;
  const { axis, rest } = picked;
  const quantity = options.quantity ?? data.summary.headline;
  const operation = chosenOperation(data, options);
  const unit = unitOf(quantity);
  const names = shownVariants(data, options);
  const at = (text: string): Point =>
    points(data.summary).find((point) => samePoint(point, { ...rest, [axis.key]: text })) ?? {
      ...rest,
      [axis.key]: text,
    };
  const rows = names.map((name) => ({
    name,
    figures: axis.values.map(([text, x]) => ({
      text,
      x,
      estimate: figure(data.summary, name, at(text), operation, quantity),
    })),
  }));
  const all = rows.flatMap((row) =>
    row.figures.flatMap((one) => (one.estimate ? [one.estimate.point, ...bounds(one.estimate)] : [])),
  );
  const range = extent(all);
  const least = extent(
    rows.flatMap((row) => row.figures.flatMap((one) => (one.estimate ? [one.estimate.point] : []))),
  );
  const isTrend = (row: (typeof rows)[number]) =>
    row.figures.filter((one) => one.estimate).length >= LEAST_TREND;
  if (!range || !least || !rows.some(isTrend)) return null;
  const on = sheet("size", options, 900);
  const lookOf = looks(data, on.theme);
  const what = clean(axis.key.split(".").at(-1) ?? axis.key);
  const ends = [axis.values[0], axis.values.at(-1)] as const;
  const furthestAtEnds = furthest(
    names.map((name) => cost(data.summary, name, at(ends[1]?.[0] ?? ""), operation, quantity)),
  );
  const first =
    furthest(names.map((name) => cost(data.summary, name, at(ends[0]?.[0] ?? ""), operation, quantity))) ??
    furthestAtEnds;
  const last = first && cost(data.summary, first.variant, at(ends[1]?.[0] ?? ""), operation, quantity);
  const named = (text: string | undefined) => valueWords(axis.key, text ?? "");
  const words = {
    title:
      first?.ratio && last?.ratio
        ? `${clean(first.variant)}: ${label(quantity)} ${effect(first)} at ${named(ends[0]?.[0])}, ${effect(last)} at ${named(ends[1]?.[0])}`
        : `${capitalize(label(quantity))} against ${what}`,
    subtitle: [
      `${capitalize(label(quantity))} against ${what}`,
      ...Object.entries(rest).map(([key, value]) => `${clean(key.split(".").at(-1) ?? key)} ${clean(value)}`),
      operation === "all" ? "" : clean(operation),
    ]
      .filter(Boolean)
      .join(" · "),
    note: all.length > 0 && hasBands(rows) ? "Bands are 95 % intervals." : "",
    legend: names.map((name) => ({ name, look: lookOf(name) })),
  };
  const { top, texts, legend } = head(on, words);
  const y = figureScale(unit, least[0], range[1], 7);
  const x = numberScale(axis, on.width);
  return described(
    on,
    words,
    {
      ...base(on, [...texts, axisName(on, `${label(quantity)}${y.log ? " (logarithmic)" : ""}`, top)]),
      legend,
      grid: { left: 76, right: 28, top: top + 22, bottom: 48 },
      xAxis: valueAxis(on, "x", { name: `${what}${x.log ? " (logarithmic)" : ""}`, ...x }),
      yAxis: valueAxis(on, "y", { name: "", ...y }),
      series: [
        ...rows.map((row) => ({
          type: "line",
          name: row.name,
          z: 3,
          symbol: lookOf(row.name).symbol,
          symbolSize: 8,
          showAllSymbol: true,
          connectNulls: false,
          lineStyle: lineStyle(lookOf(row.name)),
          itemStyle: markStyle(on.theme, lookOf(row.name)),
          emphasis: { disabled: !on.interactive, scale: 1.2 },
          data: row.figures.map(({ text, x: value, estimate }) => ({
            value: [x.place(value), estimate ? y.place(estimate.point) : "-"],
            tip: estimate
              ? `${clean(row.name)}, ${named(text)}\n${label(quantity)} ${joined(absolute(unit, estimate))}`
              : "",
          })),
        })),
        ...rows.map((row) =>
          band(row.name, lookOf(row.name), on.theme, splitAtGaps(row.figures, x.place, y.place)),
        ),
      ],
    },
    on.options.height ?? top + 380,
  );
}

interface At {
  x: number;
  estimate: Estimate | null;
}

function hasBands(rows: readonly { figures: readonly At[] }[]): boolean {
  return rows.some((row) => row.figures.some((one) => one.estimate?.lower != null));
}

function splitAtGaps(figures: readonly At[], x: (value: number) => number, y: (value: number) => number) {
  const found: [number, number, number][][] = [[]];
  for (const one of figures) {
    if (one.estimate?.lower == null) found.push([]);
    else {
      const [low, high] = bounds(one.estimate);
      found.at(-1)?.push([x(one.x), y(low), y(high)]);
    }
  }
  return found.filter((stretch) => stretch.length > 1);
}

/** The factor's axis; its ticks are the factor's own values if there is room for all. */
function numberScale(axis: Axis, width: number) {
  const numbers = axis.values.map(([, number]) => number);
  const [low, high] = extent(numbers) ?? [0, 1];
  const log = low > 0 && high / low >= 8;
  const place = log ? Math.log10 : (value: number) => value;
  const room = (place(high) - place(low) || 1) * 0.03;
  const unit: Unit | null = axis.scale === "count" ? null : axis.scale;
  const text = (value: number) => (unit ? tickText(unit, value) : String(Number(value.toPrecision(6))));
  const far = (width - 110) / 64;
  const apart = numbers.every(
    (number, at) =>
      at === 0 ||
      ((place(number) - place(numbers[at - 1] ?? low)) / (place(high) - place(low) || 1)) * far >= 1,
  );
  const own = apart ? axis.values.map(([name, number]) => ({ at: place(number), text: clean(name) })) : null;
  const made = (log ? logTicks(low, high, far, unit === "bytes" ? 2 : 10) : linearTicks(low, high, far)).map(
    (tick) => ({ at: place(tick), text: text(tick) }),
  );
  return { log, place, min: place(low) - room, max: place(high) + room, ticks: own ?? made };
}
