// Distribution of response times: for each variant the share of replies per bin, bins of equal width on a
// logarithmic axis, mirrored about the variant's row. Marks are the summary's quantiles, if not withheld.
import type { Density } from "../data/schema.ts";
import {
  base,
  described,
  figureScale,
  head,
  isNarrow,
  markStyle,
  sheet,
  shorten,
  textWidth,
  valueAxis,
} from "./frame.ts";
import { type Api, words as textSeries, type Words } from "./marks.ts";
import {
  chosenOperation,
  chosenPoint,
  cost,
  distinctPoints,
  figure,
  furthest,
  looks,
  samePoint,
  shownVariants,
} from "./select.ts";
import type { Look, Theme } from "./theme.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import { absolute, baseline, clean, finding, joined, pointWords } from "./words.ts";

const QUANTITIES = ["response_p50", "response_p90", "response_p99"] as const;

export function densityPoints({ detail }: PageData): Point[] {
  return distinctPoints((detail.densities ?? []).map((density) => density.point));
}

export function density(data: PageData, options: ChartOptions): Description | null {
  const point = chosenPoint(densityPoints(data), options);
  const operation = chosenOperation(data, options);
  const names = shownVariants(data, options);
  const rows = (data.detail.densities ?? []).filter(
    (one) =>
      point &&
      samePoint(one.point, point) &&
      one.operation === operation &&
      one.time === "response" &&
      names.includes(one.variant) &&
      one.shares.length > 0,
  );
  const first = rows[0];
  if (!point || !first) return null;
  const on = sheet("density", options, 900);
  const lookOf = looks(data, on.theme);
  const found = furthest(names.map((name) => cost(data.summary, name, point, operation, "response_p50")));
  const header = {
    title: found
      ? `${finding(found)} against ${clean(baseline(data.summary))}`
      : "How response times are spread",
    subtitle: [
      "Spread of response times",
      pointWords(point),
      operation === "all" ? "all operations" : clean(operation),
    ]
      .filter(Boolean)
      .join(" · "),
    note: "Height: share of replies at that time, the middle 99.8 %. Marks from left to right: p50, p90, p99.",
  };
  const { top, texts } = head(on, header);
  const above = isNarrow(on) ? 18 : 0;
  const each = (rows.length > 6 ? 36 : 56) + above;
  // Where a row's words are above it, the shape gets the rest of the row's height.
  const lane = { middle: 0.5 + above / 2 / each, share: 1 - above / each };
  const low = first.from_ns;
  const high = Math.max(...rows.map((row) => row.from_ns * row.step ** row.shares.length));
  const p99s = rows.flatMap((row) =>
    QUANTITIES.flatMap(
      (quantity) => figure(data.summary, row.variant, point, operation, quantity)?.point ?? [],
    ),
  );
  const x = figureScale("ns", Math.min(low, ...p99s), Math.max(high, ...p99s), Math.floor(on.width / 90), {
    log: true,
  });
  const beside =
    Math.min(230, Math.max(60, ...rows.map((row) => textWidth(clean(row.variant), 12) + 16))) + 12;
  const figures = rows.map((row) => figure(data.summary, row.variant, point, operation, "response_p50"));
  const numbers = figures.map((estimate) => (estimate ? `p50 ${joined(absolute("ns", estimate))}` : ""));
  const numbersRoom = Math.max(24, ...numbers.map((text) => textWidth(text, 11.5) + 24));
  const [left, right] = above > 0 ? [16, 16] : [beside, numbersRoom];
  const tallest = Math.max(...rows.flatMap((row) => row.shares.map((share) => share / Math.log(row.step))));
  const labels = rows.flatMap((row, at): Words[] => {
    const name = { x: "left" as const, fill: on.theme.ink, size: 12 };
    const number = { x: "right" as const, text: numbers[at] ?? "", fill: on.theme.ink };
    const y = at + above / 2 / each;
    return above > 0
      ? [
          { ...name, y, text: shorten(clean(row.variant), on.width - 32 - numbersRoom, 12) },
          { ...number, y, align: "right" as const },
        ]
      : [
          {
            ...name,
            dx: -10,
            y: at + 0.5,
            align: "right" as const,
            text: shorten(clean(row.variant), left - 28, 12),
          },
          { ...number, dx: 12, y: at + 0.5 },
        ];
  });
  return described(
    on,
    header,
    {
      ...base(on, texts),
      grid: { left, right, top: top + 2, bottom: 48 },
      xAxis: valueAxis(on, "x", { name: "response time (logarithmic)", ...x }),
      yAxis: { type: "value", min: 0, max: rows.length, inverse: true, show: false },
      series: [
        ...rows.map((row, at) =>
          violin(row, at, lookOf(row.variant), on.theme, tallest / lane.share, lane.middle),
        ),
        ...rows.map((row, at) => ({
          type: "scatter",
          name: row.variant,
          z: 5,
          symbol: lookOf(row.variant).symbol,
          symbolSize: 8,
          itemStyle: markStyle(on.theme, lookOf(row.variant)),
          data: QUANTITIES.flatMap((quantity) => {
            const estimate = figure(data.summary, row.variant, point, operation, quantity);
            const tip =
              estimate &&
              `${clean(row.variant)}\n${quantity.replace("_", " ")} ${joined(absolute("ns", estimate))}`;
            return estimate ? [{ value: [Math.log10(estimate.point), at + lane.middle], tip }] : [];
          }),
        })),
        textSeries(labels),
      ],
    },
    on.options.height ?? top + rows.length * each + 54,
  );
}

function violin(row: Density, place: number, look: Look, theme: Theme, tallest: number, middle: number) {
  return {
    type: "custom",
    name: row.variant,
    silent: true,
    clip: true,
    z: 2,
    itemStyle: { color: look.color },
    data: [[0]],
    encode: { x: -1, y: -1 },
    renderItem: (_: unknown, api: Api) => {
      const filled = row.shares.map((share, bin) => ({ share, bin })).filter(({ share }) => share > 0);
      const [first, last] = [filled[0]?.bin ?? 0, filled.at(-1)?.bin ?? 0];
      const at = (bin: number) => Math.log10(row.from_ns) + bin * Math.log10(row.step);
      // From the middle of each bin to the middle of the next; closed at both ends.
      const inside = row.shares
        .slice(first, last + 1)
        .map((share, bin): [number, number] => [
          at(first + bin + 0.5),
          (0.46 * share) / Math.log(row.step) / tallest,
        ]);
      const outline: [number, number][] = [[at(first), 0], ...inside, [at(last + 1), 0]];
      const side = (sign: number) =>
        outline.map(([x, half]) => api.coord([x, place + middle + sign * half]) as [number, number]);
      const points = [...side(-1), ...side(1).reverse()].map(([x, y]) => [
        Math.round(x * 10) / 10,
        Math.round(y * 10) / 10,
      ]);
      return {
        type: "polygon",
        silent: true,
        shape: { points },
        style: {
          fill: look.color,
          fillOpacity: theme.fill * 2,
          stroke: look.color,
          lineWidth: 1.2,
        },
      };
    },
  };
}
