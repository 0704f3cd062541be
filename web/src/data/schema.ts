// Made by `npm run types` from docs/schema/*.json. Do not edit.

/**
 * An amount of data in bytes.
 */
export type Bytes = number;
/**
 * Whether a larger figure is good news.
 */
export type Effect = "better" | "worse";
/**
 * What a dot stands for.
 */
export type DotKind = "window" | "warm-up" | "check" | "request";
/**
 * A dimensionless share or factor: 0.02 is 2 %.
 */
export type Ratio = number;
/**
 * Whether a step kept its objective.
 */
export type Kept = "yes" | "no" | "undecided";
/**
 * A length of time in whole nanoseconds, 0 to 584 years.
 */
export type Nanoseconds = number;
/**
 * How the variants of a block were put side by side at one point.
 */
export type Pairing = "windows" | "requests" | "sequential";
/**
 * How a copy was made slower.
 */
export type Planting = "probe" | "hold-back";
/**
 * A figure that can be estimated for a variant and compared between variants.
 */
export type Quantity =
  | (
      | "response_p50"
      | "response_p90"
      | "response_p99"
      | "response_mean"
      | "service_p50"
      | "service_p90"
      | "service_p99"
      | "service_mean"
    )
  | "throughput"
  | "cpu_per_operation"
  | "bytes_per_operation"
  | "memory_peak";
/**
 * What the values of a factor count.
 */
export type Scale = "bytes" | "per_second" | "ns" | "count";
/**
 * How much a finding matters.
 */
export type Severity = "note" | "warning" | "problem";
/**
 * Which level of repetition makes most of the spread of a cost.
 */
export type Source = "starts" | "rounds" | "neither";
/**
 * Which of the two times of a request.
 */
export type TimeKind = "response" | "service";
/**
 * The unit of a quantity's figures, as in JSON.
 */
export type Unit = "ns" | "bytes" | "per_second";
/**
 * Whether figures may be used.
 */
export type Validity = "valid" | "suspect" | "invalid";
/**
 * What a comparison concludes.
 */
export type Verdict = "no relevant difference" | "higher" | "lower" | "undecided" | "invalid" | "withheld";

/**
 * Every type of the schemas by its name; only there so that none is left out.
 */
export interface Everything {
  Advice?: Advice;
  Axis?: Axis;
  BlockCounts?: BlockCounts;
  Bounds?: Bounds;
  Bytes?: Bytes;
  CalibrationQuote?: CalibrationQuote;
  Capacity?: Capacity;
  Cost?: Cost;
  Course?: Course;
  CpuRoles?: CpuRoles;
  Curve?: Curve;
  Density?: Density;
  Detail?: Detail;
  Detectable?: Detectable;
  DotKind?: DotKind;
  Effect?: Effect;
  ErrorCounts?: ErrorCounts;
  Estimate?: Estimate;
  Figure?: Figure;
  Finding?: Finding;
  Goal?: Goal;
  HostCalibration?: HostCalibration;
  HostIdentity?: HostIdentity1;
  Kept?: Kept;
  LegTimes?: LegTimes;
  Level?: Level1;
  Nanoseconds?: Nanoseconds;
  NoiseSource?: NoiseSource;
  Pairing?: Pairing;
  Planted?: Planted;
  PlantedRun?: PlantedRun;
  Planting?: Planting;
  PointPairing?: PointPairing;
  Quantity?: Quantity;
  QuantitySpread?: QuantitySpread;
  Ratio?: Ratio;
  RoleUse?: RoleUse;
  RunToRun?: RunToRun;
  Samples?: Samples;
  Scale?: Scale;
  Severity?: Severity;
  Share?: Share;
  Source?: Source;
  Span?: Span;
  Spread?: Spread;
  StampSummary?: StampSummary;
  Step?: Step;
  Summary?: Summary;
  TimeKind?: TimeKind;
  Traffic?: Traffic1;
  Unit?: Unit;
  Validity?: Validity;
  VariantReliability?: VariantReliability;
  VariantSummary?: VariantSummary;
  Verdict?: Verdict;
  Waterfall?: Waterfall;
}
/**
 * How to divide the time of a run, for the next one.
 */
export interface Advice {
  /**
   * Blocks to run.
   */
  blocks: number;
  /**
   * Expected half-width of the ratio's interval with the present division.
   */
  now: number;
  /**
   * Rounds of each.
   */
  rounds: number;
  /**
   * Expected half-width with the advised one, in the same time.
   */
  then: number;
}
/**
 * A factor of the matrix whose values are numbers, so that figures can be drawn against it.
 */
export interface Axis {
  /**
   * The key: `workload.size`, `load.rate` …
   */
  key: string;
  /**
   * What its values count.
   */
  scale: "bytes" | "per_second" | "ns" | "count";
  /**
   * Each value as it stands in points and as a number, rising.
   */
  values: [string, number][];
}
/**
 * Blocks of a run.
 */
export interface BlockCounts {
  /**
   * Most the plan allows.
   */
  max: number;
  /**
   * Fewest the plan allows.
   */
  min: number;
  /**
   * Blocks that count.
   */
  used: number;
  /**
   * Blocks measured and thrown away.
   */
  void: number;
}
/**
 * The ends of an interval.
 */
export interface Bounds {
  /**
   * The lower end.
   */
  lower: number;
  /**
   * The upper end.
   */
  upper: number;
}
/**
 * What later reports say of a host's calibration.
 */
export interface CalibrationQuote {
  /**
   * How old it was when it was quoted.
   */
  age_ns: number;
  /**
   * What of the host has changed since, in words.
   */
  changed: string[];
  /**
   * The smallest difference of that headline found in four of five tries, in the measured time nearest to that of the
   * report.
   */
  detectable?: Detectable | null;
  /**
   * Of which experiment.
   */
  experiment: string;
  /**
   * How often two copies were called different.
   */
  false_alarms?: Share | null;
  /**
   * The headline that it was made for.
   */
  headline:
    | (
        | "response_p50"
        | "response_p90"
        | "response_p99"
        | "response_mean"
        | "service_p50"
        | "service_p90"
        | "service_p99"
        | "service_mean"
      )
    | "throughput"
    | "cpu_per_operation"
    | "bytes_per_operation"
    | "memory_peak";
  /**
   * How far one variant's figure lies from itself, run to run.
   */
  run_to_run?: RunToRun | null;
  /**
   * When it began, RFC 3339 in UTC.
   */
  started: string;
}
/**
 * The smallest difference that a plan finds in four of five tries.
 */
export interface Detectable {
  /**
   * Blocks that it is divided into.
   */
  blocks: number;
  /**
   * The difference, as a share of the baseline's figure.
   */
  change: number;
  /**
   * Time of rounds in all, over all blocks.
   */
  measured_ns: number;
}
/**
 * How often something happened.
 */
export interface Share {
  /**
   * How often.
   */
  hits: number;
  /**
   * Its level: 0.95.
   */
  level: number;
  /**
   * Lower bound of the exact (Clopper–Pearson) interval.
   */
  lower: number;
  /**
   * Of how many independent tries.
   */
  of: number;
  /**
   * hits / of.
   */
  point: number;
  /**
   * Upper bound.
   */
  upper: number;
}
/**
 * How far one and the same variant, measured again, lies from itself.
 */
export interface RunToRun {
  /**
   * Standard deviation between runs of the mean over blocks of the figure's logarithm.
   */
  deviation: number;
  /**
   * Level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of its interval (chi-square).
   */
  lower: number;
  /**
   * The quantity.
   */
  quantity:
    | (
        | "response_p50"
        | "response_p90"
        | "response_p99"
        | "response_mean"
        | "service_p50"
        | "service_p90"
        | "service_p99"
        | "service_mean"
      )
    | "throughput"
    | "cpu_per_operation"
    | "bytes_per_operation"
    | "memory_peak";
  /**
   * Runs.
   */
  runs: number;
  /**
   * Upper bound.
   */
  upper: number;
}
/**
 * How a variant takes a rising rate, and the highest that keeps an objective.
 */
export interface Capacity {
  /**
   * The highest rate per second that keeps the objective; absent where none was found.
   */
  highest?: Estimate | null;
  /**
   * The most it may be, in the quantity's unit.
   */
  limit: number;
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * The quantity that the objective bounds; a time.
   */
  quantity:
    | (
        | "response_p50"
        | "response_p90"
        | "response_p99"
        | "response_mean"
        | "service_p50"
        | "service_p90"
        | "service_p99"
        | "service_mean"
      )
    | "throughput"
    | "cpu_per_operation"
    | "bytes_per_operation"
    | "memory_peak";
  /**
   * What was tried, rising by rate.
   */
  steps: Step[];
  /**
   * The variant's name.
   */
  variant: string;
}
/**
 * A figure with its uncertainty.
 */
export interface Estimate {
  /**
   * Block estimates it rests on.
   */
  blocks: number;
  /**
   * The bootstrap-t interval of the same estimate, of costs from 10 blocks on. Shown beside; no verdict looks at it.
   */
  bootstrap?: Bounds | null;
  /**
   * Confidence level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of the interval; absent below 4 blocks.
   */
  lower?: number | null;
  /**
   * The estimate itself, in the quantity's unit (or a plain ratio).
   */
  point: number;
  /**
   * Upper bound of the interval; absent below 4 blocks.
   */
  upper?: number | null;
}
/**
 * One rate that was tried.
 */
export interface Step {
  /**
   * Good replies per second.
   */
  answered_per_s: number;
  /**
   * The objective's quantity; absent where the step was cut short.
   */
  figure?: Estimate | null;
  /**
   * Whether the objective was kept.
   */
  kept: "yes" | "no" | "undecided";
  /**
   * Requests due per second.
   */
  offered_per_s: number;
}
/**
 * Variant minus baseline in one quantity.
 */
export interface Cost {
  /**
   * Variant minus baseline; absent where withheld or not measured.
   */
  difference?: Estimate | null;
  /**
   * Whether that is good news; absent unless `higher` or `lower`.
   */
  effect?: Effect | null;
  /**
   * Whether this is the experiment's headline.
   */
  headline: boolean;
  /**
   * The operation's name, or `all`.
   */
  operation: string;
  /**
   * Two-sided p of no difference or twice the equivalence test's, as the verdict rule takes it; absent where no
   * interval is.
   */
  p?: number | null;
  /**
   * The point, where the experiment has several.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * The quantity.
   */
  quantity:
    | (
        | "response_p50"
        | "response_p90"
        | "response_p99"
        | "response_mean"
        | "service_p50"
        | "service_p90"
        | "service_p99"
        | "service_mean"
      )
    | "throughput"
    | "cpu_per_operation"
    | "bytes_per_operation"
    | "memory_peak";
  /**
   * Variant over baseline; absent where withheld or not measured.
   */
  ratio?: Estimate | null;
  /**
   * Why, where the verdict alone does not say (`measurable: +1.0 %`, `lag p99 …`).
   */
  reason?: string | null;
  /**
   * The unit of `difference`.
   */
  unit: "ns" | "bytes" | "per_second";
  /**
   * The variant's name.
   */
  variant: string;
  /**
   * The conclusion.
   */
  verdict: "no relevant difference" | "higher" | "lower" | "undecided" | "invalid" | "withheld";
}
/**
 * How one variant fared over the time of the run.
 */
export interface Course {
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * Stretches of its measured windows, rising by time; none reaches over two blocks.
   */
  spans: Span[];
  /**
   * The variant's name.
   */
  variant: string;
}
/**
 * Some windows that followed each other: quartiles of their median response times.
 */
export interface Span {
  /**
   * Block, from 0.
   */
  block: number;
  /**
   * Start of the first window, since the run's first window.
   */
  from_ns: number;
  /**
   * Lower quartile.
   */
  lower_ns: number;
  /**
   * Median.
   */
  median_ns: number;
  /**
   * End of the last.
   */
  to_ns: number;
  /**
   * Upper quartile.
   */
  upper_ns: number;
  /**
   * How many windows.
   */
  windows: number;
}
/**
 * How many cores each role kept busy while variants were measured: CPU seconds per second of the blocks, all variants
 * together. `busy` = `generator` + `service` + `unattributed`.
 */
export interface CpuRoles {
  beside_generator: Estimate1;
  busy: Estimate2;
  generator: Estimate3;
  /**
   * By so many cores `busy` may be off in a single block, either way, because the kernel tells whole ticks.
   */
  resolution: number;
  service: Estimate4;
  /**
   * Time of all blocks that it is of.
   */
  span_ns: number;
  unattributed: Estimate5;
}
/**
 * A figure with its uncertainty.
 */
export interface Estimate1 {
  /**
   * Block estimates it rests on.
   */
  blocks: number;
  /**
   * The bootstrap-t interval of the same estimate, of costs from 10 blocks on. Shown beside; no verdict looks at it.
   */
  bootstrap?: Bounds | null;
  /**
   * Confidence level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of the interval; absent below 4 blocks.
   */
  lower?: number | null;
  /**
   * The estimate itself, in the quantity's unit (or a plain ratio).
   */
  point: number;
  /**
   * Upper bound of the interval; absent below 4 blocks.
   */
  upper?: number | null;
}
/**
 * A figure with its uncertainty.
 */
export interface Estimate2 {
  /**
   * Block estimates it rests on.
   */
  blocks: number;
  /**
   * The bootstrap-t interval of the same estimate, of costs from 10 blocks on. Shown beside; no verdict looks at it.
   */
  bootstrap?: Bounds | null;
  /**
   * Confidence level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of the interval; absent below 4 blocks.
   */
  lower?: number | null;
  /**
   * The estimate itself, in the quantity's unit (or a plain ratio).
   */
  point: number;
  /**
   * Upper bound of the interval; absent below 4 blocks.
   */
  upper?: number | null;
}
/**
 * A figure with its uncertainty.
 */
export interface Estimate3 {
  /**
   * Block estimates it rests on.
   */
  blocks: number;
  /**
   * The bootstrap-t interval of the same estimate, of costs from 10 blocks on. Shown beside; no verdict looks at it.
   */
  bootstrap?: Bounds | null;
  /**
   * Confidence level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of the interval; absent below 4 blocks.
   */
  lower?: number | null;
  /**
   * The estimate itself, in the quantity's unit (or a plain ratio).
   */
  point: number;
  /**
   * Upper bound of the interval; absent below 4 blocks.
   */
  upper?: number | null;
}
/**
 * A figure with its uncertainty.
 */
export interface Estimate4 {
  /**
   * Block estimates it rests on.
   */
  blocks: number;
  /**
   * The bootstrap-t interval of the same estimate, of costs from 10 blocks on. Shown beside; no verdict looks at it.
   */
  bootstrap?: Bounds | null;
  /**
   * Confidence level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of the interval; absent below 4 blocks.
   */
  lower?: number | null;
  /**
   * The estimate itself, in the quantity's unit (or a plain ratio).
   */
  point: number;
  /**
   * Upper bound of the interval; absent below 4 blocks.
   */
  upper?: number | null;
}
/**
 * A figure with its uncertainty.
 */
export interface Estimate5 {
  /**
   * Block estimates it rests on.
   */
  blocks: number;
  /**
   * The bootstrap-t interval of the same estimate, of costs from 10 blocks on. Shown beside; no verdict looks at it.
   */
  bootstrap?: Bounds | null;
  /**
   * Confidence level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of the interval; absent below 4 blocks.
   */
  lower?: number | null;
  /**
   * The estimate itself, in the quantity's unit (or a plain ratio).
   */
  point: number;
  /**
   * Upper bound of the interval; absent below 4 blocks.
   */
  upper?: number | null;
}
/**
 * One percentile curve: estimates over blocks, as the figures of a summary are; of totals, also where p50 is a typical.
 */
export interface Curve {
  /**
   * Lower and upper bound of each point in nanoseconds, at 95 %; empty below 4 blocks.
   */
  band?: [number, number][];
  /**
   * The operation's name, or `all`.
   */
  operation: string;
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * Quantile (0 to 1, rising) and time in nanoseconds; ends where fewer than 20 requests lie beyond in some block.
   */
  points: [number, number][];
  /**
   * Which time.
   */
  time: "response" | "service";
  /**
   * The variant's name.
   */
  variant: string;
}
/**
 * How one variant's times are spread: shares of its replies in bins of equal width on the logarithmic scale.
 */
export interface Density {
  /**
   * Lower edge of the first bin in nanoseconds.
   */
  from_ns: number;
  /**
   * The operation's name, or `all`.
   */
  operation: string;
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * Share of the replies in each bin, 0 to 1; ends where fewer than 20 requests lie beyond.
   */
  shares: number[];
  /**
   * Each bin's upper edge over its lower one, the same for all variants of a point and operation.
   */
  step: number;
  /**
   * Which time.
   */
  time: "response" | "service";
  /**
   * The variant's name.
   */
  variant: string;
}
/**
 * What charts draw, made by `judge` from the records. `detail.json`.
 */
export interface Detail {
  /**
   * Factors whose values are numbers.
   */
  axes?: Axis[];
  /**
   * Capacity curves.
   */
  capacities?: Capacity[];
  /**
   * Courses over the time of the run.
   */
  courses?: Course[];
  /**
   * Percentile curves.
   */
  curves?: Curve[];
  /**
   * Densities.
   */
  densities?: Density[];
  /**
   * CPU and memory by role.
   */
  roles?: RoleUse[];
  /**
   * Dots over the time of the run.
   */
  samples?: Samples[];
  /**
   * Costs of layers.
   */
  waterfalls?: Waterfall[];
}
/**
 * What one role used while a variant was measured.
 */
export interface RoleUse {
  /**
   * CPU time per request in nanoseconds; absent where it was not accounted.
   */
  cpu_per_operation?: Estimate | null;
  /**
   * Largest resident memory in bytes; absent where it was not accounted.
   */
  memory_peak?: Estimate | null;
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * `service` and other roles of the variant; `generator`: its loop outside waiting; `unattributed`.
   */
  role: string;
  /**
   * The variant's name.
   */
  variant: string;
}
/**
 * Times of one variant over the time of the run, one dot for each window or request; columns of equal length.
 */
export interface Samples {
  /**
   * Start of each, since the run's first window, rising.
   */
  at_ns: number[];
  /**
   * What a dot stands for.
   */
  kind: "window" | "warm-up" | "check" | "request";
  /**
   * The operation's name, or `all`.
   */
  operation: string;
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * The time of each.
   */
  time_ns: number[];
  /**
   * The variant's name.
   */
  variant: string;
}
/**
 * What each of several layers adds, from a baseline to the variant that has them all.
 */
export interface Waterfall {
  from: Level;
  /**
   * Each layer's own cost, in the order in which they are put on.
   */
  layers: Level1[];
  /**
   * The operation's name, or `all`.
   */
  operation: string;
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * The quantity.
   */
  quantity:
    | (
        | "response_p50"
        | "response_p90"
        | "response_p99"
        | "response_mean"
        | "service_p50"
        | "service_p90"
        | "service_p99"
        | "service_mean"
      )
    | "throughput"
    | "cpu_per_operation"
    | "bytes_per_operation"
    | "memory_peak";
  to: Level2;
  /**
   * Its unit.
   */
  unit: "ns" | "bytes" | "per_second";
}
/**
 * The variant without layers.
 */
export interface Level {
  estimate: Estimate6;
  /**
   * The variant's or the layer's name.
   */
  name: string;
}
/**
 * A figure with its uncertainty.
 */
export interface Estimate6 {
  /**
   * Block estimates it rests on.
   */
  blocks: number;
  /**
   * The bootstrap-t interval of the same estimate, of costs from 10 blocks on. Shown beside; no verdict looks at it.
   */
  bootstrap?: Bounds | null;
  /**
   * Confidence level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of the interval; absent below 4 blocks.
   */
  lower?: number | null;
  /**
   * The estimate itself, in the quantity's unit (or a plain ratio).
   */
  point: number;
  /**
   * Upper bound of the interval; absent below 4 blocks.
   */
  upper?: number | null;
}
/**
 * A name and its figure.
 */
export interface Level1 {
  estimate: Estimate6;
  /**
   * The variant's or the layer's name.
   */
  name: string;
}
/**
 * A name and its figure.
 */
export interface Level2 {
  estimate: Estimate6;
  /**
   * The variant's or the layer's name.
   */
  name: string;
}
/**
 * Errors counted by kind.
 */
export interface ErrorCounts {
  /**
   * See [`ErrorKind::Check`].
   */
  check?: number;
  /**
   * See [`ErrorKind::Connect`].
   */
  connect?: number;
  /**
   * See [`ErrorKind::Protocol`].
   */
  protocol?: number;
  /**
   * See [`ErrorKind::Reset`].
   */
  reset?: number;
  /**
   * See [`ErrorKind::Status`].
   */
  status?: number;
  /**
   * See [`ErrorKind::Timeout`].
   */
  timeout?: number;
  /**
   * See [`ErrorKind::Tls`].
   */
  tls?: number;
}
/**
 * One absolute figure of a variant.
 */
export interface Figure {
  /**
   * The figure over block estimates; absent where withheld.
   */
  estimate?: Estimate | null;
  /**
   * The operation's name, or `all`.
   */
  operation: string;
  /**
   * The quantity.
   */
  quantity:
    | (
        | "response_p50"
        | "response_p90"
        | "response_p99"
        | "response_mean"
        | "service_p50"
        | "service_p90"
        | "service_p99"
        | "service_mean"
      )
    | "throughput"
    | "cpu_per_operation"
    | "bytes_per_operation"
    | "memory_peak";
  /**
   * Why it is absent.
   */
  reason?: string | null;
  /**
   * The unit.
   */
  unit: "ns" | "bytes" | "per_second";
}
/**
 * Something the judge noticed, with its evidence and what to do.
 */
export interface Finding {
  /**
   * What was seen, in numbers.
   */
  evidence: string;
  /**
   * A short fixed name: `generator-bound`, `carry-over`, `depends on window` …
   */
  name: string;
  /**
   * What to do.
   */
  remedy: string;
  /**
   * How much it matters.
   */
  severity: "note" | "warning" | "problem";
  /**
   * The variant and point it is about; empty for the whole run.
   */
  subject: string;
}
/**
 * Whether the wanted precision was reached.
 */
export interface Goal {
  /**
   * Half-width of the widest headline interval over variants; absent below 4 blocks.
   */
  half_width?: Ratio | null;
  /**
   * Whether it is within the goal.
   */
  reached: boolean;
  /**
   * A dimensionless share or factor: 0.02 is 2 %.
   */
  until: number;
}
/**
 * What `weigh calibrate` found.
 */
export interface HostCalibration {
  /**
   * Workload, load model and connections in words.
   */
  conditions: string;
  /**
   * Of which experiment.
   */
  experiment: string;
  /**
   * Headline of that experiment.
   */
  headline:
    | (
        | "response_p50"
        | "response_p90"
        | "response_p99"
        | "response_mean"
        | "service_p50"
        | "service_p90"
        | "service_p99"
        | "service_mean"
      )
    | "throughput"
    | "cpu_per_operation"
    | "bytes_per_operation"
    | "memory_peak";
  host: HostIdentity;
  /**
   * What disturbs measurements here.
   */
  noise: NoiseSource[];
  /**
   * Version of this JSON.
   */
  schema: number;
  /**
   * When it began, RFC 3339 in UTC.
   */
  started: string;
  /**
   * The same in seconds since 1970.
   */
  started_unix_s: number;
  /**
   * Time it took.
   */
  took_ns: number;
  /**
   * Variant by variant.
   */
  variants: VariantReliability[];
}
/**
 * The host.
 */
export interface HostIdentity {
  /**
   * 16 hexadecimal digits, from `lasting`.
   */
  key: string;
  /**
   * Processor, cores, kernel, hypervisor …: hosts that differ here are different hosts.
   */
  lasting: {
    [k: string]: string;
  };
  /**
   * Boot, name, governor, clock source …: told where they have changed.
   */
  passing: {
    [k: string]: string;
  };
}
/**
 * Something on the host that gets into figures.
 */
export interface NoiseSource {
  /**
   * What it does to figures.
   */
  effect: string;
  /**
   * The figure in words, or why it cannot be had.
   */
  evidence: string;
  /**
   * What it is, in a few words.
   */
  source: string;
  /**
   * The figure's unit.
   */
  unit: string;
  /**
   * The figure; absent where it cannot be had here.
   */
  value?: number | null;
}
/**
 * One variant beside copies of itself.
 */
export interface VariantReliability {
  /**
   * Blocks of a run.
   */
  blocks: number;
  /**
   * Runs of two copies whose headline's interval excludes 0. Absent where no run gave an interval.
   */
  false_alarms?: Share | null;
  /**
   * Runs that gave no interval or whose figures were invalid, by themselves in no other count.
   */
  lost: number;
  /**
   * Measured time of a run, on average.
   */
  measured_ns: number;
  /**
   * Runs with a copy that was slower; absent where there was none.
   */
  planted?: Planted | null;
  /**
   * Quantity by quantity; the headline first.
   */
  quantities: QuantitySpread[];
  /**
   * Rounds of a block, on average.
   */
  rounds: number;
  /**
   * From run to run, the variant alone.
   */
  run_to_run: RunToRun[];
  /**
   * Between the beginning of the first run and the end of the last: what takes longer to change is not in it.
   */
  spread_over_ns: number;
  /**
   * Its name.
   */
  variant: string;
}
/**
 * What became of a copy that was really slower.
 */
export interface Planted {
  /**
   * By how much, as asked for.
   */
  asked_ns: number;
  /**
   * Runs whose interval of the difference holds the truth; absent where the headline does not show it one to one.
   */
  covered?: Share | null;
  /**
   * The difference over runs, in the headline's unit.
   */
  difference?: Estimate | null;
  found: Share1;
  /**
   * How it was made slower.
   */
  planting: "probe" | "hold-back";
  /**
   * Run by run.
   */
  runs: PlantedRun[];
  /**
   * What was really planted, on average over the runs, in nanoseconds; absent as above.
   */
  truth_ns?: number | null;
}
/**
 * How often something happened.
 */
export interface Share1 {
  /**
   * How often.
   */
  hits: number;
  /**
   * Its level: 0.95.
   */
  level: number;
  /**
   * Lower bound of the exact (Clopper–Pearson) interval.
   */
  lower: number;
  /**
   * Of how many independent tries.
   */
  of: number;
  /**
   * hits / of.
   */
  point: number;
  /**
   * Upper bound.
   */
  upper: number;
}
/**
 * One run with a planted difference.
 */
export interface PlantedRun {
  difference: Estimate7;
  ratio: Estimate8;
  /**
   * What was really planted, in nanoseconds a request; absent where the headline does not show it one to one.
   */
  truth_ns?: number | null;
}
/**
 * A figure with its uncertainty.
 */
export interface Estimate7 {
  /**
   * Block estimates it rests on.
   */
  blocks: number;
  /**
   * The bootstrap-t interval of the same estimate, of costs from 10 blocks on. Shown beside; no verdict looks at it.
   */
  bootstrap?: Bounds | null;
  /**
   * Confidence level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of the interval; absent below 4 blocks.
   */
  lower?: number | null;
  /**
   * The estimate itself, in the quantity's unit (or a plain ratio).
   */
  point: number;
  /**
   * Upper bound of the interval; absent below 4 blocks.
   */
  upper?: number | null;
}
/**
 * A figure with its uncertainty.
 */
export interface Estimate8 {
  /**
   * Block estimates it rests on.
   */
  blocks: number;
  /**
   * The bootstrap-t interval of the same estimate, of costs from 10 blocks on. Shown beside; no verdict looks at it.
   */
  bootstrap?: Bounds | null;
  /**
   * Confidence level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of the interval; absent below 4 blocks.
   */
  lower?: number | null;
  /**
   * The estimate itself, in the quantity's unit (or a plain ratio).
   */
  point: number;
  /**
   * Upper bound of the interval; absent below 4 blocks.
   */
  upper?: number | null;
}
/**
 * What two copies of a variant differ by in one quantity.
 */
export interface QuantitySpread {
  /**
   * Blocks that the deviations rest on, of all runs of copies.
   */
  blocks: number;
  /**
   * The smallest detectable difference for given measured times; where the components are absent, for the time of the
   * calibration's own runs only.
   */
  detectable: Detectable[];
  /**
   * A dimensionless share or factor: 0.02 is 2 %.
   */
  deviation: number;
  /**
   * The variant's own figure, over all runs.
   */
  figure: number;
  /**
   * The quantity.
   */
  quantity:
    | (
        | "response_p50"
        | "response_p90"
        | "response_p99"
        | "response_mean"
        | "service_p50"
        | "service_p90"
        | "service_p99"
        | "service_mean"
      )
    | "throughput"
    | "cpu_per_operation"
    | "bytes_per_operation"
    | "memory_peak";
  /**
   * Standard deviation of one round; absent likewise.
   */
  round?: Ratio | null;
  /**
   * What of it each start decides; absent where the quantity cannot be had from a part of a block.
   */
  start?: Ratio | null;
  /**
   * Its unit.
   */
  unit: "ns" | "bytes" | "per_second";
}
/**
 * Facts of a host that make figures of another one incomparable, and a few that merely may change.
 */
export interface HostIdentity1 {
  /**
   * 16 hexadecimal digits, from `lasting`.
   */
  key: string;
  /**
   * Processor, cores, kernel, hypervisor …: hosts that differ here are different hosts.
   */
  lasting: {
    [k: string]: string;
  };
  /**
   * Boot, name, governor, clock source …: told where they have changed.
   */
  passing: {
    [k: string]: string;
  };
}
/**
 * Statistics of one part of the service time. A quantile is absent where fewer than 20 requests lie beyond it.
 */
export interface LegTimes {
  /**
   * Arithmetic mean.
   */
  mean_ns: number;
  /**
   * Median.
   */
  p50_ns?: Nanoseconds | null;
  /**
   * 90th percentile.
   */
  p90_ns?: Nanoseconds | null;
  /**
   * 99th percentile.
   */
  p99_ns?: Nanoseconds | null;
}
/**
 * How the variants were put side by side at one point.
 */
export interface PointPairing {
  /**
   * How the variants of a block were put side by side at one point.
   */
  pairing: "windows" | "requests" | "sequential";
  /**
   * The point, where the experiment has several.
   */
  point?: {
    [k: string]: string;
  };
}
/**
 * Where the spread of one variant's headline cost comes from. Standard deviations are of ln(variant / baseline), so
 * about shares of the ratio.
 */
export interface Spread {
  /**
   * A division of the same time into blocks and rounds that narrows the interval by a tenth or more.
   */
  advice?: Advice | null;
  /**
   * A dimensionless share or factor: 0.02 is 2 %.
   */
  block: number;
  /**
   * Cost in rounds in which the variant ran after the baseline, over that in which it ran before (1: no carry-over).
   */
  carry_over?: Estimate | null;
  /**
   * Which level of repetition makes most of the spread of a cost.
   */
  dominates: "starts" | "rounds" | "neither";
  /**
   * Cost at the end of a block over that at its beginning (1: no drift).
   */
  drift?: Estimate | null;
  /**
   * The point, where the experiment has several.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * A figure that can be estimated for a variant and compared between variants.
   */
  quantity:
    | (
        | "response_p50"
        | "response_p90"
        | "response_p99"
        | "response_mean"
        | "service_p50"
        | "service_p90"
        | "service_p99"
        | "service_mean"
      )
    | "throughput"
    | "cpu_per_operation"
    | "bytes_per_operation"
    | "memory_peak";
  /**
   * A dimensionless share or factor: 0.02 is 2 %.
   */
  round: number;
  /**
   * Rounds of a block, on average.
   */
  rounds: number;
  share_of_starts: Estimate9;
  /**
   * A dimensionless share or factor: 0.02 is 2 %.
   */
  start: number;
  /**
   * The variant.
   */
  variant: string;
}
/**
 * A figure with its uncertainty.
 */
export interface Estimate9 {
  /**
   * Block estimates it rests on.
   */
  blocks: number;
  /**
   * The bootstrap-t interval of the same estimate, of costs from 10 blocks on. Shown beside; no verdict looks at it.
   */
  bootstrap?: Bounds | null;
  /**
   * Confidence level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of the interval; absent below 4 blocks.
   */
  lower?: number | null;
  /**
   * The estimate itself, in the quantity's unit (or a plain ratio).
   */
  point: number;
  /**
   * Upper bound of the interval; absent below 4 blocks.
   */
  upper?: number | null;
}
/**
 * Where the time went: the legs of all good replies of a load, or of a variant at a point.
 */
export interface StampSummary {
  /**
   * From the driver to `done`; absent without stamps.
   */
  client_receive?: LegTimes | null;
  /**
   * From `sent` to the driver; absent without stamps.
   */
  client_send?: LegTimes | null;
  /**
   * A length of time in whole nanoseconds, 0 to 584 years.
   */
  clock_error_ns: number;
  /**
   * Wire and server; absent without stamps.
   */
  outside?: LegTimes | null;
  /**
   * Good replies with both stamps.
   */
  requests: number;
  /**
   * The shortest round trip that TCP saw: wire and both kernels, no server process.
   */
  round_trip_ns?: Nanoseconds | null;
  /**
   * The same less the shortest round trip: the server took at most this.
   */
  server_at_most?: LegTimes | null;
  /**
   * Why there are no stamps, in all windows or in some.
   */
  unavailable?: string | null;
  /**
   * Good replies without.
   */
  unmatched: number;
}
/**
 * One run, whole. `summary.json`, and what `weigh run --format json` prints.
 */
export interface Summary {
  blocks: BlockCounts1;
  /**
   * What a calibration of this host says of measurements on it; absent where there is none.
   */
  calibration?: CalibrationQuote | null;
  /**
   * In words: workload, load model and connections of each point.
   */
  conditions: string[];
  /**
   * Costs: point by point, variant by variant; the first is the headline of the first point.
   */
  costs: Cost[];
  /**
   * CPU of the whole machine by role; absent where it was not to be had.
   */
  cpu_roles?: CpuRoles | null;
  /**
   * What the judge noticed.
   */
  findings: Finding[];
  /**
   * The precision goal, where one was set.
   */
  goal?: Goal | null;
  /**
   * A figure that can be estimated for a variant and compared between variants.
   */
  headline:
    | (
        | "response_p50"
        | "response_p90"
        | "response_p99"
        | "response_mean"
        | "service_p50"
        | "service_p90"
        | "service_p99"
        | "service_mean"
      )
    | "throughput"
    | "cpu_per_operation"
    | "bytes_per_operation"
    | "memory_peak";
  /**
   * A dimensionless share or factor: 0.02 is 2 %.
   */
  margin: number;
  /**
   * How variants were put side by side at each point that has been measured.
   */
  pairings?: PointPairing[];
  /**
   * Measured by `--quick`: 4 blocks, short warm-up.
   */
  quick: boolean;
  /**
   * The run folder's name.
   */
  run: string;
  /**
   * [`SCHEMA_VERSION`] of the writer.
   */
  schema: number;
  /**
   * Where the spread of each headline cost comes from; a cost of fewer than 4 blocks has none.
   */
  spread?: Spread[];
  /**
   * When it started, RFC 3339 in UTC.
   */
  started: string;
  /**
   * The experiment's title.
   */
  title: string;
  /**
   * A length of time in whole nanoseconds, 0 to 584 years.
   */
  took_ns: number;
  /**
   * Variants that could not be measured at all: name and reason with remedy.
   */
  unavailable: [string, string][];
  /**
   * The worst validity of its variants.
   */
  validity: "valid" | "suspect" | "invalid";
  /**
   * Variants: point by point.
   */
  variants: VariantSummary[];
}
/**
 * Blocks of a run.
 */
export interface BlockCounts1 {
  /**
   * Most the plan allows.
   */
  max: number;
  /**
   * Fewest the plan allows.
   */
  min: number;
  /**
   * Blocks that count.
   */
  used: number;
  /**
   * Blocks measured and thrown away.
   */
  void: number;
}
/**
 * One variant at one point.
 */
export interface VariantSummary {
  /**
   * Whether the others are compared with it.
   */
  baseline: boolean;
  /**
   * Batches in which it was measured, from 0; empty where all variants lived at once.
   */
  batches?: number[];
  /**
   * Blocks that count.
   */
  blocks: number;
  /**
   * Connections opened in measured windows; those kept from before are not among them.
   */
  connects?: number;
  /**
   * Failures among them.
   */
  errors: number;
  errors_by_kind: ErrorCounts1;
  /**
   * Absolute figures.
   */
  figures: Figure[];
  /**
   * Where service times went, by the kernel's time stamps, over measured windows; absent where not asked for.
   */
  kernel_timestamps?: StampSummary | null;
  /**
   * The variant's name.
   */
  name: string;
  /**
   * Requests due but never sent.
   */
  not_sent: number;
  /**
   * The point, where the experiment has several.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * What speaks against them.
   */
  reasons: string[];
  /**
   * Requests begun in measured windows.
   */
  requests: number;
  traffic: Traffic;
  /**
   * Whether its figures may be used.
   */
  validity: "valid" | "suspect" | "invalid";
  /**
   * The service's answer to the version question.
   */
  version?: string | null;
  /**
   * Measured windows.
   */
  windows: number;
}
/**
 * Errors counted by kind.
 */
export interface ErrorCounts1 {
  /**
   * See [`ErrorKind::Check`].
   */
  check?: number;
  /**
   * See [`ErrorKind::Connect`].
   */
  connect?: number;
  /**
   * See [`ErrorKind::Protocol`].
   */
  protocol?: number;
  /**
   * See [`ErrorKind::Reset`].
   */
  reset?: number;
  /**
   * See [`ErrorKind::Status`].
   */
  status?: number;
  /**
   * See [`ErrorKind::Timeout`].
   */
  timeout?: number;
  /**
   * See [`ErrorKind::Tls`].
   */
  tls?: number;
}
/**
 * Kernel's counts on the generator's sockets over measured windows.
 */
export interface Traffic {
  /**
   * An amount of data in bytes.
   */
  received: number;
  /**
   * Segments retransmitted by the generator's side.
   */
  retransmits: number;
  /**
   * Segments received.
   */
  segments_in: number;
  /**
   * Segments sent.
   */
  segments_out: number;
  /**
   * An amount of data in bytes.
   */
  sent: number;
}
/**
 * What the kernel counted on the generator's sockets (`TCP_INFO`): payload bytes and segments both ways. On Unix
 * sockets the generator counts the bytes itself, and there are no segments: their counts are 0 then.
 */
export interface Traffic1 {
  /**
   * An amount of data in bytes.
   */
  received: number;
  /**
   * Segments retransmitted by the generator's side.
   */
  retransmits: number;
  /**
   * Segments received.
   */
  segments_in: number;
  /**
   * Segments sent.
   */
  segments_out: number;
  /**
   * An amount of data in bytes.
   */
  sent: number;
}
