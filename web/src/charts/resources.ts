// Resources by role: CPU time per request, memory, and the busy cores of the machine.
import type { CpuRoles, Estimate, RoleUse, Summary } from "../data/schema.ts";
import { barScale, labelWidth } from "./bars.ts";
import { base, described, head, isNarrow, type Sheet, sheet, shorten, valueAxis } from "./frame.ts";
import { type Api, words as textSeries, type Words, whiskers } from "./marks.ts";
import {
  chosenPoint,
  cost,
  distinct,
  distinctPoints,
  furthest,
  samePoint,
  shownVariants,
  whole,
} from "./select.ts";
import { FONT, type Theme } from "./theme.ts";
import type { ChartOptions, Description, PageData, Point } from "./types.ts";
import {
  absolute,
  baseline,
  bounds,
  clean,
  effect,
  finding,
  joined,
  label,
  pointWords,
  value,
} from "./words.ts";

export function resourcePoints({ detail }: PageData): Point[] {
  return distinctPoints((detail.roles ?? []).map((role) => role.point));
}

const ROW = 30;
/** Rows of the machine: label, the role whose look it has, key in the data. */
const MACHINE = [
  ["services", "service", "service"],
  ["generator", "generator", "generator"],
  ["unattributed", "unattributed", "unattributed"],
  ["whole machine", "service", "busy"],
] as const;

const BY_ROLE = "CPU and memory by role";

export function resources(data: PageData, options: ChartOptions): Description | null {
  const point = chosenPoint(resourcePoints(data), options);
  const names = shownVariants(data, options);
  const roles = (data.detail.roles ?? []).filter(
    (role) => point && samePoint(role.point, point) && names.includes(role.variant),
  );
  if (!point || roles.length === 0) return null;
  const on = sheet("resources", options, 900);
  const shown = names.filter((name) => roles.some((role) => role.variant === name));
  const kinds = distinct(roles.map((role) => role.role)).sort((a, b) => order(a) - order(b));
  const found = title(data, names, point);
  const words = {
    title: found ?? BY_ROLE,
    subtitle: [found && BY_ROLE, pointWords(point)].filter(Boolean).join(" · "),
    note: "Whiskers are 95 % intervals. The generator’s part is its own time outside waiting: it is in no cost.",
  };
  const { top, texts } = head(on, words);
  const machine = data.summary.cpu_roles;
  const left =
    labelWidth(
      [...shown.map(clean), ...(machine ? MACHINE.map(([name]) => name) : [])],
      12,
      60,
      isNarrow(on) ? on.width * 0.31 : 240,
    ) + 12;
  const middle = left + (on.width - left) * 0.58;
  const cpu = roles.some((role) => role.cpu_per_operation);
  const memory = roles.some((role) => role.memory_peak);
  const beside = cpu && memory && !isNarrow(on);
  const panels: Panel[] = [];
  const legend = drawLegend(on, kinds, top + 4, isNarrow(on) ? 16 : left);
  const rowsTop = top + 20 + legend.rows * 20;
  if (cpu)
    panels.push({
      name: "CPU/op",
      unit: "ns",
      from: left,
      to: beside ? middle - 70 : on.width - 90,
      of: (role) => role.cpu_per_operation ?? null,
    });
  if (memory)
    panels.push({
      name: "memory peak",
      unit: "bytes",
      from: beside ? middle + 18 : left,
      to: on.width - 90,
      of: (role) => role.memory_peak ?? null,
    });
  const rows = shown.length * ROW;
  const below = beside ? 0 : rows + 62;
  const rowsEnd = rowsTop + Math.max(0, panels.length - 1) * below + rows;
  const machineTop = rowsEnd + 88;
  const drawn = panels.map((panel, at) => drawPanel(on, panel, at, shown, roles, kinds, left));
  const whole_ = machine ? drawMachine(on, machine, panels.length, left) : null;
  return described(
    on,
    words,
    {
      ...base(on, [
        ...texts,
        ...legend.marks,
        ...(machine
          ? [
              heading(
                on,
                isNarrow(on)
                  ? "Cores kept busy by the whole run"
                  : "Cores kept busy by the whole run, all variants together",
                machineTop - 24,
              ),
            ]
          : []),
      ]),
      grid: [
        ...panels.map((panel, at) => ({
          left: panel.from,
          right: on.width - panel.to,
          top: rowsTop + at * below,
          height: rows,
        })),
        ...(whole_ ? [{ left, right: 90, top: machineTop, height: 4 * 24 }] : []),
      ],
      xAxis: [...drawn.map((panel) => panel.x), ...(whole_ ? [whole_.x] : [])],
      yAxis: [...drawn.map((panel) => panel.y), ...(whole_ ? [whole_.y] : [])],
      series: [...drawn.flatMap((panel) => panel.series), ...(whole_?.series ?? [])],
    },
    on.options.height ?? (whole_ ? machineTop + 4 * 24 + 50 : rowsEnd + 50),
  );
}

interface Panel {
  name: string;
  unit: "ns" | "bytes";
  from: number;
  to: number;
  of(role: RoleUse): Estimate | null;
}

/** The variant's own roles first. */
function order(role: string): number {
  const known = ["service", "peer", "sidecar"].indexOf(role);
  const last = ["generator", "unattributed"].indexOf(role);
  return last >= 0 ? 100 + last : known >= 0 ? known : 50;
}

function fillOf(theme: Theme, role: string, kinds: readonly string[]): string {
  const isOurs = role !== "generator" && role !== "unattributed";
  return isOurs ? (theme.hues[kinds.indexOf(role) % theme.hues.length] ?? theme.neutral) : theme.faint;
}

function rowAxis(rows: number, gridIndex: number) {
  return { type: "value", gridIndex, min: 0, max: rows, inverse: true, show: false };
}

function drawPanel(
  on: Sheet,
  panel: Panel,
  at: number,
  names: readonly string[],
  roles: readonly RoleUse[],
  kinds: readonly string[],
  left: number,
) {
  const sums = names.map((name) => {
    let sum = 0;
    return kinds.flatMap((kind) => {
      const estimate = roles.filter((role) => role.variant === name && role.role === kind).map(panel.of)[0];
      if (!estimate) return [];
      sum += estimate.point;
      const half = (bounds(estimate)[1] - bounds(estimate)[0]) / 2;
      return [{ kind, estimate, from: sum - estimate.point, to: sum, half }];
    });
  });
  const most = Math.max(...sums.flat().map((part) => part.to + part.half), 1e-9);
  const scale = barScale(
    panel.unit,
    [{ point: most, level: 0.95, blocks: 0, lower: null, upper: null }],
    panel.to - panel.from,
  );
  const labels: Words[] = sums.flatMap((parts, row) => {
    const own = parts.find((part) => part.kind === "service") ?? parts[0];
    const end = parts.at(-1);
    const name: Words[] =
      at === 0
        ? [
            {
              x: "left",
              dx: -10,
              y: row + 0.5,
              align: "right",
              text: shorten(clean(names[row] ?? ""), left - 28, 12),
              fill: on.theme.ink,
              size: 12,
            },
          ]
        : [];
    return [
      ...name,
      ...(own && end
        ? [
            {
              x: end.to + (end.kind === own.kind ? end.half : 0),
              dx: 8,
              y: row + 0.5,
              text: `${parts.length > 1 ? `${clean(own.kind)} ` : ""}${value(panel.unit, own.estimate.point)}`,
              fill: on.theme.ink,
            } satisfies Words,
          ]
        : []),
    ];
  });
  return {
    x: { ...valueAxis(on, "x", { name: panel.name, grid: at, ...scale }) },
    y: rowAxis(names.length, at),
    series: [
      ...kinds.map((kind) => stacked(on, at, kind, sums, names, panel, kinds)),
      whiskers(
        "",
        on.theme.ink,
        "x",
        sums.flatMap((parts, row) =>
          parts
            .filter((part) => part.half > 0)
            .map((part) => ({ across: row + 0.5, low: part.to - part.half, high: part.to + part.half })),
        ),
        { axes: at, width: 1.3, cap: 3.5 },
      ),
      textSeries(labels, at),
    ],
  };
}

function stacked(
  on: Sheet,
  at: number,
  kind: string,
  sums: readonly (readonly { kind: string; estimate: Estimate; from: number; to: number }[])[],
  names: readonly string[],
  panel: Panel,
  kinds: readonly string[],
) {
  const parts = sums.flatMap((row, place) =>
    row.filter((part) => part.kind === kind).map((part) => ({ ...part, place })),
  );
  return {
    type: "custom",
    name: kind,
    xAxisIndex: at,
    yAxisIndex: at,
    z: 2,
    clip: true,
    data: parts.map((part) => ({
      value: [part.to, part.place],
      tip: `${clean(names[part.place] ?? "")}: ${clean(kind)}\n${panel.name} ${joined(absolute(panel.unit, part.estimate))}`,
    })),
    encode: { x: -1, y: -1 },
    renderItem: (params: { dataIndex: number }, api: Api) => {
      const part = parts[params.dataIndex];
      return part ? bar(api, part.from, part.to, part.place + 0.5, ROW * 0.56, on.theme, kind, kinds) : null;
    },
  };
}

/** A bar between two values; all roles but the first are striped. */
function bar(
  api: Api,
  from: number,
  to: number,
  row: number,
  thick: number,
  theme: Theme,
  role: string,
  kinds: readonly string[],
) {
  const [x0, y] = api.coord([from, row]);
  const [x1] = api.coord([to, row]);
  const color = fillOf(theme, role, kinds);
  const shape = { x: Math.min(x0, x1), y: y - thick / 2, width: Math.abs(x1 - x0), height: thick };
  return {
    type: "group",
    children: [
      { type: "rect", shape, style: { fill: color, stroke: theme.ground, lineWidth: 0.8 } },
      ...(kinds.indexOf(role) > 0 ? striped(shape, theme) : []),
    ],
  };
}

type Box = { x: number; y: number; width: number; height: number };

function diagonals(box: Box): [x1: number, y1: number, x2: number, y2: number][] {
  const lines: [number, number, number, number][] = [];
  for (let at = 6 - box.height; at < box.width; at += 6) {
    const under = Math.max(0, -at);
    const over = Math.max(0, at + box.height - box.width);
    const [x1, y1] = [box.x + at + under, box.y + box.height - under];
    const [x2, y2] = [box.x + at + box.height - over, box.y + over];
    if (x2 > x1) lines.push([x1, y1, x2, y2]);
  }
  return lines;
}

/** Stripes tell roles apart without colour. */
function striped(box: Box, theme: Theme) {
  return diagonals(box).map(([x1, y1, x2, y2]) => ({
    type: "line",
    silent: true,
    shape: { x1, y1, x2, y2 },
    style: { stroke: theme.ground, lineWidth: 1.4 },
  }));
}

function drawMachine(on: Sheet, machine: CpuRoles, at: number, _left: number) {
  const kinds = ["service", "generator", "unattributed"];
  const rows = MACHINE.map(([name, role, key]): [string, string, Estimate] => [name, role, machine[key]]);
  const most = Math.max(...rows.map(([, , estimate]) => Math.max(estimate.point, bounds(estimate)[1])));
  const max = most * 1.06;
  const ticks = [0, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]
    .filter((tick) => tick <= max && (tick === 0 || tick >= max / 8))
    .map((tick) => ({ at: tick, text: String(tick) }));
  const color = (place: number) => (place === 3 ? on.theme.neutral : undefined);
  return {
    x: valueAxis(on, "x", { name: "cores", grid: at, min: 0, max, ticks }),
    y: rowAxis(rows.length, at),
    series: [
      {
        type: "custom",
        xAxisIndex: at,
        yAxisIndex: at,
        z: 2,
        data: rows.map(([name, , estimate], row) => ({
          value: [estimate.point, row],
          tip: `${name}: ${estimate.point.toFixed(3)} cores`,
        })),
        encode: { x: -1, y: -1 },
        renderItem: (params: { dataIndex: number }, api: Api) => {
          const row = rows[params.dataIndex];
          if (!row) return null;
          const drawn = bar(api, 0, row[2].point, params.dataIndex + 0.5, 13, on.theme, row[1], kinds);
          const own = color(params.dataIndex);
          const [first] = drawn.children;
          if (own && first)
            return { ...drawn, children: [{ ...first, style: { ...first.style, fill: own } }] };
          return drawn;
        },
      },
      whiskers(
        "",
        on.theme.ink,
        "x",
        rows
          .filter(([, , one]) => one.lower != null)
          .map(([, , estimate]) => ({
            across: rows.findIndex((row) => row[2] === estimate) + 0.5,
            low: bounds(estimate)[0],
            high: bounds(estimate)[1],
          })),
        { axes: at, width: 1.3, cap: 3.5 },
      ),
      textSeries(
        rows.flatMap(([name, , estimate], row): Words[] => [
          { x: "left", dx: -10, y: row + 0.5, align: "right", text: name, fill: on.theme.ink, size: 12 },
          {
            x: bounds(estimate)[1],
            dx: 8,
            y: row + 0.5,
            text: estimate.point.toFixed(2),
            fill: on.theme.ink,
          },
        ]),
        at,
      ),
    ],
  };
}

function heading(on: Sheet, text: string, top: number) {
  return {
    type: "text",
    silent: true,
    left: 16,
    top,
    style: { text: shorten(text, on.width - 32, 12, true), fill: on.theme.ink, font: `600 12px ${FONT}` },
  };
}

function drawLegend(on: Sheet, kinds: readonly string[], top: number, left: number) {
  let x = left;
  let rows = 1;
  const marks = kinds.flatMap((kind) => {
    const color = fillOf(on.theme, kind, kinds);
    const text = clean(kind);
    const end = x + 26 + labelWidth([text], 12, 0, 300);
    if (end > on.width && x > left) {
      x = left;
      rows += 1;
    }
    const y = top + (rows - 1) * 20;
    const box = { x, y, width: 20, height: 11 };
    const parts = [
      { type: "rect", silent: true, shape: box, style: { fill: color } },
      ...(kinds.indexOf(kind) > 0 ? striped(box, on.theme) : []),
      {
        type: "text",
        silent: true,
        left: x + 26,
        top: y - 0.5,
        style: { text, fill: on.theme.ink, font: `12px ${FONT}` },
      },
    ];
    x += 26 + labelWidth([text], 12, 0, 300) + 6;
    return parts;
  });
  return { marks, rows };
}

/** What was found; `null` without figures. */
function title(data: PageData, names: readonly string[], point: Point): string | null {
  const of = (quantity: "cpu_per_operation" | "memory_peak") =>
    furthest(names.map((name) => cost(data.summary, name, point, whole(data.summary), quantity)));
  const [cpu, memory] = [of("cpu_per_operation"), of("memory_peak")];
  const second =
    memory?.ratio && memory.variant === cpu?.variant ? `, ${label("memory_peak")} ${effect(memory)}` : "";
  const first = cpu ?? memory;
  return first
    ? `${finding(first)}${first === cpu ? second : ""} against ${clean(baseline(data.summary as Summary))}`
    : null;
}
