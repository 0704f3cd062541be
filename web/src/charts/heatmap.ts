// Costs of a matrix: the factor with the most values across, variants and the other factors down. Each cell
// shows its number; colour only guides the eye.
import type { Cost } from "../data/schema.ts";
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
import type { Api } from "./marks.ts";
import {
  chosenOperation,
  cost,
  distinct,
  distinctPoints,
  points,
  shownVariants,
  variantNames,
} from "./select.ts";
import { between, FONT, isBright, type Theme } from "./theme.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import {
  baseline,
  capitalize,
  change,
  clean,
  effect,
  hasFigures,
  joined,
  label,
  pointWords,
} from "./words.ts";

/** A map of fewer cells shows no pattern. */
const LEAST_CELLS = 3;

export function heatmapPoints(data: PageData): Point[] {
  return points(data.summary).length > 1 && data.summary.costs.length > 0 ? [{}] : [];
}

interface Cell {
  column: number;
  row: number;
  cost: Cost | undefined;
}

export function heatmap(data: PageData, options: ChartOptions): Description | null {
  const { summary } = data;
  const wanted = Object.entries(options.point ?? {});
  const here = points(summary).filter((point) => wanted.every(([key, value]) => point[key] === value));
  const names = shownVariants(data, options).filter((name) => name !== variantNames(summary)[0]);
  if (here.length < 2 || names.length === 0) return null;
  const quantity = options.quantity ?? summary.headline;
  const operation = chosenOperation(data, options);
  const across = longestFactor(here);
  const columns = distinct(here.map((point) => point[across] ?? ""));
  const rest = distinctPoints(
    here.map((point) => Object.fromEntries(Object.entries(point).filter(([key]) => key !== across))),
  );
  const rows = names.flatMap((name) => rest.map((point) => ({ name, point })));
  const cells = rows.flatMap((row, at) =>
    columns.map(
      (value, column): Cell => ({
        column,
        row: at,
        cost: cost(summary, row.name, { ...row.point, [across]: value }, operation, quantity),
      }),
    ),
  );
  const shown = cells.filter((cell) => cell.cost && hasFigures(cell.cost));
  // Two figures are read faster in the forest and the tables.
  if (shown.length === 0 || cells.length < LEAST_CELLS) return null;
  const on = sheet("heatmap", options, 900);
  const logs = shown.map((cell) => Math.log(cell.cost?.ratio?.point ?? 1));
  const most = Math.max(summary.margin, ...logs.map(Math.abs));
  const words = {
    title: title(shown, across, columns, rows),
    subtitle: `${capitalize(label(quantity))} against ${clean(baseline(summary))} with 95 % interval${operation === "all" || !operation ? "" : ` · ${clean(operation)}`}`,
    note: "Blue: lower. Orange: higher. In brackets: undecided or within the margin.",
  };
  const { top, texts } = head(on, words);
  const rowText = (row: (typeof rows)[number]) =>
    [names.length > 1 || rest.length === 1 ? clean(row.name) : "", pointWords(row.point)]
      .filter(Boolean)
      .join(" · ");
  // On a narrow drawing, row names beside the cells would leave no room for the cells.
  const above = isNarrow(on) ? 20 : 0;
  const left = above > 0 ? 16 : labelWidth(rows.map(rowText), 12, 60, 260) + 12;
  const width = (on.width - left - 20) / columns.length;
  const tall = 44 + above;
  const key = clean(across.split(".").at(-1) ?? across);
  return described(
    on,
    words,
    {
      ...base(on, texts),
      grid: { left, right: 20, top: top + 34, height: rows.length * tall },
      xAxis: {
        type: "category",
        position: "top",
        data: columns.map((value) => clean(value)),
        name: key,
        nameLocation: "middle",
        nameGap: 24,
        nameTextStyle: { color: on.theme.quiet, fontSize: 11.5, fontFamily: FONT },
        axisLine: { show: false },
        axisTick: { show: false },
        axisLabel: {
          color: on.theme.ink,
          fontSize: 12,
          fontFamily: FONT,
          interval: 0,
          formatter: (text: string) => shorten(text, width - 8, 12),
        },
      },
      yAxis: {
        type: "category",
        inverse: true,
        data: rows.map((_, at) => String(at)),
        axisLine: { show: false },
        axisTick: { show: false },
        axisLabel: {
          show: above === 0,
          color: on.theme.ink,
          fontSize: 12,
          fontFamily: FONT,
          interval: 0,
          formatter: (at: string) =>
            shorten(rowText(rows[Number(at)] ?? { name: "", point: {} }), left - 24, 12),
        },
      },
      series: [
        {
          type: "custom",
          clip: true,
          data: cells.map((cell) => ({
            value: [cell.column, cell.row],
            tip: tip(cell, rows[cell.row]?.name ?? "", columns[cell.column] ?? ""),
          })),
          renderItem: (params: { dataIndex: number }, api: Api) => {
            const cell = cells[params.dataIndex];
            const [x, y] = api.coord([cell?.column, cell?.row]);
            if (!cell) return null;
            const box = drawCell(on.theme, cell, x, y + above / 2, width, tall - above, most);
            const name =
              above > 0 && cell.column === 0 ? rowText(rows[cell.row] ?? { name: "", point: {} }) : "";
            const named = nameAbove(on, name, x - width / 2 + 1, y - tall / 2 + above / 2 + 1);
            return { ...box, children: [...box.children, ...named] };
          },
        },
      ],
    },
    on.options.height ?? top + 34 + rows.length * tall + 20,
  );
}

function longestFactor(here: readonly Point[]): string {
  const keys = distinct(here.flatMap((point) => Object.keys(point)));
  const count = (key: string) => distinct(here.map((point) => point[key])).length;
  return keys.reduce((best, key) => (count(key) > count(best) ? key : best), keys[0] ?? "");
}

export function colorOf(theme: Theme, log: number, most: number): string {
  const [low, middle, high] = theme.diverging;
  return between(middle, log < 0 ? low : high, Math.min(1, Math.abs(log) / most) ** 0.8);
}

function drawCell(theme: Theme, cell: Cell, x: number, y: number, width: number, tall: number, most: number) {
  const shape = { x: x - width / 2 + 1, y: y - tall / 2 + 1, width: width - 2, height: tall - 2, r: 3 };
  const ratio = cell.cost && hasFigures(cell.cost) ? cell.cost.ratio : null;
  const fill = ratio ? colorOf(theme, Math.log(ratio.point), most) : "none";
  const ink = ratio ? (isBright(fill) ? "#14171c" : "#ffffff") : theme.quiet;
  const [number, interval] = cellWords(cell, width - 8);
  const whole = fitFigure(number, width - 6, { bold: true, rounded: roundedChange(cell.cost) });
  const decided = cell.cost?.verdict === "higher" || cell.cost?.verdict === "lower";
  const text = (words: string, dy: number, size: number, bold: boolean) => ({
    type: "text",
    silent: true,
    x,
    y: y + dy,
    style: {
      text: words,
      fill: ink,
      font: `${bold ? "600 " : ""}${size}px ${FONT}`,
      align: "center",
      verticalAlign: "middle",
    },
  });
  return {
    type: "group",
    children: [
      {
        type: "rect",
        shape,
        style: { fill, stroke: ratio ? "none" : theme.grid, lineWidth: 1, lineDash: ratio ? [] : [3, 3] },
      },
      text(whole.text, interval ? -7 : 0, whole.size, decided),
      ...(interval ? [text(interval, 9, 10.5, false)] : []),
    ],
  };
}

/** A change as a factor with two digits; in brackets unless the verdict is higher or lower. */
export function roundedChange(cost: Cost | undefined): string {
  if (!cost?.ratio || !hasFigures(cost)) return "";
  const factor = `×${Number(cost.ratio.point.toPrecision(2))}`;
  return cost.verdict === "higher" || cost.verdict === "lower" ? factor : `(${factor})`;
}

function nameAbove(on: Sheet, name: string, x: number, y: number) {
  const text = shorten(name, on.width - 36, 12);
  const style = { text, fill: on.theme.ink, font: `12px ${FONT}`, verticalAlign: "middle" };
  return name ? [{ type: "text", silent: true, x, y, style }] : [];
}

function cellWords(cell: Cell, width: number): [string, string] {
  if (!cell.cost) return ["–", ""];
  if (!hasFigures(cell.cost) || !cell.cost.ratio) return [shorten(cell.cost.verdict, width, 12), ""];
  const { point, interval } = change(cell.cost.ratio);
  const sure = cell.cost.verdict === "higher" || cell.cost.verdict === "lower";
  return [sure ? point : `(${point})`, interval && textWidth(interval, 10.5) <= width ? interval : ""];
}

function tip(cell: Cell, name: string, column: string): string {
  const of = cell.cost;
  if (!of) return `${clean(name)}, ${clean(column)}\nnot measured`;
  const what = hasFigures(of) && of.ratio ? joined(change(of.ratio)) : "";
  return [`${clean(name)}, ${clean(column)}`, what, of.verdict, of.reason ? clean(of.reason) : ""]
    .filter(Boolean)
    .join("\n");
}

function title(
  shown: readonly Cell[],
  across: string,
  columns: readonly string[],
  rows: readonly { name: string; point: Point }[],
): string {
  const sorted = [...shown].sort((a, b) => (a.cost?.ratio?.point ?? 1) - (b.cost?.ratio?.point ?? 1));
  const [first, last] = [sorted[0], sorted.at(-1)];
  // What both ends share is said once.
  const isOneVariant = new Set(shown.map((cell) => rows[cell.row]?.name)).size === 1;
  const isOneVerdict = first?.cost?.verdict === last?.cost?.verdict;
  const words = (cell: Cell | undefined) => {
    const row = cell && rows[cell.row];
    if (!row || !cell.cost?.ratio) return "";
    const at = pointWords({ ...row.point, [across]: columns[cell.column] ?? "" });
    const named = isOneVariant ? "" : `${clean(row.name)} `;
    const found = isOneVerdict && cell !== first ? joined(change(cell.cost.ratio)) : effect(cell.cost);
    return `${named}${found} at ${at}`;
  };
  const quantity = first?.cost ? label(first.cost.quantity) : "";
  const of = isOneVariant
    ? `${clean(rows[first?.row ?? 0]?.name ?? "")}: ${quantity}`
    : `${capitalize(quantity)}:`;
  return first === last ? `${of} ${words(first)}` : `${of} ${words(first)}, ${words(last)}`;
}
