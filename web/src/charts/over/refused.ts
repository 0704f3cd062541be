// Messages that say why a chart over size cannot be drawn, and what to request instead.
import { extent } from "../frame.ts";
import { shownVariants, variantAt } from "../select.ts";
import type { ChartOptions, PageData } from "../types.ts";
import { clean, grouped } from "../words.ts";
import type { Axis } from "./axes.ts";
import type { Curve } from "./curves.ts";
import { type Picked, timesOf } from "./pick.ts";

const NEEDS =
  "a curve over message size needs two sizes or more, each with 6 good requests of about that size, of a workload whose sizes vary (`min` to `max`)";

export function nothingPicked(data: PageData, options: ChartOptions): string {
  const all = data.detail.size_curves ?? [];
  const times = timesOf(data);
  if (times.length === 0 || !all.some((curve) => curve.size_bytes.length > 1))
    return `this run has no curves over message size: ${NEEDS}`;
  const operations = [...new Set(all.map((curve) => curve.operation))];
  if (options.operations && !options.operations.some((name) => operations.includes(name)))
    return `\`${options.operations.map(clean).join(", ")}\` has no curves over message size; this run has them of ${operations.map(clean).join(", ")}`;
  const time = options.over?.time;
  if (time && !times.includes(time))
    return `this run has no \`${time}\` time over message size; it has \`${times.join("`, `")}\` only`;
  return "this run has no curves over message size of what was asked for; leave out `--point` or `--operation`";
}

export function nothingKnown(
  data: PageData,
  picked: Picked,
  options: ChartOptions,
  relative: boolean,
): string {
  const { all, base, reference, point } = picked;
  if (all.length === 0) {
    const names = shownVariants(data, options).map((name) => {
      const variant = variantAt(data.summary, name, point);
      return `${clean(name)}${variant ? ` (${grouped(variant.errors)} of ${grouped(variant.requests)} requests failed)` : ""}`;
    });
    return `none of what was chosen has a curve: ${names.join(", ")}; ${NEEDS}`;
  }
  if (relative && !base)
    return `\`${clean(reference)}\` has no curve to be the reference of others; name another by \`--reference\``;
  if (relative && all.every(({ name }) => name === reference))
    return `\`${clean(reference)}\` is what a relative chart is relative to; choose other variants too, or another \`--reference\``;
  if (relative)
    return `no size of ${all.map(({ name }) => clean(name)).join(", ")} is one of \`${clean(reference)}\` too; name another by \`--reference\``;
  return NEEDS;
}

export function beyondSizes(sizes: readonly number[], { words }: Axis): string {
  const [low, high] = extent(sizes) ?? [0, 0];
  return `no curve has sizes between the ends that were asked for: they run from ${words(low)} to ${words(high)}`;
}

export function beyondFigures(
  curves: readonly Curve[],
  { words }: { words(figure: number): string },
): string {
  const [low, high] = extent(curves.flatMap((curve) => curve.middle.map((at) => at ?? Number.NaN))) ?? [0, 0];
  return `no median lies between the ends that were asked for: they run from ${words(low)} to ${words(high)}`;
}
