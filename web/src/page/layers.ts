// The choice of the quantity that waterfalls show.

import { waterfallQuantities } from "../charts/index.ts";
import { label } from "../data/format.ts";
import type { PageRun, Quantity } from "../data/schema.ts";
import type { View } from "../data/view.ts";
import { chartBar } from "./chartbar.ts";

/** The chosen quantity; `undefined` if this run has no waterfall of it. */
export function layersQuantity(view: View, run: PageRun): Quantity | undefined {
  return waterfallQuantities(run).find((quantity) => quantity === view.layers);
}

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
