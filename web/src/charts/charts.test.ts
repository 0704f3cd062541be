// Tests of chart descriptions. How charts look is covered by the golden files of crate `report`.
import assert from "node:assert/strict";
import test from "node:test";
import type {
  Cost,
  Estimate,
  Figure,
  Quantity,
  SizeCurve,
  Summary,
  VariantSummary,
  Waterfall,
} from "../data/schema.ts";
import { ratioScale, ratioText } from "./forest.ts";
import {
  figureScale,
  fitFigure,
  linearTicks,
  logTicks,
  shorten,
  textWidth,
  tickText,
  wrap,
} from "./frame.ts";
import { available, describe, drawings, kinds, refusalReason, waterfallQuantities } from "./index.ts";
import { ratioAxis, sizeAxis } from "./over/axes.ts";
import { type CliffMark, placeDiscs } from "./over/foot.ts";
import { look, themes } from "./theme.ts";
import type { OverOptions, PageData } from "./types.ts";

function estimate(point: number, half: number): Estimate {
  return { point, lower: point - half, upper: point + half, level: 0.95, blocks: 6 };
}

const OPERATIONS = ["all", "get", "set", "del"];
const QUANTITIES: readonly Quantity[] = ["response_p50", "response_p99", "throughput", "memory_peak"];

function unit(quantity: Quantity): Figure["unit"] {
  return quantity === "throughput" ? "per_second" : quantity === "memory_peak" ? "bytes" : "ns";
}

function variant(name: string, scale: number): VariantSummary {
  const figure = (operation: string, quantity: Quantity): Figure => ({
    operation,
    quantity,
    unit: unit(quantity),
    estimate: estimate(20_000 * scale, 100),
    reason: null,
  });
  return {
    name,
    baseline: scale === 1,
    figures: OPERATIONS.flatMap((operation) => QUANTITIES.map((quantity) => figure(operation, quantity))),
  } as unknown as VariantSummary;
}

function cost(operation: string, quantity: Quantity, ratio: number): Cost {
  return {
    variant: "new",
    operation,
    quantity,
    unit: unit(quantity),
    difference: estimate(20_000 * (ratio - 1), 100),
    ratio: estimate(ratio, 0.01),
    verdict: "higher",
    effect: "worse",
    reason: null,
    p: 0.001,
    headline: operation === "all" && quantity === "response_p50",
  };
}

function run(): PageData {
  const summary = {
    headline: "response_p50",
    margin: 0.02,
    variants: [variant("old", 1), variant("new", 1.31)],
    costs: OPERATIONS.flatMap((operation, at) =>
      QUANTITIES.map((quantity) => cost(operation, quantity, 1.31 + at / 10)),
    ),
  } as unknown as Summary;
  const curve = (name: string, scale: number) => ({
    variant: name,
    point: {},
    operation: "all",
    time: "response" as const,
    points: [0, 0.5, 0.9, 0.99].map((q, at): [number, number] => [q, scale * (1000 + 500 * at)]),
    band: [0, 1, 2, 3].map((at): [number, number] => [scale * (990 + 500 * at), scale * (1010 + 500 * at)]),
  });
  return { summary, detail: { curves: [curve("old", 1), curve("new", 1.31)] } };
}

const optionOf = (of: ReturnType<typeof describe>) =>
  (of?.option ?? {}) as {
    grid: { top: number; height: number }[];
    yAxis: { min: number; max: number }[];
  };

// biome-ignore lint/suspicious/noExplicitAny: an option is whatever the library takes.
const series = (of: { option: unknown } | null): any[] => (of as any)?.option.series ?? [];

test("a run offers what it can fill and no more", () => {
  assert.deepEqual(available(run()), ["forest", "percentiles", "operations", "radar"]);
  assert.deepEqual(available({ summary: { ...run().summary, variants: [], costs: [] }, detail: {} }), []);
  for (const kind of kinds) {
    for (const { point } of drawings(kind, run())) {
      assert.notEqual(describe(kind, run(), { theme: "dark", point }), null, kind);
    }
  }
});

test("titles say the finding with its interval", () => {
  assert.equal(
    describe("forest", run(), { theme: "light" })?.title,
    "new: response p50 higher (worse): +31.0\u00a0% [+30.0, +32.0] against old",
  );
  assert.equal(
    describe("operations", run(), { theme: "light" })?.title,
    "del of new: response p50 higher (worse): +61.0\u00a0% [+60.0, +62.0] against old",
  );
});

test("options choose variants, operations and quantities; a variant keeps its colour", () => {
  const color = (of: ReturnType<typeof describe>) =>
    series(of).find((one) => one.type === "line" && one.name === "new")?.lineStyle.color;
  const both = describe("percentiles", run(), { theme: "light" });
  const alone = describe("percentiles", run(), { theme: "light", variants: ["new"] });
  assert.equal(color(alone), color(both));
  assert.ok(!series(alone).some((one) => one.name === "old"));
  assert.equal(describe("percentiles", run(), { theme: "light", variants: [] }), null);
  assert.equal(describe("percentiles", run(), { theme: "light", operations: ["get"] }), null);
  assert.match(
    describe("operations", run(), { theme: "light", quantity: "throughput" })?.title ?? "",
    /throughput/,
  );
});

test("waterfalls are of the headline where any chain has it, else of what is asked for", () => {
  const of = (name: string, quantity: Quantity): Waterfall => ({
    point: {},
    of: name,
    operation: "all",
    quantity,
    unit: "ns",
    from: { name: "bare", estimate: estimate(100, 1) },
    layers: [{ name: "veth", estimate: estimate(20, 1) }],
    to: { name: "all together", estimate: estimate(120, 1) },
  });
  // The first chain has no figure of the headline quantity.
  const waterfalls = [
    of("go", "cpu_per_operation"),
    of("rust", "response_p50"),
    of("rust", "cpu_per_operation"),
  ];
  const data: PageData = { ...run(), detail: { waterfalls } };
  assert.deepEqual(waterfallQuantities(data), ["cpu_per_operation", "response_p50"]);
  const title = (quantity?: Quantity) =>
    describe("waterfall", data, { theme: "light", ...(quantity ? { quantity } : {}) })?.title ?? "";
  assert.match(title(), /response p50/);
  assert.match(title("cpu_per_operation"), /^What each layer does to CPU\/op/);
});

test("what was withheld is not drawn", () => {
  const data = run();
  const [first] = data.summary.costs;
  assert.ok(first);
  Object.assign(first, { ratio: null, difference: null, verdict: "withheld", effect: null });
  const forest = describe("forest", data, { theme: "light" });
  const dots = series(forest).find((one) => one.type === "scatter").data;
  assert.equal(dots.length, QUANTITIES.length - 1);
  assert.doesNotMatch(forest?.title ?? "", /p50 \+/);
});

test("nothing but what is asked for stands in the drawing", () => {
  const bare = describe("percentiles", run(), { theme: "light" })?.option as {
    tooltip: { show: boolean };
    backgroundColor: string;
  };
  assert.equal(bare.tooltip.show, false);
  assert.equal(bare.backgroundColor, "transparent");
  const pointed = describe("percentiles", run(), { theme: "light", interactive: true })?.option as {
    tooltip: { renderMode: string };
  };
  assert.equal(pointed.tooltip.renderMode, "richText", "names never become markup");
});

test("no two of sixteen variants look alike, with colour or without", () => {
  for (const theme of Object.values(themes)) {
    const marks = Array.from({ length: 16 }, (_, place) => look(theme, place));
    assert.equal(new Set(marks.map(({ symbol, hollow }) => symbol + hollow)).size, 16);
    assert.equal(new Set(marks.slice(0, 13).map(({ color, dash }) => color + dash)).size, 13);
  }
});

test("ticks are round and inside", () => {
  assert.deepEqual(linearTicks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(linearTicks(-0.3, 0.3, 3), [-0.2, 0, 0.2]);
  assert.deepEqual(logTicks(1, 1000, 4), [1, 10, 100, 1000]);
  assert.deepEqual(
    logTicks(64, 4_194_304, 9, 2),
    [64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304],
  );
  for (const [low, high] of [
    [1, 1.0001],
    [15_000, 19_000],
    [1, 1e9],
    [3, 3],
  ] as const) {
    const ticks = logTicks(low, high, 7);
    assert.ok(
      ticks.every((tick) => tick >= low * 0.9999 && tick <= high * 1.0001),
      `${low} to ${high}: ${ticks}`,
    );
    assert.ok(ticks.length <= 12, `${low} to ${high}: ${ticks}`);
  }
  assert.deepEqual(
    [0, 1500, 2e6].map((tick) => tickText("ns", tick)),
    ["0", "1.5 µs", "2 ms"],
  );
});

test("an axis begins at zero unless it is logarithmic or asked to be tight", () => {
  assert.equal(figureScale("ns", 10, 20, 5).min, 0);
  assert.ok(figureScale("ns", 10, 20, 5, { tight: true }).min > 9);
  const wide = figureScale("ns", 10, 10_000, 5);
  assert.ok(wide.log && Math.abs(wide.place(100) - 2) < 1e-9);
});

test("the axis of ratios holds none, every estimate, and is not stretched by one wide interval", () => {
  const costs = [
    cost("all", "response_p50", 1.31),
    {
      ...cost("all", "response_p99", 2),
      ratio: { point: 2, lower: 0.01, upper: 400, level: 0.95, blocks: 4 },
    },
  ];
  const { min, max, ticks } = ratioScale(costs, 0.02, 500);
  assert.ok(min < 0 && max > Math.log(2) && max < Math.log(4));
  assert.ok(ticks.some((tick) => tick.at === 0 && tick.text === "0 %"));
  assert.deepEqual([0.5, 1, 1.2, 2, 10, 0.1].map(ratioText), [
    "−50 %",
    "0 %",
    "+20 %",
    "+100 %",
    "×10",
    "÷10",
  ]);
});

test("text fits: names lose their middle, lines break at spaces", () => {
  const name = "python-uvicorn-uvloop-httptools-http1-json";
  const short = shorten(name, 120, 12);
  assert.ok(short.startsWith("py") && short.endsWith("json") && short.includes("…"));
  assert.ok(textWidth(short, 12) <= 120);
  assert.equal(shorten("go", 120, 12), "go");
  for (const line of wrap("a finding that is too long for one line of a narrow chart", 120, 12))
    assert.ok(textWidth(line, 12) <= 120, line);
});

function sizes(): PageData {
  const data = run();
  const size_bytes = [1000, 2000, 4000, 8000, 16_000];
  const curve = (name: string, times: readonly number[], ratio: readonly number[]) => ({
    variant: name,
    point: {},
    operation: "get",
    time: "service" as const,
    requests: 500,
    size_bytes,
    quantiles: [0.05, 0.25, 0.5, 0.75, 0.95].map((quantile, at) => ({
      quantile,
      time_ns: times.map((time) => time * (0.8 + 0.1 * at)),
    })),
    median_interval_ns: times.map((time): [number, number] => [time * 0.98, time * 1.02]),
    ratio: ratio.map((point) => ({ point, interval: [point / 1.1, point * 1.1] as [number, number] })),
  });
  const samples = {
    variant: "old",
    point: {},
    operation: "get",
    time: "service" as const,
    size_bytes: [1000, 2000, 16_000],
    time_ns: [1e5, 1e5, 1e5],
    failed: 0,
  };
  const times = [1e5, 1e5, 1e5, 1e5, 1e5];
  return {
    summary: data.summary,
    detail: {
      ...data.detail,
      size_curves: [
        curve("old", times, []),
        curve(
          "new",
          times.map((time) => 2 * time),
          [2, 2, 2, 2, 2],
        ),
      ],
      size_samples: [samples],
    },
  };
}

/** The y values of each variant's line, in axis units. */
function middles(kind: (typeof kinds)[number], data: PageData, over: object = {}): Record<string, number[]> {
  const drawn = series(describe(kind, data, { theme: "light", over: { y: { scale: "linear" }, ...over } }));
  const lines = drawn.filter((one) => one.type === "line" && one.name && one.data.length > 0 && one.z === 5);
  return Object.fromEntries(
    lines.map((one) => [one.name, one.data.map((at: { value: [number, number] }) => at.value[1])]),
  );
}

test("over size a time is drawn as itself, as a transfer rate and as requests in a second", () => {
  assert.deepEqual(middles("latency", sizes()).new, [2e5, 2e5, 2e5, 2e5, 2e5]);
  assert.deepEqual(
    middles("transfer", sizes()).old?.map(Math.round),
    [1e7, 2e7, 4e7, 8e7, 16e7],
    "1,000 bytes in 100 µs are 10 MB/s",
  );
  assert.deepEqual(middles("requests", sizes()).new?.map(Math.round), [5000, 5000, 5000, 5000, 5000]);
});

test("relative to the baseline or to another, of a time and of a rate", () => {
  assert.deepEqual(middles("latency-relative", sizes()), { new: [2, 2, 2, 2, 2] });
  assert.deepEqual(middles("transfer-relative", sizes()), { new: [0.5, 0.5, 0.5, 0.5, 0.5] });
  assert.deepEqual(middles("latency-relative", sizes(), { reference: "new" }), {
    old: [0.5, 0.5, 0.5, 0.5, 0.5],
  });
  const third = sizes();
  third.detail.size_curves?.push({ ...(third.detail.size_curves[1] as SizeCurve), variant: "third" });
  third.summary.variants.push({ ...(third.summary.variants[1] as VariantSummary), name: "third" });
  third.detail.size_ratios = [
    { variant: "third", reference: "new", point: {}, operation: "get", time: "service", ratio: [] },
  ];
  const [pair] = third.detail.size_ratios;
  if (pair) pair.ratio = [4, 4, 4, 4, 4].map((point) => ({ point, interval: null }));
  assert.deepEqual(
    middles("latency-relative", third, { reference: "third" }).new,
    [0.25, 0.25, 0.25, 0.25, 0.25],
  );
});

test("charts over size say what they draw: bands by their quantiles, dots that are left out", () => {
  const texts = (over: object) =>
    JSON.stringify(describe("latency", sizes(), { theme: "light", titled: true, over })?.option);
  const all = texts({ points: true, bands: [90, 50] });
  assert.match(all, /p5 to p95/);
  assert.match(all, /p25 to p75/);
  assert.match(all, /3 of/, "3 of 1,000 requests are drawn");
  const bare = texts({ points: false, bands: [], intervals: false });
  assert.doesNotMatch(bare, /p25|Dots|95 %/);
});

test("axes over size end where they are told to, with the steps asked for", () => {
  const of = describe("latency", sizes(), {
    theme: "light",
    over: {
      x: { scale: "linear", min: 0, max: 20_000, steps: 4 },
      y: { scale: "linear", max: 4e5, steps: 2 },
    },
  })?.option as {
    xAxis: { max: number; axisLabel: { customValues: number[]; formatter: (at: number) => string } }[];
    yAxis: { max: number }[];
  };
  assert.deepEqual(of.xAxis[0]?.axisLabel.customValues, [0, 5000, 10_000, 15_000, 20_000]);
  assert.equal(of.yAxis[0]?.max, 4e5);
  assert.equal(of.xAxis[0]?.axisLabel.formatter(5000), "5 kB", "as they were asked for");
});

test("pairs of clients and servers are a map of rows and columns; one diagonal is none", () => {
  const data = run();
  const [first] = data.summary.variants;
  assert.ok(first);
  const pair = (service: string, peer: string): VariantSummary => ({
    ...first,
    name: `${service}/${peer}`,
    baseline: service === "a" && peer === "a",
    relay: { service, peer },
  });
  data.summary.costs = [];
  data.summary.variants = [pair("a", "a"), pair("b", "b")];
  assert.equal(describe("heatmap", data, { theme: "light" }), null);
  data.summary.variants = [pair("a", "a"), pair("a", "b"), pair("b", "a"), pair("b", "b")];
  const [cells] = series(describe("heatmap", data, { theme: "light" }));
  assert.deepEqual(
    cells.data.map((cell: { value: number[] }) => cell.value),
    [
      [0, 0],
      [1, 0],
      [0, 1],
      [1, 1],
    ],
  );
  assert.match(cells.data[1].tip, /^a asks b/);
});

test("a figure is never shortened: smaller, then rounded, then left out", () => {
  assert.deepEqual(fitFigure("481 µs", 200), { text: "481 µs", size: 12 });
  const small = fitFigure("481 µs", textWidth("481 µs", 9) + 0.1);
  assert.deepEqual(small, { text: "481 µs", size: 9 });
  const rounded = fitFigure("1.037 ms", textWidth("1ms", 12) + 0.1, { rounded: "1ms" });
  assert.deepEqual(rounded, { text: "1ms", size: 12 });
  assert.equal(fitFigure("1.037 ms", 3, { rounded: "1ms" }).text, "…");
});

test("the axis of sizes divides its length as sizes are spread, whatever was added where a curve bends", () => {
  const linear = Array.from({ length: 100 }, (_, at) => 17 + at * 5000);
  const log = Array.from({ length: 100 }, (_, at) => 4 * 1.13 ** at);
  const extra = [...log, ...Array.from({ length: 50 }, (_, at) => 43_000 + at * 2600)];
  const squared = Array.from({ length: 100 }, (_, at) => 1 + at * at * 50);
  const isLog = (sizes: number[]) =>
    sizeAxis(
      sizes.sort((a, b) => a - b),
      {},
      800,
    ).log;
  assert.deepEqual([linear, log, extra, squared].map(isLog), [false, true, true, false]);
  assert.equal(isLog([1000, 2000, 4000]), false, "over a small range they are even on either");
});

test("steps that are asked for are round where an end is not", () => {
  const axis = (want: OverOptions["x"]) => sizeAxis([17, 250_000, 499_999], want ?? {}, 800);
  const texts = (want: OverOptions["x"]) => axis(want).ticks.map(({ text }) => text);
  assert.deepEqual(texts({ scale: "linear", steps: 5 }), [
    "0",
    "100 KiB",
    "200 KiB",
    "300 KiB",
    "400 KiB",
    "500 KiB",
  ]);
  assert.equal(axis({ scale: "linear", steps: 5 }).max, 500 * 1024, "and the axis ends with the last");
  const decimal = axis({ scale: "linear", steps: 5, min: 0, max: 500_000 });
  assert.deepEqual(
    decimal.ticks.map(({ text }) => text),
    ["0", "100 kB", "200 kB", "300 kB", "400 kB", "500 kB"],
  );
  assert.equal(decimal.words(300_000), "300 kB", "sizes are told in the axis' own unit");
  const ratios = ratioAxis([0.4, 2.9], { scale: "linear", steps: 3 }, 7);
  assert.deepEqual(
    ratios.ticks.map(({ at }) => at),
    [0, 1, 2, 3],
  );
});

test("a rate over a linear axis of sizes begins at none; a time keeps its logarithmic axis", () => {
  const data = sizes();
  for (const curve of data.detail.size_curves ?? [])
    curve.size_bytes = [17, 250_000, 500_000, 750_000, 1_000_000];
  const y = (kind: (typeof kinds)[number]) =>
    optionOf(describe(kind, data, { theme: "light" })).yAxis[0]?.min;
  assert.equal(y("transfer"), 0);
  assert.equal(y("requests"), 0);
});

test("a chart over size tells only of sizes that it shows, and the upright axis fits these", () => {
  const data = sizes();
  for (const curve of data.detail.size_curves ?? []) {
    for (const { time_ns } of curve.quantiles) time_ns[4] = (time_ns[4] ?? 0) * 100;
  }
  const of = (x: OverOptions["x"]) =>
    describe("latency", data, { theme: "light", over: { points: false, x: x ?? {} } });
  assert.match(of({})?.title ?? "", /at 15.6 KiB$/);
  const zoomed = of({ max: 9000 });
  assert.match(zoomed?.title ?? "", /at 8 kB$/);
  const max = (chart: ReturnType<typeof describe>) => optionOf(chart).yAxis[0]?.max ?? 0;
  assert.ok(max(zoomed) < 1e6, `${max(zoomed)}`);
});

test("a title compares at sizes that all have; where there is no curve there is none drawn", () => {
  const data = sizes();
  const [old, other] = data.detail.size_curves ?? [];
  for (const { time_ns } of other?.quantiles ?? []) Object.assign(time_ns, { 0: null, 4: null });
  const chart = describe("latency", data, { theme: "light" });
  assert.match(chart?.title ?? "", /at 1.95 KiB, .* at 7.81 KiB$/);
  assert.equal(middles("latency", data).new?.[0], "-");
  assert.ok(old && middles("latency", data).old?.[0] === 1e5);
});

test("what failed is told, and a variant of which nothing else is left", () => {
  const data = sizes();
  const [samples] = data.detail.size_samples ?? [];
  if (samples) samples.failed = 123;
  const bad = { ...(data.summary.variants[1] as VariantSummary), name: "bad", requests: 400, errors: 399 };
  data.summary.variants.push(bad);
  const chart = describe("latency", data, { theme: "light", titled: true });
  assert.match(chart?.subtitle ?? "", /123 failed, not drawn/);
  assert.match(
    JSON.stringify(chart?.option),
    /No curve for want of good requests: bad \(399 of 400 failed\)/,
  );
});

test("a first variant without a curve is no reference; of so many that ratios are not kept there are quotients", () => {
  const data = sizes();
  const [, other] = data.detail.size_curves ?? [];
  data.summary.variants.unshift({ ...(data.summary.variants[0] as VariantSummary), name: "gone" });
  assert.deepEqual(middles("latency-relative", data), { new: [2, 2, 2, 2, 2] });
  assert.ok(other);
  const third = { ...other, variant: "third", quantiles: other.quantiles.map((one) => ({ ...one })) };
  for (const one of third.quantiles) one.time_ns = one.time_ns.map((time) => (time ?? 0) * 3);
  const many = sizes();
  many.detail.size_curves?.push(third);
  many.summary.variants.push({ ...(many.summary.variants[1] as VariantSummary), name: "third" });
  assert.deepEqual(
    middles("latency-relative", many, { reference: "new" }).third?.map((ratio) => Math.round(ratio)),
    [3, 3, 3, 3, 3],
  );
  const chart = describe("latency-relative", many, {
    theme: "light",
    titled: true,
    over: { reference: "new" },
  });
  assert.match(JSON.stringify(chart?.option), /Quotients of medians, without intervals/);
});

test("why there is no chart as asked for is said", () => {
  const why = (kind: (typeof kinds)[number], over: OverOptions, variants?: string[]) =>
    refusalReason(kind, sizes(), { theme: "light", over, ...(variants ? { variants } : {}) });
  assert.match(
    why("latency", { time: "relayed" }),
    /no `relayed` time over message size; it has `service` only/,
  );
  assert.match(why("latency-relative", {}, ["old"]), /`old` is what a relative chart is relative to/);
  assert.match(why("latency", { x: { min: 1e6, max: 2e6 } }), /they run from 1 kB to 16 kB/);
  assert.match(why("latency", { y: { min: 1, max: 5 } }), /no median lies between .* from 100 µs to 200 µs/);
  assert.equal(why("latency", {}), "");
  assert.match(
    refusalReason("latency", run(), { theme: "light" }),
    /needs two sizes or more, each with 6 good requests/,
  );
  assert.equal(refusalReason("forest", run(), { theme: "light" }), "");
});

test("a chart knows the least height at which it can be read", () => {
  const chart = describe("latency", sizes(), { theme: "light", height: 200, over: { guides: true } });
  const grid = optionOf(chart).grid[0];
  assert.ok(chart && grid && chart.least > grid.top + 80 && chart.least < 400, `${chart?.least}`);
});

test("lines of one's own have letters of their own, without the host's too; multiples have a line and no letter", () => {
  const data = sizes();
  Object.assign(data.summary, {
    over_size: { cliffs: [], advice: [], guides: [{ name: "page", bytes: 4096 }] },
  });
  const texts = (over: OverOptions) =>
    JSON.stringify(describe("latency", data, { theme: "light", titled: true, over })?.option);
  assert.match(texts({}), /A {2}4,096\sB page/);
  const own = texts({ guides: false, more_guides: [{ name: "window", bytes: 3000, every: true }] });
  assert.match(own, /A {2}3,000\sB window, and each multiple of it/);
  assert.match(own, /Letters: sizes that were asked for\./);
  assert.doesNotMatch(own, /page|6,000 B/);
});

test("numbers of cliffs do not cover each other", () => {
  const mark = (number: number, at: number, y: number): CliffMark =>
    ({ number, at, y, low: at, high: at, color: "#000" }) as CliffMark;
  const all = [mark(1, 100, 60), mark(2, 101, 62), mark(3, 104, 60), mark(4, 99, 61), mark(5, 5, 5)];
  const placed = placeDiscs(all, ({ at, y }) => [at, y], [400, 120]);
  const discs = placed.map(({ at, y, disc }) => [at + (disc?.[0] ?? 0), y + (disc?.[1] ?? 0)] as const);
  discs.forEach(([x, y], one) => {
    assert.ok(x > 7 && x < 393 && y > 7 && y < 113, `${one}: ${x}, ${y}`);
    for (const [a, b] of discs.slice(one + 1)) assert.ok(Math.hypot(a - x, b - y) >= 16, `${one}`);
  });
});

test("many ratios share a panel where no interval would lie upon another", () => {
  const data = sizes();
  const [, other] = data.detail.size_curves ?? [];
  assert.ok(other);
  for (let at = 0; at < 7; at += 1) {
    data.detail.size_curves?.push({ ...other, variant: `v${at}` });
    data.summary.variants.push({ ...(data.summary.variants[1] as VariantSummary), name: `v${at}` });
  }
  const panels = () => optionOf(describe("latency-relative", data, { theme: "light" })).grid.length;
  assert.equal(panels(), 8);
  for (const curve of data.detail.size_curves ?? []) {
    curve.median_interval_ns = [];
    curve.ratio = (curve.ratio ?? []).map((ratio) => ratio && { ...ratio, interval: null });
  }
  assert.equal(panels(), 1);
});

test("a forest of costs without any figure is none", () => {
  const data = run();
  for (const one of data.summary.costs) Object.assign(one, { ratio: null, verdict: "invalid" });
  assert.equal(describe("forest", data, { theme: "light" }), null);
});

test("a waterfall says which layer costs most of what is told from none, in costs and in rates", () => {
  const level = (name: string, point: number, half: number) => ({ name, estimate: estimate(point, half) });
  const title = (quantity: Quantity, ...layers: ReturnType<typeof level>[]) => {
    const chain = { quantity, unit: unit(quantity), operation: "all", point: {}, of: "rust" };
    const ends = { from: level("bare", 50_000, 10), to: level("all together", 50_000, 10) };
    const data = { ...run(), detail: { waterfalls: [{ ...chain, ...ends, layers }] } };
    return describe("waterfall", data, { theme: "light" })?.title ?? "";
  };
  assert.match(title("response_p50", level("veth", 8000, 10), level("tls", 900, 2000)), /^veth adds most to/);
  assert.match(title("throughput", level("veth", -9000, 10), level("tls", 500, 10)), /^veth takes most from/);
  assert.match(title("throughput", level("cache", 9000, 10), level("tls", -9, 10)), /^cache adds most to/);
  assert.match(title("response_p50", level("pages", -5000, 10)), /^pages takes from/);
  assert.match(
    title("response_p50", level("veth", 8, 10)),
    /add to response p50 cannot be distinguished from nothing$/,
  );
});

test("a band that reaches far below its curve is left out there and does not fall to the bottom", () => {
  const data = run();
  const curve = data.detail.curves?.[1];
  if (!curve?.band) throw new Error("a curve with a band");
  curve.band[3] = [-4000, 9000];
  const made = describe("percentiles", data, { theme: "light" });
  const all = series(made).filter((one) => one.type === "custom" && one.name === "new");
  const drawn = all.map((one) => one.data.length);
  assert.deepEqual(drawn, [1], "one stretch, of three quantiles");
  assert.ok((optionOf(made).yAxis as unknown as { min: number }).min >= 0, "the axis ends at what is drawn");
  assert.match(JSON.stringify(made?.option), /left out where they reach below a quarter of the time/);
  assert.doesNotMatch(
    JSON.stringify(describe("percentiles", run(), { theme: "light" })?.option),
    /left out where/,
  );
});

/** A run over values of one factor. */
function over(key: string, values: readonly string[]): PageData {
  const of = run();
  const at = (value: string) => ({ [key]: value });
  const summary = {
    ...of.summary,
    variants: values.flatMap((value) => of.summary.variants.map((one) => ({ ...one, point: at(value) }))),
    costs: values.flatMap((value) => of.summary.costs.map((one) => ({ ...one, point: at(value) }))),
  } as unknown as Summary;
  const numbers = values.map((value): [string, number] => [value, Number(value)]);
  return { summary, detail: { axes: [{ key, scale: "count", values: numbers }] } };
}

test("two figures are neither a map nor a trend", () => {
  const two = available(over("load.connections", ["4", "16"]));
  assert.ok(!two.includes("heatmap") && !two.includes("size"), two.join());
  const three = available(over("load.connections", ["4", "16", "64"]));
  assert.ok(three.includes("heatmap") && three.includes("size"), three.join());
});

test("verdicts in the forest have room for all their words at every width", () => {
  const words = "higher (worse)";
  for (let width = 300; width <= 1400; width += 50) {
    const made = describe("forest", run(), { theme: "light", width });
    const { right } = (optionOf(made).grid as unknown as { right: number }) ?? { right: 0 };
    const isBeside = right > 16;
    // Without a document the library measures letters by their number alone.
    assert.ok(!isBeside || right >= textWidth(`+31.0 % [+30.0, +32.0]${words}`, 11.5) + 24, `${width}`);
    assert.ok(right <= width * 0.5, `${width}: ${right}`);
  }
});
