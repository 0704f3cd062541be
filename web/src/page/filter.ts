// Hides what the filter excludes. The report's `data-` attributes say what a row or part is about.

import { type Place, shows, type View } from "../data/view.ts";
import { all } from "./dom.ts";

const FILTERED = "main [data-variant], main [data-operation], main [data-point]";

/** Applies the filter; returns the number of rows shown and of all rows. */
export function applyFilter(view: View): { shown: number; of: number } {
  for (const one of all(FILTERED)) {
    one.hidden = !shows(view, placeOf(one));
  }
  let [shown, of] = [0, 0];
  for (const table of all<HTMLTableElement>("main table")) {
    const rows = [...(table.tBodies[0]?.rows ?? [])].filter((row) => hasPlace(row));
    if (rows.length === 0) {
      continue;
    }
    const left = rows.filter((row) => !row.hidden);
    const folded = table.closest<HTMLElement>("details[data-variant]");
    const frame = folded ?? table.closest<HTMLElement>(".scroll");
    if (frame) {
      frame.hidden = left.length === 0 || !shows(view, placeOf(frame));
    }
    of += rows.length;
    shown += frame?.hidden ? 0 : left.length;
  }
  return { shown, of };
}

function hasPlace({ dataset }: HTMLElement): boolean {
  return dataset.variant !== undefined || dataset.operation !== undefined || dataset.point !== undefined;
}

function placeOf({ dataset }: HTMLElement): Place {
  // The empty text is the point of an experiment with a single point.
  return { variant: dataset.variant, operation: dataset.operation, point: dataset.point || undefined };
}
