// Whiskers, bands and other marks that the library has no series type for.
import { FONT, type Look, type Theme } from "./theme.ts";

// biome-ignore lint/suspicious/noExplicitAny: the library types what it hands to a drawing function as any.
export type Api = any;

/** The area between two lines, a polygon per stretch without a gap; `edge`: opacity of the two lines. */
export function band(
  name: string,
  look: Look,
  theme: Theme,
  stretches: readonly (readonly [x: number, low: number, high: number][])[],
  { opacity = theme.fill, axes = 0, edge = 0 } = {},
) {
  return {
    type: "custom",
    name,
    silent: true,
    clip: true,
    z: 1,
    xAxisIndex: axes,
    yAxisIndex: axes,
    tooltip: { show: false },
    itemStyle: { color: look.color },
    data: stretches.map((_, at) => [at]),
    encode: { x: -1, y: -1 },
    renderItem: (params: { dataIndex: number }, api: Api) => {
      const stretch = stretches[params.dataIndex] ?? [];
      const upper = stretch.map(([x, , high]) => api.coord([x, high]));
      const lower = stretch.map(([x, low]) => api.coord([x, low])).reverse();
      const area = {
        type: "polygon",
        silent: true,
        shape: { points: [...upper, ...lower].map(round) },
        style: { fill: look.color, opacity },
      };
      if (edge === 0) return area;
      const dash = look.dash === "solid" ? [] : look.dash;
      const line = (points: [number, number][]) => ({
        type: "polyline",
        silent: true,
        shape: { points: points.map(round) },
        style: { stroke: look.color, fill: "none", lineWidth: 0.9, lineDash: dash, opacity: edge },
      });
      return { type: "group", silent: true, children: [area, line(upper), line(lower)] };
    },
  };
}

function round([x, y]: [number, number]): [number, number] {
  return [Math.round(x * 10) / 10, Math.round(y * 10) / 10];
}

/** An interval: its position on one axis, its ends on the other. */
export interface Whisker {
  across: number;
  low: number;
  high: number;
  /** The end is outside the drawing: it gets an arrow instead of a cap. */
  cutLow?: boolean;
  cutHigh?: boolean;
  color?: string;
  /** Sideways offset in pixels, for intervals that share a position. */
  shift?: number;
}

export function whiskers(
  name: string,
  color: string,
  along: "x" | "y",
  all: readonly Whisker[],
  { width = 1.6, cap = 4, axes = 0, z = 4 } = {},
) {
  return {
    type: "custom",
    name,
    silent: true,
    clip: false,
    z,
    xAxisIndex: axes,
    yAxisIndex: axes,
    tooltip: { show: false },
    itemStyle: { color },
    data: all.map((_, at) => [at]),
    encode: { x: -1, y: -1 },
    renderItem: (params: { dataIndex: number }, api: Api) => {
      const one = all[params.dataIndex];
      if (!one) return null;
      const place = (value: number): [number, number] => {
        const [x, y] = api.coord(along === "x" ? [value, one.across] : [one.across, value]);
        return along === "x" ? [x, y + (one.shift ?? 0)] : [x + (one.shift ?? 0), y];
      };
      const [from, to] = [place(one.low), place(one.high)];
      const style = { stroke: one.color ?? color, lineWidth: width, fill: "none" };
      const line = (x1: number, y1: number, x2: number, y2: number) => ({
        type: "line",
        shape: { x1, y1, x2, y2 },
        style,
      });
      const end = ([x, y]: [number, number], cut: boolean | undefined, sign: number) => {
        if (!cut) return along === "x" ? line(x, y - cap, x, y + cap) : line(x - cap, y, x + cap, y);
        const points =
          along === "x"
            ? [
                [x, y - cap],
                [x + sign * cap * 1.3, y],
                [x, y + cap],
              ]
            : [
                [x - cap, y],
                [x, y - sign * cap * 1.3],
                [x + cap, y],
              ];
        return { type: "polyline", shape: { points }, style };
      };
      return {
        type: "group",
        silent: true,
        children: [line(...from, ...to), end(from, one.cutLow, -1), end(to, one.cutHigh, 1)],
      };
    },
  };
}

/** A shaded range of x over the full height, or of y over the full width. */
export function shade(along: "x" | "y", from: number, to: number, color: string, axes = 0) {
  return {
    type: "custom",
    silent: true,
    clip: true,
    z: 0,
    xAxisIndex: axes,
    yAxisIndex: axes,
    tooltip: { show: false },
    data: [[0]],
    encode: { x: -1, y: -1 },
    renderItem: (params: { coordSys: { x: number; y: number; width: number; height: number } }, api: Api) => {
      const box = params.coordSys;
      const [first] = along === "x" ? [api.coord([from, 0])[0]] : [api.coord([0, from])[1]];
      const [last] = along === "x" ? [api.coord([to, 0])[0]] : [api.coord([0, to])[1]];
      const [low, high] = [Math.min(first, last), Math.max(first, last)];
      const shape =
        along === "x"
          ? { x: low, y: box.y, width: high - low, height: box.height }
          : { x: box.x, y: low, width: box.width, height: high - low };
      return { type: "rect", silent: true, shape, style: { fill: color } };
    },
  };
}

export function rule(
  along: "x" | "y",
  at: number,
  color: string,
  { text = "", dash = [] as number[], width = 1, axes = 0 } = {},
) {
  return {
    type: "custom",
    silent: true,
    clip: false,
    z: 2,
    xAxisIndex: axes,
    yAxisIndex: axes,
    tooltip: { show: false },
    data: [[0]],
    encode: { x: -1, y: -1 },
    renderItem: (params: { coordSys: { x: number; y: number; width: number; height: number } }, api: Api) => {
      const box = params.coordSys;
      const place = along === "x" ? api.coord([at, 0])[0] : api.coord([0, at])[1];
      const shape =
        along === "x"
          ? { x1: place, y1: box.y, x2: place, y2: box.y + box.height }
          : { x1: box.x, y1: place, x2: box.x + box.width, y2: place };
      const words = text && {
        type: "text",
        x: along === "x" ? place + 5 : box.x + 6,
        y: along === "x" ? box.y + 3 : place - 4,
        style: { text, fill: color, font: `11px ${FONT}`, verticalAlign: along === "x" ? "top" : "bottom" },
      };
      return {
        type: "group",
        silent: true,
        children: [
          { type: "line", shape, style: { stroke: color, lineWidth: width, lineDash: dash } },
          ...(words ? [words] : []),
        ],
      };
    },
  };
}

/** A text at a position on the axes, or at an edge of the drawing, plus an offset in pixels. */
export interface Words {
  x: number | "left" | "right";
  y: number;
  text: string;
  fill: string;
  align?: "left" | "center" | "right";
  bold?: boolean;
  size?: number;
  dx?: number;
  dy?: number;
  /** Background colour, for texts that lines would cross. */
  ground?: string;
}

export function words(all: readonly Words[], axes = 0) {
  return {
    type: "custom",
    silent: true,
    clip: false,
    z: 6,
    xAxisIndex: axes,
    yAxisIndex: axes,
    tooltip: { show: false },
    data: all.map((_, at) => [at]),
    encode: { x: -1, y: -1 },
    renderItem: (params: { dataIndex: number; coordSys: { x: number; width: number } }, api: Api) => {
      const one = all[params.dataIndex];
      if (!one) return null;
      const box = params.coordSys;
      const [x, y] = api.coord([typeof one.x === "number" ? one.x : 0, one.y]);
      const left = one.x === "left" ? box.x : one.x === "right" ? box.x + box.width : x;
      return {
        type: "text",
        silent: true,
        x: left + (one.dx ?? 0),
        y: y + (one.dy ?? 0),
        style: {
          text: one.text,
          fill: one.fill,
          font: `${one.bold ? "600 " : ""}${one.size ?? 11.5}px ${FONT}`,
          align: one.align ?? "left",
          verticalAlign: "middle",
          ...(one.ground ? { backgroundColor: one.ground } : {}),
        },
      };
    },
  };
}
