import assert from "node:assert/strict";
import { test } from "node:test";
import { link, read, shows, sorted, UNTOUCHED, type View } from "./view.ts";

test("a link says what a view is, and nothing where nothing was chosen", () => {
  assert.equal(link(UNTOUCHED), "#");
  assert.deepEqual(read("#"), UNTOUCHED);
  assert.deepEqual(read(""), UNTOUCHED);
  const view: View = {
    anchor: "costs",
    variants: ["go&x=1#", "</script> \u202e?", "a+b %"],
    operation: "getPerson",
    point: "64 B",
    run: 2,
    sorts: [{ table: 3, column: 1, descending: true }],
    opened: [0, 4],
    theme: "dark",
    layers: "cpu_per_operation",
  };
  assert.deepEqual(read(link(view)), view);
  assert.deepEqual(read(link({ ...view, anchor: "" })), { ...view, anchor: "" });
});

test("what a link says wrongly is left out", () => {
  const view = read("#%zz?sort=1.x.up&sort=1.2.up&open=-1&open=2&run=two&theme=pink&variant=");
  assert.deepEqual(view, {
    anchor: "",
    variants: [""],
    sorts: [{ table: 1, column: 2, descending: false }],
    opened: [2],
  });
});

test("a filter hides only what is about something else", () => {
  const view: View = { ...UNTOUCHED, variants: ["go"], point: "64 B" };
  assert.ok(shows(view, {}));
  assert.ok(shows(view, { variant: "go", operation: "x" }));
  assert.ok(!shows(view, { variant: "rust" }));
  assert.ok(!shows(view, { variant: "go", point: "64 KiB" }));
  assert.ok(shows(UNTOUCHED, { variant: "rust", operation: "x", point: "1" }));
});

test("figures are sorted by size, texts by their letters, dashes last either way", () => {
  const figures = [
    { number: 3, text: "3 ms" },
    { text: "–" },
    { number: 20, text: "20 µs" },
    { number: 3, text: "3" },
  ];
  assert.deepEqual(sorted(figures, false), [0, 3, 2, 1]);
  assert.deepEqual(sorted(figures, true), [2, 0, 3, 1]);
  const names = ["64 KiB", "8 B", "64 B"].map((text) => ({ text }));
  assert.deepEqual(sorted(names, false), [1, 2, 0]);
});
