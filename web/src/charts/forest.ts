// Costs with their intervals, as ratios on a logarithmic axis, so that half and double are equally far from
// no change. The margin is shaded. A cost without figures keeps its row and says why.
import type { Cost } from "../data/schema.ts";
import {
  base,
  described,
  fitFigure,
  head,
  isNarrow,
  linearTicks,
  markStyle,
  type Sheet,
  sheet,
  shorten,
  textWidth,
  valueAxis,
} from "./frame.ts";
import { rule, shade, type Whisker, type Words, whiskers, words } from "./marks.ts";
import { distinct, furthest, looks, operations, points, samePoint, shownVariants, whole } from "./select.ts";
import type { Theme } from "./theme.ts";
import type { ChartOptions, Description, PageData } from "./types.ts";
import {
  baseline,
  bounds,
  capitalize,
  change,
  clean,
  finding,
  hasFigures,
  joined,
  label,
  percent,
  pointWords,
  verdict,
} from "./words.ts";

/** Above this many rows only the COMMON quantities are drawn; if still too many, only the headline. */
const MOST_ROWS = 60;
const COMMON = ["response_p50", "response_p99", "throughput", "cpu_per_operation", "memory_peak"];
const ROW = 22;
const HEADING = 28;
const LEAST_ROW_SHARE = 0.65;
const LINE_ABOVE = 16;
/** Pixels between drawing, figures, verdict and edge. */
const BESIDE_GAPS = 50;
/** Figures and verdicts take at most this share of the width beside the drawing; wider ones go above their rows. */
const BESIDE_MOST = 0.5;

/** A row; without a cost, a heading. */
interface Line {
  text: string;
  cost?: Cost;
  y: number;
}

export function forest(data: PageData, options: ChartOptions): Description | null {
  const { summary } = data;
  const { costs, left } = chosen(data, options);
  // If no cost has figures, a table shows the reasons better.
  if (!costs.some(hasFigures)) return null;
  const on = sheet("forest", options, 900);
  const shown = costs.filter(hasFigures);
  const numbersAt = Math.max(60, ...shown.map((cost) => textWidth(numbersOf(cost), 11.5, cost.headline)));
  const beside = numbersAt + Math.max(...costs.map((cost) => textWidth(verdictOf(cost), 11.5))) + BESIDE_GAPS;
  const isTight = isNarrow(on) || beside > on.width * BESIDE_MOST;
  const above = isTight ? linesAbove(on, arrangeRows(data, costs, 0).lines) : 0;
  const { lines, height: rows } = arrangeRows(data, costs, above * LINE_ABOVE);
  const lookOf = looks(data, on.theme);
  const headline = costs.filter((cost) => cost.headline);
  const main = headline.length > 0 && headline.length <= 2 ? headline.find(hasFigures) : furthest(headline);
  const note = left > 0 ? ` · ${left} more in the table` : "";
  const header = {
    title: main
      ? `${finding(main)} against ${clean(baseline(summary))}`
      : `Costs against ${clean(baseline(summary))}`,
    subtitle: `Change against ${clean(baseline(summary))} ${hasBounds(costs) ? "with 95 % intervals" : "without intervals, which take four blocks"} · shaded: margin ±${percent(summary.margin)}${note}`,
  };
  const { top, texts } = head(on, header);
  const names = lines.map((line) => textWidth(line.text, 12, line.cost === undefined));
  const leftRoom =
    above > 0 ? 16 : Math.min(on.width * 0.3, Math.max(90, ...names.map((width) => width + 14))) + 16;
  const rightRoom = above > 0 ? 16 : beside;
  const scale = ratioScale(shown, summary.margin, on.width - leftRoom - rightRoom);
  const height = options.height ?? top + rows + 54;
  const marks = shown.map((cost) => dot(on.theme, cost, lines, scale, lookOf(cost.variant)));
  return described(
    on,
    header,
    {
      ...base(on, texts),
      grid: { left: leftRoom, right: rightRoom, top: top + 4, bottom: 50 },
      xAxis: valueAxis(on, "x", {
        name: `change against ${shorten(clean(baseline(summary)), 200, 12)} (logarithmic)`,
        ...scale,
      }),
      yAxis: { type: "value", min: 0, max: rows, inverse: true, show: false },
      series: [
        shade(
          "x",
          Math.log(1 - Math.min(0.9, summary.margin)),
          Math.log(1 + summary.margin),
          on.theme.margin,
        ),
        rule("x", 0, on.theme.quiet, { width: 1.2 }),
        whiskersOf(on, shown, lines, scale, lookOf),
        { type: "scatter", z: 5, data: marks, emphasis: { disabled: !on.interactive, scale: 1.2 } },
        words(
          lines.flatMap((line) =>
            above > 0
              ? textsAbove(on, line, above).map((one) => ({ ...one, ground: on.theme.ground }))
              : texted(on, line, leftRoom, numbersAt),
          ),
        ),
      ],
    },
    height,
    top + rows * LEAST_ROW_SHARE + 54,
  );
}

/** Lines of text that each row needs above it: one if name, numbers and verdict fit, else two. */
function linesAbove(on: Sheet, lines: readonly Line[]): number {
  const fits = ({ text, cost }: Line) => {
    const parts = cost ? [text, numbersOf(cost), verdict(cost)] : [];
    const needed = parts.reduce((sum, part) => sum + textWidth(part, 12, cost?.headline) + 12, 0);
    return needed <= on.width - 32;
  };
  return lines.every(fits) ? 1 : 2;
}

function numbersOf(cost: Cost): string {
  return hasFigures(cost) && cost.ratio ? joined(change(cost.ratio)) : "";
}

function verdictOf(cost: Cost): string {
  return hasFigures(cost) ? verdict(cost) : cost.verdict;
}

function hasBounds(costs: readonly Cost[]): boolean {
  return costs.some((cost) => cost.ratio?.lower != null);
}

/** The costs to draw, and the number of costs that only the table shows. */
function chosen(data: PageData, options: ChartOptions): { costs: Cost[]; left: number } {
  const names = shownVariants(data, options);
  const wanted = options.operations ?? [whole(data.summary)];
  const fits = (cost: Cost) =>
    names.includes(cost.variant) &&
    wanted.includes(cost.operation) &&
    (!options.quantity || cost.quantity === options.quantity) &&
    Object.entries(options.point ?? {}).every(([key, value]) => cost.point?.[key] === value);
  const all = data.summary.costs.filter(fits);
  const tries = [
    all,
    all.filter((cost) => cost.headline || COMMON.includes(cost.quantity)),
    all.filter((cost) => cost.quantity === (options.quantity ?? data.summary.headline)),
  ];
  const costs = tries.find((some) => some.length <= MOST_ROWS) ?? tries[2] ?? [];
  return { costs, left: data.summary.costs.length - costs.length };
}

/** Rows under headings: with several variants, a heading per quantity; with one variant, its quantities. */
function arrangeRows(
  { summary }: PageData,
  costs: readonly Cost[],
  above: number,
): { lines: Line[]; height: number } {
  const several = distinct(costs.map((cost) => cost.variant)).length > 1;
  const manyPoints = points(summary).length > 1;
  const manyOperations = operations(summary).length > 1;
  const headingOf = (cost: Cost) => {
    const where = [
      manyPoints ? pointWords(cost.point) : "",
      manyOperations ? (cost.operation === "all" ? "all operations" : clean(cost.operation)) : "",
    ];
    const parts = several ? [capitalize(label(cost.quantity)), ...where] : [clean(cost.variant), ...where];
    return parts.filter(Boolean).join(" · ");
  };
  const inOrder = several ? groupByQuantity(costs) : [...costs];
  const lines: Line[] = [];
  let y = 0;
  for (const heading of distinct(inOrder.map(headingOf))) {
    lines.push({ text: heading, y: y + HEADING / 2 + 3 });
    y += HEADING;
    for (const cost of inOrder.filter((one) => headingOf(one) === heading)) {
      lines.push({
        text: several ? clean(cost.variant) : label(cost.quantity),
        cost,
        y: y + above + ROW / 2,
      });
      y += above + ROW;
    }
  }
  return { lines, height: y + 4 };
}

function groupByQuantity(costs: readonly Cost[]): Cost[] {
  const sorted: Cost[] = [];
  for (const first of costs) {
    if (sorted.includes(first)) continue;
    sorted.push(
      ...costs.filter(
        (cost) =>
          cost.quantity === first.quantity &&
          cost.operation === first.operation &&
          samePoint(cost.point, first.point),
      ),
    );
  }
  return sorted;
}

interface RatioScale {
  min: number;
  max: number;
  ticks: { at: number; text: string }[];
}

/** The axis contains every estimate and the margin; interval ends extend it by 60 % per side at most. */
export function ratioScale(costs: readonly Cost[], margin: number, width: number): RatioScale {
  const logs = costs.map((cost) => Math.log(Math.max(cost.ratio?.point ?? 1, 1e-6)));
  const [least, most] = [Math.min(-margin, ...logs), Math.max(margin, ...logs)];
  const room = Math.max(most - least, 0.05);
  const ends = costs
    .flatMap((cost) => (cost.ratio ? bounds(cost.ratio) : []))
    .map((end) => Math.log(Math.max(end, 1e-9)));
  const min = Math.max(Math.min(least, ...ends), least - 0.6 * room) - 0.04 * room;
  const max = Math.min(Math.max(most, ...ends), most + 0.6 * room) + 0.04 * room;
  return { min, max, ticks: ratioTicks(min, max, Math.max(3, Math.floor(width / 62))) };
}

const SHARES = [1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95];
const FACTORS = [1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000];

/** Tick marks between two log ratios: round percentages near no change, factors farther out. */
export function ratioTicks(min: number, max: number, count: number): { at: number; text: string }[] {
  const near = Math.max(Math.exp(max) - 1, 1 - Math.exp(min)) < 0.6;
  const changes = near
    ? linearTicks((Math.exp(min) - 1) * 100, (Math.exp(max) - 1) * 100, count).map(
        (change) => 1 + change / 100,
      )
    : [...SHARES, 1, ...FACTORS];
  const inside = changes.filter((ratio) => Math.log(ratio) >= min && Math.log(ratio) <= max);
  const least = (max - min) / (count + 1);
  const kept: number[] = [1];
  // Start at no change and go outwards, so that the tick at no change is always kept.
  for (const ratio of inside.filter((one) => one > 1))
    if (Math.log(ratio / Math.max(...kept)) >= least) kept.push(ratio);
  for (const ratio of inside.filter((one) => one < 1).reverse())
    if (Math.log(Math.min(...kept) / ratio) >= least) kept.unshift(ratio);
  return kept.map((ratio) => ({ at: Math.log(ratio), text: ratioText(ratio) }));
}

export function ratioText(ratio: number): string {
  if (Math.abs(ratio - 1) < 1e-9) return "0 %";
  if (ratio >= 9.999) return `×${Number(ratio.toPrecision(3))}`;
  if (ratio <= 0.1001) return `÷${Number((1 / ratio).toPrecision(3))}`;
  const change = Number(((ratio - 1) * 100).toPrecision(3));
  return `${change > 0 ? "+" : "−"}${Math.abs(change)} %`;
}

function toneOf(theme: Theme, cost: Cost): string {
  if (cost.effect === "better") return theme.better;
  if (cost.effect === "worse") return theme.worse;
  return theme.quiet;
}

function place(lines: readonly Line[], cost: Cost): number {
  return lines.find((line) => line.cost === cost)?.y ?? 0;
}

function whiskersOf(
  on: Sheet,
  costs: readonly Cost[],
  lines: readonly Line[],
  scale: RatioScale,
  lookOf: ReturnType<typeof looks>,
) {
  const each = costs.flatMap((cost): Whisker[] => {
    if (cost.ratio?.lower == null) return [];
    const [low, high] = bounds(cost.ratio).map((end) => Math.log(Math.max(end, 1e-9))) as [number, number];
    return [
      {
        across: place(lines, cost),
        low: Math.max(low, scale.min),
        high: Math.min(high, scale.max),
        cutLow: low < scale.min,
        cutHigh: high > scale.max,
        color: lookOf(cost.variant).color,
      },
    ];
  });
  return whiskers("", on.theme.ink, "x", each);
}

function dot(
  theme: Theme,
  cost: Cost,
  lines: readonly Line[],
  _scale: RatioScale,
  look: ReturnType<ReturnType<typeof looks>>,
) {
  return {
    value: [Math.log(Math.max(cost.ratio?.point ?? 1, 1e-6)), place(lines, cost)],
    symbol: look.symbol,
    symbolSize: cost.headline ? 11 : 8,
    itemStyle: markStyle(theme, look),
    tip: `${clean(cost.variant)}: ${label(cost.quantity)}\n${cost.ratio ? joined(change(cost.ratio)) : ""}\n${verdict(cost)}${cost.reason ? `: ${clean(cost.reason)}` : ""}`,
  };
}

function texted(on: Sheet, line: Line, leftRoom: number, numbers: number): Words[] {
  const { theme } = on;
  if (!line.cost)
    return [
      {
        x: "left",
        dx: 16 - leftRoom,
        y: line.y,
        text: shorten(line.text, on.width - 40, 12, true),
        fill: theme.ink,
        bold: true,
        size: 12,
      },
    ];
  const { cost } = line;
  const row: Words[] = [
    {
      x: "left",
      dx: -10,
      y: line.y,
      align: "right",
      text: shorten(line.text, leftRoom - 28, 12, cost.headline),
      fill: theme.ink,
      size: 12,
      bold: cost.headline,
    },
  ];
  if (hasFigures(cost) && cost.ratio) {
    row.push({
      x: "right",
      dx: 22 + numbers,
      y: line.y,
      align: "right",
      text: joined(change(cost.ratio)),
      fill: theme.ink,
      bold: cost.headline,
    });
    row.push({ x: "right", dx: 34 + numbers, y: line.y, text: verdict(cost), fill: toneOf(theme, cost) });
  } else {
    row.push({ x: "right", dx: 34 + numbers, y: line.y, text: cost.verdict, fill: theme.quiet });
  }
  return row;
}

function textsAbove(on: Sheet, line: Line, above: number): Words[] {
  const { theme } = on;
  const { cost } = line;
  const room = on.width - 32;
  if (!cost)
    return [
      {
        x: "left",
        y: line.y,
        text: shorten(line.text, room, 12, true),
        fill: theme.ink,
        bold: true,
        size: 12,
      },
    ];
  const first = line.y - ROW / 2 - LINE_ABOVE * (above - 0.5);
  const last = line.y - ROW / 2 - LINE_ABOVE * 0.5;
  const numbers = numbersOf(cost);
  const verdictWords = hasFigures(cost) ? verdict(cost) : cost.verdict;
  const verdictRoom = textWidth(verdictWords, 11.5) + 12;
  const taken = above > 1 ? 0 : verdictRoom + textWidth(numbers, 11.5, cost.headline) + 12;
  return [
    {
      x: "left",
      y: first,
      text: shorten(line.text, room - taken, 12, cost.headline),
      fill: theme.ink,
      size: 12,
      bold: cost.headline,
    },
    {
      x: above > 1 ? "left" : "right",
      dx: above > 1 ? 0 : -verdictRoom,
      y: last,
      align: above > 1 ? "left" : "right",
      ...fitFigure(numbers, room - verdictRoom, { bold: cost.headline }),
      fill: theme.ink,
      bold: cost.headline,
    },
    {
      x: "right",
      y: last,
      align: "right",
      text: verdictWords,
      fill: hasFigures(cost) ? toneOf(theme, cost) : theme.quiet,
    },
  ];
}
