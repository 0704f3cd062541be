// A variant's line over message size, with its interval and bands: absolute, or relative to a reference.
import type { PageData } from "../types.ts";
import { change, clean, joined, value } from "../words.ts";
import { type Axis, factorText, isFactor } from "./axes.ts";
import type { Shown } from "./drawing.ts";
import type { Measure } from "./measure.ts";
import { inverse, type Picked, quantile, ratios, type VariantTimes } from "./pick.ts";

/** One entry per size in every list; `null` is a gap. */
export interface Curve {
  name: string;
  sizes: readonly number[];
  middle: readonly (number | null)[];
  interval: readonly (readonly [number, number] | null)[];
  /** Bounds of each band, widest band first. */
  bands: readonly (readonly (readonly [number, number] | null)[])[];
  words(at: number): string;
  one: VariantTimes;
  /** Whether ratios are quotients of medians, without intervals: the run has no ratios to this reference. */
  isQuotient?: boolean;
}

export function clipped(curve: Curve, { place, min, max }: Axis): Curve {
  const isIn = curve.sizes.map((size) => place(size) >= min - 1e-9 && place(size) <= max + 1e-9);
  if (isIn.every(Boolean)) return curve;
  const only = <T>(of: readonly (T | null)[]) => of.map((one, at) => (isIn[at] ? one : null));
  return {
    ...curve,
    middle: only(curve.middle),
    interval: only(curve.interval),
    bands: curve.bands.map(only),
  };
}

export function absoluteCurve(one: VariantTimes, measure: Measure, shown: Shown, time: string): Curve {
  const { curve } = one;
  const sizes = curve.size_bytes;
  const figure = (at: number, ns: number) => measure.of(sizes[at] ?? 0, ns);
  const pair = (at: number, low: number | null | undefined, high: number | null | undefined) => {
    if (low == null || high == null) return null;
    const ends = [figure(at, low), figure(at, high)] as const;
    return measure.inverse ? ([ends[1], ends[0]] as const) : ends;
  };
  const median = quantile(curve, 0.5);
  const intervals = curve.median_interval_ns ?? [];
  const middle = median.map((ns, at) => (ns == null ? null : figure(at, ns)));
  const interval = sizes.map((_, at) => pair(at, intervals[at]?.[0], intervals[at]?.[1]));
  return {
    name: one.name,
    one,
    sizes,
    middle,
    interval,
    bands: shown.bands.map((percent) => {
      const [low, high] = [quantile(curve, 0.5 - percent / 200), quantile(curve, 0.5 + percent / 200)];
      return sizes.map((_, at) => pair(at, low[at], high[at]));
    }),
    words: (at) => {
      const ends = interval[at];
      const around = ends ? ` [${measure.words(ends[0])}, ${measure.words(ends[1])}]` : "";
      return `${clean(one.name)}, ${value("bytes", sizes[at] ?? 0)}\nmedian ${time}: ${measure.words(middle[at] ?? 0)}${around}`;
    },
  };
}

export function relativeCurve(data: PageData, picked: Picked, one: VariantTimes, measure: Measure): Curve[] {
  const recorded = ratios(data, picked, one);
  const found = recorded ?? quotients(picked, one);
  if (!found) return [];
  const all = measure.inverse ? found.map(inverse) : found;
  const sizes = one.curve.size_bytes;
  return [
    {
      name: one.name,
      one,
      isQuotient: recorded === null,
      sizes,
      middle: all.map((ratio) => ratio?.point ?? null),
      interval: all.map((ratio) => ratio?.interval ?? null),
      bands: [],
      words: (at) => `${clean(one.name)}, ${value("bytes", sizes[at] ?? 0)}\n${ratioWords(all[at])}`,
    },
  ];
}

/** With many variants, a run has ratios to the baseline only: this divides medians, size by size. */
function quotients(
  { reference, base }: Picked,
  one: VariantTimes,
): ({ point: number; interval: null } | null)[] | null {
  if (!base || one.name === reference || base.size_bytes.length !== one.curve.size_bytes.length) return null;
  const theirs = quantile(base, 0.5);
  return quantile(one.curve, 0.5).map((mine, at) => {
    const other = theirs[at];
    return mine == null || other == null ? null : { point: mine / other, interval: null };
  });
}

export function ratioWords(
  ratio: { point: number; interval?: readonly number[] | null } | null | undefined,
  asFactor = ratio ? isFactor(ratio.point) : false,
): string {
  if (!ratio) return "";
  const [lower, upper] = ratio.interval ?? [];
  if (asFactor) {
    const bound = (of: number) => factorText(of).slice(1);
    const around = lower == null || upper == null ? "" : ` [${bound(lower)}, ${bound(upper)}]`;
    return `${factorText(ratio.point)}${around}`;
  }
  return joined(
    change({ point: ratio.point, lower: lower ?? null, upper: upper ?? null, level: 0.95, blocks: 0 }),
  );
}
