// Heat map of variants that are pairs: clients are rows, servers are columns. Each cell shows its figure;
// colour, the ratio to the baseline's pair, only guides the eye.

import type { Unit } from "../data/schema.ts";
import { labelWidth } from "./bars.ts";
import {
  base,
  described,
  fitFigure,
  head,
  isNarrow,
  type Sheet,
  sheet,
  shorten,
  textWidth,
} from "./frame.ts";
import { colorOf, roundedChange } from "./heatmap.ts";
import type { Api } from "./marks.ts";
import {
  chosenOperation,
  chosenPoint,
  cost,
  distinct,
  figure,
  points,
  shownVariants,
  unitOf,
  variantAt,
} from "./select.ts";
import { FONT, isBright } from "./theme.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import {
  absolute,
  baseline,
  capitalize,
  change,
  clean,
  hasFigures,
  joined,
  label,
  pointWords,
  unitScale,
} from "./words.ts";

const TALL = 46;

interface Pair {
  name: string;
  service: string;
  peer: string;
}

/** Variants that are pairs; empty unless services and peers are crossed, each pair once. */
function pairs(data: PageData, names: readonly string[]): Pair[] {
  const found = names.flatMap((name): Pair[] => {
    const relay = data.summary.variants.find((variant) => variant.name === name)?.relay;
    return relay ? [{ name, ...relay }] : [];
  });
  const [services, peers] = [
    distinct(found.map(({ service }) => service)),
    distinct(found.map(({ peer }) => peer)),
  ];
  const isOnce = new Set(found.map(({ service, peer }) => `${service}\n${peer}`)).size === found.length;
  const isCrossed = found.length > Math.max(services.length, peers.length);
  return isOnce && isCrossed && services.length > 1 && peers.length > 1 ? found : [];
}

export function pairPoints(data: PageData): Point[] {
  return pairs(data, shownVariants(data, { theme: "light" })).length > 0 ? points(data.summary) : [];
}

interface Cell {
  column: number;
  row: number;
  lines: string[];
  /** The text with fewer digits, for narrow cells. */
  rounded: string[];
  /** Whether the first line is a figure: figures are never shortened. */
  isFigure: boolean;
  /** Log of the ratio to the baseline; `null` without a usable figure. */
  log: number | null;
  tip: string;
}

export function pairMap(data: PageData, options: ChartOptions): Description | null {
  const all = pairs(data, shownVariants(data, options));
  const point = chosenPoint(points(data.summary), options);
  if (all.length === 0 || !point) return null;
  const { summary } = data;
  const quantity = options.quantity ?? summary.headline;
  const operation = chosenOperation(data, options);
  const rows = distinct(all.map(({ service }) => service));
  const columns = distinct(all.map(({ peer }) => peer));
  const first = baseline(summary);
  const unit = unitOf(quantity);
  const cells = all.map(({ name, service, peer }): Cell => {
    const own = figure(summary, name, point, operation, quantity);
    const against = cost(summary, name, point, operation, quantity);
    const validity = variantAt(summary, name, point)?.validity;
    const usable =
      name === first ? own !== null && validity !== "invalid" : against !== undefined && hasFigures(against);
    const shown = own ? absolute(unit, own) : null;
    const ratio = usable ? against?.ratio : null;
    const why = against?.verdict ?? validity ?? "not measured";
    const decided = against?.verdict === "higher" || against?.verdict === "lower";
    const changed = ratio && (decided ? change(ratio).point : `(${change(ratio).point})`);
    const than = name === first && usable ? "baseline" : (changed ?? why);
    return {
      isFigure: usable && shown !== null,
      column: columns.indexOf(peer),
      row: rows.indexOf(service),
      lines: usable && shown ? [shown.point, than] : [why],
      rounded: [own ? roundedFigure(unit, own.point) : "", name === first ? "×1" : roundedChange(against)],
      log: usable ? Math.log(ratio?.point ?? 1) : null,
      tip: [
        `${clean(service)} asks ${clean(peer)}`,
        shown && usable ? `${label(quantity)} ${joined(shown)}` : "",
        ratio ? `against ${clean(first)} ${joined(change(ratio))}, ${against?.verdict ?? ""}` : than,
        against?.reason ? clean(against.reason) : "",
      ]
        .filter(Boolean)
        .join("\n"),
    };
  });
  const known = cells.filter((cell) => cell.log !== null);
  if (known.length === 0) return null;
  const on = sheet("heatmap", options, 900);
  const words = {
    title: title(known, rows, columns, capitalize(label(quantity))),
    subtitle: [`${capitalize(label(quantity))} of every pair`, pointWords(point)].filter(Boolean).join(" · "),
    note: `Rows: the client (ping). Columns: the server (pong). Below each figure: the change against ${clean(first)}, in brackets where undecided or within the margin; blue: lower, orange: higher.`,
  };
  return drawMap(on, words, cells, rows, columns);
}

/** A figure with two digits: `0.48ms`. */
function roundedFigure(unit: Unit, figure: number): string {
  const scale = unitScale(unit, Math.abs(figure));
  return Number((figure / scale.divisor).toPrecision(2)) + scale.suffix.replace(/\s/g, "");
}

function title(
  known: readonly Cell[],
  rows: readonly string[],
  columns: readonly string[],
  quantity: string,
): string {
  const sorted = [...known].sort((a, b) => (a.log ?? 0) - (b.log ?? 0));
  const words = (cell: Cell | undefined) =>
    cell ? `${cell.lines[0]} (${clean(rows[cell.row] ?? "")} asks ${clean(columns[cell.column] ?? "")})` : "";
  return `${quantity}: from ${words(sorted[0])} to ${words(sorted.at(-1))}`;
}

function drawMap(
  on: Sheet,
  words: { title: string; subtitle: string; note: string },
  cells: readonly Cell[],
  rows: readonly string[],
  columns: readonly string[],
): Description {
  const { top, texts } = head(on, words);
  const left = labelWidth(rows.map(clean), 12, 60, isNarrow(on) ? 90 : 220) + 28;
  const width = (on.width - left - 20) / columns.length;
  const most = Math.max(0.02, ...cells.map((cell) => Math.abs(cell.log ?? 0)));
  const category = (names: readonly string[], space: number) => ({
    type: "category",
    data: names.map(clean),
    axisLine: { show: false },
    axisTick: { show: false },
    axisLabel: {
      color: on.theme.ink,
      fontSize: 12,
      fontFamily: FONT,
      interval: 0,
      formatter: (text: string) => shorten(text, space, 12),
    },
    nameLocation: "middle",
    nameTextStyle: { color: on.theme.quiet, fontSize: 11.5, fontFamily: FONT },
  });
  return described(
    on,
    words,
    {
      ...base(on, texts),
      grid: { left, right: 20, top: top + 38, height: rows.length * TALL },
      xAxis: { ...category(columns, width - 6), position: "top", name: "server (pong)", nameGap: 26 },
      yAxis: { ...category(rows, left - 40), inverse: true, name: "client (ping)", nameGap: left - 24 },
      series: [
        {
          type: "custom",
          clip: true,
          data: cells.map(({ column, row, tip }) => ({ value: [column, row], tip })),
          renderItem: (params: { dataIndex: number }, api: Api) => {
            const cell = cells[params.dataIndex];
            if (!cell) return null;
            const [x, y] = api.coord([cell.column, cell.row]);
            return box(on, cell, [x, y], width, most);
          },
        },
      ],
    },
    on.options.height ?? top + 38 + rows.length * TALL + 16,
  );
}

function box(on: Sheet, cell: Cell, [x, y]: readonly [number, number], width: number, most: number) {
  const shape = { x: x - width / 2 + 1, y: y - TALL / 2 + 1, width: width - 2, height: TALL - 2, r: 3 };
  const fill = cell.log === null ? "none" : colorOf(on.theme, cell.log, most);
  const ink = cell.log === null ? on.theme.quiet : isBright(fill) ? "#14171c" : "#ffffff";
  const line = (words: string, at: number) => {
    const short = { text: shorten(words, width - 4, 10.5, at === 0), size: 10.5 };
    const isShort = textWidth(words, 12, at === 0) > width - 6;
    const { text, size } = cell.isFigure
      ? fitFigure(words, width - 4, { bold: at === 0, rounded: cell.rounded[at] ?? words })
      : isShort
        ? short
        : { text: words, size: 12 };
    return {
      type: "text",
      silent: true,
      x,
      y: y + (cell.lines.length > 1 ? (at === 0 ? -8 : 9) : 0),
      style: {
        text,
        fill: ink,
        font: `${at === 0 && cell.lines.length > 1 ? "600 " : ""}${size}px ${FONT}`,
        align: "center",
        verticalAlign: "middle",
      },
    };
  };
  const isEmpty = cell.log === null;
  return {
    type: "group",
    children: [
      {
        type: "rect",
        shape,
        style: {
          fill,
          stroke: isEmpty ? on.theme.grid : "none",
          lineWidth: 1,
          lineDash: isEmpty ? [3, 3] : [],
        },
      },
      ...cell.lines.map(line),
    ],
  };
}
