// Made by `npm run types` from docs/schema/*.json. Do not edit.

export type Additivity = "agrees" | "interaction" | "undecided";
/**
 * A dimensionless share or factor: 0.02 is 2 %.
 */
export type Ratio = number;
/**
 * The unit of a factor's values.
 */
export type Scale = "bytes" | "per_second" | "ns" | "count";
/**
 * An amount of data in bytes.
 */
export type Bytes = number;
/**
 * A length of time in whole nanoseconds, 0 to 584 years.
 */
export type Nanoseconds = number;
/**
 * A figure that can be estimated for a variant and compared between variants.
 */
export type Quantity =
  | (
      | "response_p50"
      | "response_p90"
      | "response_p95"
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
  | "payload_bytes_per_operation"
  | "wire_bytes_per_operation"
  | "segments_per_operation"
  | "memory_peak"
  | "capacity"
  | "availability"
  | "reliability"
  | "hit_rate"
  | "byte_hit_rate"
  | "compulsory_misses"
  | "capacity_misses"
  | "invalidated_misses"
  | "expired_misses"
  | "under_way_misses"
  | "refill_rate"
  | "abort_rate"
  | "action_throughput"
  | "restore_time";
/**
 * How sure a capacity is.
 */
export type CapacityOutcome =
  | {
      kind: "estimated";
    }
  | {
      kind: "at-ceiling";
      rate_per_s: number;
    }
  | {
      kind: "at-most";
      rate_per_s: number;
    }
  | {
      kind: "not-broken";
      rate_per_s: number;
    }
  | {
      kind: "below";
      rate_per_s: number;
    }
  | {
      exceeded_per_s: number;
      kept_per_s: number;
      kind: "not-monotone";
    }
  | {
      kind: "hysteresis";
      rate_per_s: number;
    }
  | {
      change: number;
      kind: "drift";
    }
  | {
      kind: "not-confirmed";
      rate_per_s: number;
    }
  | {
      kind: "not-measured";
    };
/**
 * Whether a step met its objective.
 */
export type Kept = ("yes" | "no") | "undecided";
/**
 * The unit of a quantity's figures, as in JSON.
 */
export type Unit = ("ns" | "bytes" | "per_second" | "count") | "share";
/**
 * Whether figures may be used.
 */
export type Validity = "valid" | "suspect" | "invalid";
/**
 * What happens at a cliff.
 */
export type CliffChange = "level" | "slope" | "stairs";
export type Effect = "better" | "worse";
export type Verdict = "no relevant difference" | "higher" | "lower" | "undecided" | "invalid" | "withheld";
export type TimeKind = "response" | "service";
export type DotKind = "window" | "warm-up" | "check" | "request";
/**
 * Which time a curve is of.
 */
export type SizeTime = ("response" | "service") | "relayed";
/**
 * How much a finding matters.
 */
export type Severity = "note" | "warning" | "problem";
/**
 * How idle cores wait while a variant is measured.
 */
export type Idle = "polled" | "host";
/**
 * How the variants of a block were paired at one point.
 */
export type Pairing = "duet" | "windows" | "requests" | "sequential";
/**
 * One part of a request's response time, or the whole.
 */
export type TimePart = "waiting" | "outside" | "inside" | "server" | "client" | "response";
/**
 * The level of repetition with the largest share of the variance of a cost.
 */
export type Source = "starts" | "rounds" | "neither";
export type TableDrawing = {
  kind: "bars";
  value: number;
};
export type TableCell =
  | {
      kind: "variant";
      variant: string;
    }
  | {
      kind: "text";
      text: string;
    }
  | {
      count: number;
      kind: "count";
    }
  | {
      estimate: Estimate;
      kind: "figure";
    }
  | {
      kind: "difference";
      ratio: Estimate;
      verdict: Verdict;
    }
  | {
      kind: "share";
      share: number;
    }
  | {
      kind: "absent";
      reason?: string | null;
    };

/**
 * Every type of the schemas by its name; only there so that none is left out.
 */
export interface Everything {
  Additivity?: Additivity;
  Advice?: Advice;
  Axis?: Axis;
  BlockCounts?: BlockCounts;
  Bounded?: Bounded;
  Bounds?: Bounds;
  Bytes?: Bytes;
  CalibrationQuote?: CalibrationQuote;
  Capacity?: Capacity;
  CapacityFound?: CapacityFound;
  CapacityOutcome?: CapacityOutcome;
  CapacityStep?: CapacityStep;
  Carried?: Carried;
  CellInteraction?: CellInteraction;
  Chain?: Chain;
  CliffChange?: CliffChange;
  CommonRate?: CommonRate;
  Cost?: Cost;
  Course?: Course;
  CpuRoles?: CpuRoles;
  Curve?: Curve;
  Density?: Density;
  Detail?: Detail;
  Detectable?: Detectable;
  DifferenceParts?: DifferenceParts;
  DotKind?: DotKind;
  Effect?: Effect;
  ErrorCounts?: ErrorCounts;
  Estimate?: Estimate;
  Factorial?: Factorial;
  FactorialTable?: FactorialTable;
  Figure?: Figure;
  Finding?: Finding;
  Goal?: Goal;
  Idle?: Idle;
  IdleWait?: IdleWait;
  Interaction?: Interaction;
  Kept?: Kept;
  Layering?: Layering;
  LegTimes?: LegTimes;
  Level?: Level;
  MainEffect?: MainEffect;
  Missing?: Missing;
  Nanoseconds?: Nanoseconds;
  OtherWindows?: OtherWindows;
  OverSize?: OverSize;
  PageData?: PageData;
  PageRun?: PageRun;
  Pairing?: Pairing;
  PartCost?: PartCost;
  PartTimes?: PartTimes;
  PointPairing?: PointPairing;
  Quantity?: Quantity;
  Ratio?: Ratio;
  Relay?: Relay;
  RelayParts?: RelayParts;
  ResultTable?: ResultTable;
  RoleUse?: RoleUse;
  RunToRun?: RunToRun;
  SampleCounts?: SampleCounts;
  Samples?: Samples;
  Scale?: Scale;
  Severity?: Severity;
  Share?: Share;
  Single?: Single;
  SizeAdvice?: SizeAdvice;
  SizeCliff?: SizeCliff;
  SizeCurve?: SizeCurve;
  SizeGuide?: SizeGuide;
  SizeJudged?: SizeJudged;
  SizeQuantile?: SizeQuantile;
  SizeRange?: SizeRange;
  SizeRatio?: SizeRatio;
  SizeRatios?: SizeRatios;
  SizeSamples?: SizeSamples;
  SizeTime?: SizeTime;
  SizedCarried?: SizedCarried;
  SizedParts?: SizedParts;
  Slope?: Slope;
  Slots?: Slots;
  Source?: Source;
  Span?: Span;
  Spread?: Spread;
  Stage?: Stage;
  StageCost?: StageCost;
  StampSummary?: StampSummary;
  SumCheck?: SumCheck;
  SumRow?: SumRow;
  Summary?: Summary;
  TableCell?: TableCell;
  TableColumn?: TableColumn;
  TableDrawing?: TableDrawing;
  Tags?: Tags;
  TimeKind?: TimeKind;
  TimePart?: TimePart;
  Traffic?: Traffic;
  Unchecked?: Unchecked;
  Unit?: Unit;
  Validity?: Validity;
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
  now: Ratio;
  /**
   * Rounds in each block.
   */
  rounds: number;
  then: Ratio;
}
/**
 * A factor of the matrix with numeric values, so that figures can be drawn against it.
 */
export interface Axis {
  /**
   * The key: `workload.size`, `load.rate` …
   */
  key: string;
  scale: Scale;
  /**
   * Each value as in points and as a number, ascending.
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
 * A value with its 95 % interval over blocks.
 */
export interface Bounded {
  lower: number;
  point: number;
  upper: number;
}
export interface Bounds {
  lower: number;
  upper: number;
}
/**
 * Excerpt of a host's calibration for later reports.
 */
export interface CalibrationQuote {
  age_ns: Nanoseconds;
  /**
   * What has changed on the host since, in words.
   */
  changed: string[];
  /**
   * The smallest difference of that headline found in four of five tries, in the measured time nearest to
   * the report's.
   */
  detectable?: Detectable | null;
  /**
   * Name of the experiment.
   */
  experiment: string;
  /**
   * How often two equal copies were found to differ.
   */
  false_alarms?: Share | null;
  headline: Quantity;
  /**
   * Cost of being the second of two copies, in that headline.
   */
  position?: Estimate | null;
  /**
   * How much figures of the same variant differ from run to run.
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
   * Number of blocks.
   */
  blocks: number;
  change: Ratio;
  measured_ns: Nanoseconds;
}
/**
 * A share of independent tries.
 */
export interface Share {
  /**
   * Tries in which it happened.
   */
  hits: number;
  /**
   * Level of the interval: 0.95.
   */
  level: number;
  /**
   * Lower bound of the exact (Clopper–Pearson) interval.
   */
  lower: number;
  /**
   * Independent tries.
   */
  of: number;
  /**
   * hits / of.
   */
  point: number;
  upper: number;
}
/**
 * A figure with its uncertainty.
 */
export interface Estimate {
  /**
   * Number of block estimates.
   */
  blocks: number;
  /**
   * The bootstrap-t interval of the same estimate, for costs from 10 blocks on. For information; no
   * verdict uses it.
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
 * How much figures of the same variant differ from run to run.
 */
export interface RunToRun {
  deviation: Ratio;
  /**
   * Level of the interval: 0.95.
   */
  level: number;
  lower: Ratio;
  quantity: Quantity;
  runs: number;
  upper: Ratio;
}
/**
 * How a variant handles rising rates, and the highest that meets an objective.
 */
export interface Capacity {
  found: CapacityFound;
  /**
   * Its limit, in this unit.
   */
  limit: number;
  /**
   * What is drawn over the rate, the condition that breaks first: `p99`, `errors`.
   */
  measure: string;
  /**
   * Tried rates, ascending.
   */
  steps: CapacityStep[];
  unit: Unit;
}
/**
 * The highest rate at which one variant keeps one objective, at one point.
 */
export interface CapacityFound {
  /**
   * Per second; absent if it could not be estimated.
   */
  highest?: Estimate | null;
  /**
   * The condition that breaks first; absent if none was seen to break.
   */
  limited_by?: string | null;
  /**
   * As the experiment has it: `p99 < 10 ms and errors < 0.1 %`.
   */
  objective: string;
  outcome: CapacityOutcome;
  point: {
    [k: string]: string;
  };
  variant: string;
}
export interface CapacityStep {
  /**
   * Good replies per second.
   */
  answered_per_s: number;
  /**
   * What is drawn, over blocks; absent if the steps were cut short.
   */
  figure?: Estimate | null;
  kept: Kept;
  offered_per_s: number;
}
/**
 * Goodput of one variant at one point: bytes carried divided by the windows' time, however long single
 * requests took.
 */
export interface Carried {
  /**
   * Body bytes of good replies per second (for a relay that reports its own call: its peer's bodies).
   * Absent where sizes of single requests are not known.
   */
  bytes_per_s?: Estimate | null;
  point: {
    [k: string]: string;
  };
  /**
   * The contribution of each class of sizes to `bytes_per_s`, ascending; empty if there is one size.
   */
  sizes?: SizedCarried[];
  /**
   * Payload on the generator's sockets per second, both ways, including heads and failed replies. Absent
   * where it is not counted.
   */
  sockets_bytes_per_s?: Estimate | null;
  variant: string;
}
/**
 * Bytes that good replies of some sizes carried.
 */
export interface SizedCarried {
  bytes_per_s: Estimate;
  from_bytes: number;
  /**
   * Good replies.
   */
  requests: number;
  to_bytes: number;
}
/**
 * What a framing and a codec cost together beyond what either costs.
 */
export interface CellInteraction {
  codec: string;
  difference: Estimate;
  framing: string;
  /**
   * Two-sided p of no interaction; absent without an interval.
   */
  p?: number | null;
  /**
   * What the verdict alone does not say.
   */
  reason?: string | null;
  verdict: Additivity;
}
/**
 * Variants of which each has everything that the one before has and something more, at one point.
 */
export interface Chain {
  /**
   * Variants that belong to the chain and could not be measured.
   */
  missing?: Missing[];
  /**
   * What all of its variants have in common: `rust`.
   */
  of: string;
  /**
   * Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * Its variants, the one with the fewest layers first.
   */
  stages: Stage[];
  /**
   * Costs of the last stage relative to the first: the sum of the costs of the stages between.
   */
  whole: StageCost[];
}
/**
 * A variant of a chain that could not be measured: the stage above it is compared with the one below it.
 */
export interface Missing {
  below: string;
  reason: string;
  variant: string;
}
/**
 * One variant of a chain, and what it costs more than the one before.
 */
export interface Stage {
  costs: StageCost[];
  /**
   * What it adds to the one before: `veth`, `vxlan + sidecar:haproxy`, `tls`; for the first stage `bare`,
   * or what it has itself.
   */
  name: string;
  validity: Validity;
  variant: string;
}
export interface StageCost {
  /**
   * The variant that it is compared with, if that is not the one before, because those between have no
   * usable figure.
   */
  against?: string | null;
  /**
   * The variant minus the one before, or minus `against`; absent for the first stage and if there is no
   * such cost.
   */
  difference?: Estimate | null;
  /**
   * The variant's own figure; absent if it has no usable one, and for the whole.
   */
  figure?: Estimate | null;
  quantity: Quantity;
  /**
   * The ratio of the same two; absent if `difference` is.
   */
  ratio?: Estimate | null;
  /**
   * Why the figure or the cost is absent, or a remark on the cost.
   */
  reason?: string | null;
  unit: Unit;
}
/**
 * A rate that all variants keep, and at which they were measured beside each other.
 */
export interface CommonRate {
  point: {
    [k: string]: string;
  };
  rate_per_s: number;
}
/**
 * Variant minus baseline in one quantity.
 */
export interface Cost {
  /**
   * Variant minus baseline; absent if withheld or not measured.
   */
  difference?: Estimate | null;
  /**
   * Whether that is an improvement; absent unless `higher` or `lower`.
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
   * The p-value that the verdict rule uses: two-sided for no difference, or twice the equivalence test's.
   * Absent without an interval.
   */
  p?: number | null;
  /**
   * Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
  quantity: Quantity;
  /**
   * Variant over baseline; absent if withheld or not measured, and where differences of shares are compared.
   */
  ratio?: Estimate | null;
  /**
   * Explains the verdict where needed (`measurable: +1.0 %`, `lag p99 …`).
   */
  reason?: string | null;
  unit: Unit;
  variant: string;
  verdict: Verdict;
}
/**
 * One variant's times over the run.
 */
export interface Course {
  point: {
    [k: string]: string;
  };
  /**
   * Spans of its measured windows, in order of time; none extends over two blocks.
   */
  spans: Span[];
  variant: string;
}
/**
 * Some consecutive windows: quartiles of their median response times.
 */
export interface Span {
  /**
   * Block, from 0.
   */
  block: number;
  from_ns: Nanoseconds;
  lower_ns: Nanoseconds;
  median_ns: Nanoseconds;
  to_ns: Nanoseconds;
  upper_ns: Nanoseconds;
  windows: number;
}
/**
 * How many cores each role kept busy while variants were measured: CPU seconds per second of the blocks,
 * over all variants. `busy` = `generator` + `service` + `unattributed`.
 */
export interface CpuRoles {
  beside_generator: Estimate;
  busy: Estimate;
  generator: Estimate;
  /**
   * Error of `busy` in a single block in either direction, in cores, because the kernel counts whole
   * ticks.
   */
  resolution: number;
  service: Estimate;
  span_ns: Nanoseconds;
  unattributed: Estimate;
}
/**
 * One percentile curve: estimates over blocks, as the figures of a summary are. All windows of a block are
 * pooled, even for p50.
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
  point: {
    [k: string]: string;
  };
  /**
   * Quantile (0 to 1, ascending) and time in nanoseconds. Ends where fewer than 20 requests lie beyond in
   * some block.
   */
  points: [number, number][];
  time: TimeKind;
  variant: string;
}
/**
 * The distribution of one variant's times: the share of its replies in each bin. Bins have equal width on a
 * logarithmic scale.
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
  point: {
    [k: string]: string;
  };
  /**
   * Share of the replies in each bin, 0 to 1; ends where fewer than 20 requests lie beyond.
   */
  shares: number[];
  /**
   * Upper edge over lower edge of each bin, the same for all variants of a point and operation.
   */
  step: number;
  time: TimeKind;
  variant: string;
}
/**
 * Data for charts, made by `judge` from the records: `detail.json`.
 */
export interface Detail {
  axes?: Axis[];
  capacities?: Capacity[];
  /**
   * Times over the run, in spans of windows.
   */
  courses?: Course[];
  curves?: Curve[];
  densities?: Density[];
  roles?: RoleUse[];
  samples?: Samples[];
  /**
   * Times over size, if the workload's sizes vary.
   */
  size_curves?: SizeCurve[];
  /**
   * Medians over size relative to other variants than the baseline; for at most 12 variants.
   */
  size_ratios?: SizeRatios[];
  size_samples?: SizeSamples[];
  waterfalls?: Waterfall[];
}
/**
 * CPU and memory of one role while a variant was measured.
 */
export interface RoleUse {
  /**
   * CPU time per request in nanoseconds; absent if not accounted.
   */
  cpu_per_operation?: Estimate | null;
  /**
   * Largest resident memory in bytes; absent if not accounted.
   */
  memory_peak?: Estimate | null;
  point: {
    [k: string]: string;
  };
  /**
   * `service` and other roles of the variant; `generator`: its loop except waiting; `unattributed`.
   */
  role: string;
  variant: string;
}
/**
 * Times of one variant over the time of the run, one dot for each window or request; columns of equal
 * length.
 */
export interface Samples {
  /**
   * Start of each, since the run's first window, ascending.
   */
  at_ns: number[];
  kind: DotKind;
  /**
   * The operation's name, or `all`.
   */
  operation: string;
  point: {
    [k: string]: string;
  };
  time_ns: number[];
  variant: string;
}
/**
 * Times of one variant over size. All lists have one entry per size.
 */
export interface SizeCurve {
  /**
   * 95 % interval of the median in nanoseconds, for each size by itself; empty below 4 blocks.
   */
  median_interval_ns?: ([number, number] | null)[];
  operation: string;
  point: {
    [k: string]: string;
  };
  /**
   * Quantiles of single requests, ascending; the median is among them.
   */
  quantiles: SizeQuantile[];
  /**
   * Median over the baseline's; empty for the baseline.
   */
  ratio?: (SizeRatio | null)[];
  /**
   * Requests that the curve is computed from.
   */
  requests: number;
  /**
   * Sizes in bytes, ascending.
   */
  size_bytes: number[];
  time: SizeTime;
  variant: string;
}
/**
 * One quantile over size.
 */
export interface SizeQuantile {
  /**
   * The quantile, 0 to 1: this share of the requests of about this size took less.
   */
  quantile: number;
  /**
   * Times in nanoseconds, one per size; `null` where fewer than 3 requests of about this size lie beyond.
   */
  time_ns: (number | null)[];
}
/**
 * A variant's median over the baseline's at one size, blocks paired.
 */
export interface SizeRatio {
  /**
   * Lower and upper bound at 95 %, for this size by itself; absent below 4 blocks.
   *
   * @minItems 2
   * @maxItems 2
   */
  interval?: [number, number] | null;
  point: number;
}
/**
 * A variant's median over that of another variant that is not the baseline, over size.
 */
export interface SizeRatios {
  operation: string;
  point: {
    [k: string]: string;
  };
  /**
   * The ratio at each size of the variant's curve.
   */
  ratio: (SizeRatio | null)[];
  /**
   * The other variant. The ratio of `reference` over `variant` is the inverse, with exchanged bounds.
   */
  reference: string;
  time: SizeTime;
  variant: string;
}
/**
 * Single requests over size; columns of equal length.
 */
export interface SizeSamples {
  /**
   * Failed requests; they are not in the lists.
   */
  failed: number;
  operation: string;
  point: {
    [k: string]: string;
  };
  /**
   * The size of each request, ascending.
   */
  size_bytes: number[];
  time: SizeTime;
  /**
   * The time of each request.
   */
  time_ns: number[];
  variant: string;
}
/**
 * The cost of each of several layers, from a variant without them to one with all.
 */
export interface Waterfall {
  from: Level;
  /**
   * Each layer's own cost, in the order in which they are added.
   */
  layers: Level[];
  /**
   * What all of its variants have in common: `rust`.
   */
  of?: string;
  /**
   * The operation's name, or `all`.
   */
  operation: string;
  point: {
    [k: string]: string;
  };
  quantity: Quantity;
  to: Level;
  unit: Unit;
}
/**
 * A variant's or a layer's figure.
 */
export interface Level {
  estimate: Estimate;
  name: string;
}
/**
 * What a variant with another framing and another codec differs by from the first, and the parts of it: they add up.
 */
export interface DifferenceParts {
  codec: string;
  framing: string;
  of_both: Estimate;
  of_codec: Estimate;
  of_framing: Estimate;
  whole: Estimate;
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
 * Variants that differ in framing and codec alone, each framing with each codec, at one point.
 */
export interface Factorial {
  codecs: string[];
  framings: string[];
  /**
   * What all of the variants have in common: `rust`.
   */
  of: string;
  /**
   * Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * Why there is no table, or a remark on all of them.
   */
  reason?: string | null;
  /**
   * One for each quantity whose costs add up and that all variants have.
   */
  tables: FactorialTable[];
  /**
   * Names of variants: a row for each framing, in it one for each codec.
   */
  variants: string[][];
}
/**
 * Figures, main effects and interactions of one quantity.
 */
export interface FactorialTable {
  /**
   * One for each codec but the first.
   */
  codecs: MainEffect[];
  /**
   * Figures of the variants, in their order.
   */
  figures: Estimate[][];
  /**
   * One for each framing but the first.
   */
  framings: MainEffect[];
  /**
   * One for each framing and codec that are neither of them the first.
   */
  interactions: CellInteraction[];
  /**
   * One for each codec but the first, with the last framing; absent in older summaries.
   */
  parts?: DifferenceParts[];
  quantity: Quantity;
  unit: Unit;
}
/**
 * What one value of a factor costs more than the first, on average over the values of the other factor.
 */
export interface MainEffect {
  /**
   * `http1`
   */
  against: string;
  difference: Estimate;
  /**
   * Whether that is better or worse; absent unless it is higher or lower.
   */
  effect?: Effect | null;
  /**
   * Two-sided p of no difference; absent without an interval.
   */
  p?: number | null;
  ratio: Estimate;
  /**
   * What the verdict alone does not say.
   */
  reason?: string | null;
  /**
   * `http2`
   */
  value: string;
  verdict: Verdict;
}
/**
 * One absolute figure of a variant.
 */
export interface Figure {
  /**
   * The figure over block estimates; absent if withheld.
   */
  estimate?: Estimate | null;
  /**
   * The operation's name, or `all`.
   */
  operation: string;
  quantity: Quantity;
  /**
   * Why it is absent.
   */
  reason?: string | null;
  unit: Unit;
}
/**
 * Something that the judge noticed, with evidence and remedy.
 */
export interface Finding {
  /**
   * What was observed, in numbers.
   */
  evidence: string;
  /**
   * A short fixed name: `generator-bound`, `carry-over`, `depends on window` …
   */
  name: string;
  remedy: string;
  severity: Severity;
  /**
   * The variant and point; empty for the whole run.
   */
  subject: string;
}
/**
 * Whether the precision goal was reached.
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
  until: Ratio;
}
export interface IdleWait {
  asked: Idle;
  /**
   * Why they could not be kept awake; `null` if they could, or if it was not asked for.
   */
  refused?: string | null;
  /**
   * What would let them be kept awake.
   */
  remedy?: string | null;
  was: Idle;
}
/**
 * The cost of a stage at one point compared with its cost at another point that differs in one factor.
 */
export interface Interaction {
  /**
   * The variant that it is compared with: the one below.
   */
  above?: string;
  difference: Estimate;
  /**
   * The factor: `workload.size`.
   */
  factor: string;
  /**
   * The point that is compared with.
   */
  from: {
    [k: string]: string;
  };
  /**
   * What all variants of the chain have in common.
   */
  of: string;
  /**
   * Two-sided p of no difference; absent without an interval.
   */
  p?: number | null;
  quantity: Quantity;
  /**
   * What the verdict alone does not say.
   */
  reason?: string | null;
  /**
   * The stage; `whole` for a whole chain.
   */
  stage: string;
  to: {
    [k: string]: string;
  };
  unit: Unit;
  variant: string;
  verdict: Additivity;
}
/**
 * Costs of layers; empty if no variant extends another one.
 */
export interface Layering {
  /**
   * By point: from the variant with the fewest layers to the one with the most.
   */
  chains?: Chain[];
  /**
   * Whether what a layer costs depends on a factor of the points.
   */
  interactions?: Interaction[];
  /**
   * What layers cost per operation and per byte, if size is a factor.
   */
  slopes?: Slope[];
  /**
   * Whether the costs of single layers add up to the cost of all together.
   */
  sums?: SumCheck[];
}
/**
 * What a stage of a chain costs per operation and per byte of the size: a line through its costs at all
 * sizes.
 */
export interface Slope {
  /**
   * The variant that it is compared with: the one below.
   */
  above?: string;
  /**
   * What all variants of the chain have in common.
   */
  of: string;
  per_byte: Estimate;
  per_operation: Estimate;
  /**
   * The other factors of the points. Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
  quantity: Quantity;
  /**
   * The sizes that the line is fitted to, in bytes.
   */
  sizes: number[];
  /**
   * The stage; `whole` for a whole chain.
   */
  stage: string;
  unit: Unit;
  variant: string;
}
/**
 * The costs of single layers, each added alone to the same variant, compared with the cost of all together.
 */
export interface SumCheck {
  /**
   * The variant without any of them.
   */
  base: string;
  /**
   * What all of its variants have in common: `rust`.
   */
  of: string;
  /**
   * Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * One row per quantity that all of these variants have.
   */
  rows: SumRow[];
  /**
   * Variants that add one of the layers to `base`.
   */
  singles: Single[];
  unchecked?: Unchecked[];
  whole: string;
}
/**
 * One quantity of a sum check. All figures are means over blocks of a block's value, so that no independence
 * is assumed.
 */
export interface SumRow {
  interaction: Estimate;
  /**
   * Two-sided p of no interaction; absent without an interval.
   */
  p?: number | null;
  quantity: Quantity;
  /**
   * What the verdict alone does not say.
   */
  reason?: string | null;
  /**
   * What each single layer adds to the base, in the order of [`SumCheck::singles`].
   */
  singles?: Estimate[];
  sum: Estimate;
  unit: Unit;
  verdict: Additivity;
  whole: Estimate;
}
export interface Single {
  name: string;
  /**
   * The variant that adds only this layer to the base.
   */
  variant: string;
}
export interface Unchecked {
  /**
   * The quantity; absent if the reason applies to all.
   */
  quantity?: Quantity | null;
  reason: string;
}
/**
 * Statistics of one part of the service time. A quantile is absent where fewer than 20 requests lie beyond
 * it.
 */
export interface LegTimes {
  mean_ns: Nanoseconds;
  p50_ns?: Nanoseconds | null;
  p90_ns?: Nanoseconds | null;
  p99_ns?: Nanoseconds | null;
}
/**
 * Requests of windows that are in no figure: longer ones for the window check, and those of the idle check.
 * Gates look at them too, since none of them should fail.
 */
export interface OtherWindows {
  /**
   * Failures among them.
   */
  errors: number;
  errors_by_kind: ErrorCounts;
  /**
   * Requests begun.
   */
  requests: number;
}
/**
 * What a run says about time over size. Empty, and left out, if sizes do not vary.
 */
export interface OverSize {
  /**
   * Advice, for each point and operation with several variants.
   */
  advice?: SizeAdvice[];
  /**
   * Cliffs, by variant and size.
   */
  cliffs?: SizeCliff[];
  /**
   * Sizes at which something known of this host changes, ascending.
   */
  guides?: SizeGuide[];
  /**
   * Where cliffs were looked for, by variant. Variants with too few blocks or sizes are not listed.
   */
  judged?: SizeJudged[];
}
/**
 * Which variant to take for messages of a size.
 */
export interface SizeAdvice {
  operation: string;
  /**
   * Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
  ranges: SizeRange[];
}
/**
 * A range of sizes over which the same variants are best.
 */
export interface SizeRange {
  /**
   * The variant with the lowest level first, then those whose difference from it is not shown (a tie), by
   * rising level.
   */
  best: string[];
  /**
   * The variants of `best` that share too few blocks with the first for a difference to be shown.
   */
  few_blocks?: string[];
  /**
   * Smallest size in bytes.
   */
  from_bytes: number;
  /**
   * How much slower the next variant behind them is at least, as a ratio of medians minus 1: the lower
   * bound, simultaneous over the whole advice, at least 0. Absent if all variants are tied.
   */
  lead?: number | null;
  /**
   * Largest size in bytes.
   */
  to_bytes: number;
}
/**
 * A size at which a variant's median time steps, or changes its slope.
 */
export interface SizeCliff {
  /**
   * The time, or the time for each byte, just below.
   */
  before: number;
  /**
   * A known property of this host at that size: a likely cause, never a proven one. Absent if none is
   * known.
   */
  cause?: string | null;
  change: CliffChange;
  height: Bounded;
  operation: string;
  /**
   * Bytes from one step of the stairs to the next; absent if there is one step.
   */
  period_bytes?: Bounded | null;
  place_bytes: Bounded;
  /**
   * Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
  variant: string;
}
/**
 * A size at which something known of this host changes.
 */
export interface SizeGuide {
  bytes: Bytes;
  /**
   * What changes there: `receive buffer (tcp_rmem)`.
   */
  name: string;
}
/**
 * The sizes at which a variant's cliffs could be found. Nearer to the ends of the range there are too few
 * requests on one side.
 */
export interface SizeJudged {
  /**
   * Range of sizes in which a change of slope would be reported, in bytes.
   *
   * @minItems 2
   * @maxItems 2
   */
  corners_bytes: [number, number];
  /**
   * Whether the curve changes at more sizes than the search allows; no change of slope is reported then.
   */
  cut_off: boolean;
  operation: string;
  /**
   * Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * Range of sizes in which a step of the level would be reported, in bytes.
   *
   * @minItems 2
   * @maxItems 2
   */
  steps_bytes: [number, number];
  variant: string;
}
/**
 * What the page's script reads.
 */
export interface PageData {
  /**
   * The runs, in the order of the page.
   */
  runs: PageRun[];
}
/**
 * One run of the page.
 */
export interface PageRun {
  detail: Detail;
  summary: Summary;
}
/**
 * A whole run: `summary.json`, and what `weigh run --format json` prints.
 */
export interface Summary {
  blocks: BlockCounts;
  /**
   * This host's calibration; absent if there is none.
   */
  calibration?: CalibrationQuote | null;
  /**
   * The capacity of each variant at each point by each objective; left out where none is asked for.
   */
  capacities?: CapacityFound[];
  /**
   * Goodput: bytes carried per second, by variant and size.
   */
  carried?: Carried[];
  /**
   * At each point with capacities, the rate at which its costs were measured; left out where there are none.
   */
  common_rates?: CommonRate[];
  /**
   * Workload, load model and connections of each point, in words.
   */
  conditions: string[];
  /**
   * Costs: point by point, variant by variant; the first is the headline of the first point.
   */
  costs: Cost[];
  /**
   * CPU of the whole machine by role; absent if not measured.
   */
  cpu_roles?: CpuRoles | null;
  /**
   * What framing and codec cost; left out unless variants have each framing with each codec.
   */
  factorials?: Factorial[];
  /**
   * What the judge noticed.
   */
  findings: Finding[];
  /**
   * The precision goal, if one was set.
   */
  goal?: Goal | null;
  headline: Quantity;
  /**
   * How idle cores waited; absent if unknown.
   */
  idle?: IdleWait | null;
  layering?: Layering;
  margin: Ratio;
  over_size?: OverSize;
  /**
   * How variants were paired at each measured point.
   */
  pairings?: PointPairing[];
  /**
   * Measured with `--quick`: 4 blocks, short warm-up.
   */
  quick: boolean;
  /**
   * Where the time of relayed requests went; left out if no relay reported its own call.
   */
  relays?: RelayParts[];
  /**
   * CPU per request and memory by role, for variants with several roles.
   */
  roles?: RoleUse[];
  run: string;
  /**
   * [`SCHEMA_VERSION`] of the writer.
   */
  schema: number;
  /**
   * Differences of shares within this, in parts of 1, are not relevant; left out if no cost is one.
   */
  share_margin?: Ratio | null;
  /**
   * Where the spread of each headline cost comes from; only for costs of 4 blocks or more.
   */
  spread?: Spread[];
  /**
   * When it started, RFC 3339 in UTC.
   */
  started: string;
  /**
   * What else it tells, point by point, as tables: pauses and overheads of garbage collectors, scaling, actions, attempts.
   */
  tables?: ResultTable[];
  tags?: Tags;
  title: string;
  took_ns: Nanoseconds;
  /**
   * Variants that could not be measured: name, and reason with remedy.
   */
  unavailable: [string, string][];
  validity: Validity;
  /**
   * Variants: point by point.
   */
  variants: VariantSummary[];
}
/**
 * How the variants were paired at one point.
 */
export interface PointPairing {
  pairing: Pairing;
  /**
   * Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
}
/**
 * Where the time of one relay's requests went at one point.
 */
export interface RelayParts {
  /**
   * The variant that asks the peer directly, if there is one: `server` and `client` are computed from it.
   */
  direct?: string | null;
  /**
   * Failed requests among the samples; they are in no part.
   */
  failed: number;
  /**
   * Requests that are not kept as samples, and so in no part.
   */
  left_out: number;
  operation: string;
  /**
   * The parts, in the order of [`TimePart::ALL`].
   */
  parts: PartTimes[];
  point: {
    [k: string]: string;
  };
  /**
   * Good replies that the parts are computed from.
   */
  requests: number;
  /**
   * Requests that the relay retried, good and failed ones.
   */
  retried: number;
  /**
   * Retries in all.
   */
  retries: number;
  /**
   * The same by size, ascending: each size by itself if there are few, else by powers of ten. Empty if
   * there is one size.
   */
  sizes?: SizedParts[];
  variant: string;
}
export interface PartTimes {
  /**
   * The means against the baseline's. Absent for the baseline, and where the part is not above zero in
   * every block.
   */
  cost?: PartCost | null;
  mean_ns: Estimate;
  /**
   * Median of a block's requests, over blocks. Absent for `server` and `client`, which are not parts of
   * single requests, and where fewer than 20 requests lie beyond it in some block.
   */
  p50_ns?: Estimate | null;
  part: TimePart;
}
/**
 * A part's mean against the baseline's, blocks paired.
 */
export interface PartCost {
  difference: Estimate;
  /**
   * Whether the difference is an improvement.
   */
  effect?: Effect | null;
  /**
   * The p-value that Holm's correction ranks.
   */
  p?: number | null;
  ratio: Estimate;
  /**
   * What the verdict alone does not say.
   */
  reason?: string | null;
  verdict: Verdict;
}
/**
 * The parts of requests of some sizes.
 */
export interface SizedParts {
  from_bytes: number;
  parts: PartTimes[];
  /**
   * Good replies.
   */
  requests: number;
  to_bytes: number;
}
/**
 * Where the spread of one variant's headline cost comes from. Standard deviations are of ln(variant /
 * baseline), so they are approximately shares of the ratio.
 */
export interface Spread {
  /**
   * A division of the same time into blocks and rounds that would narrow the interval by a tenth or more.
   */
  advice?: Advice | null;
  block: Ratio;
  /**
   * Cost in rounds in which the variant ran after the baseline, over that in which it ran before (1: no
   * carry-over).
   */
  carry_over?: Estimate | null;
  dominates: Source;
  /**
   * Cost at the end of a block over that at its beginning (1: no drift).
   */
  drift?: Estimate | null;
  /**
   * Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
  quantity: Quantity;
  round: Ratio;
  /**
   * Rounds of a block, on average.
   */
  rounds: number;
  share_of_starts: Estimate;
  start: Ratio;
  variant: string;
}
/**
 * One table of one point.
 */
export interface ResultTable {
  columns: TableColumn[];
  /**
   * How to draw it; left out if it should not be drawn.
   */
  drawing?: TableDrawing | null;
  /**
   * Whether it answers what the experiment asks, so that what is short shows it too; left out if not.
   */
  is_answer?: boolean;
  /**
   * For programs, the same in every run: `collectors`.
   */
  name: string;
  /**
   * What must be known of some of its figures; left out if nothing.
   */
  notes?: string[];
  /**
   * Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * How to read it, in a sentence.
   */
  reading: string;
  /**
   * Each with a cell for every column.
   */
  rows: TableCell[][];
  title: string;
}
export interface TableColumn {
  name: string;
  /**
   * Of the numbers in it; `null` for text, and for differences, which are ratios.
   */
  unit?: Unit | null;
}
/**
 * The tags of a run and those that only some of its variants have.
 */
export interface Tags {
  /**
   * Tags of all variants.
   */
  run?: {
    [k: string]: string;
  };
  /**
   * Tags of single variants, by variant; they override those of the run.
   */
  variants?: {
    [k: string]: {
      [k: string]: string;
    };
  };
}
/**
 * One variant at one point.
 */
export interface VariantSummary {
  /**
   * Whether it is the baseline.
   */
  baseline: boolean;
  /**
   * Batches in which it was measured, from 0; empty if all variants lived at once.
   */
  batches?: number[];
  /**
   * Blocks that count.
   */
  blocks: number;
  /**
   * Connections opened in measured windows; earlier ones are not counted.
   */
  connects?: number;
  /**
   * Failures among them.
   */
  errors: number;
  errors_by_kind: ErrorCounts;
  figures: Figure[];
  /**
   * Legs of service times by the kernel's time stamps, over measured windows; absent if not asked for.
   */
  kernel_timestamps?: StampSummary | null;
  name: string;
  /**
   * Requests never sent.
   */
  not_sent: number;
  other_windows?: OtherWindows;
  /**
   * Left out if the experiment has one point.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * Why its figures are not simply valid.
   */
  reasons: string[];
  /**
   * The service and its peer, if it is a relay.
   */
  relay?: Relay | null;
  /**
   * Requests due in measured windows: good ones, errors and those not sent.
   */
  requests: number;
  /**
   * How often a request was sent again on another connection; left out if none was.
   */
  resent?: number;
  /**
   * What its language's runtime reports, by key: `gc`, `heap_bytes` … If starts differ, all values, joined
   * by ` or `.
   */
  runtime?: {
    [k: string]: string;
  };
  /**
   * How many of its requests are kept as samples; absent if the workload keeps none.
   */
  samples?: SampleCounts | null;
  /**
   * Its connections, where they are not simply the load's.
   */
  slots?: Slots | null;
  traffic: Traffic;
  validity: Validity;
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
 * The legs of all good replies of a load, or of a variant at a point.
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
  clock_error_ns: Nanoseconds;
  /**
   * Wire and server; absent without stamps.
   */
  outside?: LegTimes | null;
  requests: number;
  /**
   * The shortest round trip that TCP measured: wire and both kernels, without the server's process.
   */
  round_trip_ns?: Nanoseconds | null;
  /**
   * `outside` minus the shortest round trip: an upper bound for the server's time.
   */
  server_at_most?: LegTimes | null;
  /**
   * Why there are no stamps, in all windows or in some.
   */
  unavailable?: string | null;
  unmatched: number;
}
/**
 * A service that passes requests on, and the one that it asks.
 */
export interface Relay {
  /**
   * The service that it asks.
   */
  peer: string;
  /**
   * The service that passes requests on.
   */
  service: string;
}
/**
 * How many requests of a variant's measured windows are kept as samples.
 */
export interface SampleCounts {
  /**
   * Kept requests.
   */
  kept: number;
  /**
   * Requests that are not kept, whole rounds at a time; curves over size and parts of relayed requests do
   * not cover them.
   */
  left_out: number;
}
/**
 * How a variant's requests are spread over connections: its own setting, or pipelined.
 */
export interface Slots {
  connections: number;
  /**
   * On each connection.
   */
  in_flight: number;
  /**
   * Whether several are in flight on a connection that answers them in order, so that each waits for those before it.
   */
  pipelined: boolean;
}
/**
 * What went through the generator's sockets. Bytes and segments are the kernel's counts (`TCP_INFO`); on Unix sockets the
 * generator counts the bytes itself, and there are no segments: their counts are 0 then. Payload is the generator's own
 * count: bodies of requests and replies without what frames them.
 */
export interface Traffic {
  payload_received?: Bytes;
  payload_sent?: Bytes;
  received: Bytes;
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
  sent: Bytes;
}

/**
 * The fixed properties of each quantity.
 */
export const QUANTITIES: Readonly<
  Record<Quantity, { unit: Unit; higher_is: Effect; is_by_operation: boolean; contrast: "log" | "plain" }>
> = {
  "response_p50": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "response_p90": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "response_p95": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "response_p99": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "response_mean": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "service_p50": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "service_p90": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "service_p99": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "service_mean": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "throughput": {
    "contrast": "log",
    "higher_is": "better",
    "is_by_operation": true,
    "unit": "per_second"
  },
  "cpu_per_operation": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "ns"
  },
  "bytes_per_operation": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "bytes"
  },
  "payload_bytes_per_operation": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "bytes"
  },
  "wire_bytes_per_operation": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "bytes"
  },
  "segments_per_operation": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "count"
  },
  "memory_peak": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "bytes"
  },
  "capacity": {
    "contrast": "log",
    "higher_is": "better",
    "is_by_operation": false,
    "unit": "per_second"
  },
  "availability": {
    "contrast": "plain",
    "higher_is": "better",
    "is_by_operation": false,
    "unit": "share"
  },
  "reliability": {
    "contrast": "plain",
    "higher_is": "better",
    "is_by_operation": false,
    "unit": "share"
  },
  "hit_rate": {
    "contrast": "plain",
    "higher_is": "better",
    "is_by_operation": false,
    "unit": "share"
  },
  "byte_hit_rate": {
    "contrast": "plain",
    "higher_is": "better",
    "is_by_operation": false,
    "unit": "share"
  },
  "compulsory_misses": {
    "contrast": "plain",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "share"
  },
  "capacity_misses": {
    "contrast": "plain",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "share"
  },
  "invalidated_misses": {
    "contrast": "plain",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "share"
  },
  "expired_misses": {
    "contrast": "plain",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "share"
  },
  "under_way_misses": {
    "contrast": "plain",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "share"
  },
  "refill_rate": {
    "contrast": "plain",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "share"
  },
  "abort_rate": {
    "contrast": "plain",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "share"
  },
  "action_throughput": {
    "contrast": "log",
    "higher_is": "better",
    "is_by_operation": false,
    "unit": "per_second"
  },
  "restore_time": {
    "contrast": "log",
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "ns"
  }
};
