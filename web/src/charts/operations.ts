// One figure for each operation, variants grouped, with intervals.
import { barScale, labelWidth } from "./bars.ts";
import { base, described, head, legendSeries, markStyle, sheet, shorten, valueAxis } from "./frame.ts";
import { type Api, words as textSeries, type Whisker, type Words, whiskers } from "./marks.ts";
import {
  chosenPoint,
  cost,
  figure,
  furthest,
  looks,
  operations as names_,
  points,
  shownVariants,
  unitOf,
} from "./select.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import {
  absolute,
  baseline,
  bounds,
  capitalize,
  clean,
  finding,
  joined,
  label,
  pointWords,
} from "./words.ts";

export function operationPoints({ summary }: PageData): Point[] {
  return names_(summary).length > 1 ? points(summary) : [];
}

export function operations(data: PageData, options: ChartOptions): Description | null {
  const point = chosenPoint(operationPoints(data), options);
  if (!point) return null;
  const quantity = options.quantity ?? data.summary.headline;
  const unit = unitOf(quantity);
  const wanted = options.operations ?? names_(data.summary);
  const variants = shownVariants(data, options);
  const groups = names_(data.summary)
    .filter((name) => wanted.includes(name))
    .map((operation) => ({
      operation,
      bars: variants.map((name) => ({
        name,
        estimate: figure(data.summary, name, point, operation, quantity),
      })),
    }))
    .filter((group) => group.bars.some((bar) => bar.estimate));
  if (groups.length === 0) return null;
  const on = sheet("operations", options, 900);
  const lookOf = looks(data, on.theme);
  const found = furthest(
    groups.flatMap((group) =>
      group.operation === "all"
        ? []
        : variants.map((name) => cost(data.summary, name, point, group.operation, quantity)),
    ),
  );
  const words = {
    title: found
      ? `${clean(found.operation)} of ${finding(found)} against ${clean(baseline(data.summary))}`
      : capitalize(label(quantity)),
    subtitle: [`${capitalize(label(quantity))} of each operation`, pointWords(point)]
      .filter(Boolean)
      .join(" · "),
    note: "Whiskers are 95 % intervals.",
    legend: variants.map((name) => ({ name, look: lookOf(name) })),
  };
  const { top, texts, legend } = head(on, words);
  const thick = variants.length > 6 ? 10 : 15;
  const rowOf = (group: number, bar: number) => group * (variants.length + 0.9) + bar + 0.95;
  const rows = rowOf(groups.length - 1, variants.length) + 0.2;
  const left =
    labelWidth(
      groups.map((group) => (group.operation === "all" ? "all operations" : clean(group.operation))),
      12,
      60,
      220,
      true,
    ) + 12;
  const all = groups.flatMap((group) => group.bars.map((bar) => bar.estimate));
  const numbers =
    thick > 12 ? all.map((estimate) => (estimate ? joined(absolute(unit, estimate)) : "withheld")) : [];
  const right = labelWidth(numbers, 11, 20, 220) + 8;
  const scale = barScale(unit, all, on.width - left - right);
  const drawn = groups.flatMap((group, at) =>
    group.bars.map((bar, place) => ({ ...bar, operation: group.operation, row: rowOf(at, place) })),
  );
  const intervals = drawn.flatMap((bar): Whisker[] =>
    bar.estimate?.lower != null
      ? [{ across: bar.row, low: bounds(bar.estimate)[0], high: bounds(bar.estimate)[1] }]
      : [],
  );
  const labels: Words[] = [
    ...groups.map(
      (group, at): Words => ({
        x: "left",
        dx: -10,
        y: (rowOf(at, 0) + rowOf(at, variants.length - 1)) / 2,
        align: "right",
        text: shorten(
          group.operation === "all" ? "all operations" : clean(group.operation),
          left - 28,
          12,
          true,
        ),
        fill: on.theme.ink,
        size: 12,
        bold: true,
      }),
    ),
    ...(thick > 12
      ? drawn.map(
          (bar): Words => ({
            x: bar.estimate ? bounds(bar.estimate)[1] : 0,
            dx: 9,
            y: bar.row,
            text: bar.estimate ? joined(absolute(unit, bar.estimate)) : "withheld",
            fill: bar.estimate ? on.theme.ink : on.theme.quiet,
            size: 11,
          }),
        )
      : []),
  ];
  return described(
    on,
    words,
    {
      ...base(on, texts),
      legend,
      grid: { left, right, top: top + 4, bottom: 48 },
      xAxis: valueAxis(on, "x", { name: label(quantity), ...scale }),
      yAxis: { type: "value", min: 0.2, max: rows, inverse: true, show: false },
      series: [
        ...legendSeries(on, words.legend),
        ...variants.map((name) => {
          const own = drawn.filter((bar) => bar.name === name && bar.estimate);
          return {
            type: "scatter",
            name,
            z: 5,
            symbol: lookOf(name).symbol,
            symbolSize: thick * 0.62,
            itemStyle: markStyle(on.theme, lookOf(name)),
            data: own.map((bar) => ({
              value: [bar.estimate?.point ?? 0, bar.row],
              tip: `${clean(name)}: ${clean(bar.operation)}\n${label(quantity)} ${bar.estimate ? joined(absolute(unit, bar.estimate)) : ""}`,
            })),
          };
        }),
        ...variants.map((name) => {
          const own = drawn.filter((bar) => bar.name === name && bar.estimate);
          return {
            type: "custom",
            name,
            silent: true,
            z: 2,
            itemStyle: { color: lookOf(name).color },
            data: own.map((_, at) => [at]),
            encode: { x: -1, y: -1 },
            renderItem: (params: { dataIndex: number }, api: Api) => {
              const bar = own[params.dataIndex];
              if (!bar?.estimate) return null;
              const [x0, y] = api.coord([0, bar.row]);
              const [x1] = api.coord([bar.estimate.point, bar.row]);
              return {
                type: "rect",
                silent: true,
                shape: { x: x0, y: y - thick * 0.36, width: x1 - x0, height: thick * 0.72 },
                style: { fill: lookOf(name).color, opacity: on.theme.name === "dark" ? 0.55 : 0.45 },
              };
            },
          };
        }),
        whiskers("", on.theme.ink, "x", intervals, { width: 1.1, cap: thick * 0.22 }),
        textSeries(labels),
      ],
    },
    on.options.height ?? top + Math.round(rows * (thick + 3)) + 56,
  );
}
