// Entry points for the JavaScript engine inside the binary. Arguments and results are strings. The host
// provides `advance`, the text width in its font at size 1.
import { init, setPlatformAPI } from "./engine.ts";
import { available, describe, drawings, isOver, kinds, refusalReason } from "./index.ts";
import type { ChartKind, ChartOptions, PageData } from "./types.ts";

declare const advance: ((text: string, bold: boolean) => number) | undefined;

/** Extracts weight and size from a CSS font: `600 15px Inter`. */
const FONT = /^(?:(?:normal|italic)\s+)?(\d00|bold)?\s*([\d.]+)px/;

if (typeof advance === "function") {
  const measure = advance;
  setPlatformAPI({
    measureText: (text: string, font?: string) => {
      const [, weight = "", size = "12"] = FONT.exec(font ?? "") ?? [];
      const bold = weight === "bold" || Number(weight) >= 600;
      return { width: measure(text, bold) * Number(size) };
    },
  });
}

// The library sets timers only for pointer events, which do not occur here: stubs are enough.
Object.assign(globalThis, {
  setTimeout: globalThis.setTimeout ?? (() => 0),
  clearTimeout: globalThis.clearTimeout ?? (() => {}),
});

let data: PageData | null = null;

/** Sets the run to draw; `json` is `{ summary, detail }`. */
export function open(json: string): void {
  data = JSON.parse(json) as PageData;
}

export function names(): string {
  return JSON.stringify(kinds);
}

/** The charts that the run can fill, as JSON: `[{ kind, point }]`. */
export function list(): string {
  return JSON.stringify(data ? available(data).flatMap((kind) => drawings(kind, data as PageData)) : []);
}

const REFUSED = "refused: ";

/** The chart as SVG; or REFUSED and the reason why it cannot be drawn; or "" if the run lacks the data. */
export function draw(kind: ChartKind, options: string): string {
  const chosen = { ...(JSON.parse(options) as ChartOptions), titled: true, interactive: false };
  const description = data && describe(kind, data, chosen);
  if (!description) {
    const why = data ? refusalReason(kind, data, chosen) : "";
    return why && REFUSED + why;
  }
  const { width, height, least } = description;
  if (chosen.height !== undefined && height < least) {
    const foot = isOver(kind) ? "; fewer words stand below it with `--no-cliffs` and `--no-guides`" : "";
    return `${REFUSED}a chart \`${kind}\` of this needs a height of ${Math.ceil(least)} pixels at least${foot}`;
  }
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  chart.setOption(description.option);
  const svg = chart.renderToSVGString();
  chart.dispose();
  return withTitle(renumberIds(svg, kind), description.title);
}

/** Adds role and title for screen readers. */
function withTitle(svg: string, title: string): string {
  const escaped = title.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  return svg.replace(
    /^<svg([^>]*)>/,
    (_, rest: string) => `<svg${rest} role="img"><title>${escaped}</title>`,
  );
}

/** Renumbers ids: the library's depend on what was drawn before, and output must be reproducible. */
function renumberIds(svg: string, kind: ChartKind): string {
  const seen = new Map<string, string>();
  return svg.replace(/\bzr\d+-([a-z]+-?)\d+/g, (name, part: string) => {
    const own = seen.get(name) ?? `${kind}-${part}${seen.size}`;
    seen.set(name, own);
    return own;
  });
}
