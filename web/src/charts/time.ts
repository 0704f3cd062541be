// Medians over the time of the run: stretches of windows with their interquartile range, block by block.
// Shows whether a variant drifts or jumps.
import type { Course, Samples, Span } from "../data/schema.ts";
import { BEHIND, cloud, type Dots } from "./cloud.ts";
import {
  axisName,
  base,
  described,
  extent,
  figureScale,
  head,
  linearTicks,
  lineStyle,
  markStyle,
  type Sheet,
  sheet,
  valueAxis,
} from "./frame.ts";
import { band, shade } from "./marks.ts";
import {
  chosenPoint,
  cost,
  distinctPoints,
  furthest,
  looks,
  samePoint,
  shownVariants,
  whole,
} from "./select.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import { baseline, clean, finding, pointWords, value } from "./words.ts";

/** Up to this many dots, each window is drawn behind the medians. */
const MOST_DOTS = 3000;

export function timePoints({ detail }: PageData): Point[] {
  return distinctPoints((detail.courses ?? []).map((course) => course.point));
}

export function time(data: PageData, options: ChartOptions): Description | null {
  const point = chosenPoint(timePoints(data), options);
  const names = shownVariants(data, options);
  const courses = (data.detail.courses ?? []).filter(
    (course) => point && samePoint(course.point, point) && names.includes(course.variant),
  );
  const spans = courses.flatMap((course) => course.spans);
  const times = extent(spans.flatMap((span) => [span.lower_ns, span.upper_ns]));
  if (!point || !times) return null;
  const on = sheet("time", options, 900);
  const lookOf = looks(data, on.theme);
  const found = furthest(
    names.map((name) => cost(data.summary, name, point, whole(data.summary), "response_p50")),
  );
  const words = {
    title: found
      ? `${finding(found)} against ${clean(baseline(data.summary))}`
      : `Response p50 over the time of the run`,
    subtitle: ["Medians of windows over the time of the run", pointWords(point)].filter(Boolean).join(" · "),
    note: "Lines: medians of stretches of windows. Bands: their middle half. Grey: every other block.",
    legend: courses.map((course) => ({ name: course.variant, look: lookOf(course.variant) })),
  };
  const { top, texts, legend } = head(on, words);
  const y = figureScale("ns", times[0], times[1], 7, { tight: true });
  const [start, end] = extent(spans.flatMap((span) => [span.from_ns, span.to_ns])) ?? [0, 1];
  const x = timeAxis(start, end, on.width);
  return described(
    on,
    words,
    {
      ...base(on, [...texts, axisName(on, y.log ? "response p50 (logarithmic)" : "response p50", top)]),
      legend,
      grid: { left: 76, right: 24, top: top + 22, bottom: on.interactive ? 78 : 48 },
      ...(on.interactive ? { dataZoom: zoom(on) } : {}),
      xAxis: valueAxis(on, "x", { name: "time since the first window", bare: true, ...x }),
      yAxis: valueAxis(on, "y", { name: "", ...y }),
      series: [
        ...courses.map((course) => ({
          type: "line",
          name: course.variant,
          z: 3,
          symbol: lookOf(course.variant).symbol,
          symbolSize: courses.length > 6 ? 4 : 5,
          showAllSymbol: true,
          lineStyle: lineStyle(lookOf(course.variant), 1.6),
          itemStyle: markStyle(on.theme, lookOf(course.variant)),
          emphasis: { disabled: true },
          data: lineWithGaps(course, y.place),
        })),
        ...everyOtherBlock(spans).map(([from, to]) => shade("x", from / 1e9, to / 1e9, `${on.theme.grid}80`)),
        ...courses.map((course) =>
          band(
            course.variant,
            lookOf(course.variant),
            on.theme,
            // Of a single stretch a band would be a box as long as the block.
            byBlock(course.spans)
              .filter((block) => block.length > 1)
              .map((block) => stretch(block, y.place)),
          ),
        ),
        ...dots(data, point, courses, y.place, lookOf),
      ],
    },
    on.options.height ?? top + 360,
  );
}

/** Seconds, minutes or hours since the run's first window. */
export function timeAxis(start: number, end: number, width: number) {
  const last = Math.max(end / 1e9, start / 1e9 + 1e-6);
  // The axis begins at the run's first window even if the first data drawn are slightly later.
  const [from, to] = [start < end * 0.05 ? 0 : start / 1e9, last];
  const room = (to - from) * 0.012;
  const [unit, divisor] = to > 7200 ? ["h", 3600] : to > 300 ? ["min", 60] : to > 1 ? ["s", 1] : ["ms", 1e-3];
  const ticks = linearTicks(from / divisor, to / divisor, Math.floor(width / 110)).map((tick) => ({
    at: tick * divisor,
    text: `${Number(tick.toPrecision(6))} ${unit}`,
  }));
  return { min: from - room, max: to + room, ticks };
}

export function zoom(on: Sheet) {
  return [
    { type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false },
    {
      type: "slider",
      filterMode: "none",
      height: 16,
      bottom: 8,
      showDataShadow: false,
      brushSelect: false,
      showDetail: false,
      borderColor: on.theme.grid,
      fillerColor: on.theme.margin,
      handleStyle: { color: on.theme.ground, borderColor: on.theme.faint },
      moveHandleSize: 0,
      textStyle: { color: on.theme.quiet },
    },
  ];
}

function byBlock(spans: readonly Span[]): Span[][] {
  const blocks = new Map<number, Span[]>();
  for (const span of spans) blocks.set(span.block, [...(blocks.get(span.block) ?? []), span]);
  return [...blocks.values()];
}

function middle(span: Span): number {
  return (span.from_ns + span.to_ns) / 2e9;
}

function stretch(block: readonly Span[], place: (value: number) => number): [number, number, number][] {
  return block.flatMap((span, at): [number, number, number][] => {
    const here = (x: number): [number, number, number] => [x, place(span.lower_ns), place(span.upper_ns)];
    const first = at === 0 ? [here(span.from_ns / 1e9)] : [];
    const last = at === block.length - 1 ? [here(span.to_ns / 1e9)] : [];
    return [...first, here(middle(span)), ...last];
  });
}

function lineWithGaps(course: Course, place: (value: number) => number) {
  return byBlock(course.spans).flatMap((block) => [
    ...block.map((span) => ({
      value: [middle(span), place(span.median_ns)],
      tip: `${clean(course.variant)}, block ${span.block}, ${span.windows} windows\nmedian ${value("ns", span.median_ns)}\nmiddle half ${value("ns", span.lower_ns)} to ${value("ns", span.upper_ns)}`,
    })),
    { value: [middle(block.at(-1) as Span), "-"], tip: "" },
  ]);
}

function everyOtherBlock(spans: readonly Span[]): [number, number][] {
  const numbers = [...new Set(spans.map((span) => span.block))].sort((a, b) => a - b);
  return numbers
    .filter((_, at) => at % 2 === 1)
    .map(
      (block) =>
        extent(
          spans.filter((span) => span.block === block).flatMap((span) => [span.from_ns, span.to_ns]),
        ) ?? [0, 0],
    );
}

/** Dots over the time of the run, in seconds. */
export function overTime(one: Samples, place: (time: number) => number): Dots {
  return {
    name: one.variant,
    count: one.at_ns.length,
    x: (index) => (one.at_ns[index] ?? 0) / 1e9,
    y: (index) => place(one.time_ns[index] ?? 0),
  };
}

function dots(
  data: PageData,
  point: Point,
  courses: readonly Course[],
  place: (value: number) => number,
  lookOf: ReturnType<typeof looks>,
) {
  const samples = (data.detail.samples ?? []).filter(
    (one) =>
      one.kind === "window" &&
      samePoint(one.point, point) &&
      courses.some((course) => course.variant === one.variant),
  );
  if (samples.reduce((sum, one) => sum + one.at_ns.length, 0) > MOST_DOTS) return [];
  return samples.map((one) => ({ ...cloud(overTime(one, place), lookOf(one.variant), 0, BEHIND), z: 1 }));
}
