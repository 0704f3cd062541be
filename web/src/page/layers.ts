// What a reader may choose of the waterfalls: the quantity.

import { waterfallQuantities } from "../charts/index.ts";
import { label } from "../data/format.ts";
import type { PageRun, Quantity } from "../data/schema.ts";
import type { View } from "../data/view.ts";
import { chartBar } from "./chartbar.ts";

/** The quantity that waterfalls are asked for; nothing where this run has none of the chosen one. */
export function layersQuantity(view: View, run: PageRun): Quantity | undefined {
  return waterfallQuantities(run).find((quantity) => quantity === view.layers);
}

/** Builds the bar into a part of the page; returns how to show a view in it. */
export function layerControls(
  part: Element,
  run: PageRun,
  chosen: (quantity: string | undefined) => void,
): ((view: View) => void) | null {
  const values = waterfallQuantities(run).map((quantity) => [quantity, label(quantity)] as const);
  const choice = { key: "quantity", label: "quantity", values };
  const bar = chartBar(part.querySelector(".charts"), "Which quantity is drawn", [choice], ({ quantity }) =>
    chosen(quantity),
  );
  return bar && ((view) => bar(view.layers === undefined ? {} : { quantity: view.layers }));
}
