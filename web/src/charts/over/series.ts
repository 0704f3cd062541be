// The series of one panel over size, bottom to top: guide lines, dots, bands, intervals, medians, cliffs.
import type { SizeCliff } from "../../data/schema.ts";
import { BEHIND, cloud } from "../cloud.ts";
import { lineStyle, markStyle, type Sheet } from "../frame.ts";
import { band, rule, shade } from "../marks.ts";
import { distinct } from "../select.ts";
import type { Look } from "../theme.ts";
import type { Curve } from "./curves.ts";
import type { Axes, Drawing } from "./drawing.ts";
import { type CliffMark, cliffMarks, guideMarks, type Lettered, type Numbered, placeDiscs } from "./foot.ts";
import type { Panel } from "./layout.ts";
import { quantile } from "./pick.ts";

/** Marks per line; marks tell lines apart without colour. */
const MARKS = 7;
/** Opacities: of the bands, widest first; of their edges; of intervals. */
const FILLS = [0.1, 0.14];
const EDGE = 0.55;
const INTERVAL = 0.3;

export interface Marks {
  cliffs: readonly Numbered[];
  letters: readonly Lettered[];
}

/** A panel with its axes; `grid` is its index in the chart option. */
export interface Place {
  axes: Axes;
  grid: number;
  panel: Panel;
  look: (name: string) => Look;
}

export function panelSeries(
  drawing: Drawing,
  curves: readonly Curve[],
  place: Place,
  marks: Marks,
): unknown[] {
  const { on, shown } = drawing;
  const { grid } = place;
  return [
    ...(marks.letters.length > 0 ? [guideMarks(marks.letters, on.theme, grid, shown.apart)] : []),
    ...(drawing.relative ? ratioReference(drawing, place) : []),
    ...(shown.points ? curves.flatMap((curve) => dots(drawing, curve, place)) : []),
    ...(shown.apart && !drawing.relative ? referenceLine(drawing, place) : []),
    ...curves.flatMap((curve, at) => lines(drawing, curve, place, { turn: at, count: curves.length })),
    ...cliffs(drawing, curves, place, marks.cliffs),
  ];
}

/** Cliffs of all curves, and of the reference of ratios on its straight line; discs never overlap. */
function cliffs(
  drawing: Drawing,
  curves: readonly Curve[],
  { axes, grid, panel, look }: Place,
  all: readonly Numbered[],
): unknown[] {
  const { on, picked } = drawing;
  const ofReference = drawing.relative && !drawing.shown.apart;
  const straight = ofReference ? all.filter(({ cliff }) => cliff.variant === picked.reference) : [];
  const named = [
    ...straight.map(({ number, cliff }) => ({
      name: picked.reference,
      mark: cliffMark(number, cliff, axes, axes.y.place(1), on.theme.quiet),
    })),
    ...curves.flatMap((curve) =>
      cliffsOf(curve, all, axes, look(curve.name)).map((mark) => ({ name: curve.name, mark })),
    ),
  ];
  const { x, y } = axes;
  const pixel = ({ at, y: up }: CliffMark) =>
    [
      ((at - x.min) / (x.max - x.min || 1)) * panel.width,
      ((y.max - up) / (y.max - y.min || 1)) * panel.height,
    ] as const;
  const marks = placeDiscs(
    named.map(({ mark }) => mark),
    pixel,
    [panel.width, panel.height],
  );
  return distinct(named.map(({ name }) => name)).map((name) =>
    cliffMarks(
      name,
      marks.filter((_, at) => named[at]?.name === name),
      on.theme,
      grid,
    ),
  );
}

function ratioReference({ data, on }: Drawing, { axes, grid }: Place): unknown[] {
  const { margin } = data.summary;
  const [low, high] = [axes.y.place(1 - margin), axes.y.place(1 + margin)];
  return [
    shade("y", low, high, on.theme.margin, grid),
    rule("y", axes.y.place(1), on.theme.quiet, { axes: grid, width: 1.4 }),
  ];
}

function dots({ measure, shown }: Drawing, { name, one }: Curve, { axes, grid, look }: Place): unknown[] {
  const samples = one.samples;
  if (!samples) return [];
  const { size_bytes: sizes, time_ns: times } = samples;
  const all = {
    name,
    count: sizes.length,
    x: (at: number) => axes.x.place(sizes[at] ?? 0),
    y: (at: number) => axes.y.place(measure.of(sizes[at] ?? 0, times[at] ?? 0)),
  };
  return [{ ...cloud(all, look(name), grid, shown.medians ? BEHIND : 1), z: 1 }];
}

function referenceLine({ on, picked, measure }: Drawing, { axes, grid }: Place): unknown[] {
  const sizes = picked.base?.size_bytes ?? [];
  const medians = picked.base ? quantile(picked.base, 0.5) : [];
  const data = medians.map((ns, at) => {
    const size = sizes[at] ?? 0;
    return [axes.x.place(size), ns == null ? "-" : axes.y.place(measure.of(size, ns))];
  });
  return data.length > 0 ? [thinLine(data, on.theme.quiet, grid)] : [];
}

/** Bands, interval and median; the curve is number `turn` of `of` curves in the panel. */
function lines(
  { on, shown }: Drawing,
  curve: Curve,
  { axes, grid, look }: Place,
  { turn, count }: { turn: number; count: number },
): unknown[] {
  const own = look(curve.name);
  const area = (ends: Curve["interval"], opacity: number, z: number, edge = 0) => ({
    ...band(curve.name, own, on.theme, splitAtGaps(curve.sizes, ends, axes), { opacity, axes: grid, edge }),
    z,
  });
  // On top of dots and bands, a line is visible only with an outline.
  const isCrowded = shown.points || shown.bands.length > 0;
  return [
    ...curve.bands.map((ends, which) => area(ends, FILLS[which] ?? 0.1, 2, count > 1 ? EDGE : 0)),
    ...(shown.intervals ? [area(curve.interval, count > 2 ? on.theme.fill : INTERVAL, 3)] : []),
    ...(shown.medians && isCrowded ? [outline(on, curve, axes, grid)] : []),
    ...(shown.medians ? [line(on, curve, own, axes, grid, turn)] : []),
  ];
}

function thinLine(data: unknown[], color: string, grid: number) {
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

function outline(on: Sheet, curve: Curve, { x, y }: Axes, grid: number) {
  const data = curve.sizes.map((size, at) => {
    const middle = curve.middle[at];
    return [x.place(size), middle == null ? "-" : y.place(middle)];
  });
  return {
    ...thinLine(data, on.theme.ground, grid),
    name: curve.name,
    z: 4,
    lineStyle: { color: on.theme.ground, width: 5, opacity: 0.85 },
    itemStyle: { color: on.theme.ground },
  };
}

function line(on: Sheet, curve: Curve, look: Look, { x, y }: Axes, grid: number, turn: number) {
  const every = Math.max(1, Math.floor(curve.sizes.length / MARKS));
  // Each line has its marks at other sizes, so that marks do not cover each other.
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
        // For tooltips every size has a symbol; those between marks are transparent.
        ...(marked ? {} : on.interactive ? { itemStyle: { opacity: 0 } } : { symbol: "none" }),
        ...(on.interactive ? { tip: curve.words(at) } : {}),
      };
    }),
  };
}

function splitAtGaps(
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
