// Made by `npm run types` from docs/schema/*.json. Do not edit.

/**
 * Whether effects add up.
 */
export type Additivity = "agrees" | "interaction" | "undecided";
/**
 * A dimensionless share or factor: 0.02 is 2 %.
 */
export type Ratio = number;
/**
 * What the values of a factor count.
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
  | "wire_bytes_per_operation"
  | "segments_per_operation"
  | "memory_peak";
/**
 * Whether a step kept its objective.
 */
export type Kept = "yes" | "no" | "undecided";
/**
 * The unit of a quantity's figures, as in JSON.
 */
export type Unit = "ns" | "bytes" | "per_second" | "count";
/**
 * Whether figures may be used.
 */
export type Validity = "valid" | "suspect" | "invalid";
/**
 * What happens at a cliff.
 */
export type CliffChange = "level" | "slope" | "stairs";
/**
 * Whether a larger figure is good news.
 */
export type Effect = "better" | "worse";
/**
 * What a comparison concludes.
 */
export type Verdict = "no relevant difference" | "higher" | "lower" | "undecided" | "invalid" | "withheld";
/**
 * Which of the two times of a request.
 */
export type TimeKind = "response" | "service";
/**
 * What a dot stands for.
 */
export type DotKind = "window" | "warm-up" | "check" | "request";
/**
 * Which time a curve is of.
 */
export type SizeTime = "response" | "service" | "relayed";
/**
 * How much a finding matters.
 */
export type Severity = "note" | "warning" | "problem";
/**
 * How idle cores wait while a variant is measured.
 */
export type Idle = "polled" | "host";
/**
 * How the variants of a block were put side by side at one point.
 */
export type Pairing = "duet" | "windows" | "requests" | "sequential";
/**
 * One part of a request's response time, or the whole.
 */
export type TimePart = "waiting" | "outside" | "inside" | "server" | "client" | "response";
/**
 * Which level of repetition makes most of the spread of a cost.
 */
export type Source = "starts" | "rounds" | "neither";

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
  Carried?: Carried;
  Chain?: Chain;
  CliffChange?: CliffChange;
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
  Idle?: Idle;
  IdleWait?: IdleWait;
  Interaction?: Interaction;
  Kept?: Kept;
  Layering?: Layering;
  LegTimes?: LegTimes;
  Level?: Level;
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
  Source?: Source;
  Span?: Span;
  Spread?: Spread;
  Stage?: Stage;
  StageCost?: StageCost;
  StampSummary?: StampSummary;
  Step?: Step;
  SumCheck?: SumCheck;
  SumRow?: SumRow;
  Summary?: Summary;
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
   * Rounds of each.
   */
  rounds: number;
  then: Ratio;
}
/**
 * A factor of the matrix whose values are numbers, so that figures can be drawn against it.
 */
export interface Axis {
  /**
   * The key: `workload.size`, `load.rate` …
   */
  key: string;
  scale: Scale;
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
 * A value with its 95 % interval over blocks.
 */
export interface Bounded {
  /**
   * Lower bound.
   */
  lower: number;
  /**
   * The value.
   */
  point: number;
  /**
   * Upper bound.
   */
  upper: number;
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
  age_ns: Nanoseconds;
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
  headline: Quantity;
  /**
   * What it costs to be the second of two copies, in that headline.
   */
  position?: Estimate | null;
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
  change: Ratio;
  measured_ns: Nanoseconds;
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
 * How far one and the same variant, measured again, lies from itself.
 */
export interface RunToRun {
  deviation: Ratio;
  /**
   * Level of the interval: 0.95.
   */
  level: number;
  lower: Ratio;
  quantity: Quantity;
  /**
   * Runs.
   */
  runs: number;
  upper: Ratio;
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
  quantity: Quantity;
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
  kept: Kept;
  /**
   * Requests due per second.
   */
  offered_per_s: number;
}
/**
 * True throughput of one variant at one point: bytes carried over the windows' time, whatever single requests took.
 */
export interface Carried {
  /**
   * Body bytes of good replies per second (of a relay that tells of its call: of its peer's bodies); absent where sizes
   * of single requests are not known.
   */
  bytes_per_s?: Estimate | null;
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * The share of each class of sizes in `bytes_per_s`, rising; empty of a single size.
   */
  sizes?: SizedCarried[];
  /**
   * Payload on the generator's sockets per second, both ways, heads and failed replies included; absent where it is not
   * counted.
   */
  sockets_bytes_per_s?: Estimate | null;
  /**
   * The variant's name.
   */
  variant: string;
}
/**
 * What good replies of some sizes carried.
 */
export interface SizedCarried {
  bytes_per_s: Estimate;
  /**
   * Smallest size.
   */
  from_bytes: number;
  /**
   * Good replies.
   */
  requests: number;
  /**
   * Largest size.
   */
  to_bytes: number;
}
/**
 * Variants of which each has everything that the one before has and something more, at one point.
 */
export interface Chain {
  /**
   * Variants that belong between or below the stages and could not be measured.
   */
  missing?: Missing[];
  /**
   * What all of its variants are: `rust`.
   */
  of: string;
  /**
   * The point, where the experiment has several.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * Its variants, the one with the least first.
   */
  stages: Stage[];
  /**
   * The last against the first: costs of the stages between add up to these.
   */
  whole: StageCost[];
}
/**
 * A variant of a chain that could not be measured: the stage above it is held against the one below it.
 */
export interface Missing {
  /**
   * The variant of the stage that stands above it.
   */
  below: string;
  /**
   * Why it could not be measured.
   */
  reason: string;
  /**
   * Its name.
   */
  variant: string;
}
/**
 * One variant of a chain, and what it costs more than the one before.
 */
export interface Stage {
  /**
   * One for each quantity.
   */
  costs: StageCost[];
  /**
   * What it has more than the one before: `veth`, `vxlan + sidecar:haproxy`, `tls`; the first stage's is `bare` or what
   * it has itself.
   */
  name: string;
  validity: Validity;
  /**
   * The variant's name.
   */
  variant: string;
}
/**
 * One quantity of a stage.
 */
export interface StageCost {
  /**
   * The variant that it is held against, where that is not the one before: what lies between has no figure that may be
   * used.
   */
  against?: string | null;
  /**
   * The variant minus `against`; absent for the first stage and where there is no such cost.
   */
  difference?: Estimate | null;
  /**
   * The variant's own figure; absent where it has none or none that may be used, and for the whole.
   */
  figure?: Estimate | null;
  quantity: Quantity;
  /**
   * The variant over `against`; absent where `difference` is.
   */
  ratio?: Estimate | null;
  /**
   * Why figure or cost is absent, or what the cost alone does not say.
   */
  reason?: string | null;
  unit: Unit;
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
  quantity: Quantity;
  /**
   * Variant over baseline; absent where withheld or not measured.
   */
  ratio?: Estimate | null;
  /**
   * Why, where the verdict alone does not say (`measurable: +1.0 %`, `lag p99 …`).
   */
  reason?: string | null;
  unit: Unit;
  /**
   * The variant's name.
   */
  variant: string;
  verdict: Verdict;
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
  from_ns: Nanoseconds;
  lower_ns: Nanoseconds;
  median_ns: Nanoseconds;
  to_ns: Nanoseconds;
  upper_ns: Nanoseconds;
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
  beside_generator: Estimate;
  busy: Estimate;
  generator: Estimate;
  /**
   * By so many cores `busy` may be off in a single block, either way, because the kernel tells whole ticks.
   */
  resolution: number;
  service: Estimate;
  span_ns: Nanoseconds;
  unattributed: Estimate;
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
  time: TimeKind;
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
  time: TimeKind;
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
   * Times over size, of workloads whose sizes vary.
   */
  size_curves?: SizeCurve[];
  /**
   * Medians over size against other references than the baseline; of at most 12 variants.
   */
  size_ratios?: SizeRatios[];
  /**
   * Single requests over size.
   */
  size_samples?: SizeSamples[];
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
  kind: DotKind;
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
 * Times of one variant over size. Lists are of equal length, one entry for each size.
 */
export interface SizeCurve {
  /**
   * 95 % interval of the median in nanoseconds, at each size for itself; empty below 4 blocks.
   */
  median_interval_ns?: ([number, number] | null)[];
  /**
   * The operation's name.
   */
  operation: string;
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * Quantiles of single requests, rising; the median among them.
   */
  quantiles: SizeQuantile[];
  /**
   * Median over the baseline's; empty for the baseline.
   */
  ratio?: (SizeRatio | null)[];
  /**
   * Requests that it is made of.
   */
  requests: number;
  /**
   * Sizes in bytes, rising.
   */
  size_bytes: number[];
  time: SizeTime;
  /**
   * The variant's name.
   */
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
   * Times in nanoseconds, one for each size; `null` where fewer than 3 requests of about this size lie beyond.
   */
  time_ns: (number | null)[];
}
/**
 * A variant's median over the baseline's at one size, blocks paired.
 */
export interface SizeRatio {
  /**
   * Lower and upper bound at 95 %, at this size for itself; absent below 4 blocks.
   *
   * @minItems 2
   * @maxItems 2
   */
  interval?: [number, number] | null;
  /**
   * The ratio.
   */
  point: number;
}
/**
 * A variant's median over that of another which is not the baseline, over size.
 */
export interface SizeRatios {
  /**
   * The operation's name.
   */
  operation: string;
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * The ratio at each size of the variant's curve.
   */
  ratio: (SizeRatio | null)[];
  /**
   * The other's name; the ratio the other way round is the inverse, bounds exchanged.
   */
  reference: string;
  time: SizeTime;
  /**
   * The variant's name.
   */
  variant: string;
}
/**
 * Single requests over size; columns of equal length.
 */
export interface SizeSamples {
  /**
   * Requests that failed and are not among them.
   */
  failed: number;
  /**
   * The operation's name.
   */
  operation: string;
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * The size of each, rising.
   */
  size_bytes: number[];
  time: SizeTime;
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
  layers: Level[];
  /**
   * What all of its variants are: `rust`.
   */
  of?: string;
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
  quantity: Quantity;
  to: Level;
  unit: Unit;
}
/**
 * A name and its figure.
 */
export interface Level {
  estimate: Estimate;
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
  quantity: Quantity;
  /**
   * Why it is absent.
   */
  reason?: string | null;
  unit: Unit;
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
  severity: Severity;
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
  until: Ratio;
}
/**
 * What a run asked of its idle cores, and whether it had it.
 */
export interface IdleWait {
  asked: Idle;
  /**
   * Why they could not be kept awake; `None` where they could, or nobody asked for it.
   */
  refused?: string | null;
  /**
   * What would let them be kept awake.
   */
  remedy?: string | null;
  was: Idle;
}
/**
 * What a stage of a chain costs at one point against what it costs at another that differs in one factor.
 */
export interface Interaction {
  /**
   * The variant that it is held against: the one below.
   */
  above?: string;
  difference: Estimate;
  /**
   * The factor: `workload.size`.
   */
  factor: string;
  /**
   * The point that it is held against.
   */
  from: {
    [k: string]: string;
  };
  /**
   * What all variants of the chain are.
   */
  of: string;
  /**
   * Two-sided p of no difference; absent where no interval is.
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
  /**
   * The other point.
   */
  to: {
    [k: string]: string;
  };
  unit: Unit;
  /**
   * Its variant.
   */
  variant: string;
  verdict: Additivity;
}
/**
 * Costs of layers; empty where no variant is another one with something more.
 */
export interface Layering {
  /**
   * Point by point: from the variant with the least to the one with the most.
   */
  chains?: Chain[];
  /**
   * Whether what a layer costs depends on a factor of the points.
   */
  interactions?: Interaction[];
  /**
   * What layers cost per operation and per byte, where size is a factor.
   */
  slopes?: Slope[];
  /**
   * Whether costs of single layers add up to that of all together.
   */
  sums?: SumCheck[];
}
/**
 * What a stage of a chain costs per operation and per byte of the size: the line through its costs at all sizes.
 */
export interface Slope {
  /**
   * The variant that it is held against: the one below.
   */
  above?: string;
  /**
   * What all variants of the chain are.
   */
  of: string;
  per_byte: Estimate;
  per_operation: Estimate;
  /**
   * The other factors of the points.
   */
  point?: {
    [k: string]: string;
  };
  quantity: Quantity;
  /**
   * The sizes that the line goes through, in bytes.
   */
  sizes: number[];
  /**
   * The stage; `whole` for a whole chain.
   */
  stage: string;
  unit: Unit;
  /**
   * Its variant.
   */
  variant: string;
}
/**
 * Single layers, each alone above the same variant, against all of them together.
 */
export interface SumCheck {
  /**
   * The variant below all of them.
   */
  base: string;
  /**
   * What all of its variants are.
   */
  of: string;
  /**
   * The point, where the experiment has several.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * One for each quantity that all of these have.
   */
  rows: SumRow[];
  /**
   * Variants with one of the layers each, above `base`.
   */
  singles: Single[];
  /**
   * What was not checked, and why.
   */
  unchecked?: Unchecked[];
  /**
   * The variant with all of them.
   */
  whole: string;
}
/**
 * One quantity of a sum check. All are means over blocks of what a block says, so that no independence is assumed.
 */
export interface SumRow {
  interaction: Estimate;
  /**
   * Two-sided p of no interaction; absent where no interval is.
   */
  p?: number | null;
  quantity: Quantity;
  /**
   * What the verdict alone does not say.
   */
  reason?: string | null;
  /**
   * What each single layer costs above the base, in the order of [`SumCheck::singles`].
   */
  singles?: Estimate[];
  sum: Estimate;
  unit: Unit;
  verdict: Additivity;
  whole: Estimate;
}
/**
 * A layer by itself.
 */
export interface Single {
  /**
   * The layer.
   */
  name: string;
  /**
   * The variant that has it and nothing else above the base.
   */
  variant: string;
}
/**
 * A sum that was not checked.
 */
export interface Unchecked {
  /**
   * The quantity; absent where it is so for all.
   */
  quantity?: Quantity | null;
  /**
   * Why.
   */
  reason: string;
}
/**
 * Statistics of one part of the service time. A quantile is absent where fewer than 20 requests lie beyond it.
 */
export interface LegTimes {
  mean_ns: Nanoseconds;
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
 * Requests of windows that count in no figure and are looked at by gates all the same, since none of them should fail:
 * longer ones for the window check, and those of the idle check.
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
 * What a run says of times over size. Empty, and left out, where sizes do not vary.
 */
export interface OverSize {
  /**
   * Advice, one for each point and operation with several variants.
   */
  advice?: SizeAdvice[];
  /**
   * Cliffs, by variant and place.
   */
  cliffs?: SizeCliff[];
  /**
   * Sizes at which something known of this host changes, rising.
   */
  guides?: SizeGuide[];
  /**
   * Where cliffs were looked for, variant by variant; none of those with too few blocks or sizes.
   */
  judged?: SizeJudged[];
}
/**
 * Which variant to take for messages of a size.
 */
export interface SizeAdvice {
  /**
   * The operation's name.
   */
  operation: string;
  /**
   * The point, where the experiment has several.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * Ranges that follow each other.
   */
  ranges: SizeRange[];
}
/**
 * A range of sizes over which the same variants are best.
 */
export interface SizeRange {
  /**
   * The variant with the lowest level first, then those that are not told from it: a tie; rising by level.
   */
  best: string[];
  /**
   * Those among `best` that have too few blocks in common with the first to be told from it.
   */
  few_blocks?: string[];
  /**
   * Smallest size in bytes.
   */
  from_bytes: number;
  /**
   * How much slower the next variant behind them is at least, as a ratio of medians minus 1 (lower bound, simultaneous over
   * the whole advice, 0 where it is below); absent where all are tied.
   */
  lead?: number | null;
  /**
   * Largest size in bytes.
   */
  to_bytes: number;
}
/**
 * A place at which a variant's median time over size steps, or changes its slope.
 */
export interface SizeCliff {
  /**
   * The time, or the time for each byte, just below.
   */
  before: number;
  /**
   * What lies there on this host, in words: a likely cause, never a proven one. Absent where nothing known does.
   */
  cause?: string | null;
  change: CliffChange;
  height: Bounded;
  /**
   * The operation's name.
   */
  operation: string;
  /**
   * How many bytes one of the stairs is from the next; absent where there is but one place.
   */
  period_bytes?: Bounded | null;
  place_bytes: Bounded;
  /**
   * The point, where the experiment has several.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * The variant's name.
   */
  variant: string;
}
/**
 * A size at which something known of this host changes.
 */
export interface SizeGuide {
  bytes: Bytes;
  /**
   * What it is: `receive buffer (tcp_rmem)`.
   */
  name: string;
}
/**
 * At which sizes a variant's cliffs would have been found. Nearer to an end too few requests lie on one side.
 */
export interface SizeJudged {
  /**
   * Between which sizes a change of slope would be told, in bytes.
   *
   * @minItems 2
   * @maxItems 2
   */
  corners_bytes: [number, number];
  /**
   * Whether the curve changes at more places than are looked for; then no change of slope is told of it.
   */
  cut_off: boolean;
  /**
   * The operation's name.
   */
  operation: string;
  /**
   * The point, where the experiment has several.
   */
  point?: {
    [k: string]: string;
  };
  /**
   * Between which sizes a step of the level would be told, in bytes.
   *
   * @minItems 2
   * @maxItems 2
   */
  steps_bytes: [number, number];
  /**
   * The variant's name.
   */
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
 * One run, whole. `summary.json`, and what `weigh run --format json` prints.
 */
export interface Summary {
  blocks: BlockCounts;
  /**
   * What a calibration of this host says of measurements on it; absent where there is none.
   */
  calibration?: CalibrationQuote | null;
  /**
   * True throughput: bytes carried per second, by variant and size.
   */
  carried?: Carried[];
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
  headline: Quantity;
  /**
   * How idle cores waited; absent where nobody knows.
   */
  idle?: IdleWait | null;
  layering?: Layering;
  margin: Ratio;
  over_size?: OverSize;
  /**
   * How variants were put side by side at each point that has been measured.
   */
  pairings?: PointPairing[];
  /**
   * Measured by `--quick`: 4 blocks, short warm-up.
   */
  quick: boolean;
  /**
   * Where the time of requests went that a relay told of; left out where none did.
   */
  relays?: RelayParts[];
  /**
   * CPU per request and memory of variants with more than one role of their own, each role by itself.
   */
  roles?: RoleUse[];
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
  tags?: Tags;
  /**
   * The experiment's title.
   */
  title: string;
  took_ns: Nanoseconds;
  /**
   * Variants that could not be measured at all: name and reason with remedy.
   */
  unavailable: [string, string][];
  validity: Validity;
  /**
   * Variants: point by point.
   */
  variants: VariantSummary[];
}
/**
 * How the variants were put side by side at one point.
 */
export interface PointPairing {
  pairing: Pairing;
  /**
   * The point, where the experiment has several.
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
   * The variant that is the peer asked directly, where there is one: `server` and `client` rest on it.
   */
  direct?: string | null;
  /**
   * Failed requests among those kept one by one; in no part.
   */
  failed: number;
  /**
   * Requests that are not kept one by one, and so in no part.
   */
  left_out: number;
  /**
   * The operation's name.
   */
  operation: string;
  /**
   * The parts, in the order of [`TimePart::ALL`].
   */
  parts: PartTimes[];
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * Good replies that the parts are of.
   */
  requests: number;
  /**
   * Requests that the relay repeated, good and failed ones.
   */
  retried: number;
  /**
   * How often it did, in all.
   */
  retries: number;
  /**
   * The same by size, rising: each size by itself where they are few, else by powers of ten; empty of a single size.
   */
  sizes?: SizedParts[];
  /**
   * The variant's name.
   */
  variant: string;
}
/**
 * One part, in nanoseconds.
 */
export interface PartTimes {
  /**
   * The means against the baseline's; absent of the baseline, and where the part is not above zero in every block.
   */
  cost?: PartCost | null;
  mean_ns: Estimate;
  /**
   * Median of a block's requests, over blocks; absent of `server` and `client`, which are no parts of single requests,
   * and where fewer than 20 requests lie beyond in some block.
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
   * Whether that is good news.
   */
  effect?: Effect | null;
  /**
   * The p by which Holm ranks it.
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
  /**
   * Smallest size.
   */
  from_bytes: number;
  /**
   * Its parts, without costs.
   */
  parts: PartTimes[];
  /**
   * Good replies that it is of.
   */
  requests: number;
  /**
   * Largest size.
   */
  to_bytes: number;
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
  block: Ratio;
  /**
   * Cost in rounds in which the variant ran after the baseline, over that in which it ran before (1: no carry-over).
   */
  carry_over?: Estimate | null;
  dominates: Source;
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
  quantity: Quantity;
  round: Ratio;
  /**
   * Rounds of a block, on average.
   */
  rounds: number;
  share_of_starts: Estimate;
  start: Ratio;
  /**
   * The variant.
   */
  variant: string;
}
/**
 * The tags of a run and those that only some of its variants have.
 */
export interface Tags {
  /**
   * Of all variants.
   */
  run?: {
    [k: string]: string;
  };
  /**
   * Of single variants, by name; they go before those of the run.
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
  errors_by_kind: ErrorCounts;
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
  other_windows?: OtherWindows;
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
   * The service and its peer, where it passes requests on.
   */
  relay?: Relay | null;
  /**
   * Requests begun in measured windows.
   */
  requests: number;
  /**
   * What its run-time said that it saw, by key: `gc`, `heap_bytes` … Where starts differ, each value, joined by ` or `.
   */
  runtime?: {
    [k: string]: string;
  };
  /**
   * How many of its requests are kept one by one; absent of workloads of which none are.
   */
  samples?: SampleCounts | null;
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
  clock_error_ns: Nanoseconds;
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
 * Two services of which one passes requests on to the other.
 */
export interface Relay {
  /**
   * The one that answers it.
   */
  peer: string;
  /**
   * The service that is asked, and asks in its turn.
   */
  service: string;
}
/**
 * How many requests of a variant's measured windows are kept one by one.
 */
export interface SampleCounts {
  /**
   * Those that are.
   */
  kept: number;
  /**
   * Those that are not, whole rounds at a time: curves over size and parts of relayed requests are without them.
   */
  left_out: number;
}
/**
 * What the kernel counted on the generator's sockets (`TCP_INFO`): payload bytes and segments both ways. On Unix
 * sockets the generator counts the bytes itself, and there are no segments: their counts are 0 then.
 */
export interface Traffic {
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
 * What is known of each quantity beside its figures.
 */
export const QUANTITIES: Readonly<
  Record<Quantity, { unit: Unit; higher_is: Effect; is_by_operation: boolean }>
> = {
  "response_p50": {
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "response_p90": {
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "response_p99": {
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "response_mean": {
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "service_p50": {
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "service_p90": {
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "service_p99": {
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "service_mean": {
    "higher_is": "worse",
    "is_by_operation": true,
    "unit": "ns"
  },
  "throughput": {
    "higher_is": "better",
    "is_by_operation": true,
    "unit": "per_second"
  },
  "cpu_per_operation": {
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "ns"
  },
  "bytes_per_operation": {
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "bytes"
  },
  "wire_bytes_per_operation": {
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "bytes"
  },
  "segments_per_operation": {
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "count"
  },
  "memory_peak": {
    "higher_is": "worse",
    "is_by_operation": false,
    "unit": "bytes"
  }
};
