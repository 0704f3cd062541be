// What a chart is made of and what it becomes.
import type { EChartsCoreOption } from "echarts/core";
import type { Detail, Quantity, SizeTime, Summary } from "../data/schema.ts";

/** Every kind of chart, in the order in which a report shows them. */
export const kinds = [
  "forest",
  "percentiles",
  "density",
  "time",
  "samples",
  "size",
  "latency",
  "latency-relative",
  "transfer",
  "transfer-relative",
  "requests",
  "requests-relative",
  "resources",
  "operations",
  "radar",
  "heatmap",
  "waterfall",
  "capacity",
] as const;

export type ChartKind = (typeof kinds)[number];

/** All that charts know of a run. */
export interface PageData {
  summary: Summary;
  detail: Detail;
}

/** Factor values that a point must have: `{ "workload.size": "64 B" }`. */
export type Point = Record<string, string>;

export type ThemeName = "light" | "dark" | "print";

/** An axis as somebody wants it; what is absent is the chart's own choice. */
export interface AxisOptions {
  scale?: "linear" | "log";
  /** Ends in the axis' unit: bytes, nanoseconds, bytes per second, requests per second, or a ratio. */
  min?: number;
  max?: number;
  /** Steps between its ends, or about as many on a logarithmic axis. */
  steps?: number;
  title?: string;
}

/** How times over message size are drawn; what is absent is the chart's own choice. */
export interface OverOptions {
  /** Which time; the service time where there is one. */
  time?: SizeTime;
  /** Compared with this variant; the baseline where absent. */
  reference?: string;
  /** Single requests as dots. */
  points?: boolean;
  /** Bands that hold so many percent of the requests: 50, 90. */
  bands?: readonly number[];
  medians?: boolean;
  /** Intervals of the medians. */
  intervals?: boolean;
  /** Lines at sizes at which something of the host changes. */
  guides?: boolean;
  /** Lines at sizes of one's own; `every`: at each multiple too. */
  more_guides?: readonly { name: string; bytes: number; every?: boolean }[];
  cliffs?: boolean;
  /** A panel for each variant. */
  apart?: boolean;
  x?: AxisOptions;
  y?: AxisOptions;
}

export interface ChartOptions {
  theme: ThemeName;
  /** Only these variants; all where absent. The baseline keeps its look either way. */
  variants?: readonly string[];
  /** Only these operations; the whole workload where absent. */
  operations?: readonly string[];
  /** The quantity, where a kind shows one; the headline or the nearest to it where absent. */
  quantity?: Quantity;
  /** The point, where a kind shows one; the first where absent. */
  point?: Point;
  /** Of charts over message size. */
  over?: OverOptions;
  /** Instead of what was found. */
  title?: string;
  /** In pixels; each kind has its own default. */
  width?: number;
  height?: number;
  /** Whether title and subtitle stand inside the drawing; absent: no, the page sets them in its own type. */
  titled?: boolean;
  /** Whether somebody can point at it: tooltips, zoom, a legend that hides variants; absent: no. */
  interactive?: boolean;
}

export interface Description {
  kind: ChartKind;
  /** What was found, with its interval. */
  title: string;
  /** What is drawn and of which point. */
  subtitle?: string;
  /** For `setOption`. */
  option: EChartsCoreOption;
  width: number;
  height: number;
  /** The least height at which its words and panels have room. */
  least: number;
}
