// The choices for charts over message size, in a bar above them. An empty choice leaves it to the chart.

import type { AxisOptions, OverOptions } from "../charts/index.ts";
import { timesOf } from "../charts/over/pick.ts";
import { variants } from "../data/points.ts";
import type { PageRun, SizeTime } from "../data/schema.ts";
import type { View } from "../data/view.ts";
import { type Choice, type Chosen, chartBar } from "./chartbar.ts";

export type Sizes = Chosen;

/** Choices of what is drawn, by their names in links. */
const SHOWN: Readonly<Record<string, OverOptions>> = {
  medians: { points: false, bands: [], intervals: false },
  intervals: { points: false, bands: [], intervals: true },
  points: { points: true, bands: [] },
  bands: { points: false, bands: [50, 90] },
  all: { points: true, bands: [50, 90], intervals: true },
};

const AXES = [
  ["log", "logarithmic"],
  ["linear", "linear"],
] as const;

function choices(run: PageRun): Choice[] {
  const times: readonly (readonly [SizeTime, string])[] = [
    ["service", "service: sent to done"],
    ["response", "response: due to done"],
    ["relayed", "as the relay measured it"],
  ];
  const there = timesOf(run);
  // Only a variant with a curve can be the reference.
  const curves = new Set((run.detail.size_curves ?? []).map((curve) => curve.variant));
  const names = variants(run).filter((name) => curves.has(name));
  return [
    { key: "time", label: "time", values: times.filter(([time]) => there.includes(time)) },
    { key: "reference", label: "relative to", values: names.map((name) => [name, name] as const) },
    {
      key: "show",
      label: "drawn",
      values: [
        ["medians", "medians"],
        ["intervals", "medians, intervals"],
        ["points", "medians, requests"],
        ["bands", "medians, bands"],
        ["all", "everything"],
      ],
    },
    {
      key: "panels",
      label: "panels",
      values: [
        ["one", "one for all"],
        ["each", "one for each"],
      ],
    },
    { key: "x", label: "axis of sizes", values: AXES },
    { key: "y", label: "upright axis", values: AXES },
  ];
}

/** The options for charts; leaves out choices that this run does not have. */
export function overOptions(sizes: Sizes, run: PageRun): OverOptions {
  const { time, reference, show, panels, x, y } = sizes;
  const scale = (text: string | undefined): AxisOptions =>
    text === "log" || text === "linear" ? { scale: text } : {};
  return {
    ...(timesOf(run).find((one) => one === time) ? { time: time as SizeTime } : {}),
    ...(reference !== undefined && variants(run).includes(reference) ? { reference } : {}),
    ...(show === undefined ? {} : (SHOWN[show] ?? {})),
    ...(panels === "one" ? { apart: false } : panels === "each" ? { apart: true } : {}),
    x: scale(x),
    y: scale(y),
  };
}

/** Builds the bar; returns a function that shows a view in it; `null` if the part has no charts. */
export function sizeControls(
  part: Element,
  run: PageRun,
  chosen: (sizes: Sizes) => void,
): ((view: View) => void) | null {
  const name = "How charts over message size are drawn";
  const bar = chartBar(part.querySelector(".charts"), name, choices(run), chosen);
  return bar && ((view) => bar(view.sizes ?? {}));
}
