// Charts without a browser: what the binary's own JavaScript engine calls. Text goes in and comes out; the host lends
// its font's widths as `advance`.
import { init, setPlatformAPI } from "./engine.ts";
import { available, describe, drawings, isOver, kinds, whyNot } from "./index.ts";
import type { ChartKind, ChartOptions, PageData } from "./types.ts";

declare const advance: ((text: string, bold: boolean) => number) | undefined;

/** `600 15px Inter` to its size and weight. */
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

// The library asks for a timer when somebody might point at the chart; nobody can, so nothing ever comes of it.
Object.assign(globalThis, {
  setTimeout: globalThis.setTimeout ?? (() => 0),
  clearTimeout: globalThis.clearTimeout ?? (() => {}),
});

let data: PageData | null = null;

/** The run that is drawn from now on: JSON of `{ summary, detail }`. */
export function open(json: string): void {
  data = JSON.parse(json) as PageData;
}

/** Names of all kinds, as JSON. */
export function names(): string {
  return JSON.stringify(kinds);
}

/** What of the run can be drawn, as JSON: `[{ kind, point }]`. */
export function list(): string {
  return JSON.stringify(data ? available(data).flatMap((kind) => drawings(kind, data as PageData)) : []);
}

/** Begins what `draw` gives instead of a drawing: why there is none. */
const REFUSED = "refused: ";

/** A chart as SVG; why there is none as asked for; or nothing where the run has nothing to draw. */
export function draw(kind: ChartKind, options: string): string {
  const chosen = { ...(JSON.parse(options) as ChartOptions), titled: true, interactive: false };
  const description = data && describe(kind, data, chosen);
  if (!description) {
    const why = data ? whyNot(kind, data, chosen) : "";
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
  return named(numbered(svg, kind), description.title);
}

/** A drawing that says what it is to whoever cannot see it. */
function named(svg: string, title: string): string {
  const escaped = title.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  return svg.replace(
    /^<svg([^>]*)>/,
    (_, rest: string) => `<svg${rest} role="img"><title>${escaped}</title>`,
  );
}

/** Identifiers count what was drawn before; a drawing must not depend on that, so they are counted anew. */
function numbered(svg: string, kind: ChartKind): string {
  const seen = new Map<string, string>();
  return svg.replace(/\bzr\d+-([a-z]+-?)\d+/g, (name, part: string) => {
    const own = seen.get(name) ?? `${kind}-${part}${seen.size}`;
    seen.set(name, own);
    return own;
  });
}
