// What limits a capacity against the offered rate, up to the highest rate that keeps the first objective. Steps that break
// it have hollow marks; the shaded range is the interval of that highest rate.
import type { Capacity, CapacityOutcome } from "../data/schema.ts";
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
import { absolute, bounds, capitalize, clean, joined, pointWords, value } from "./words.ts";

export function capacityPoints({ detail }: PageData): Point[] {
  return distinctPoints((detail.capacities ?? []).map((one) => one.found.point));
}

export function capacity(data: PageData, options: ChartOptions): Description | null {
  const point = chosenPoint(capacityPoints(data), options);
  const names = shownVariants(data, options);
  const objective = data.detail.capacities?.[0]?.found.objective ?? "";
  const all = (data.detail.capacities ?? []).filter(
    (one) =>
      point &&
      one.found.objective === objective &&
      samePoint(one.found.point, point) &&
      names.includes(one.found.variant) &&
      one.steps.some((step) => step.figure),
  );
  const first = all[0];
  if (!point || !first) return null;
  const on = sheet("capacity", options, 900);
  const lookOf = looks(data, on.theme);
  const words = {
    title: all
      .map((one) =>
        [
          clean(one.found.variant),
          one === first ? `keeps ${clean(objective)}` : "",
          one.found.highest
            ? `up to ${joined(absolute("per_second", one.found.highest))}`
            : bound(one.found.outcome),
        ]
          .filter(Boolean)
          .join(" "),
      )
      .join(", "),
    subtitle: [`${capitalize(first.measure)} against the rate`, pointWords(point)]
      .filter(Boolean)
      .join(" · "),
    note: "Hollow: the objective is not kept, or not for certain. Bands are 95 % intervals; shaded upright: that of the highest rate.",
    legend: all.map((one) => ({ name: one.found.variant, look: lookOf(one.found.variant) })),
  };
  const { top, texts, legend } = head(on, words);
  const figures = all.flatMap((one) => one.steps.flatMap((step) => (step.figure ? [step.figure] : [])));
  const [low, high] = extent([first.limit, ...figures.map((one) => one.point)]) ?? [1, 2];
  const y = figureScale(first.unit, low, high, 7);
  const [slowest, fastest] = extent(all.flatMap((one) => one.steps.map((step) => step.offered_per_s))) ?? [
    0, 1,
  ];
  // Rates near each other fill the width; where they begin far below, the axis begins at zero.
  const margin = 0.05 * (fastest - slowest);
  const [from, to] = slowest > 0.5 * fastest ? [slowest - margin, fastest + margin] : [0, fastest * 1.03];
  const ticks = linearTicks(from, to, Math.floor(on.width / 110)).map((tick) => ({
    at: tick,
    text: tickText("per_second", tick, fastest),
  }));
  return described(
    on,
    words,
    {
      ...base(on, [...texts, axisName(on, `${first.measure}${y.log ? " (logarithmic)" : ""}`, top)]),
      legend,
      grid: { left: 76, right: 28, top: top + 22, bottom: 48 },
      xAxis: valueAxis(on, "x", { name: "requests offered", min: from, max: to, ticks }),
      yAxis: valueAxis(on, "y", { name: "", ...y }),
      series: [
        ...all.map((one) => curve(one, lookOf, y.place, on)),
        ...all.flatMap((one) => stretches(one, lookOf, y.place, on)),
        ...all.flatMap((one) =>
          one.found.highest?.lower != null
            ? [shade("x", ...bounds(one.found.highest), `${lookOf(one.found.variant).color}40`)]
            : [],
        ),
        ...all.flatMap((one) =>
          one.found.highest
            ? [rule("x", one.found.highest.point, lookOf(one.found.variant).color, { dash: [4, 3] })]
            : [],
        ),
        rule("y", y.place(first.limit), on.theme.worse, { text: clean(objective), dash: [6, 4], width: 1.4 }),
      ],
    },
    on.options.height ?? top + 380,
  );
}

/// What is known of a capacity that could not be estimated.
function bound(outcome: CapacityOutcome): string {
  switch (outcome.kind) {
    case "at-ceiling":
    case "at-most":
    case "not-broken":
      return `at least up to ${value("per_second", outcome.rate_per_s)}`;
    case "below":
      return `not even at ${value("per_second", outcome.rate_per_s)}`;
    default:
      return "up to an unknown rate";
  }
}

function curve(one: Capacity, lookOf: ReturnType<typeof looks>, place: (value: number) => number, on: Sheet) {
  const look = lookOf(one.found.variant);
  return {
    type: "line",
    name: one.found.variant,
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
      tip: `${clean(one.found.variant)}: ${value("per_second", step.offered_per_s)} offered, ${value("per_second", step.answered_per_s)} answered\n${step.figure ? `${one.measure} ${joined(absolute(one.unit, step.figure))}` : "cut short"}\nobjective kept: ${step.kept}`,
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
  return points.length > 1 ? [band(one.found.variant, lookOf(one.found.variant), on.theme, [points])] : [];
}
