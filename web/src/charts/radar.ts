// Several costs at once: each spoke is a quantity or an operation, the distance its ratio to the baseline on
// a logarithmic scale. With few variants the labels of the spokes include intervals.

import { ratioText } from "./forest.ts";
import {
  base,
  described,
  head,
  isNarrow,
  lineStyle,
  markStyle,
  sheet,
  shorten,
  textWidth,
  wrap,
} from "./frame.ts";
import {
  chosenPoint,
  cost,
  furthest,
  looks,
  operations,
  points,
  shownVariants,
  variantNames,
  whole,
} from "./select.ts";
import { FONT } from "./theme.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import {
  baseline,
  capitalize,
  change,
  clean,
  finding,
  hasFigures,
  joined,
  label,
  pointWords,
} from "./words.ts";

/** Pixels between the figure and its labels. */
const GAP = 12;
/** Width of the labels beside a narrow figure, in pixels. */
const NARROW_WORDS = 84;

const QUANTITIES = [
  "response_p50",
  "response_p99",
  "response_mean",
  "throughput",
  "cpu_per_operation",
  "memory_peak",
  "bytes_per_operation",
] as const;
/** Up to this many variants, labels include numbers. */
const NUMBERED = 2;
/** Possible ends of the scale. Rings are at an end and at its square root, so both are round ratios. */
const REACHES = [1.21, 1.44, 2.25, 4, 9, 25, 100, 900, 10_000];

export function radarPoints(data: PageData): Point[] {
  return points(data.summary).filter((point) => spokes(data, { theme: "light", point }, point).length > 2);
}

/** A ring's label. The library rounds ring positions: this takes the nearest intended ratio. */
function ringText(log: number): string {
  const rings = REACHES.flatMap((ratio) => [ratio, Math.sqrt(ratio), 1 / ratio, 1 / Math.sqrt(ratio)]);
  const near = (ratio: number) => Math.abs(Math.log(ratio) - log);
  return ratioText([1, ...rings].reduce((best, ratio) => (near(ratio) < near(best) ? ratio : best)));
}

interface Spoke {
  text: string;
  of(variant: string): ReturnType<typeof cost>;
}

/** Operations if there are three or more, else quantities; only those with a cost of some variant. */
function spokes(data: PageData, options: ChartOptions, point: Point): Spoke[] {
  const own = operations(data.summary).filter(
    (name) => name !== "all" && (options.operations?.includes(name) ?? true),
  );
  const quantity = options.quantity ?? data.summary.headline;
  const all: Spoke[] =
    own.length > 2
      ? own.map((name) => ({
          text: clean(name),
          of: (variant) => cost(data.summary, variant, point, name, quantity),
        }))
      : QUANTITIES.map((one) => ({
          text: label(one),
          of: (variant) => cost(data.summary, variant, point, whole(data.summary), one),
        }));
  const names = shownVariants(data, options);
  return all.filter((spoke) => names.some((name) => has(spoke.of(name))));
}

function has(of: ReturnType<typeof cost>): boolean {
  return of !== undefined && hasFigures(of);
}

export function radar(data: PageData, options: ChartOptions): Description | null {
  const point = chosenPoint(radarPoints(data), options);
  if (!point) return null;
  const all = spokes(data, options, point);
  const baselineName = variantNames(data.summary)[0] ?? "";
  const names = shownVariants(data, options).filter(
    (name) => name !== baselineName && all.some((spoke) => has(spoke.of(name))),
  );
  if (all.length < 3 || names.length === 0) return null;
  const on = sheet("radar", options, 760);
  const lookOf = looks(data, on.theme);
  const byOperation = operations(data.summary).length > 3;
  const found = furthest(names.flatMap((name) => all.map((spoke) => spoke.of(name))));
  const words = {
    title: found
      ? `${byOperation ? `${clean(found.operation)} of ` : ""}${finding(found)} against ${clean(baseline(data.summary))}`
      : "Costs at a glance",
    subtitle: [
      `${byOperation ? capitalize(label(options.quantity ?? data.summary.headline)) : "Quantities"} as ratio to ${clean(baselineName)} (logarithmic)`,
      pointWords(point),
    ]
      .filter(Boolean)
      .join(" · "),
    legend: [baselineName, ...names].map((name) => ({ name, look: lookOf(name) })),
    note: "Outside the baseline’s line: higher. For throughput higher is better, for everything else worse.",
  };
  const { top, texts, legend } = head(on, words);
  const logs = names.flatMap((name) =>
    all.flatMap((spoke) => (has(spoke.of(name)) ? [Math.log(spoke.of(name)?.ratio?.point ?? 1)] : [])),
  );
  const most = Math.max(0.1, ...logs.map(Math.abs));
  const reach = Math.log(REACHES.find((ratio) => Math.log(ratio) >= most * 0.98) ?? Math.exp(most));
  const low = Math.min(...logs) < -0.05 * reach ? -reach : -0.5 * reach;
  const labels = all.map((spoke) => (isNarrow(on) ? spokeLines : spokeText)(spoke, names));
  // On a narrow drawing the labels take width from the figure.
  const room = isNarrow(on) ? on.width / 2 - GAP - 4 - widestLine(labels) : Number.POSITIVE_INFINITY;
  const height = on.options.height ?? top + Math.min(440, 2 * room + 150);
  return described(
    on,
    words,
    {
      ...base(on, texts),
      legend: legend.map((row) => ({
        ...row,
        itemWidth: 12,
        itemHeight: 12,
        data: row.data.map(({ name }) => ({
          name,
          icon: lookOf(name).symbol,
          itemStyle: markStyle(on.theme, lookOf(name)),
        })),
      })),
      radar: {
        center: ["50%", top + (height - top) / 2 + 4],
        radius: Math.min(on.width * 0.3, (height - top) / 2 - 62, room),
        startAngle: 90,
        splitNumber: low === -reach ? 4 : 3,
        axisName: {
          color: on.theme.ink,
          fontSize: 12,
          fontFamily: FONT,
          lineHeight: 16,
          rich: { n: { color: on.theme.quiet, fontSize: 11, fontFamily: FONT, lineHeight: 15 } },
        },
        axisNameGap: GAP,
        splitArea: { show: false },
        splitLine: { lineStyle: { color: on.theme.grid } },
        axisLine: { lineStyle: { color: on.theme.grid } },
        indicator: all.map((_, at) => ({
          name: labels[at] ?? "",
          min: low,
          max: reach,
          // Only one spoke shows the scale.
          axisLabel: {
            show: at === 0,
            color: on.theme.quiet,
            fontSize: 10.5,
            fontFamily: FONT,
            // A narrow figure has room for two.
            formatter: (log: number) =>
              isNarrow(on) && Math.abs(log) > 0.01 && log < reach * 0.99 ? "" : ringText(log),
            backgroundColor: `${on.theme.ground}c0`,
            padding: [1, 2],
          },
        })),
      },
      series: [
        {
          type: "radar",
          symbolSize: 7,
          emphasis: { disabled: !on.interactive },
          data: [baselineName, ...names].map((name) => ({
            name,
            value: all.map((spoke) =>
              name === baselineName
                ? 0
                : has(spoke.of(name))
                  ? Math.log(spoke.of(name)?.ratio?.point ?? 1)
                  : Number.NaN,
            ),
            symbol: name === baselineName ? "none" : lookOf(name).symbol,
            lineStyle: lineStyle(lookOf(name), name === baselineName ? 1.6 : 2),
            itemStyle: markStyle(on.theme, lookOf(name)),
            areaStyle:
              names.length <= NUMBERED && name !== baselineName
                ? { color: lookOf(name).color, opacity: on.theme.fill * 0.7 }
                : undefined,
            tip: `${clean(name)}\n${all.map((spoke) => `${spoke.text} ${number(spoke, name, baselineName)}`).join("\n")}`,
          })),
        },
      ],
    },
    height,
  );
}

function number(spoke: Spoke, name: string, baselineName: string): string {
  const ratio = spoke.of(name)?.ratio;
  if (name === baselineName) return "0 %";
  return ratio && has(spoke.of(name)) ? joined(change(ratio)) : (spoke.of(name)?.verdict ?? "not measured");
}

/** A spoke's label broken into the shortest possible lines, for narrow drawings. */
function spokeLines(spoke: Spoke, names: readonly string[]): string {
  const lines = wrap(spoke.text, NARROW_WORDS, 12);
  if (names.length > NUMBERED) return lines.join("\n");
  const numbers = names.flatMap((name) => [
    ...(names.length > 1 ? [shorten(clean(name), NARROW_WORDS, 11)] : []),
    ...number(spoke, name, "").replace(" [", "\n[").split("\n"),
  ]);
  return [...lines, ...numbers.map((line) => `{n|${line}}`)].join("\n");
}

function widestLine(words: readonly string[]): number {
  const lines = words.flatMap((text) => text.replaceAll(/\{n\||\}/g, "").split("\n"));
  return Math.max(...lines.map((line) => textWidth(line, 12)));
}

function spokeText(spoke: Spoke, names: readonly string[]): string {
  const text = shorten(spoke.text, 170, 12);
  if (names.length > NUMBERED) return text;
  const lines = names.map(
    (name) => `{n|${names.length > 1 ? `${shorten(clean(name), 80, 11)} ` : ""}${number(spoke, name, "")}}`,
  );
  return [text, ...lines].join("\n");
}
