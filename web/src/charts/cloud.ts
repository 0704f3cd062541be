// Clouds of dots. A run may hold hundreds of thousands: dots that would fall onto the same few pixels are drawn once, the
// darker the more there are, so that a drawing stays small and quick whatever is zoomed into.
import type { Look } from "./theme.ts";

/** How dots are gathered: the edge of their squares in pixels, and from how many dots on a square is drawn how dark. */
interface Grain {
  edge: number;
  shades: readonly (readonly [from: number, opacity: number])[];
}

/** Of a few thousand dots each is to be seen, of more how dense they lie. */
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

/** Dots on a spot, on average over the spots that have any, from which shades begin later and are paler. */
const CROWDED = 3;
const PALER = 0.75;

// biome-ignore lint/suspicious/noExplicitAny: the library types what it hands to a drawing function as any.
type Api = any;

/** Dots by number: where each lies on the axes, which are linear in these. */
export interface Dots {
  name: string;
  count: number;
  x(index: number): number;
  y(index: number): number;
}

/** The dots of one variant. */
export function cloud(dots: Dots, look: Look, grid: number) {
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
      // The axes are linear in what they place, so that two corners tell where every dot lies.
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
            opacity,
          ),
        ),
      };
    },
  };
}

/** How many times the usual count a spot holds where dots lie upon each other nearly everywhere; 0 where they do not. */
function crowded(counts: Uint16Array): number {
  let [filled, dots] = [0, 0];
  for (const count of counts) {
    if (count > 0) filled += 1;
    dots += count;
  }
  const mean = filled > 0 ? dots / filled : 0;
  return mean > CROWDED ? mean / 2 : 0;
}

/** One path for all squares of a shade: runs of neighbours as one rectangle each. */
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
