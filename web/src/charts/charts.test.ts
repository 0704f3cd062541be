// Charts as values: what is offered, what is drawn, what is left out. Their looks are golden files of `report`.
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
import { figureScale, linearTicks, logTicks, shorten, textWidth, tickText, wrap } from "./frame.ts";
import { available, describe, drawings, kinds, waterfallQuantities } from "./index.ts";
import { look, themes } from "./theme.ts";
import type { PageData } from "./types.ts";

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
    "new: response p50 +31.0 % [+30.0, +32.0] against old",
  );
  assert.equal(
    describe("operations", run(), { theme: "light" })?.title,
    "del of new: response p50 +61.0 % [+60.0, +62.0] against old",
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
  // The first chain has no figure of the headline.
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
  assert.match(title("cpu_per_operation"), /^What each layer adds to cpu per operation/i);
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

/** Where a variant's line lies, in the units of its axis. */
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
