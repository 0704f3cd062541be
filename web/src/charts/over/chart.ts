// Charts over message size: latency, transfer and requests, absolute or relative to a reference. They show
// medians with intervals, bands of requests, single requests as dots, cliffs, and sizes at which the host's
// behaviour changes.
import {
  axisName,
  base,
  described,
  extent,
  head,
  legendSeries,
  type Sheet,
  sheet,
  textWidth,
  valueAxis,
} from "../frame.ts";
import { looks } from "../select.ts";
import type { ChartKind, ChartOptions, Description, OverOptions, PageData } from "../types.ts";
import { clean } from "../words.ts";
import { type Axis, figureAxis, isLogFigure, ratioAxis, sizeAxis } from "./axes.ts";
import { absoluteCurve, type Curve, clipped, relativeCurve } from "./curves.ts";
import { type Axes, type Drawing, hasIntervals, shownOf } from "./drawing.ts";
import { assignLetters, cliffWords, guidesOf, guideWords, numberCliffs } from "./foot.ts";
import {
  apart,
  BELOW,
  footLines,
  footTexts,
  leastPanel,
  type Panel,
  panelName,
  roomFor,
  together,
} from "./layout.ts";
import { type MeasureName, measures } from "./measure.ts";
import { type Picked, pick } from "./pick.ts";
import { beyondFigures, beyondSizes, nothingKnown, nothingPicked } from "./refused.ts";
import { panelSeries } from "./series.ts";
import { chartWords, marksWords } from "./texts.ts";

const NO_CLIFFS = { shown: [], left: 0 };

export function over(name: MeasureName, relative: boolean) {
  return (data: PageData, options: ChartOptions): Description | null => {
    const made = chartOrReason(name, relative, data, options);
    return typeof made === "string" ? null : made;
  };
}

export function isOver(kind: ChartKind): boolean {
  return Object.hasOwn(measures, kind.split("-")[0] ?? "");
}

/** The reason why the chart cannot be drawn; "" if it can, and for all other kinds of chart. */
export function refusalReason(kind: ChartKind, data: PageData, options: ChartOptions): string {
  const [name, relative] = kind.split("-");
  if (!isOver(kind)) return "";
  const made = chartOrReason(name as MeasureName, relative !== undefined, data, options);
  return typeof made === "string" ? made : "";
}

function chartOrReason(
  name: MeasureName,
  relative: boolean,
  data: PageData,
  options: ChartOptions,
): Description | string {
  const picked = pickWith(data, options);
  if (!picked) return nothingPicked(data, options);
  const want = options.over ?? {};
  const shown = shownOf(picked.all.length - (relative ? 1 : 0), want, relative, hasIntervals(picked.all));
  const measure = measures[name];
  const curves = relative
    ? picked.all.flatMap((one) => relativeCurve(data, picked, one, measure))
    : picked.all.map((one) => absoluteCurve(one, measure, shown, picked.time));
  const isKnown = (curve: Curve) => curve.middle.filter((at) => at !== null).length > 1;
  const known = curves.filter(isKnown);
  if (known.length === 0) return nothingKnown(data, picked, options, relative);
  const on = sheet(relative ? `${name}-relative` : name, options, 900);
  const all = known.flatMap((curve) => curve.sizes.filter((_, at) => curve.middle[at] != null));
  const x = sizeAxis(
    all.sort((a, b) => a - b),
    want.x ?? {},
    shown.apart ? on.width / 3 : on.width - 104,
  );
  const seen = known.map((curve) => clipped(curve, x));
  if (!seen.some((curve) => curve.middle.some((at) => at !== null))) return beyondSizes(all, x);
  const drawing = { data, on, picked, measure, relative, shown, curves: known, want };
  const y = makeYAxis({ ...drawing, curves: seen }, x);
  const isOutside = (at: number | null) => at === null || y.place(at) < y.min || y.place(at) > y.max;
  if (seen.every((curve) => curve.middle.every(isOutside)))
    return beyondFigures(seen, relative ? y : measure);
  return build(drawing, { x, y }, { ...drawing, curves: seen });
}

/** If no reference is requested and the baseline has no curve, the first variant with a curve is it. */
function pickWith(data: PageData, options: ChartOptions): Picked | null {
  const picked = pick(data, options);
  const first = picked?.all[0];
  if (!picked || picked.base || options.over?.reference !== undefined || !first) return picked;
  return pick(data, { ...options, over: { ...options.over, reference: first.name } });
}

/** `seen`: the same drawing, its curves clipped to the x axis. */
function build(drawing: Drawing, axes: Axes, seen: Drawing): Description {
  const { data, on, picked, shown, curves, want } = drawing;
  const { x, y } = axes;
  const look = looks(data, on.theme);
  // The reference's cliffs are on its straight line, for which the panel of another variant has no room.
  const withCliffs = drawing.relative && shown.apart ? curves.map(({ one }) => one) : picked.all;
  const cliffs = shown.cliffs ? numberCliffs(withCliffs.flatMap((one) => one.cliffs)) : NO_CLIFFS;
  const largest = Math.max(...curves.flatMap(({ sizes }) => sizes.at(-1) ?? 0), want.x?.max ?? 0);
  const { panels: sketched } = shown.apart
    ? apart(on, 0, 0, curves.length, roomFor(y.ticks))
    : together(on, 0, 0, roomFor(y.ticks));
  const perPixel = (sketched[0]?.width ?? on.width) / (x.max - x.min || 1);
  const guides = guidesOf(data, shown.guides, want, largest);
  const letters = assignLetters(guides, x.place, [x.min, x.max], perPixel);
  // On a page, these texts are the same below each chart over size: only the first chart has them.
  const hasFirst = shown.apart || !shownOf(picked.all.length, want, false, hasIntervals(picked.all)).apart;
  const isExplained = on.options.titled || on.kind === "latency" || !hasFirst;
  const foot = footLines(on, isExplained ? [...cliffWords(cliffs), ...guideWords(letters)] : []);
  const legend = curves.map(({ name }) => ({ name, look: look(name) }));
  const host = data.summary.over_size?.guides ?? [];
  const words = {
    ...chartWords(seen, axes, marksWords(cliffs.shown.length > 0, letters, host, isExplained)),
    legend: shown.apart ? [] : legend,
  };
  const { top, texts, legend: rows } = head(on, words);
  const left = roomFor(y.ticks);
  const { panels, height } = shown.apart
    ? apart(on, top, foot.height, curves.length, left)
    : together(on, top, foot.height, left);
  const series = panels.flatMap((panel, at) => {
    const own = shown.apart ? [curves[at] as Curve] : curves;
    return panelSeries(drawing, own, { axes, grid: at, panel, look }, { cliffs: cliffs.shown, letters });
  });
  const names = panels.flatMap((panel, at) =>
    shown.apart ? [panelName(panel, curves[at]?.name ?? "", look(curves[at]?.name ?? "").color)] : [],
  );
  const option = {
    ...base(on, [
      ...texts,
      axisName(on, yAxisName(drawing, y), top + (letters.length > 0 || shown.apart ? -2 : 6)),
      ...names,
      ...footTexts(on, foot.lines, height),
    ]),
    legend: rows,
    grid: panels.map(({ left, top, width, height }) => ({ left, top, width, height })),
    xAxis: panels.map((panel, grid) => xAxisOf(on, panel, grid, x, want)),
    yAxis: panels.map((panel, grid) => yAxisOf(on, panel, grid, y)),
    series: [...(shown.apart ? [] : legendSeries(on, legend)), ...series],
  };
  const last = panels.at(-1);
  const least = last ? last.top + Math.min(last.height, leastPanel(shown.apart)) : 0;
  return described(on, words, option, height, least + BELOW + foot.height);
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

/** The longest form of the y axis' name that fits. */
function yAxisName({ measure, relative, picked, want, on }: Drawing, y: Axis): string {
  if (want.y?.title !== undefined) return want.y.title;
  const time = `${picked.time} time`;
  const against = relative ? `, against ${clean(picked.reference)}` : "";
  const scale = y.log ? " (logarithmic)" : "";
  const names = [measure.label(time) + against + scale, measure.label(time) + against, measure.brief(time)];
  return names.find((name) => textWidth(name, 11.5) <= on.width - 32) ?? measure.brief(time);
}

/** The y axis contains all medians and bands; intervals and dots as far as they do not flatten the rest. */
function makeYAxis({ curves, measure, relative, shown, want }: Drawing, x: Axis): Axis {
  const count = shown.apart ? 4 : 7;
  const middles = extent(curves.flatMap((curve) => curve.middle.map((at) => at ?? Number.NaN))) ?? [1, 2];
  const bands = extent(
    curves.flatMap((curve) => curve.bands.flatMap((one) => one.flatMap((ends) => ends ?? []))),
  );
  const [low, high] = [Math.min(middles[0], bands?.[0] ?? middles[0]), Math.max(middles[1], bands?.[1] ?? 0)];
  // An interval may be infinite: it extends the axis by half the range of the medians at most.
  const beyond = Math.sqrt(Math.max(high / low, 1.3));
  const ends = shown.intervals
    ? extent(curves.flatMap((curve) => curve.interval.flatMap((one) => one ?? [])))
    : null;
  const range = [
    Math.min(low, Math.max(ends?.[0] ?? low, low / beyond)),
    Math.max(high, Math.min(ends?.[1] ?? high, high * beyond)),
  ] as const;
  if (relative) return ratioAxis([Math.min(range[0], 0.98), Math.max(range[1], 1.02)], want.y ?? {}, count);
  const log = isLogFigure(measure, range, want.y ?? {}, !x.log);
  const dotted = shown.points ? ([range[0] / 1.25, range[1] * (log ? 1.6 : 1.3)] as const) : range;
  return figureAxis(measure, dotted, want.y ?? {}, count, log);
}
