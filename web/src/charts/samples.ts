// Every window or request as a dot. A run may hold hundreds of thousands: dots that would fall onto the same few pixels
// are drawn once, the darker the more there are, so that the drawing stays small and quick whatever is zoomed into.
import type { Samples } from "../data/schema.ts";
import { base, described, extent, figureScale, head, sheet, type TimeScale, valueAxis } from "./frame.ts";
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
import type { Look } from "./theme.ts";
import { timeAxis, zoom } from "./time.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import { finding, grouped, pointWords, value } from "./words.ts";

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
  const { top, texts, legend } = head(on, words);
  const y = figureScale("ns", times[0], times[1], 7, {
    tight: true,
    log: times[1] / Math.max(1, times[0]) > 3,
  });
  const x = timeAxis(moments[0], moments[1], on.width);
  return described(
    on,
    words,
    {
      ...base(on, texts),
      legend,
      grid: { left: 76, right: 24, top: top + 22, bottom: on.interactive ? 78 : 48 },
      ...(on.interactive ? { dataZoom: zoom(on) } : {}),
      xAxis: valueAxis(on, "x", { name: "time since the first window", ...x }),
      yAxis: valueAxis(on, "y", {
        name: `${kind === "request" ? "response time" : "response p50"}${y.log ? " (logarithmic)" : ""}`,
        ...y,
      }),
      series: shown.map((one) => cloud(one, of(one.variant), y)),
    },
    on.options.height ?? top + 420,
  );
}

function* chained(lists: readonly (readonly number[])[]): Iterable<number> {
  for (const list of lists) yield* list;
}

// biome-ignore lint/suspicious/noExplicitAny: the library types what it hands to a drawing function as any.
type Api = any;

function cloud(one: Samples, look: Look, y: TimeScale) {
  return {
    type: "custom",
    name: one.variant,
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
