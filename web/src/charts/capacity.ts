// A time against the offered rate, up to the highest rate that keeps an objective. Steps that break the
// objective have hollow marks; the shaded range is the interval of that highest rate.
import type { Capacity } from "../data/schema.ts";
import {
  axisName,
  base,
  described,
  extent,
  figureScale,
  head,
  linearTicks,
  lineStyle,
  type Sheet,
  sheet,
  tickText,
  valueAxis,
} from "./frame.ts";
import { band, rule, shade } from "./marks.ts";
import { chosenPoint, distinctPoints, looks, samePoint, shownVariants } from "./select.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import { absolute, bounds, capitalize, clean, joined, label, pointWords, value } from "./words.ts";

export function capacityPoints({ detail }: PageData): Point[] {
  return distinctPoints((detail.capacities ?? []).map((one) => one.point));
}

export function capacity(data: PageData, options: ChartOptions): Description | null {
  const point = chosenPoint(capacityPoints(data), options);
  const names = shownVariants(data, options);
  const all = (data.detail.capacities ?? []).filter(
    (one) =>
      point &&
      samePoint(one.point, point) &&
      names.includes(one.variant) &&
      one.steps.some((step) => step.figure),
  );
  const first = all[0];
  if (!point || !first) return null;
  const on = sheet("capacity", options, 900);
  const lookOf = looks(data, on.theme);
  const objective = `${label(first.quantity)} ≤ ${value("ns", first.limit)}`;
  const words = {
    title: all
      .map((one) =>
        `${clean(one.variant)} ${one.highest ? `keeps ${objective} up to ${joined(absolute("per_second", one.highest))}` : `never keeps ${objective}`}`.replace(
          one === first ? "" : `keeps ${objective} up to`,
          one === first ? "" : "up to",
        ),
      )
      .join(", "),
    subtitle: [`${capitalize(label(first.quantity))} against the rate`, pointWords(point)]
      .filter(Boolean)
      .join(" · "),
    note: "Hollow: the objective is not kept, or not for certain. Bands are 95 % intervals; shaded upright: that of the highest rate.",
    legend: all.map((one) => ({ name: one.variant, look: lookOf(one.variant) })),
  };
  const { top, texts, legend } = head(on, words);
  const figures = all.flatMap((one) => one.steps.flatMap((step) => (step.figure ? [step.figure] : [])));
  const [low, high] = extent([first.limit, ...figures.map((one) => one.point)]) ?? [1, 2];
  const y = figureScale("ns", low, high, 7);
  const [, fastest] = extent(all.flatMap((one) => one.steps.map((step) => step.offered_per_s))) ?? [0, 1];
  const ticks = linearTicks(0, fastest * 1.03, Math.floor(on.width / 110)).map((tick) => ({
    at: tick,
    text: tickText("per_second", tick, fastest),
  }));
  return described(
    on,
    words,
    {
      ...base(on, [...texts, axisName(on, `${label(first.quantity)}${y.log ? " (logarithmic)" : ""}`, top)]),
      legend,
      grid: { left: 76, right: 28, top: top + 22, bottom: 48 },
      xAxis: valueAxis(on, "x", { name: "requests offered", min: 0, max: fastest * 1.03, ticks }),
      yAxis: valueAxis(on, "y", { name: "", ...y }),
      series: [
        ...all.map((one) => curve(one, lookOf, y.place, on)),
        ...all.flatMap((one) => stretches(one, lookOf, y.place, on)),
        ...all.flatMap((one) =>
          one.highest?.lower != null
            ? [shade("x", ...bounds(one.highest), `${lookOf(one.variant).color}40`)]
            : [],
        ),
        ...all.flatMap((one) =>
          one.highest ? [rule("x", one.highest.point, lookOf(one.variant).color, { dash: [4, 3] })] : [],
        ),
        rule("y", y.place(first.limit), on.theme.worse, { text: objective, dash: [6, 4], width: 1.4 }),
      ],
    },
    on.options.height ?? top + 380,
  );
}

function curve(one: Capacity, lookOf: ReturnType<typeof looks>, place: (value: number) => number, on: Sheet) {
  const look = lookOf(one.variant);
  return {
    type: "line",
    name: one.variant,
    z: 4,
    symbol: look.symbol,
    symbolSize: 8,
    showAllSymbol: true,
    clip: true,
    lineStyle: lineStyle(look),
    itemStyle: { color: look.color },
    emphasis: { disabled: !on.interactive, scale: 1.2 },
    data: one.steps.map((step) => ({
      value: [step.offered_per_s, step.figure ? place(step.figure.point) : "-"],
      itemStyle:
        step.kept === "yes"
          ? { color: look.color }
          : { color: on.theme.ground, borderColor: look.color, borderWidth: 2 },
      tip: `${clean(one.variant)}: ${value("per_second", step.offered_per_s)} offered, ${value("per_second", step.answered_per_s)} answered\n${step.figure ? `${label(one.quantity)} ${joined(absolute("ns", step.figure))}` : "cut short"}\nobjective kept: ${step.kept}`,
    })),
  };
}

function stretches(
  one: Capacity,
  lookOf: ReturnType<typeof looks>,
  place: (value: number) => number,
  on: Sheet,
) {
  const points = one.steps.flatMap((step): [number, number, number][] => {
    if (step.figure?.lower == null) return [];
    const [low, high] = bounds(step.figure);
    return [[step.offered_per_s, place(low), place(high)]];
  });
  return points.length > 1 ? [band(one.variant, lookOf(one.variant), on.theme, [points])] : [];
}
