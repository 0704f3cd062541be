// The words of a chart over size: title, subtitle, and a note on how to read it.
import { shownVariants, variantAt, variantNames } from "../select.ts";
import { capitalize, clean, grouped, pointWords } from "../words.ts";
import { isFactor } from "./axes.ts";
import { type Curve, ratioWords } from "./curves.ts";
import type { Axes, Drawing } from "./drawing.ts";
import type { Guide, Lettered } from "./foot.ts";
import type { Measure } from "./measure.ts";

export function chartWords(drawing: Drawing, axes: Axes, marks: string) {
  const { picked, measure, relative, curves } = drawing;
  const requests = curves.reduce((sum, { one }) => sum + one.curve.requests, 0);
  const failed = curves.reduce((sum, { one }) => sum + (one.samples?.failed ?? 0), 0);
  const what = measure.label(`${picked.time} time`);
  return {
    title: relative ? relativeTitle(drawing, axes) : absoluteTitle(drawing, axes),
    subtitle: [
      `Median ${what}, against message size${relative ? `, relative to ${clean(picked.reference)}` : ""}`,
      `${grouped(requests)} requests`,
      failed > 0 ? `${grouped(failed)} failed, not drawn` : "",
      picked.operation === "all" ? "" : clean(picked.operation),
      pointWords(picked.point),
    ]
      .filter(Boolean)
      .join(" · "),
    note: [...reading(drawing, axes), marks].filter(Boolean).join(" "),
  };
}

/** Explains numbers and letters; `isTold`: the texts they refer to are below this very chart. */
export function marksWords(
  hasCliffs: boolean,
  letters: readonly Lettered[],
  host: readonly Guide[],
  isExplained: boolean,
) {
  const cliffs = "Numbers: cliffs, the stroke across is the interval of their place.";
  const lettered = letters.flatMap(({ guides }) => guides);
  const [hasHost, hasOwn] = [
    lettered.some((one) => host.includes(one)),
    lettered.some((one) => !host.includes(one)),
  ];
  const changes = "sizes at which something of the host changes";
  const guides = `Letters: ${hasHost ? changes : ""}${hasHost && hasOwn ? ", and " : ""}${hasOwn ? "sizes that were asked for" : ""}.`;
  const hasGuides = lettered.length > 0;
  const where = isExplained ? "" : "They are told below the first of these charts.";
  return [hasCliffs ? cliffs : "", hasGuides ? guides : "", hasCliffs || hasGuides ? where : ""]
    .filter(Boolean)
    .join(" ");
}

function missingCurves({ data, on, picked }: Drawing): string[] {
  const gone = shownVariants(data, on.options).flatMap((name) => {
    const variant = variantAt(data.summary, name, picked.point);
    if (!variant || picked.all.some((one) => one.name === name) || !(variant.errors > 0)) return [];
    return [`${clean(name)} (${grouped(variant.errors)} of ${grouped(variant.requests)} failed)`];
  });
  return gone.length > 0 ? [`No curve for want of good requests: ${gone.join(", ")}.`] : [];
}

function reading(drawing: Drawing, axes: Axes): string[] {
  const { curves, shown, relative, picked, measure, data } = drawing;
  const words: string[] = [];
  const unusable = curves.filter(
    ({ name }) => variantAt(data.summary, name, picked.point)?.validity === "invalid",
  );
  if (unusable.length > 0) {
    const reasons = variantAt(data.summary, unusable[0]?.name ?? "", picked.point)?.reasons ?? [];
    const who =
      unusable.length === curves.length ? "" : ` (${unusable.map(({ name }) => clean(name)).join(", ")})`;
    words.push(`Not to be relied on${who}: ${clean(reasons[0] ?? "invalid")}.`);
  }
  const hasIntervals = shown.intervals && curves.some((curve) => curve.interval.some((one) => one));
  if (relative) {
    const better = measure.inverse ? "Above" : "Below";
    words.push(
      `Straight line: ${clean(picked.reference)}. ${better} it a variant is ${measure.inverse ? "better" : "faster"} at that size; shaded: the margin of ±${Number((data.summary.margin * 100).toPrecision(3))} %.`,
    );
  }
  words.push(...missingCurves(drawing));
  if (relative && curves.some((curve) => curve.isQuotient))
    words.push(
      `Quotients of medians, without intervals: of so many variants these are kept against ${clean(variantNames(data.summary)[0] ?? "")} only.`,
    );
  if (shown.medians) words.push("Lines: medians of the requests of about that size.");
  if (hasIntervals)
    words.push(`${shown.bands.length > 0 ? "Dark bands" : "Bands"}: their 95 % intervals over blocks.`);
  if (!hasIntervals && !shown.intervals && curves.some((curve) => curve.interval.some((one) => one)))
    words.push("Intervals are not drawn for so many at once.");
  if (shown.bands.length > 0) words.push(`Light bands: ${shown.bands.map(bandWords).join(", ")}.`);
  if (shown.points) words.push(dotWords(curves, axes, measure));
  if (shown.apart && !relative) words.push(`Grey: the median of ${clean(picked.reference)}.`);
  return words;
}

function bandWords(percent: number): string {
  const [low, high] = [50 - percent / 2, 50 + percent / 2];
  return `${percent === 50 ? "the middle half of the requests" : `${percent} % of the requests`} (p${low} to p${high})`;
}

/** Explains dots: the sample's share of the requests, and the number of dots outside the axes. */
function dotWords(curves: readonly Curve[], { x, y }: Axes, measure: Measure): string {
  let [drawn, all, outside] = [0, 0, 0];
  for (const { one } of curves) {
    const dots = one.samples;
    all += one.curve.requests;
    if (!dots) continue;
    drawn += dots.size_bytes.length;
    for (let at = 0; at < dots.size_bytes.length; at += 1) {
      const size = dots.size_bytes[at] ?? 0;
      const [across, up] = [x.place(size), y.place(measure.of(size, dots.time_ns[at] ?? 0))];
      if (across < x.min || across > x.max || up < y.min || up > y.max) outside += 1;
    }
  }
  const thinned = drawn < all ? ` (${grouped(drawn)} of ${grouped(all)}, evenly taken)` : "";
  const beyond = outside > 0 ? `; ${grouped(outside)} lie beyond the axes` : "";
  return `Dots: single requests${thinned}, the fuller the more lie there${beyond}.`;
}

function absoluteTitle({ curves, measure }: Drawing, { x }: Axes): string {
  const ends = commonEnds(curves).map((size) => {
    const known = curves.flatMap((curve) => {
      const figure = curve.middle[curve.sizes.indexOf(size)];
      return figure == null ? [] : [{ name: curve.name, size, figure }];
    });
    return known.sort((a, b) => (measure.inverse ? b.figure - a.figure : a.figure - b.figure));
  });
  const parts = ends.map((known) => {
    const [best, worst] = [known[0], known.at(-1)];
    if (!best || !worst) return "";
    const figure = (one: typeof best) => `${measure.words(one.figure)} (${clean(one.name)})`;
    const at = `at ${x.words(best.size)}`;
    if (curves.length === 1) return `${measure.words(best.figure)} ${at}`;
    return known.length === 1 ? `${figure(best)} ${at}` : `from ${figure(best)} to ${figure(worst)} ${at}`;
  });
  const who = curves.length === 1 ? `${clean(curves[0]?.name ?? "")}: ` : "";
  return capitalize(`${who}${parts.join(", ")}`);
}

function relativeTitle({ curves, picked, measure }: Drawing, { x }: Axes): string {
  const last = curves.flatMap((curve) => {
    const [from, to] = [firstKnown(curve), lastKnown(curve)];
    const figure = to === null ? null : curve.middle[to];
    return from === null || to === null || figure == null ? [] : [{ curve, from, to, figure }];
  });
  const furthest = last.sort((a, b) => Math.abs(Math.log(b.figure)) - Math.abs(Math.log(a.figure)))[0];
  if (!furthest) return `Against ${clean(picked.reference)}`;
  const { curve, from, to } = furthest;
  const asFactor = [from, to].some((at) => isFactor(curve.middle[at] ?? 1));
  const words = (at: number) => {
    const ratio = { point: curve.middle[at] ?? 1, interval: curve.interval[at] ?? null };
    return `${ratioWords(ratio, asFactor)} at ${x.words(curve.sizes[at] ?? 0)}`;
  };
  const what =
    measure.name === "latency" ? "time" : measure.name === "transfer" ? "transfer rate" : "requests";
  return `${clean(curve.name)} against ${clean(picked.reference)}: ${what} ${words(from)}, ${words(to)}`;
}

/** Least and largest size at which all curves have a median; if there is none, at which any curve has one. */
function commonEnds(curves: readonly Curve[]): number[] {
  const known = (curve: Curve) => curve.sizes.filter((_, at) => curve.middle[at] != null);
  const each = curves.map((curve) => new Set(known(curve)));
  const any = curves.flatMap(known).sort((a, b) => a - b);
  const all = any.filter((size) => each.every((sizes) => sizes.has(size)));
  const sizes = all.length > 0 ? all : any;
  return sizes.length > 0 ? [sizes[0] as number, sizes.at(-1) as number] : [];
}

function firstKnown(curve: Curve): number | null {
  const at = curve.middle.findIndex((one) => one !== null);
  return at < 0 ? null : at;
}

function lastKnown(curve: Curve): number | null {
  const at = curve.middle.findLastIndex((one) => one !== null);
  return at < 0 ? null : at;
}
