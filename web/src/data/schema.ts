// Made by `npm run types` from docs/schema/*.json. Do not edit.

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
  | "memory_peak";
/**
 * Whether a step kept its objective.
 */
export type Kept = "yes" | "no" | "undecided";
/**
 * Whether a larger figure is good news.
 */
export type Effect = "better" | "worse";
/**
 * The unit of a quantity's figures, as in JSON.
 */
export type Unit = "ns" | "bytes" | "per_second";
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
 * How much a finding matters.
 */
export type Severity = "note" | "warning" | "problem";
/**
 * Whether a TLS handshake agreed on everything anew or took up an earlier session.
 */
export type HandshakeKind = "full" | "resumed";
/**
 * How a copy was made slower.
 */
export type Planting = "probe" | "hold-back";
/**
 * How requests were issued.
 */
export type LoadModel =
  | {
      model: "closed";
    }
  | {
      /**
       * The law of arrivals: `poisson`, `constant` …
       */
      arrivals: string;
      model: "open";
      offered_per_s: PerSecond;
      /**
       * The rate over time in words, where it changes.
       */
      profile?: string | null;
      rate_per_s: PerSecond;
    }
  | {
      /**
       * The law of arrivals.
       */
      arrivals: string;
      /**
       * Operations of a session: `10`, `geometric:mean=10`.
       */
      length: string;
      model: "partly-open";
      offered_per_s: PerSecond;
      /**
       * The rate over time in words, where it changes.
       */
      profile?: string | null;
      sessions_per_s: PerSecond;
    };
/**
 * Events per second; finite and never negative.
 */
export type PerSecond = number;
/**
 * What the times of a stream's messages are.
 */
export type MessageBasis = "between-replies" | "share-of-call";
/**
 * Whether figures may be used.
 */
export type Validity = "valid" | "suspect" | "invalid";
/**
 * How the variants of a block were put side by side at one point.
 */
export type Pairing = "duet" | "windows" | "requests" | "sequential";
/**
 * Which level of repetition makes most of the spread of a cost.
 */
export type Source = "starts" | "rounds" | "neither";
/**
 * One line of `events.jsonl`.
 */
export type TimedEvent = TimedEvent1 & TimedEvent2;
export type TimedEvent1 =
  | {
      /**
       * Fewest and most blocks.
       *
       * @minItems 2
       * @maxItems 2
       */
      blocks: [number, number];
      budget_ns: Nanoseconds;
      event: "run-started";
      /**
       * The run folder.
       */
      folder: string;
      /**
       * Points.
       */
      points: number;
      /**
       * The experiment's title.
       */
      title: string;
      /**
       * Variants that take part.
       */
      variants: string[];
    }
  | {
      /**
       * Blocks.
       */
      blocks: number;
      event: "divided";
      /**
       * The earlier run of the same experiment that advises it.
       */
      run: string;
    }
  | {
      event: "building";
      /**
       * The service.
       */
      service: string;
    }
  | {
      event: "unavailable";
      /**
       * Why and what to do.
       */
      reason: string;
      /**
       * The variant.
       */
      variant: string;
    }
  | {
      event: "verified";
      /**
       * Requests compared.
       */
      requests: number;
    }
  | {
      /**
       * From 0.
       */
      block: number;
      event: "block-started";
      /**
       * Blocks planned by now.
       */
      of: number;
    }
  | {
      /**
       * The variants of each batch, the baseline first.
       */
      batches: string[][];
      event: "batches";
      /**
       * Why so many at once.
       */
      reason: string;
    }
  | {
      /**
       * Batch, from 0.
       */
      batch: number;
      /**
       * Block, from 0.
       */
      block: number;
      event: "batch-started";
      /**
       * Batches of the block.
       */
      of: number;
      /**
       * Its variants, the baseline first.
       */
      variants: string[];
    }
  | {
      event: "started";
      /**
       * Start to ready.
       */
      took_ns?: Nanoseconds | null;
      /**
       * The variant.
       */
      variant: string;
    }
  | {
      event: "warm";
      /**
       * The point.
       */
      point: {
        [k: string]: string;
      };
      /**
       * The variant.
       */
      variant: string;
      /**
       * Windows it took.
       */
      windows: number;
    }
  | {
      /**
       * Block, from 0.
       */
      block: number;
      event: "round";
      /**
       * Rounds planned in this block and point.
       */
      of: number;
      /**
       * The point.
       */
      point: {
        [k: string]: string;
      };
      /**
       * From 0.
       */
      round: number;
    }
  | {
      /**
       * From 0.
       */
      block: number;
      event: "block-ended";
      /**
       * The headline so far.
       */
      interim: Interim[];
      /**
       * Blocks planned by now.
       */
      of: number;
    }
  | {
      /**
       * From 0.
       */
      block: number;
      event: "block-void";
      /**
       * Why.
       */
      reason: string;
    }
  | {
      event: "warning";
      /**
       * What.
       */
      text: string;
    }
  | {
      event: "run-ended";
      /**
       * The run folder.
       */
      folder: string;
    }
  | {
      /**
       * Whole blocks kept.
       */
      blocks: number;
      event: "interrupted";
      /**
       * The run folder.
       */
      folder: string;
    };

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
  Failure?: Failure;
  Figure?: Figure;
  Finding?: Finding;
  Goal?: Goal;
  HandshakeKind?: HandshakeKind;
  Handshakes?: Handshakes;
  HostCalibration?: HostCalibration;
  HostIdentity?: HostIdentity;
  Interim?: Interim;
  Kept?: Kept;
  LegTimes?: LegTimes;
  Level?: Level;
  LoadModel?: LoadModel;
  LoadSummary?: LoadSummary;
  MessageBasis?: MessageBasis;
  Messages?: Messages;
  Nanoseconds?: Nanoseconds;
  NoiseSource?: NoiseSource;
  Operation?: Operation;
  PageData?: PageData;
  PageRun?: PageRun;
  Pairing?: Pairing;
  PerSecond?: PerSecond;
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
  TimedEvent?: TimedEvent;
  Times?: Times;
  Traffic?: Traffic;
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
  kept: Kept;
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
 * What each of several layers adds, from a baseline to the variant that has them all.
 */
export interface Waterfall {
  from: Level;
  /**
   * Each layer's own cost, in the order in which they are put on.
   */
  layers: Level[];
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
 * What the server said of failed requests.
 */
export interface Failure {
  /**
   * How often.
   */
  count: number;
  /**
   * Its words, escaped and cut.
   */
  text: string;
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
 * TLS handshakes of one kind.
 */
export interface Handshakes {
  /**
   * How many.
   */
  count: number;
  kind: HandshakeKind;
  max_ns: Nanoseconds;
  mean_ns: Nanoseconds;
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
  headline: Quantity;
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
  took_ns: Nanoseconds;
  /**
   * Variant by variant.
   */
  variants: VariantReliability[];
}
/**
 * Facts of a host that make figures of another one incomparable, and a few that merely may change.
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
  measured_ns: Nanoseconds;
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
  spread_over_ns: Nanoseconds;
  /**
   * Its name.
   */
  variant: string;
}
/**
 * What became of a copy that was really slower.
 */
export interface Planted {
  asked_ns: Nanoseconds;
  /**
   * Runs whose interval of the difference holds the truth; absent where the headline does not show it one to one.
   */
  covered?: Share | null;
  /**
   * The difference over runs, in the headline's unit.
   */
  difference?: Estimate | null;
  found: Share;
  planting: Planting;
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
 * One run with a planted difference.
 */
export interface PlantedRun {
  difference: Estimate;
  ratio: Estimate;
  /**
   * What was really planted, in nanoseconds a request; absent where the headline does not show it one to one.
   */
  truth_ns?: number | null;
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
  deviation: Ratio;
  /**
   * The variant's own figure, over all runs.
   */
  figure: number;
  quantity: Quantity;
  /**
   * Standard deviation of one round; absent likewise.
   */
  round?: Ratio | null;
  /**
   * What of it each start decides; absent where the quantity cannot be had from a part of a block.
   */
  start?: Ratio | null;
  unit: Unit;
}
/**
 * The headline so far, for one variant and point.
 */
export interface Interim {
  /**
   * Ratio minus 1, in parts of 1.
   */
  change: number;
  /**
   * Half-width of its interval; absent below 4 blocks.
   */
  half_width?: number | null;
  /**
   * The point.
   */
  point: {
    [k: string]: string;
  };
  /**
   * The variant's name.
   */
  variant: string;
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
 * One URL, measured.
 */
export interface LoadSummary {
  bytes_received: Bytes;
  bytes_sent: Bytes;
  /**
   * Requests that each connection served, where that was bounded.
   */
  churn?: number | null;
  /**
   * Connections kept open.
   */
  connections: number;
  /**
   * Connections opened in all; more than `connections` where the server or the user closed some.
   */
  connects: number;
  /**
   * Failures among them.
   */
  errors: number;
  errors_by_kind: ErrorCounts;
  /**
   * What the server said of them, the most frequent first: a few distinct texts. Not every failure has one.
   */
  failures: Failure[];
  /**
   * Failures with other words than those.
   */
  failures_unlisted: number;
  /**
   * TLS handshakes by kind, of the connections opened before and while measuring; empty without TLS.
   */
  handshakes: Handshakes[];
  /**
   * Where service times went, by the kernel's time stamps; only where asked for.
   */
  kernel_timestamps?: StampSummary | null;
  /**
   * The generator's own lateness, 99th percentile; absent where nothing was sent.
   */
  lag_p99_ns?: Nanoseconds | null;
  load: LoadModel;
  /**
   * The messages of each call that streams, where there are any.
   */
  messages: Messages[];
  /**
   * Requests due but never sent.
   */
  not_sent: number;
  /**
   * Each operation by itself, where there are several.
   */
  operations: Operation[];
  /**
   * What speaks against them.
   */
  reasons: string[];
  /**
   * Requests sent, however they ended.
   */
  requests: number;
  response: Times;
  /**
   * Version of this JSON.
   */
  schema: number;
  service: Times;
  /**
   * How long users think, in words, where they do.
   */
  think?: string | null;
  /**
   * Threads of the generator.
   */
  threads: number;
  throughput_per_s: PerSecond;
  took_ns: Nanoseconds;
  /**
   * The URL, credentials removed.
   */
  url: string;
  validity: Validity;
  /**
   * How they waited: `asleep`, `brief` or `awake`.
   */
  wait: string;
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
 * Messages of one call that streams.
 */
export interface Messages {
  basis: MessageBasis;
  /**
   * Messages.
   */
  count: number;
  /**
   * The call's name with `message` behind it; where the client alone streams, `message sent`.
   */
  name: string;
  throughput_per_s: PerSecond;
  time: Times;
}
/**
 * Statistics of one kind of time over good replies. `None` is withheld (see `withheld`) or, where nothing was
 * answered, not there.
 */
export interface Times {
  /**
   * The longest.
   */
  max_ns?: Nanoseconds | null;
  /**
   * Arithmetic mean.
   */
  mean_ns?: Nanoseconds | null;
  /**
   * Median.
   */
  p50_ns?: Nanoseconds | null;
  /**
   * 90th percentile.
   */
  p90_ns?: Nanoseconds | null;
  /**
   * 99.9th percentile.
   */
  p99_9_ns?: Nanoseconds | null;
  /**
   * 99th percentile.
   */
  p99_ns?: Nanoseconds | null;
  /**
   * Why a quantile is absent, by its name (`p99.9`): see [`withheld`].
   */
  withheld: {
    [k: string]: string;
  };
}
/**
 * Figures of one of several operations.
 */
export interface Operation {
  /**
   * Failures.
   */
  errors: number;
  /**
   * Good replies.
   */
  good: number;
  /**
   * Its name.
   */
  name: string;
  response: Times;
  service: Times;
  throughput_per_s: PerSecond;
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
  margin: Ratio;
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
export interface TimedEvent2 {
  at_ns: Nanoseconds;
}
