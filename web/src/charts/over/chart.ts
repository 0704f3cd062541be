// Times over message size: latency, transfer and requests, as they are or relative to a reference. Medians with their
// intervals, bands in which requests lie, single requests as dots, cliffs, and sizes at which something of the host changes.

import type { SizeCliff } from "../../data/schema.ts";
import { cloud } from "../cloud.ts";
import {
  axisName,
  base,
  described,
  extent,
  ghosts,
  head,
  lineStyle,
  markStyle,
  type Sheet,
  sheet,
  textWidth,
  valueAxis,
} from "../frame.ts";
import { band, rule, shade } from "../marks.ts";
import { looks } from "../select.ts";
import type { Look } from "../theme.ts";
import type { ChartKind, ChartOptions, Description, OverOptions, PageData } from "../types.ts";
import { capital, change, clean, grouped, joined, pointWords, value } from "../words.ts";
import { type Axis, factorText, figureAxis, isFactor, ratioAxis, sizeAxis } from "./axes.ts";
import {
  type CliffMark,
  cliffMarks,
  cliffWords,
  guideMarks,
  guideWords,
  lettered,
  type Numbered,
  numbered,
} from "./foot.ts";
import { apart, footLines, footTexts, type Panel, panelName, roomFor, together } from "./layout.ts";
import { type Measure, type MeasureName, measures } from "./measure.ts";
import { inverse, type One, type Picked, pick, quantile, ratios } from "./pick.ts";

/** Up to so many variants share a panel with their dots and bands, and up to so many with their intervals. */
const WITH_BANDS = 2;
const WITH_DOTS = 4;
const WITH_INTERVALS = 6;
/** Marks along a line, so that lines are told apart without colour. */
const MARKS = 7;
/** Opacities of bands, of the widest first, and of intervals. */
const FILLS = [0.1, 0.14];
const INTERVAL = 0.3;

/** A line with an interval around it, one entry for each size; `null` is a gap. */
interface Curve {
  name: string;
  sizes: readonly number[];
  middle: readonly (number | null)[];
  interval: readonly (readonly [number, number] | null)[];
  /** Widest first: the bounds of each band. */
  bands: readonly (readonly (readonly [number, number] | null)[])[];
  words(at: number): string;
  one: One;
}

/** What is drawn of what a run has. */
interface Shown {
  points: boolean;
  bands: readonly number[];
  medians: boolean;
  intervals: boolean;
  guides: boolean;
  cliffs: boolean;
  apart: boolean;
}

function shownOf(count: number, want: OverOptions, relative: boolean): Shown {
  const asked = (want.points ?? false) || (want.bands?.length ?? 0) > 0;
  const isApart = count > 1 && (want.apart ?? (!relative && asked && count > WITH_DOTS));
  const each = isApart ? 1 : count;
  return {
    points: !relative && (want.points ?? (each <= WITH_DOTS && !want.bands?.length)),
    bands: relative ? [] : [...(want.bands ?? (each <= WITH_BANDS ? [90, 50] : []))].sort((a, b) => b - a),
    medians: want.medians ?? true,
    intervals: want.intervals ?? each <= WITH_INTERVALS,
    guides: want.guides ?? !isApart,
    cliffs: want.cliffs ?? true,
    apart: isApart,
  };
}

/** The chart of a measure; `relative` to a reference. */
export function over(name: MeasureName, relative: boolean) {
  const kind: ChartKind = relative ? `${name}-relative` : name;
  const measure = measures[name];
  return (data: PageData, options: ChartOptions): Description | null => {
    const picked = pick(data, options);
    if (!picked) return null;
    const want = options.over ?? {};
    const shown = shownOf(picked.all.length - (relative ? 1 : 0), want, relative);
    const curves = relative
      ? picked.all.flatMap((one) => relativeCurve(data, picked, one, measure))
      : picked.all.map((one) => absoluteCurve(one, measure, shown, picked.time));
    const known = curves.filter((curve) => curve.middle.filter((at) => at !== null).length > 1);
    if (known.length === 0) return null;
    const on = sheet(kind, options, 900);
    return drawn({ data, on, picked, measure, relative, shown, curves: known, want });
  };
}

function absoluteCurve(one: One, measure: Measure, shown: Shown, time: string): Curve {
  const { curve } = one;
  const sizes = curve.size_bytes;
  const of = (at: number, ns: number) => measure.of(sizes[at] ?? 0, ns);
  const pair = (at: number, low: number | null | undefined, high: number | null | undefined) => {
    if (low == null || high == null) return null;
    const ends = [of(at, low), of(at, high)] as const;
    return measure.inverse ? ([ends[1], ends[0]] as const) : ends;
  };
  const median = quantile(curve, 0.5);
  const intervals = curve.median_interval_ns ?? [];
  const middle = median.map((ns, at) => (ns == null ? null : of(at, ns)));
  const interval = sizes.map((_, at) => pair(at, intervals[at]?.[0], intervals[at]?.[1]));
  return {
    name: one.name,
    one,
    sizes,
    middle,
    interval,
    bands: shown.bands.map((percent) => {
      const [low, high] = [quantile(curve, 0.5 - percent / 200), quantile(curve, 0.5 + percent / 200)];
      return sizes.map((_, at) => pair(at, low[at], high[at]));
    }),
    words: (at) => {
      const ends = interval[at];
      const around = ends ? ` [${measure.words(ends[0])}, ${measure.words(ends[1])}]` : "";
      return `${clean(one.name)}, ${value("bytes", sizes[at] ?? 0)}\nmedian ${time}: ${measure.words(middle[at] ?? 0)}${around}`;
    },
  };
}

function relativeCurve(data: PageData, picked: Picked, one: One, measure: Measure): Curve[] {
  const found = ratios(data, picked, one);
  if (!found) return [];
  const all = measure.inverse ? found.map(inverse) : found;
  const sizes = one.curve.size_bytes;
  return [
    {
      name: one.name,
      one,
      sizes,
      middle: all.map((ratio) => ratio?.point ?? null),
      interval: all.map((ratio) => ratio?.interval ?? null),
      bands: [],
      words: (at) => `${clean(one.name)}, ${value("bytes", sizes[at] ?? 0)}\n${ratioWords(all[at])}`,
    },
  ];
}

function ratioWords(
  ratio: { point: number; interval?: readonly number[] | null } | null | undefined,
): string {
  if (!ratio) return "";
  const [lower, upper] = ratio.interval ?? [];
  if (isFactor(ratio.point)) {
    const bound = (of: number) => factorText(of).slice(1);
    const around = lower == null || upper == null ? "" : ` [${bound(lower)}, ${bound(upper)}]`;
    return `${factorText(ratio.point)}${around}`;
  }
  return joined(
    change({ point: ratio.point, lower: lower ?? null, upper: upper ?? null, level: 0.95, blocks: 0 }),
  );
}

const NO_CLIFFS = { shown: [], left: 0 };

/** All that a drawing is made of. */
interface Drawing {
  data: PageData;
  on: Sheet;
  picked: Picked;
  measure: Measure;
  relative: boolean;
  shown: Shown;
  curves: readonly Curve[];
  want: OverOptions;
}

interface Axes {
  x: Axis;
  y: Axis;
}

function drawn(of: Drawing): Description {
  const { data, on, picked, shown, curves, want } = of;
  const look = looks(data, on.theme);
  const x = sizeAxis(
    curves.flatMap((curve) => [...curve.sizes]).sort((a, b) => a - b),
    want.x ?? {},
    shown.apart ? on.width / 3 : on.width - 104,
  );
  const y = upright(of);
  const axes = { x, y };
  const cliffs = shown.cliffs ? numbered(picked.all.flatMap((one) => one.cliffs)) : NO_CLIFFS;
  const perPixel = (on.width - 104) / (x.max - x.min || 1);
  const letters = shown.guides ? lettered(picked.guides, x.place, [x.min, x.max], perPixel) : [];
  // In a page they are the same below each of these charts, and said once.
  const hasFirst = shown.apart || !shownOf(picked.all.length, want, false).apart;
  const isTold = on.options.titled || on.kind === "latency" || !hasFirst;
  const foot = footLines(on, isTold ? [...cliffWords(cliffs), ...guideWords(letters)] : []);
  const legend = curves.map(({ name }) => ({ name, look: look(name) }));
  const words = {
    ...said(of, axes, marksWords(cliffs.shown.length > 0, letters.length > 0, isTold)),
    legend: shown.apart ? [] : legend,
  };
  const { top, texts, legend: rows } = head(on, words);
  const left = roomFor(y.ticks);
  const { panels, height } = shown.apart
    ? apart(on, top, foot.height, curves.length, left)
    : together(on, top, foot.height, left);
  const series = panels.flatMap((_, at) => {
    const own = shown.apart ? [curves[at] as Curve] : curves;
    return panelSeries(of, own, axes, at, { cliffs: cliffs.shown, letters }, look);
  });
  const names = panels.flatMap((panel, at) =>
    shown.apart ? [panelName(panel, curves[at]?.name ?? "", look(curves[at]?.name ?? "").color)] : [],
  );
  const option = {
    ...base(on, [
      ...texts,
      axisName(on, uprightName(of, y), top + (letters.length > 0 || shown.apart ? -2 : 6)),
      ...names,
      ...footTexts(on, foot.lines, height),
    ]),
    legend: rows,
    grid: panels.map(({ left, top, width, height }) => ({ left, top, width, height })),
    xAxis: panels.map((panel, grid) => xAxisOf(on, panel, grid, x, want)),
    yAxis: panels.map((panel, grid) => yAxisOf(on, panel, grid, y)),
    series: [...(shown.apart ? [] : ghosts(on, legend)), ...series],
  };
  return described(on, words, option, height);
}

function xAxisOf(on: Sheet, panel: Panel, grid: number, x: Axis, want: OverOptions) {
  const name = want.x?.title ?? `message size${x.log ? " (logarithmic)" : ""}`;
  const axis = valueAxis(on, "x", { name: panel.hasX ? name : "", grid, ...x });
  return panel.hasX ? axis : bare(axis);
}

function yAxisOf(on: Sheet, panel: Panel, grid: number, y: Axis) {
  const axis = valueAxis(on, "y", { name: "", grid, ...y });
  return panel.hasY ? axis : bare(axis);
}

function bare(axis: ReturnType<typeof valueAxis>) {
  return { ...axis, axisLabel: { show: false }, axisTick: { ...axis.axisTick, show: false } };
}

/** As much of the upright axis' name as there is room for. */
function uprightName({ measure, relative, picked, want, on }: Drawing, y: Axis): string {
  if (want.y?.title !== undefined) return want.y.title;
  const time = `${picked.time} time`;
  const against = relative ? `, against ${clean(picked.reference)}` : "";
  const scale = y.log ? " (logarithmic)" : "";
  const names = [measure.label(time) + against + scale, measure.label(time) + against, measure.brief(time)];
  return names.find((name) => textWidth(name, 11.5) <= on.width - 32) ?? measure.brief(time);
}

/** The upright axis: it holds every median, bands whole, intervals and dots as far as they do not flatten these. */
function upright({ curves, measure, relative, shown, want }: Drawing): Axis {
  const count = shown.apart ? 4 : 7;
  const middles = extent(curves.flatMap((curve) => curve.middle.map((at) => at ?? Number.NaN))) ?? [1, 2];
  const bands = extent(
    curves.flatMap((curve) => curve.bands.flatMap((one) => one.flatMap((ends) => ends ?? []))),
  );
  const [low, high] = [Math.min(middles[0], bands?.[0] ?? middles[0]), Math.max(middles[1], bands?.[1] ?? 0)];
  // An interval may be endless: it is drawn as far as half the range beyond the medians.
  const beyond = Math.sqrt(Math.max(high / low, 1.3));
  const ends = shown.intervals
    ? extent(curves.flatMap((curve) => curve.interval.flatMap((one) => one ?? [])))
    : null;
  const range = [
    Math.min(low, Math.max(ends?.[0] ?? low, low / beyond)),
    Math.max(high, Math.min(ends?.[1] ?? high, high * beyond)),
  ] as const;
  if (relative) return ratioAxis([Math.min(range[0], 0.98), Math.max(range[1], 1.02)], want.y ?? {}, count);
  const dotted = shown.points ? ([range[0] / 1.25, range[1] * 1.6] as const) : range;
  return figureAxis(measure, dotted, want.y ?? {}, count);
}

function panelSeries(
  { data, on, picked, measure, relative, shown }: Drawing,
  curves: readonly Curve[],
  axes: Axes,
  grid: number,
  marks: { cliffs: readonly Numbered[]; letters: ReturnType<typeof lettered> },
  look: (name: string) => Look,
): unknown[] {
  const all: unknown[] = [];
  if (marks.letters.length > 0) all.push(guideMarks(marks.letters, on.theme, grid, true));
  if (relative) {
    const { margin } = data.summary;
    const [low, high] = [axes.y.place(1 - margin), axes.y.place(1 + margin)];
    all.push(shade("y", low, high, on.theme.margin, grid));
    all.push(rule("y", axes.y.place(1), on.theme.quiet, { axes: grid, width: 1.4 }));
  }
  if (shown.points) {
    for (const { name, one } of curves) {
      const dots = one.samples;
      if (dots) {
        all.push({
          ...cloud(
            {
              name,
              count: dots.size_bytes.length,
              x: (at) => axes.x.place(dots.size_bytes[at] ?? 0),
              y: (at) => axes.y.place(measure.of(dots.size_bytes[at] ?? 0, dots.time_ns[at] ?? 0)),
            },
            look(name),
            grid,
          ),
          z: 1,
        });
      }
    }
  }
  if (shown.apart && !relative && picked.base) {
    const sizes = picked.base.size_bytes;
    all.push(
      plain(
        quantile(picked.base, 0.5).map((ns, at) => [
          axes.x.place(sizes[at] ?? 0),
          ns == null ? "-" : axes.y.place(measure.of(sizes[at] ?? 0, ns)),
        ]),
        on.theme.quiet,
        grid,
      ),
    );
  }
  curves.forEach((curve, at) => {
    const own = look(curve.name);
    curve.bands.forEach((ends, which) => {
      const opacity = FILLS[which] ?? FILLS[0];
      all.push({
        ...band(curve.name, own, on.theme, stretches(curve.sizes, ends, axes), { opacity, axes: grid }),
        z: 2,
      });
    });
    if (shown.intervals) {
      const opacity = curves.length > 2 ? on.theme.fill : INTERVAL;
      all.push({
        ...band(curve.name, own, on.theme, stretches(curve.sizes, curve.interval, axes), {
          opacity,
          axes: grid,
        }),
        z: 3,
      });
    }
    // Over dots and bands a line needs an edge to be seen.
    if (shown.medians && (shown.points || shown.bands.length > 0)) all.push(halo(on, curve, axes, grid));
    if (shown.medians) all.push(line(on, curve, own, axes, grid, at));
    const cliffs = cliffsOf(curve, marks.cliffs, axes, own);
    if (cliffs.length > 0) all.push(cliffMarks(curve.name, cliffs, on.theme, grid));
  });
  if (relative && !shown.apart) {
    // The reference is the straight line, and its cliffs are in every other curve.
    const own = marks.cliffs.filter(({ cliff }) => cliff.variant === picked.reference);
    const straight = own.map(({ number, cliff }) =>
      cliffMark(number, cliff, axes, axes.y.place(1), on.theme.quiet),
    );
    if (straight.length > 0) all.push(cliffMarks(picked.reference, straight, on.theme, grid));
  }
  return all;
}

/** The reference's median where each variant has its own panel. */
function plain(data: unknown[], color: string, grid: number) {
  return {
    type: "line",
    silent: true,
    z: 3,
    xAxisIndex: grid,
    yAxisIndex: grid,
    symbol: "none",
    lineStyle: { color, width: 1.2, type: [3, 3] },
    data,
  };
}

function halo(on: Sheet, curve: Curve, { x, y }: Axes, grid: number) {
  const data = curve.sizes.map((size, at) => {
    const middle = curve.middle[at];
    return [x.place(size), middle == null ? "-" : y.place(middle)];
  });
  return {
    ...plain(data, on.theme.ground, grid),
    name: curve.name,
    z: 4,
    lineStyle: { color: on.theme.ground, width: 5, opacity: 0.85 },
    itemStyle: { color: on.theme.ground },
  };
}

function line(on: Sheet, curve: Curve, look: Look, { x, y }: Axes, grid: number, turn: number) {
  const every = Math.max(1, Math.floor(curve.sizes.length / MARKS));
  // Marks of different lines stand at different sizes, so that they do not hide each other.
  const isMarked = (at: number) => (at + turn * 3) % every === 0;
  return {
    type: "line",
    name: curve.name,
    xAxisIndex: grid,
    yAxisIndex: grid,
    z: 5,
    clip: true,
    symbol: look.symbol,
    symbolSize: 7,
    showAllSymbol: true,
    connectNulls: false,
    lineStyle: lineStyle(look, 1.8),
    itemStyle: markStyle(on.theme, look),
    emphasis: { disabled: !on.interactive, scale: 1.2 },
    data: curve.sizes.map((size, at) => {
      const middle = curve.middle[at];
      const marked = isMarked(at) || curve.sizes.length <= 12;
      return {
        value: [x.place(size), middle == null ? "-" : y.place(middle)],
        // What can be pointed at is there everywhere, though it is seen in some places only.
        ...(marked ? {} : on.interactive ? { itemStyle: { opacity: 0 } } : { symbol: "none" }),
        ...(on.interactive ? { tip: curve.words(at) } : {}),
      };
    }),
  };
}

/** Stretches without a gap. */
function stretches(
  sizes: readonly number[],
  ends: readonly (readonly [number, number] | null)[],
  { x, y }: Axes,
) {
  const found: [number, number, number][][] = [[]];
  sizes.forEach((size, at) => {
    const one = ends[at];
    if (!one) found.push([]);
    else found.at(-1)?.push([x.place(size), y.place(one[0]), y.place(one[1])]);
  });
  return found.filter((stretch) => stretch.length > 1);
}

function cliffsOf(curve: Curve, cliffs: readonly Numbered[], axes: Axes, look: Look): CliffMark[] {
  return cliffs.flatMap(({ number, cliff }): CliffMark[] => {
    if (!curve.one.cliffs.includes(cliff)) return [];
    const place = cliff.place_bytes;
    const nearest = curve.sizes.reduce(
      (best, size, at) =>
        Math.abs(size - place.point) < Math.abs((curve.sizes[best] ?? 0) - place.point) ? at : best,
      0,
    );
    const middle = curve.middle[nearest];
    return middle == null ? [] : [cliffMark(number, cliff, axes, axes.y.place(middle), look.color)];
  });
}

function cliffMark(
  number: number,
  { place_bytes: place }: SizeCliff,
  { x }: Axes,
  y: number,
  color: string,
): CliffMark {
  const [at, low, high] = [place.point, place.lower, place.upper].map(x.place) as [number, number, number];
  return { number, color, at, low, high, y };
}

/** Title, subtitle and how to read it. */
function said(of: Drawing, axes: Axes, marks: string) {
  const { picked, measure, relative, curves } = of;
  const requests = curves.reduce((sum, { one }) => sum + one.curve.requests, 0);
  const what = measure.label(`${picked.time} time`);
  return {
    title: relative ? relativeTitle(of) : absoluteTitle(of),
    subtitle: [
      `Median ${what}, against message size${relative ? `, relative to ${clean(picked.reference)}` : ""}`,
      `${grouped(requests)} requests`,
      picked.operation === "all" ? "" : clean(picked.operation),
      pointWords(picked.point),
    ]
      .filter(Boolean)
      .join(" · "),
    note: [...reading(of, axes), marks].filter(Boolean).join(" "),
  };
}

/** What numbers and letters are. */
function marksWords(hasCliffs: boolean, hasGuides: boolean, isTold: boolean): string {
  const cliffs = "Numbers: cliffs, the stroke across is the interval of their place.";
  const guides = "Letters: sizes at which something of the host changes.";
  const where = isTold ? "" : "They are told below the first of these charts.";
  return [hasCliffs ? cliffs : "", hasGuides ? guides : "", hasCliffs || hasGuides ? where : ""]
    .filter(Boolean)
    .join(" ");
}

function reading({ curves, shown, relative, picked, measure, data }: Drawing, axes: Axes): string[] {
  const words: string[] = [];
  const hasIntervals = shown.intervals && curves.some((curve) => curve.interval.some((one) => one));
  if (relative) {
    const better = measure.inverse ? "Above" : "Below";
    words.push(
      `Straight line: ${clean(picked.reference)}. ${better} it a variant is ${measure.inverse ? "better" : "faster"} at that size; shaded: the margin of ±${Number((data.summary.margin * 100).toPrecision(3))} %.`,
    );
  }
  if (shown.medians) words.push("Lines: medians of the requests of about that size.");
  if (hasIntervals)
    words.push(`${shown.bands.length > 0 ? "Dark bands" : "Bands"}: their 95 % intervals over blocks.`);
  if (!hasIntervals && !shown.intervals && curves.some((curve) => curve.interval.some((one) => one)))
    words.push("Intervals are not drawn for so many at once.");
  if (shown.bands.length > 0) words.push(`Light bands: ${shown.bands.map(bandWords).join(", ")}.`);
  if (shown.points) words.push(dotWords(curves, axes, measure));
  if (shown.apart && !relative) words.push(`Grey: the median of ${clean(picked.reference)}.`);
  return words;
}

function bandWords(percent: number): string {
  const [low, high] = [50 - percent / 2, 50 + percent / 2];
  return `${percent === 50 ? "the middle half of the requests" : `${percent} % of the requests`} (p${low} to p${high})`;
}

/** What dots are, how many are not drawn, and how many lie outside. */
function dotWords(curves: readonly Curve[], { x, y }: Axes, measure: Measure): string {
  let [there, all, outside] = [0, 0, 0];
  for (const { one } of curves) {
    const dots = one.samples;
    all += one.curve.requests;
    if (!dots) continue;
    there += dots.size_bytes.length;
    for (let at = 0; at < dots.size_bytes.length; at += 1) {
      const size = dots.size_bytes[at] ?? 0;
      const [across, up] = [x.place(size), y.place(measure.of(size, dots.time_ns[at] ?? 0))];
      if (across < x.min || across > x.max || up < y.min || up > y.max) outside += 1;
    }
  }
  const thinned = there < all ? ` (${grouped(there)} of ${grouped(all)}, evenly taken)` : "";
  const beyond = outside > 0 ? `; ${grouped(outside)} lie beyond the axes` : "";
  return `Dots: single requests${thinned}, the darker the more lie there${beyond}.`;
}

function absoluteTitle({ curves, measure }: Drawing): string {
  const ends = [firstKnown, lastKnown].map((known) => {
    const there = curves.flatMap((curve) => {
      const at = known(curve);
      const figure = at === null ? null : curve.middle[at];
      return at === null || figure == null ? [] : [{ name: curve.name, size: curve.sizes[at] ?? 0, figure }];
    });
    return there.sort((a, b) => (measure.inverse ? b.figure - a.figure : a.figure - b.figure));
  });
  const told = ends.map((there) => {
    const [best, worst] = [there[0], there.at(-1)];
    if (!best || !worst) return "";
    const of = (one: typeof best) => `${measure.words(one.figure)} (${clean(one.name)})`;
    const at = `at ${value("bytes", best.size)}`;
    return there.length === 1
      ? `${measure.words(best.figure)} ${at}`
      : `from ${of(best)} to ${of(worst)} ${at}`;
  });
  const who = curves.length === 1 ? `${clean(curves[0]?.name ?? "")}: ` : "";
  return capital(`${who}${told.join(", ")}`);
}

function relativeTitle({ curves, picked, measure }: Drawing): string {
  const last = curves.flatMap((curve) => {
    const [from, to] = [firstKnown(curve), lastKnown(curve)];
    const figure = to === null ? null : curve.middle[to];
    return from === null || to === null || figure == null ? [] : [{ curve, from, to, figure }];
  });
  const furthest = last.sort((a, b) => Math.abs(Math.log(b.figure)) - Math.abs(Math.log(a.figure)))[0];
  if (!furthest) return `Against ${clean(picked.reference)}`;
  const { curve, from, to } = furthest;
  const words = (at: number) => {
    const [lower, upper] = curve.interval[at] ?? [];
    return `${ratioWords({ point: curve.middle[at] ?? 1, interval: lower == null || upper == null ? null : [lower, upper] })} at ${value("bytes", curve.sizes[at] ?? 0)}`;
  };
  const what =
    measure.name === "latency" ? "time" : measure.name === "transfer" ? "transfer rate" : "requests";
  return `${clean(curve.name)} against ${clean(picked.reference)}: ${what} ${words(from)}, ${words(to)}`;
}

function firstKnown(curve: Curve): number | null {
  const at = curve.middle.findIndex((one) => one !== null);
  return at < 0 ? null : at;
}

function lastKnown(curve: Curve): number | null {
  const at = curve.middle.findLastIndex((one) => one !== null);
  return at < 0 ? null : at;
}
