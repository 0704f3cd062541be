// What a drawing over size is made of: curves, what of them is shown, and axes.
import type { Sheet } from "../frame.ts";
import type { OverOptions, PageData } from "../types.ts";
import type { Axis } from "./axes.ts";
import type { Curve } from "./curves.ts";
import type { Measure } from "./measure.ts";
import type { One, Picked } from "./pick.ts";

/** Up to so many variants share a panel with their dots and bands, and up to so many with their intervals. */
const WITH_BANDS = 2;
const WITH_DOTS = 4;
const WITH_INTERVALS = 6;

/** What is drawn of what a run has. */
export interface Shown {
  points: boolean;
  bands: readonly number[];
  medians: boolean;
  intervals: boolean;
  guides: boolean;
  cliffs: boolean;
  apart: boolean;
}

/** `hasIntervals`: whether any is known. */
export function shownOf(count: number, want: OverOptions, relative: boolean, hasIntervals: boolean): Shown {
  const asked = (want.points ?? false) || (want.bands?.length ?? 0) > 0;
  // What would lie upon each other where all share a panel: dots and bands that were asked for; of ratios their intervals,
  // without which they say nothing.
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

/** Whether the median of any curve has an interval. */
export function hasIntervals(all: readonly One[]): boolean {
  return all.some(({ curve }) => (curve.median_interval_ns ?? []).some((one) => one));
}

/** All that a drawing is made of. */
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
