// Below a chart over size: what its numbered cliffs and lettered lines are; and the marks that bear the numbers.
import type { SizeCliff, SizeGuide } from "../../data/schema.ts";
import { FONT, type Theme } from "../theme.ts";
import { clean, grouped, value } from "../words.ts";

// biome-ignore lint/suspicious/noExplicitAny: the library types what it hands to a drawing function as any.
type Api = any;

/** Lines nearer to each other than this, in pixels, share a letter. */
const APART = 13;
/** Most cliffs that are numbered; tables have them all. */
const MOST_CLIFFS = 9;

/** Lines that share a letter. */
export interface Lettered {
  letter: string;
  /** Position of the first along x, and all. */
  at: number;
  guides: readonly SizeGuide[];
}

/** Guides inside the drawing, by letter; `at` is a position along x, `pixels` how many one of it takes. */
export function lettered(
  guides: readonly SizeGuide[],
  place: (size: number) => number,
  [min, max]: readonly [number, number],
  pixels: number,
): Lettered[] {
  const found: { at: number; guides: SizeGuide[] }[] = [];
  for (const guide of guides) {
    const at = place(guide.bytes);
    if (at < min || at > max) continue;
    const last = found.at(-1);
    if (last && (at - last.at) * pixels < APART) last.guides.push(guide);
    else found.push({ at, guides: [guide] });
  }
  return found.map((one, at) => ({ ...one, letter: String.fromCharCode(65 + (at % 26)) }));
}

/** `A 8,192 B usual buffer of libraries (8 KiB)` */
export function guideWords(all: readonly Lettered[]): string[] {
  return all.map(
    ({ letter, guides }) =>
      `${letter}  ${guides.map((guide) => `${grouped(guide.bytes)} B ${clean(guide.name)}`).join("; ")}`,
  );
}

/** Dashed lines over the whole height with their letters on top. */
export function guideMarks(all: readonly Lettered[], theme: Theme, axes: number, hasLetters: boolean) {
  return {
    type: "custom",
    silent: true,
    clip: false,
    z: 0,
    xAxisIndex: axes,
    yAxisIndex: axes,
    tooltip: { show: false },
    data: all.map((_, at) => [at]),
    encode: { x: -1, y: -1 },
    renderItem: (params: { dataIndex: number; coordSys: { y: number; height: number } }, api: Api) => {
      const one = all[params.dataIndex];
      if (!one) return null;
      const { y, height } = params.coordSys;
      const x = Math.round(api.coord([one.at, 0])[0]) + 0.5;
      const line = {
        type: "line",
        shape: { x1: x, y1: y, x2: x, y2: y + height },
        style: { stroke: theme.faint, lineWidth: 1, lineDash: [3, 3] },
      };
      const letter = {
        type: "text",
        x,
        y: y - 2,
        style: {
          text: one.letter,
          fill: theme.quiet,
          font: `10.5px ${FONT}`,
          align: "center",
          verticalAlign: "bottom",
        },
      };
      return { type: "group", silent: true, children: hasLetters ? [line, letter] : [line] };
    },
  };
}

/** A cliff with its number; those that change most come first, and are numbered in the order of tables. */
export interface Numbered {
  number: number;
  cliff: SizeCliff;
}

export function numbered(cliffs: readonly SizeCliff[]): { shown: Numbered[]; left: number } {
  const weight = ({ height, before }: SizeCliff) => Math.abs(height.point / (before || 1));
  const most = [...cliffs].sort((a, b) => weight(b) - weight(a)).slice(0, MOST_CLIFFS);
  const shown = cliffs
    .filter((cliff) => most.includes(cliff))
    .map((cliff, at) => ({ number: at + 1, cliff }));
  return { shown, left: cliffs.length - shown.length };
}

/** `1 rust above 112,588 B [111,131, 113,954]: …` */
export function cliffWords({ shown, left }: { shown: readonly Numbered[]; left: number }): string[] {
  const words = shown.map(({ number, cliff }) => {
    const { place_bytes: place, height } = cliff;
    const bytes = (of: number) => grouped(Math.round(of));
    const times = cliff.change === "slope" ? 1024 : 1;
    const signed = (of: number) => `${of > 0 ? "+" : ""}${value("ns", of * times)}`;
    const what = cliff.change === "slope" ? "each further KiB costs" : "the median steps by";
    const change = `${what} ${signed(height.point)} [${signed(height.lower)}, ${signed(height.upper)}]`;
    const period = cliff.period_bytes;
    const again = period
      ? `, and again every ${bytes(period.point)} B [${bytes(period.lower)}, ${bytes(period.upper)}]`
      : "";
    const cause = cliff.cause ? `; likely ${clean(cliff.cause)}` : "; no known cause";
    return `${number}  ${clean(cliff.variant)} above ${bytes(place.point)} B [${bytes(place.lower)}, ${bytes(place.upper)}]${again}: ${change}${cliff.change === "slope" ? " more" : ""}${cause}`;
  });
  return left > 0 ? [...words, `${left} smaller cliffs are in the tables`] : words;
}

/** Where a numbered cliff lies: positions along both axes. */
export interface CliffMark {
  number: number;
  color: string;
  at: number;
  low: number;
  high: number;
  y: number;
}

/** A stroke at the place with its interval across, and its number in a disc. */
export function cliffMarks(name: string, marks: readonly CliffMark[], theme: Theme, axes: number) {
  return {
    type: "custom",
    name,
    silent: true,
    clip: false,
    z: 7,
    xAxisIndex: axes,
    yAxisIndex: axes,
    tooltip: { show: false },
    itemStyle: { color: marks[0]?.color },
    data: marks.map((_, at) => [at]),
    encode: { x: -1, y: -1 },
    renderItem: (
      params: { dataIndex: number; coordSys: { x: number; y: number; width: number; height: number } },
      api: Api,
    ) => {
      const one = marks[params.dataIndex];
      if (!one) return null;
      const box = params.coordSys;
      const [x, y] = api.coord([one.at, one.y]);
      const [low] = api.coord([one.low, one.y]);
      const [high] = api.coord([one.high, one.y]);
      if (x < box.x || x > box.x + box.width || y < box.y || y > box.y + box.height) return null;
      const style = { stroke: theme.ink, lineWidth: 1.4, fill: "none" };
      const line = (x1: number, y1: number, x2: number, y2: number) => ({
        type: "line",
        shape: { x1, y1, x2, y2 },
        style,
      });
      // Below the curve where there is no room above it, or where the one before stands.
      const before = marks[params.dataIndex - 1];
      const isNear = before !== undefined && Math.abs(api.coord([before.at, before.y])[0] - x) < 17;
      const middle = y - 24 < box.y || (isNear && params.dataIndex % 2 === 1) ? y + 22 : y - 22;
      return {
        type: "group",
        silent: true,
        children: [
          line(x, y - 12, x, y + 12),
          line(Math.max(low, box.x), y, Math.min(high, box.x + box.width), y),
          {
            type: "circle",
            shape: { cx: x, cy: middle, r: 7.5 },
            style: { fill: theme.ground, stroke: one.color, lineWidth: 1.5 },
          },
          {
            type: "text",
            x,
            y: middle,
            style: {
              text: String(one.number),
              fill: theme.ink,
              font: `600 10.5px ${FONT}`,
              align: "center",
              verticalAlign: "middle",
            },
          },
        ],
      };
    },
  };
}
