// Layout of charts over message size: one shared panel or one for each variant, and the texts below.
import { isNarrow, type Sheet, shorten, type Tick, textWidth, wrap } from "../frame.ts";
import { FONT } from "../theme.ts";
import { clean } from "../words.ts";

export interface Panel {
  left: number;
  top: number;
  width: number;
  height: number;
  /** Whether it has axis labels. Panels in the same column or row share them. */
  hasX: boolean;
  hasY: boolean;
}

/** Least width for the labels of the y axis. */
const LEFT = 60;
const RIGHT = 28;
const SIZE = 11.5;
const LINE = 16;
/** Height of a panel where there are several, and of its heading. */
const SMALL = 150;
const ABOVE = 24;
/** Height below a panel: axis labels and axis name. */
export const BELOW = 46;

export function leastPanel(isApart: boolean): number {
  return isApart ? 60 : 80;
}

/** Width for the labels of a y axis. It includes the pixels that the page cuts off at a chart's left edge. */
export function roomFor(ticks: readonly Tick[]): number {
  return Math.max(LEFT, ...ticks.map((tick) => 28 + textWidth(tick.text, 11)));
}

export function together(
  on: Sheet,
  top: number,
  foot: number,
  left: number,
): { panels: Panel[]; height: number } {
  const height = on.options.height ?? top + 22 + 380 + BELOW + foot;
  return {
    panels: [
      {
        left,
        top: top + 30,
        width: on.width - left - RIGHT,
        height: Math.max(leastPanel(false), height - top - 30 - BELOW - foot),
        hasX: true,
        hasY: true,
      },
    ],
    height,
  };
}

export function apart(
  on: Sheet,
  top: number,
  foot: number,
  count: number,
  left: number,
): { panels: Panel[]; height: number } {
  const columns = Math.min(count, isNarrow(on) ? 1 : on.width < 760 ? 2 : 3);
  const rows = Math.ceil(count / columns);
  const gap = 16;
  const width = (on.width - left - RIGHT - gap * (columns - 1)) / columns;
  const room = on.options.height ? (on.options.height - top - 22 - foot - BELOW) / rows - ABOVE : SMALL;
  const tall = Math.max(leastPanel(true), room);
  const panels = Array.from({ length: count }, (_, at): Panel => {
    const [column, row] = [at % columns, Math.floor(at / columns)];
    return {
      left: left + column * (width + gap),
      top: top + 22 + row * (tall + ABOVE) + ABOVE,
      width,
      height: tall,
      hasX: at + columns >= count,
      hasY: column === 0,
    };
  });
  return { panels, height: on.options.height ?? top + 22 + rows * (tall + ABOVE) + BELOW + foot };
}

export function panelName(panel: Panel, name: string, color: string) {
  return {
    type: "text",
    silent: true,
    left: panel.left,
    top: panel.top - 17,
    style: {
      text: shorten(clean(name), panel.width, 12, true),
      fill: color,
      font: `600 12px ${FONT}`,
    },
  };
}

export function footLines(on: Sheet, texts: readonly string[]): { lines: string[]; height: number } {
  const lines = texts.flatMap((text) =>
    wrap(text, on.width - 44, SIZE).map((line, at) => (at > 0 ? `     ${line}` : line)),
  );
  return { lines, height: lines.length > 0 ? lines.length * LINE + 8 : 0 };
}

export function footTexts(on: Sheet, lines: readonly string[], height: number) {
  return lines.map((text, at) => ({
    type: "text",
    silent: true,
    left: 16,
    top: height - (lines.length - at) * LINE - 4,
    style: { text, fill: on.theme.quiet, font: `${SIZE}px ${FONT}` },
  }));
}
