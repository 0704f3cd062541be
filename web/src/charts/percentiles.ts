// Quantiles of response times. The axis is log(1/(1 − p)): each step to the right leaves a tenth of the
// requests. A curve ends where its quantiles are withheld.
import type { Curve } from "../data/schema.ts";
import {
  axisName,
  base,
  described,
  extent,
  figureScale,
  head,
  lineStyle,
  markStyle,
  sheet,
  valueAxis,
} from "./frame.ts";
import { band } from "./marks.ts";
import {
  chosenOperation,
  chosenPoint,
  cost,
  distinct,
  distinctPoints,
  furthest,
  looks,
  samePoint,
  shownVariants,
} from "./select.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import { baseline, clean, finding, label, pointWords, value } from "./words.ts";

/** Up to this many variants, service times are drawn beside response times. */
const BOTH = 4;
/** An interval that reaches below this share of its time is not drawn: on a logarithmic axis it would fall to the bottom. */
const DEEPEST = 0.25;

export function percentilePoints({ detail }: PageData): Point[] {
  return distinctPoints((detail.curves ?? []).map((curve) => curve.point));
}

function depth(quantile: number): number {
  return -Math.log10(1 - quantile);
}

function ticks(deepest: number) {
  const all = [{ at: depth(0.5), text: "50 %" }];
  for (let nines = 1; nines <= deepest + 1e-9; nines += 1) {
    const text = nines < 3 ? (1 - 10 ** -nines) * 100 : `99.${"9".repeat(nines - 2)}`;
    all.push({ at: nines, text: `${typeof text === "number" ? Math.round(text) : text} %` });
  }
  return [{ at: 0, text: "min" }, ...all];
}

export function percentiles(data: PageData, options: ChartOptions): Description | null {
  const point = chosenPoint(percentilePoints(data), options);
  const operation = chosenOperation(data, options);
  const names = shownVariants(data, options);
  const here = (data.detail.curves ?? []).filter(
    (curve) =>
      point &&
      samePoint(curve.point, point) &&
      curve.operation === operation &&
      names.includes(curve.variant),
  );
  const shown = distinct(here.map((curve) => curve.variant));
  const both = shown.length <= BOTH;
  const curves = here.filter((curve) => both || curve.time === "response");
  const times = extent(curves.flatMap((curve) => curve.points.map(([, time]) => time)));
  if (!point || !times) return null;
  const bands = curves.filter((curve) => curve.time === "response").map(stretches);
  const [low, high] =
    extent([...times, ...bands.flat(2).flatMap(([, lower, upper]) => [lower, upper])]) ?? times;
  const on = sheet("percentiles", options, 900);
  const y = figureScale("ns", low, high, 7);
  const deepest = Math.max(1, ...curves.map((curve) => depth(curve.points.at(-1)?.[0] ?? 0)));
  const lookOf = looks(data, on.theme);
  const isPartial = curves.some(
    (curve) => curve.time === "response" && (curve.band ?? []).some((_, at) => !isDrawn(curve, at)),
  );
  const gaps = isPartial ? ", left out where they reach below a quarter of the time" : "";
  const interval = bands.flat().length > 0 ? ` Bands are 95 % intervals${gaps}.` : "";
  const words = {
    title: title(data, shown, point, operation),
    subtitle: [
      `Percentiles of time`,
      pointWords(point),
      operation === "all" ? "all operations" : clean(operation),
    ]
      .filter(Boolean)
      .join(" · "),
    legend: shown.map((name) => ({ name, look: lookOf(name) })),
    note: `${both ? "Thick: response time (done − due). Thin: service time (done − sent)." : "Response time (done − due)."}${interval}`,
  };
  const { top, texts, legend } = head(on, words);
  const height = on.options.height ?? top + 380;
  const line = (curve: Curve) => {
    const look = lookOf(curve.variant);
    const thick = curve.time === "response";
    return {
      type: "line",
      name: curve.variant,
      symbol: look.symbol,
      symbolSize: 8,
      showAllSymbol: true,
      z: thick ? 3 : 2,
      clip: true,
      lineStyle: { ...lineStyle(look, thick ? 2.2 : 1.1), opacity: thick ? 1 : 0.75 },
      itemStyle: markStyle(on.theme, look),
      emphasis: { disabled: !on.interactive, scale: 1.3 },
      data: curve.points.map(([quantile, time], at) => ({
        value: [depth(quantile), y.place(time)],
        symbol: thick && isMarked(quantile) ? look.symbol : "none",
        tip: tip(curve, quantile, time, curve.band?.[at]),
      })),
    };
  };
  const spread = (curve: Curve) =>
    band(
      curve.variant,
      lookOf(curve.variant),
      on.theme,
      stretches(curve).map((stretch) =>
        stretch.map(([x, lower, upper]) => [x, y.place(lower), y.place(upper)] as [number, number, number]),
      ),
    );
  const thick = curves.filter((curve) => curve.time === "response");
  return described(
    on,
    words,
    {
      ...base(on, [...texts, axisName(on, y.log ? "time (logarithmic)" : "time", top)]),
      legend,
      grid: { left: 72, right: 24, top: top + 22, bottom: 48 },
      xAxis: valueAxis(on, "x", {
        name: "share of requests answered within",
        min: 0,
        max: deepest * 1.01,
        ticks: ticks(deepest),
      }),
      yAxis: valueAxis(on, "y", { name: "", ...y }),
      series: [
        ...thick.map(line),
        ...curves.filter((curve) => !thick.includes(curve)).map(line),
        ...thick.filter((curve) => curve.band?.length).map(spread),
      ],
    },
    height,
  );
}

function isDrawn(curve: Curve, at: number): boolean {
  const lower = curve.band?.[at]?.[0];
  return lower !== undefined && lower > (curve.points[at]?.[1] ?? 0) * DEEPEST;
}

/** The drawn parts of a curve's band: depth, lower and upper bound; one of a single quantile has no area. */
function stretches(curve: Curve): [number, number, number][][] {
  const found: [number, number, number][][] = [[]];
  (curve.band ?? []).forEach(([lower, upper], at) => {
    if (isDrawn(curve, at)) found.at(-1)?.push([depth(curve.points[at]?.[0] ?? 0), lower, upper]);
    else found.push([]);
  });
  return found.filter((stretch) => stretch.length > 1);
}

function isMarked(quantile: number): boolean {
  const at = depth(quantile);
  return Math.abs(at - 0.3) < 1e-3 || (at > 0.5 && Math.abs(at - Math.round(at)) < 1e-6);
}

function tip(curve: Curve, quantile: number, time: number, interval: [number, number] | undefined): string {
  const share = `${Number((quantile * 100).toPrecision(6))} %`;
  const within = interval ? `\n95 %: ${value("ns", interval[0])} to ${value("ns", interval[1])}` : "";
  return `${clean(curve.variant)}, ${curve.time} time\n${share} within ${value("ns", time)}${within}`;
}

/** The highest quantile that has a cost, with the variant whose cost there is furthest from no change. */
function title(data: PageData, shown: readonly string[], point: Point, operation: string): string {
  for (const quantity of ["response_p99", "response_p90", "response_p50"] as const) {
    const found = furthest(shown.map((name) => cost(data.summary, name, point, operation, quantity)));
    if (found) return `${finding(found)} against ${clean(baseline(data.summary))}`;
  }
  return `${shown.map(clean).join(", ")}: ${label("response_p50")} and beyond`;
}
