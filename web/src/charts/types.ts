// Input and output of charts.
import type { EChartsCoreOption } from "echarts/core";
import type { Detail, Quantity, SizeTime, Summary } from "../data/schema.ts";

/** Every kind of chart, in the order of the report. */
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

export interface PageData {
  summary: Summary;
  detail: Detail;
}

/** Factor values that a point must have: `{ "workload.size": "64 B" }`. */
export type Point = Record<string, string>;

export type ThemeName = "light" | "dark" | "print";

/** An axis as requested; the chart chooses what is absent. */
export interface AxisOptions {
  scale?: "linear" | "log";
  /** Range, in the axis' unit: bytes, nanoseconds, bytes per second, requests per second, or a ratio. */
  min?: number;
  max?: number;
  /** Number of steps between the ends; approximate on a logarithmic axis. */
  steps?: number;
  title?: string;
}

export interface OverOptions {
  /** Default: the service time if the run has it. */
  time?: SizeTime;
  /** The variant to compare with. Default: the baseline. */
  reference?: string;
  /** Draw single requests as dots. */
  points?: boolean;
  /** Draw bands that contain these percentages of the requests: 50, 90. */
  bands?: readonly number[];
  medians?: boolean;
  intervals?: boolean;
  /** Draw lines at sizes at which the host's behaviour changes. */
  guides?: boolean;
  /** Lines at sizes of the user's own; `every`: at each multiple too. */
  more_guides?: readonly { name: string; bytes: number; every?: boolean }[];
  cliffs?: boolean;
  /** A panel for each variant. */
  apart?: boolean;
  x?: AxisOptions;
  y?: AxisOptions;
}

export interface ChartOptions {
  theme: ThemeName;
  /** Show only these variants. Default: all. A variant keeps its look either way. */
  variants?: readonly string[];
  /** Show only these operations. Default: the whole workload. */
  operations?: readonly string[];
  /** For kinds that show one quantity. Default: the headline or the nearest to it. */
  quantity?: Quantity;
  /** For kinds that show one point. Default: the first. */
  point?: Point;
  over?: OverOptions;
  /** Replaces the title that states the finding. */
  title?: string;
  /** In pixels. Each kind has its own default. */
  width?: number;
  height?: number;
  /** Draw title and subtitle into the image. Default: no, since the page shows them as text. */
  titled?: boolean;
  /** Tooltips, zoom, and a legend that hides variants. Default: no. */
  interactive?: boolean;
}

export interface Description {
  kind: ChartKind;
  /** The finding, with its interval. */
  title: string;
  subtitle?: string;
  option: EChartsCoreOption;
  width: number;
  height: number;
  /** The least height at which texts and panels fit. */
  least: number;
}
