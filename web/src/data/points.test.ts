import assert from "node:assert/strict";
import { test } from "node:test";
import { points, pointWords, variants } from "./points.ts";
import type { PageRun } from "./schema.ts";

test("points name bare numbers only", () => {
  assert.equal(pointWords({ "workload.size": "64 B", "load.connections": "4" }), "connections 4, 64 B");
  assert.equal(pointWords(undefined), "");
});

test("points and variants are told once, in order of appearance", () => {
  const [small, large] = [{ size: "64 B" }, { size: "1 KiB" }];
  const of = (name: string, point: object) => ({ name, point });
  const summary = {
    variants: [of("rust", small), of("go", small), of("rust", large)],
    costs: [of("go", large)],
  };
  const run = { summary } as unknown as PageRun;
  assert.deepEqual(
    [...points(run)],
    [
      ["64 B", small],
      ["1 KiB", large],
    ],
  );
  assert.deepEqual(variants(run), ["rust", "go"]);
});
