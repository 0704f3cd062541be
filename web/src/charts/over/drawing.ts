// The parts of a drawing over message size: curves, which of their data are shown, axes.
import type { Sheet } from "../frame.ts";
import type { OverOptions, PageData } from "../types.ts";
import type { Axis } from "./axes.ts";
import type { Curve } from "./curves.ts";
import type { Measure } from "./measure.ts";
import type { Picked, VariantTimes } from "./pick.ts";

/** The most variants in one panel for which bands, dots and intervals are drawn by default. */
const WITH_BANDS = 2;
const WITH_DOTS = 4;
const WITH_INTERVALS = 6;

export interface Shown {
  points: boolean;
  bands: readonly number[];
  medians: boolean;
  intervals: boolean;
  guides: boolean;
  cliffs: boolean;
  apart: boolean;
}

export function shownOf(count: number, want: OverOptions, relative: boolean, hasIntervals: boolean): Shown {
  const asked = (want.points ?? false) || (want.bands?.length ?? 0) > 0;
  // Data that would overlap in a shared panel: requested dots or bands; for ratios their intervals, since a
  // ratio without an interval says nothing.
  const isMuch = relative
    ? count > WITH_INTERVALS && hasIntervals && want.intervals !== false
    : asked && count > WITH_DOTS;
  const isApart = count > 1 && (want.apart ?? isMuch);
  const each = isApart ? 1 : count;
  return {
    points: !relative && (want.points ?? (each <= WITH_DOTS && !want.bands?.length)),
    bands: relative ? [] : [...(want.bands ?? (each <= WITH_BANDS ? [90, 50] : []))].sort((a, b) => b - a),
    medians: want.medians ?? true,
    intervals: want.intervals ?? each <= WITH_INTERVALS,
    guides: want.guides ?? !isApart,
    cliffs: want.cliffs ?? true,
    apart: isApart,
  };
}

export function hasIntervals(all: readonly VariantTimes[]): boolean {
  return all.some(({ curve }) => (curve.median_interval_ns ?? []).some((one) => one));
}

export interface Drawing {
  data: PageData;
  on: Sheet;
  picked: Picked;
  measure: Measure;
  relative: boolean;
  shown: Shown;
  curves: readonly Curve[];
  want: OverOptions;
}

export interface Axes {
  x: Axis;
  y: Axis;
}
