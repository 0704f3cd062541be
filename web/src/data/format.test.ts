import assert from "node:assert/strict";
import { test } from "node:test";
import * as charts from "../charts/words.ts";
import cases from "./format.cases.json" with { type: "json" };
import { absolute, change, clean, cleaned, difference, label, typeset } from "./format.ts";
import type { Estimate, Unit } from "./schema.ts";

test("figures are put into words as the terminal puts them", () => {
  for (const { as, unit, estimate, point, interval } of cases.figures) {
    const [of, lower, upper] = estimate as [number, number | null, number | null];
    const given: Estimate = { point: of, lower, upper, level: 0.95, blocks: 6 };
    const shown =
      as === "change" ? change(given) : { difference, absolute }[as as "difference"](unit as Unit, given);
    assert.deepEqual([shown.point, shown.interval ?? null], [point, interval], JSON.stringify(estimate));
    // Charts use true minus signs.
    const drawn =
      as === "change"
        ? charts.change(given)
        : { difference: charts.difference, absolute: charts.absolute }[as as "difference"](
            unit as Unit,
            given,
          );
    const expected = [point, interval].map((text) => (text === null ? null : typeset(text)));
    assert.deepEqual([drawn.point, drawn.interval], expected, `in a chart: ${JSON.stringify(estimate)}`);
  }
});

test("texts are cleaned as the terminal cleans them", () => {
  for (const { text, clean: expected } of cases.texts) {
    assert.equal(clean(text), expected);
  }
  const numbers = [1, 2];
  const value = cleaned({ "a\n": ["b\u202e", { c: numbers, d: null }] });
  assert.deepEqual(value, { "a\\u{a}": ["b\\u{202e}", { c: [1, 2], d: null }] });
});

test("a figure has a true minus, a quantity its name", () => {
  assert.equal(typeset("[-4.0, -2.0]"), "[−4.0, −2.0]");
  assert.deepEqual((["response_p50", "cpu_per_operation"] as const).map(label), ["response p50", "CPU/op"]);
});
