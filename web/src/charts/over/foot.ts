// The numbered cliffs and lettered lines of charts over size: their marks, and the texts below the chart.
import type { SizeCliff } from "../../data/schema.ts";
import type { Api } from "../marks.ts";
import { FONT, type Theme } from "../theme.ts";
import type { OverOptions, PageData } from "../types.ts";
import { clean, grouped, value } from "../words.ts";

/** Lines closer than this, in pixels, share a letter. */
const LETTER_GAP = 13;
/** The most cliffs that are numbered; tables list all. */
const MOST_CLIFFS = 9;

/** Multiples closer than this, in pixels, are not drawn. */
const MULTIPLE_GAP = 4;

/** A size marked by a line; `times` is set on multiples. */
export interface Guide {
  name: string;
  bytes: number;
  every?: boolean;
  times?: number;
}

/** The host's guides if `isHost`, and the user's own with their multiples up to the size `most`. */
export function guidesOf(data: PageData, isHost: boolean, want: OverOptions, most: number): Guide[] {
  const own = (want.more_guides ?? []).flatMap((guide): Guide[] => {
    const count = guide.every && guide.bytes > 0 ? Math.min(1000, Math.floor(most / guide.bytes)) : 1;
    const more = Array.from({ length: Math.max(0, count - 1) }, (_, at) => at + 2);
    return [guide, ...more.map((times) => ({ name: guide.name, bytes: guide.bytes * times, times }))];
  });
  const host = isHost ? (data.summary.over_size?.guides ?? []) : [];
  return [...host, ...own].sort((a, b) => a.bytes - b.bytes);
}

/** Lines that share a letter; multiples have none. */
export interface Lettered {
  letter: string;
  /** x position of the first line. */
  at: number;
  guides: readonly Guide[];
}

/** Groups guides inside the axis range by letter; `pixels` is the number of pixels per unit of x. */
export function assignLetters(
  guides: readonly Guide[],
  place: (size: number) => number,
  [min, max]: readonly [number, number],
  pixels: number,
): Lettered[] {
  const found: { at: number; guides: Guide[] }[] = [];
  const multiples: { at: number; guides: Guide[] }[] = [];
  for (const guide of guides) {
    const at = place(guide.bytes);
    if (at < min || at > max) continue;
    const last = (guide.times ? multiples : found).at(-1);
    const isNear = last && (at - last.at) * pixels < (guide.times ? MULTIPLE_GAP : LETTER_GAP);
    if (guide.times && !isNear) multiples.push({ at, guides: [guide] });
    if (guide.times) continue;
    if (isNear) last.guides.push(guide);
    else found.push({ at, guides: [guide] });
  }
  const named = found.map((one, at) => ({ ...one, letter: String.fromCharCode(65 + (at % 26)) }));
  return [...named, ...multiples.map((one) => ({ ...one, letter: "" }))];
}

/** `A 8,192 B usual buffer of libraries (8 KiB)`. */
export function guideWords(all: readonly Lettered[]): string[] {
  const words = ({ bytes, name, every }: Guide) =>
    `${grouped(bytes)} B ${clean(name)}${every ? ", and each multiple of it" : ""}`;
  return all
    .filter(({ letter }) => letter !== "")
    .map(({ letter, guides }) => `${letter}  ${guides.map(words).join("; ")}`);
}

/** Dashed lines of full height, letters above; `inside`: below the top edge, as the panel has a heading. */
export function guideMarks(all: readonly Lettered[], theme: Theme, axes: number, inside: boolean) {
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
        y: inside ? y + 3 : y - 2,
        style: {
          text: one.letter,
          fill: theme.quiet,
          font: `10.5px ${FONT}`,
          align: "center",
          verticalAlign: inside ? "top" : "bottom",
          ...(inside ? { backgroundColor: theme.ground, padding: [0, 2, 1, 2] } : {}),
        },
      };
      return { type: "group", silent: true, children: one.letter === "" ? [line] : [line, letter] };
    },
  };
}

export interface Numbered {
  number: number;
  cliff: SizeCliff;
}

export function numberCliffs(cliffs: readonly SizeCliff[]): { shown: Numbered[]; left: number } {
  const weight = ({ height, before }: SizeCliff) => Math.abs(height.point / (before || 1));
  const most = [...cliffs].sort((a, b) => weight(b) - weight(a)).slice(0, MOST_CLIFFS);
  const shown = cliffs
    .filter((cliff) => most.includes(cliff))
    .map((cliff, at) => ({ number: at + 1, cliff }));
  return { shown, left: cliffs.length - shown.length };
}

/** `1 rust above 112,588 B [111,131, 113,954]: …`. */
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

export interface CliffMark {
  number: number;
  color: string;
  at: number;
  low: number;
  high: number;
  y: number;
  /** Offset in pixels from the cliff to the centre of its numbered disc. */
  disc?: readonly [number, number];
}

/** Candidate offsets of a disc, best first. */
const DISC_OFFSETS: readonly (readonly [number, number])[] = [
  [0, -22],
  [0, 22],
  [0, -40],
  [0, 40],
  [18, -22],
  [-18, -22],
  [18, 22],
  [-18, 22],
  [18, -40],
  [-18, -40],
  [0, -58],
  [0, 58],
];
const RADIUS = 7.5;

/** Gives each mark a disc that covers no other; `pixel` maps a mark to a panel of this width and height. */
export function placeDiscs(
  marks: readonly CliffMark[],
  pixel: (mark: CliffMark) => readonly [number, number],
  [width, height]: readonly [number, number],
): CliffMark[] {
  const taken: (readonly [number, number])[] = [];
  return marks.map((mark) => {
    const [x, y] = pixel(mark);
    const at = ([dx, dy]: readonly [number, number]) => [x + dx, y + dy] as const;
    const isFree = (spot: readonly [number, number]) => {
      const [left, top] = at(spot);
      const isIn = left > RADIUS && left < width - RADIUS && top > RADIUS && top < height - RADIUS;
      return isIn && taken.every(([a, b]) => Math.hypot(a - left, b - top) > 2 * RADIUS + 1.5);
    };
    const disc = DISC_OFFSETS.find(isFree) ?? [0, -22];
    taken.push(at(disc));
    return { ...mark, disc };
  });
}

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
      const [dx, dy] = one.disc ?? [0, -22];
      const [across, middle] = [x + dx, y + dy];
      const lead = Math.abs(dy) > 22 || dx !== 0 ? [line(x, y + 12 * Math.sign(dy), across, middle)] : [];
      return {
        type: "group",
        silent: true,
        children: [
          line(x, y - 12, x, y + 12),
          line(Math.max(low, box.x), y, Math.min(high, box.x + box.width), y),
          ...lead,
          {
            type: "circle",
            shape: { cx: across, cy: middle, r: RADIUS },
            style: { fill: theme.ground, stroke: one.color, lineWidth: 1.5 },
          },
          {
            type: "text",
            x: across,
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
