// Every window or request as a dot. A run may hold hundreds of thousands: dots that would fall onto the same few pixels
// are drawn once, the darker the more there are, so that the drawing stays small and quick whatever is zoomed into.
import type { Samples } from "../data/schema.ts";
import { room } from "./bars.ts";
import {
  axisName,
  base,
  described,
  extent,
  figureScale,
  ghosts,
  head,
  type Sheet,
  sheet,
  shorten,
  type TimeScale,
  valueAxis,
} from "./frame.ts";
import {
  chosenPoint,
  cost,
  distinct,
  distinctPoints,
  furthest,
  looks,
  samePoint,
  shownVariants,
} from "./select.ts";
import { FONT, type Look } from "./theme.ts";
import { timeAxis, zoom } from "./time.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import { clean, finding, grouped, pointWords, value } from "./words.ts";

/** Variants that share one drawing; more lie one above the other, since the last would hide the first. */
const SHARED = 2;
/** Height of one of those. */
const STRIP = 74;
/** Edge of the squares that dots are gathered in, in pixels. */
const CELL = 2;
/** Dots of a square from which on it is drawn darker, and how dark. */
const SHADES: readonly (readonly [from: number, opacity: number])[] = [
  [1, 0.38],
  [2, 0.6],
  [4, 0.8],
  [10, 1],
];

export function samplePoints({ detail }: PageData): Point[] {
  return distinctPoints((detail.samples ?? []).map((samples) => samples.point));
}

export function samples(data: PageData, options: ChartOptions): Description | null {
  const point = chosenPoint(samplePoints(data), options);
  const names = shownVariants(data, options);
  const here = (data.detail.samples ?? []).filter(
    (one) => point && samePoint(one.point, point) && names.includes(one.variant),
  );
  const shown = here.filter((one) => one.kind === "request" || one.kind === "window");
  const times = extent(chained(shown.map((one) => one.time_ns)));
  const moments = extent(chained(shown.map((one) => one.at_ns)));
  if (!point || !times || !moments) return null;
  const on = sheet("samples", options, 900);
  const of = looks(data, on.theme);
  const kind = shown[0]?.kind === "request" ? "request" : "window";
  const count = shown.reduce((sum, one) => sum + one.at_ns.length, 0);
  const found = furthest(
    names.map((name) => cost(data.summary, name, point, shown[0]?.operation ?? "all", "response_p50")),
  );
  const words = {
    title: found ? finding(found) : `Times from ${value("ns", times[0])} to ${value("ns", times[1])}`,
    subtitle: [
      `${grouped(count)} ${kind === "request" ? "requests" : "windows, their response p50"}, from ${value("ns", times[0])} to ${value("ns", times[1])}`,
      pointWords(point),
    ]
      .filter(Boolean)
      .join(" · "),
    note: "The darker, the more dots lie on one spot.",
    legend: distinct(shown.map((one) => one.variant)).map((name) => ({ name, look: of(name) })),
  };
  const variants = distinct(shown.map((one) => one.variant));
  const strips = variants.length > SHARED;
  const { top, texts, legend } = head(on, strips ? { ...words, legend: [] } : words);
  const y = figureScale("ns", times[0], times[1], strips ? 3 : 7, {
    tight: true,
    log: times[1] / Math.max(1, times[0]) > 3,
  });
  const x = timeAxis(moments[0], moments[1], on.width);
  const left = strips ? room(variants.map(clean), 12, 60, 220) + 64 : 76;
  const bottom = on.interactive ? 78 : 48;
  const name = `${kind === "request" ? "response time" : "response p50"}${y.log ? " (logarithmic)" : ""}`;
  const grids = strips
    ? variants.map((_, at) => ({ left, right: 24, top: top + 22 + at * (STRIP + 8), height: STRIP }))
    : [{ left, right: 24, top: top + 22, bottom }];
  const last = grids.length - 1;
  return described(
    on,
    words,
    {
      ...base(on, [
        ...texts,
        axisName(on, name, top),
        ...(strips
          ? grids.map((grid, at) => beside(on, variants[at] ?? "", grid.top + STRIP / 2, left))
          : []),
      ]),
      legend,
      grid: grids,
      ...(on.interactive ? { dataZoom: zoom(on).map((one) => ({ ...one, xAxisIndex: "all" })) } : {}),
      xAxis: grids.map((_, grid) => {
        const axis = valueAxis(on, "x", {
          name: grid === last ? "time since the first window" : "",
          grid,
          ...x,
        });
        return grid === last
          ? axis
          : { ...axis, axisLabel: { show: false }, axisTick: { ...axis.axisTick, show: false } };
      }),
      yAxis: grids.map((_, grid) => valueAxis(on, "y", { name: "", grid, ...y })),
      series: [
        ...ghosts(on, words.legend),
        ...shown.map((one) => cloud(one, of(one.variant), y, strips ? variants.indexOf(one.variant) : 0)),
      ],
    },
    on.options.height ?? (strips ? top + 22 + grids.length * (STRIP + 8) + bottom : top + 420),
  );
}

/** A variant's name beside its strip. */
function beside(on: Sheet, name: string, middle: number, left: number) {
  return {
    type: "text",
    silent: true,
    left: 16,
    top: middle - 8,
    style: { text: shorten(clean(name), left - 84, 12), fill: on.theme.ink, font: `12px ${FONT}` },
  };
}

function* chained(lists: readonly (readonly number[])[]): Iterable<number> {
  for (const list of lists) yield* list;
}

// biome-ignore lint/suspicious/noExplicitAny: the library types what it hands to a drawing function as any.
type Api = any;

function cloud(one: Samples, look: Look, y: TimeScale, grid: number) {
  return {
    type: "custom",
    name: one.variant,
    xAxisIndex: grid,
    yAxisIndex: grid,
    silent: true,
    clip: true,
    itemStyle: { color: look.color },
    symbol: look.symbol,
    data: [[0]],
    encode: { x: -1, y: -1 },
    renderItem: (params: { coordSys: { x: number; y: number; width: number; height: number } }, api: Api) => {
      const box = params.coordSys;
      // The axes are linear in what they place, so that two corners tell where every dot lies.
      const [x0, y0] = api.coord([0, 0]);
      const [x1, y1] = api.coord([1, 1]);
      const columns = Math.ceil(box.width / CELL);
      const rows = Math.ceil(box.height / CELL);
      const counts = new Uint16Array(columns * rows);
      for (let index = 0; index < one.at_ns.length; index += 1) {
        const column = Math.floor((x0 + ((one.at_ns[index] ?? 0) / 1e9) * (x1 - x0) - box.x) / CELL);
        const row = Math.floor((y0 + y.place(one.time_ns[index] ?? 0) * (y1 - y0) - box.y) / CELL);
        if (column < 0 || row < 0 || column >= columns || row >= rows) continue;
        const cell = row * columns + column;
        counts[cell] = Math.min(65_535, (counts[cell] ?? 0) + 1);
      }
      return {
        type: "group",
        silent: true,
        children: SHADES.map(([from, opacity], at) =>
          shaded(
            counts,
            columns,
            box,
            [from, SHADES[at + 1]?.[0] ?? Number.POSITIVE_INFINITY],
            look.color,
            opacity,
          ),
        ),
      };
    },
  };
}

/** One path for all squares of a shade: runs of neighbours as one rectangle each. */
function shaded(
  counts: Uint16Array,
  columns: number,
  box: { x: number; y: number },
  [from, below]: readonly [number, number],
  color: string,
  opacity: number,
) {
  let path = "";
  const [left, top] = [Math.round(box.x), Math.round(box.y)];
  const inside = (cell: number) => (counts[cell] ?? 0) >= from && (counts[cell] ?? 0) < below;
  for (let cell = 0; cell < counts.length; cell += 1) {
    if (!inside(cell)) continue;
    const start = cell;
    while ((cell + 1) % columns !== 0 && inside(cell + 1)) cell += 1;
    const width = (cell - start + 1) * CELL;
    path += `M${left + (start % columns) * CELL} ${top + Math.floor(start / columns) * CELL}h${width}v${CELL}h-${width}z`;
  }
  return { type: "path", silent: true, shape: { pathData: path || "M0 0" }, style: { fill: color, opacity } };
}
