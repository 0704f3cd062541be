// Shared by charts with horizontal bars: resources and operations.
import type { Estimate, Unit } from "../data/schema.ts";
import { extent, figureScale, textWidth } from "./frame.ts";
import { bounds } from "./words.ts";

/** A bar axis from zero. Never logarithmic: the length of a bar would mean nothing. */
export function barScale(unit: Unit, estimates: readonly (Estimate | null | undefined)[], width: number) {
  const present = estimates.filter((one): one is Estimate => one != null);
  const [, most] = extent(present.flatMap((one) => [one.point, ...bounds(one)])) ?? [0, 1];
  return figureScale(unit, 0, Math.max(most, 1e-9), Math.max(2, Math.floor(width / 76)), { log: false });
}

export function labelWidth(
  texts: readonly string[],
  size: number,
  least: number,
  most: number,
  bold = false,
): number {
  return Math.min(most, Math.max(least, ...texts.map((text) => textWidth(text, size, bold) + 16)));
}
