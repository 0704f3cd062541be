// Charts as descriptions: pure functions of a run and options, independent of any document. They estimate
// nothing: every figure is in the summary or the detail.
import { capacity, capacityPoints } from "./capacity.ts";
import { density, densityPoints } from "./density.ts";
import { forest } from "./forest.ts";
import { heatmap, heatmapPoints } from "./heatmap.ts";
import { operationPoints, operations } from "./operations.ts";
import { isOver, over, refusalReason } from "./over/chart.ts";
import { overPoints } from "./over/pick.ts";
import { pairMap, pairPoints } from "./pairs.ts";
import { percentilePoints, percentiles } from "./percentiles.ts";
import { radar, radarPoints } from "./radar.ts";
import { resourcePoints, resources } from "./resources.ts";
import { samplePoints, samples } from "./samples.ts";
import { size, sizePoints } from "./size.ts";
import { time, timePoints } from "./time.ts";
import {
  type ChartKind,
  type ChartOptions,
  type Description,
  kinds,
  type PageData,
  type Point,
} from "./types.ts";
import { waterfall, waterfallPoints } from "./waterfall.ts";

export type {
  AxisOptions,
  ChartKind,
  ChartOptions,
  Description,
  OverOptions,
  PageData,
  Point,
  ThemeName,
} from "./types.ts";
export { kinds } from "./types.ts";
export { waterfallQuantities } from "./waterfall.ts";
export { isOver, refusalReason };

interface Kind {
  /** Points with a drawing each; `[{}]` if one drawing shows all, `[]` if the run has no data for it. */
  points(data: PageData): Point[];
  describe(data: PageData, options: ChartOptions): Description | null;
}

const every: Record<ChartKind, Kind> = {
  forest: { points: () => [{}], describe: forest },
  percentiles: { points: percentilePoints, describe: percentiles },
  density: { points: densityPoints, describe: density },
  time: { points: timePoints, describe: time },
  samples: { points: samplePoints, describe: samples },
  size: { points: sizePoints, describe: size },
  latency: { points: overPoints, describe: over("latency", false) },
  "latency-relative": { points: overPoints, describe: over("latency", true) },
  transfer: { points: overPoints, describe: over("transfer", false) },
  "transfer-relative": { points: overPoints, describe: over("transfer", true) },
  requests: { points: overPoints, describe: over("requests", false) },
  "requests-relative": { points: overPoints, describe: over("requests", true) },
  resources: { points: resourcePoints, describe: resources },
  operations: { points: operationPoints, describe: operations },
  radar: { points: radarPoints, describe: radar },
  heatmap: {
    points: (data) => [...pairPoints(data), ...(pairPoints(data).length > 0 ? [] : heatmapPoints(data))],
    describe: (data, options) => pairMap(data, options) ?? heatmap(data, options),
  },
  waterfall: { points: waterfallPoints, describe: waterfall },
  capacity: { points: capacityPoints, describe: capacity },
};

export function available(data: PageData): ChartKind[] {
  return kinds.filter((kind) => drawings(kind, data).length > 0);
}

export function drawings(kind: ChartKind, data: PageData): { kind: ChartKind; point: Point }[] {
  const of = every[kind];
  const fills = (point: Point) => of.describe(data, { theme: "light", point }) !== null;
  return of
    .points(data)
    .filter(fills)
    .map((point) => ({ kind, point }));
}

/** One chart; `null` if the run has no data for it with these options. */
export function describe(kind: ChartKind, data: PageData, options: ChartOptions): Description | null {
  return every[kind].describe(data, options);
}
