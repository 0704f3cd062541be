// Selects a run's data over message size, by variant: curves, ratios, single requests, cliffs.
import type { SizeCliff, SizeCurve, SizeRatio, SizeSamples, SizeTime } from "../../data/schema.ts";
import { distinct, distinctPoints, samePoint, shownVariants, variantNames } from "../select.ts";
import type { ChartOptions, PageData, Point } from "../types.ts";

export interface VariantTimes {
  name: string;
  curve: SizeCurve;
  samples: SizeSamples | undefined;
  cliffs: readonly SizeCliff[];
}

export interface Picked {
  point: Point;
  operation: string;
  time: SizeTime;
  /** The variants to show, without those that have no curve. */
  all: readonly VariantTimes[];
  reference: string;
  /** The reference's curve, even if the reference is not shown. */
  base: SizeCurve | undefined;
}

export function overPoints(data: PageData): Point[] {
  const curves = (data.detail.size_curves ?? []).filter((curve) => curve.size_bytes.length > 1);
  return distinctPoints(curves.map((curve) => curve.point));
}

/** Times that have curves, in the order of the tables. */
export function timesOf(data: PageData): SizeTime[] {
  const times = distinct((data.detail.size_curves ?? []).map((curve) => curve.time));
  return (["service", "response", "relayed"] as const).filter((time) => times.includes(time));
}

export function pick(data: PageData, options: ChartOptions): Picked | null {
  const wanted = Object.entries(options.point ?? {});
  const point = overPoints(data).find((one) => wanted.every(([key, value]) => one[key] === value));
  const time = options.over?.time ?? timesOf(data)[0];
  if (!point || !time) return null;
  const atPoint = <T extends { point?: Point; operation: string }>(all: readonly T[]) =>
    all.filter((one) => samePoint(one.point, point));
  const curves = atPoint(data.detail.size_curves ?? []).filter((curve) => curve.time === time);
  const operation = options.operations
    ? options.operations.find((name) => curves.some((curve) => curve.operation === name))
    : curves[0]?.operation;
  if (operation === undefined) return null;
  const byVariant = <T extends { operation: string; variant: string }>(all: readonly T[], name: string) =>
    all.filter((one) => one.operation === operation && one.variant === name);
  const samples = atPoint(data.detail.size_samples ?? []).filter((one) => one.time === time);
  const cliffs = atPoint(data.summary.over_size?.cliffs ?? []);
  const all = shownVariants(data, options).flatMap((name): VariantTimes[] => {
    const curve = byVariant(curves, name)[0];
    return curve
      ? [{ name, curve, samples: byVariant(samples, name)[0], cliffs: byVariant(cliffs, name) }]
      : [];
  });
  const reference = options.over?.reference ?? variantNames(data.summary)[0] ?? "";
  return {
    point,
    operation,
    time,
    all,
    reference,
    base: byVariant(curves, reference)[0],
  };
}

/** Ratio of a variant's median to the reference's at each size; `null` if the run has no such ratios. */
export function ratios(data: PageData, picked: Picked, one: VariantTimes): (SizeRatio | null)[] | null {
  const { reference, base, operation, time } = picked;
  if (one.name === reference || !base) return null;
  const baseline = variantNames(data.summary)[0];
  if (reference === baseline) return one.curve.ratio ?? null;
  if (one.name === baseline) return base.ratio?.map(inverse) ?? null;
  const recorded = (variant: string, other: string) =>
    (data.detail.size_ratios ?? []).find(
      (pair) =>
        pair.variant === variant &&
        pair.reference === other &&
        pair.operation === operation &&
        pair.time === time &&
        samePoint(pair.point, picked.point),
    )?.ratio;
  return recorded(one.name, reference) ?? recorded(reference, one.name)?.map(inverse) ?? null;
}

export function inverse(ratio: SizeRatio | null): SizeRatio | null {
  if (!ratio) return null;
  const { point, interval } = ratio;
  return { point: 1 / point, interval: interval ? [1 / interval[1], 1 / interval[0]] : null };
}

/** A quantile's time at each size; empty if the curve does not have that quantile. */
export function quantile(curve: SizeCurve, share: number): readonly (number | null)[] {
  return curve.quantiles.find((one) => Math.abs(one.quantile - share) < 1e-9)?.time_ns ?? [];
}
