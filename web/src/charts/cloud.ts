// Scatter plots. A run may hold hundreds of thousands of dots: dots that fall into the same small square of
// pixels are drawn once, darker where there are more of them, which keeps the SVG small and zooming fast.

import type { Api } from "./marks.ts";
import type { Look } from "./theme.ts";

/** Size of the squares in pixels, and the opacity from each count of dots per square. */
interface Grain {
  edge: number;
  shades: readonly (readonly [from: number, opacity: number])[];
}

/** Up to this many dots, each should be visible; beyond it, their density. */
const FEW = 4000;
const COARSE: Grain = {
  edge: 3,
  shades: [
    [1, 0.62],
    [2, 0.85],
    [4, 1],
  ],
};
const FINE: Grain = {
  edge: 2,
  shades: [
    [1, 0.38],
    [2, 0.6],
    [4, 0.8],
    [10, 1],
  ],
};

/** Mean count of dots per non-empty square above which the thresholds rise and shades are paler. */
const CROWDED = 3;
const PALER = 0.75;

/** Dots by index, with their positions on the axes. Both axes are linear in these positions. */
export interface Dots {
  name: string;
  count: number;
  x(index: number): number;
  y(index: number): number;
}

/** Opacity of dots behind lines of their colour, as a share of the usual. */
export const BEHIND = 0.45;

export function cloud(dots: Dots, look: Look, grid: number, share = 1) {
  return {
    type: "custom",
    name: dots.name,
    xAxisIndex: grid,
    yAxisIndex: grid,
    silent: true,
    clip: true,
    itemStyle: { color: look.color },
    symbol: look.symbol,
    data: [[0]],
    encode: { x: -1, y: -1 },
    renderItem: (params: { coordSys: { x: number; y: number; width: number; height: number } }, api: Api) => {
      const box = params.coordSys;
      const { edge, shades } = dots.count <= FEW ? COARSE : FINE;
      // Since both axes are linear, the pixels of two points give those of every dot.
      const [x0, y0] = api.coord([0, 0]);
      const [x1, y1] = api.coord([1, 1]);
      const columns = Math.ceil(box.width / edge);
      const rows = Math.ceil(box.height / edge);
      const counts = new Uint16Array(columns * rows);
      for (let index = 0; index < dots.count; index += 1) {
        const column = Math.floor((x0 + dots.x(index) * (x1 - x0) - box.x) / edge);
        const row = Math.floor((y0 + dots.y(index) * (y1 - y0) - box.y) / edge);
        if (column < 0 || row < 0 || column >= columns || row >= rows) continue;
        const cell = row * columns + column;
        counts[cell] = Math.min(65_535, (counts[cell] ?? 0) + 1);
      }
      const many = crowded(counts);
      const own = many
        ? shades.map(([from, opacity], at) => [at === 0 ? 1 : from * many, opacity * PALER] as const)
        : shades;
      return {
        type: "group",
        silent: true,
        children: own.map(([from, opacity], at) =>
          shaded(
            counts,
            { columns, edge },
            box,
            [from, own[at + 1]?.[0] ?? Number.POSITIVE_INFINITY],
            look.color,
            opacity * share,
          ),
        ),
      };
    },
  };
}

/** The factor by which thresholds rise where dots overlap nearly everywhere: half the mean count; else 0. */
function crowded(counts: Uint16Array): number {
  let [filled, dots] = [0, 0];
  for (const count of counts) {
    if (count > 0) filled += 1;
    dots += count;
  }
  const mean = filled > 0 ? dots / filled : 0;
  return mean > CROWDED ? mean / 2 : 0;
}

/** One SVG path for all squares of a shade; a run of adjacent squares is one rectangle. */
function shaded(
  counts: Uint16Array,
  { columns, edge }: { columns: number; edge: number },
  box: { x: number; y: number },
  [from, below]: readonly [number, number],
  color: string,
  opacity: number,
) {
  let path = "";
  const [left, top] = [Math.round(box.x), Math.round(box.y)];
  const inside = (cell: number) => (counts[cell] ?? 0) >= from && (counts[cell] ?? 0) < below;
  for (let cell = 0; cell < counts.length; cell += 1) {
    if (!inside(cell)) continue;
    const start = cell;
    while ((cell + 1) % columns !== 0 && inside(cell + 1)) cell += 1;
    const width = (cell - start + 1) * edge;
    path += `M${left + (start % columns) * edge} ${top + Math.floor(start / columns) * edge}h${width}v${edge}h-${width}z`;
  }
  return { type: "path", silent: true, shape: { pathData: path || "M0 0" }, style: { fill: color, opacity } };
}
