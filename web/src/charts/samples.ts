// Every window or request as a dot. Shows stalls, steps and levels that quantiles hide.
import { labelWidth } from "./bars.ts";
import { cloud } from "./cloud.ts";
import {
  axisName,
  base,
  described,
  extent,
  figureScale,
  head,
  isNarrow,
  legendSeries,
  type Sheet,
  sheet,
  shorten,
  textWidth,
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
import { FONT } from "./theme.ts";
import { overTime, timeAxis, zoom } from "./time.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import { clean, finding, grouped, pointWords, value } from "./words.ts";

/** Up to this many variants share a drawing; more get a strip each, since the last would hide the others. */
const SHARED = 2;
const STRIP = 74;
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
  const lookOf = looks(data, on.theme);
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
    note: "The fuller its colour, the more dots lie on a spot.",
    legend: distinct(shown.map((one) => one.variant)).map((name) => ({ name, look: lookOf(name) })),
  };
  const variants = distinct(shown.map((one) => one.variant));
  const strips = variants.length > SHARED;
  const { top, texts, legend } = head(on, strips ? { ...words, legend: [] } : words);
  const y = figureScale("ns", times[0], times[1], strips ? 3 : 7, {
    tight: true,
    log: times[1] / Math.max(1, times[0]) > 3,
  });
  const x = timeAxis(moments[0], moments[1], on.width);
  const left = strips
    ? labelWidth(variants.map(clean), 12, 60, isNarrow(on) ? on.width * 0.25 : 220) + 64
    : 76;
  const bottom = on.interactive ? 78 : 48;
  const name = `${kind === "request" ? "response time" : "response p50"}${y.log ? " (logarithmic)" : ""}`;
  const whole = "time since the first window";
  const xName = textWidth(whole, 12) > on.width - left - 24 ? "time" : whole;
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
          name: grid === last ? xName : "",
          grid,
          ...x,
        });
        return grid === last
          ? axis
          : { ...axis, axisLabel: { show: false }, axisTick: { ...axis.axisTick, show: false } };
      }),
      yAxis: grids.map((_, grid) => valueAxis(on, "y", { name: "", grid, ...y })),
      series: [
        ...legendSeries(on, words.legend),
        ...shown.map((one) =>
          cloud(overTime(one, y.place), lookOf(one.variant), strips ? variants.indexOf(one.variant) : 0),
        ),
      ],
    },
    on.options.height ?? (strips ? top + 22 + grids.length * (STRIP + 8) + bottom : top + 420),
  );
}

function beside(on: Sheet, name: string, middle: number, left: number) {
  return {
    type: "text",
    silent: true,
    left: 16,
    top: middle - 8,
    style: { text: shorten(clean(name), left - 78, 12), fill: on.theme.ink, font: `12px ${FONT}` },
  };
}

function* chained(lists: readonly (readonly number[])[]): Iterable<number> {
  for (const list of lists) yield* list;
}
