// Inserts the charts into the page, and draws each when it scrolls into view.

import type { EChartsType } from "echarts/core";
import { init } from "../charts/engine.ts";
import {
  type ChartKind,
  type ChartOptions,
  type Description,
  describe,
  drawings,
  kinds,
  type ThemeName,
} from "../charts/index.ts";
import { unbroken } from "../data/format.ts";
import { type Point, points, pointWords } from "../data/points.ts";
import type { PageRun } from "../data/schema.ts";
import type { View } from "../data/view.ts";
import { element } from "./dom.ts";
import { layerControls, layersQuantity } from "./layers.ts";
import { overOptions, type Sizes, sizeControls } from "./sizes.ts";

export interface ChartChoice {
  sizes?: Sizes;
  layers?: string | undefined;
}

/** The part of the page that a kind belongs to; all others belong to the costs. */
const PART: Partial<Record<ChartKind, string>> = {
  percentiles: "latency",
  density: "latency",
  time: "latency",
  samples: "latency",
  size: "latency",
  capacity: "capacity",
  latency: "sizes",
  "latency-relative": "sizes",
  transfer: "sizes",
  "transfer-relative": "sizes",
  requests: "sizes",
  "requests-relative": "sizes",
  resources: "resources",
  waterfall: "layers",
};
/** Kinds that repeat the data of tables or other charts in another form: shown on demand. */
const ON_DEMAND: readonly ChartKind[] = [
  "radar",
  "density",
  "samples",
  "transfer-relative",
  "requests-relative",
];
/** Up to this many points get a chart each; of more, only the first is drawn until the reader chooses one. */
const POINTS_AT_ONCE = 3;
/** Distance below the viewport at which charts are already drawn. */
const AHEAD = "400px";
/** Width of a chart in print, in pixels. */
const PAPER = 690;
/** The empty left margin of charts, in pixels; they move left by it to align with their titles. */
const EDGE = 16;

interface Slot {
  run: PageRun;
  kind: ChartKind;
  /** Empty if the chart shows all points. */
  point: Point;
  /** Whether it is drawn while no point is chosen. */
  isUsual: boolean;
  figure: HTMLElement;
  title: HTMLElement;
  subtitle: HTMLElement;
  canvas: HTMLElement;
  save: HTMLButtonElement;
  description: Description | undefined;
  chart: EChartsType | undefined;
  isNear: boolean;
}

export class Charts {
  readonly #slots: Slot[] = [];
  readonly #near: IntersectionObserver;
  #view: View | undefined;
  #isPrinting = false;

  readonly #bars: ((view: View) => void)[] = [];

  /** `chosen` is called with the reader's choices in the bars above charts. */
  constructor(runs: readonly PageRun[], chosen: (choice: ChartChoice) => void) {
    this.#near = new IntersectionObserver((entries) => this.#onIntersection(entries), { rootMargin: AHEAD });
    runs.forEach((run, at) => {
      const article = document.querySelector(`article[data-run="${at}"]`);
      if (article) {
        this.#place(run, article);
        const part = (name: string) => article.querySelector(`[data-part="${name}"]`);
        const [sizes, layers] = [part("sizes"), part("layers")];
        const bars = [
          sizes && sizeControls(sizes, run, (chosenSizes) => chosen({ sizes: chosenSizes })),
          layers && layerControls(layers, run, (quantity) => chosen({ layers: quantity })),
        ];
        this.#bars.push(...bars.filter((bar) => bar !== null));
      }
    });
    this.#redrawOnChange();
  }

  show(view: View): void {
    this.#view = view;
    for (const bar of this.#bars) {
      bar(view);
    }
    for (const slot of this.#slots) {
      this.#describe(slot);
    }
  }

  #place(run: PageRun, article: Element): void {
    for (const kind of kinds) {
      const each = drawings(kind, run);
      const holder = each.length === 0 ? null : this.#holder(article, kind);
      each.forEach(({ point }, at) => {
        const slot = makeSlot(
          run,
          kind,
          point,
          at === 0 || (each.length <= POINTS_AT_ONCE && !ON_DEMAND.includes(kind)),
        );
        slot.save.addEventListener("click", () => this.#save(slot));
        holder?.append(slot.figure);
        this.#slots.push(slot);
        this.#near.observe(slot.figure);
      });
    }
  }

  #holder(article: Element, kind: ChartKind): Element | null {
    const part = article.querySelector(`[data-part="${PART[kind] ?? "costs"}"]`);
    const usual = part?.querySelector(".charts") ?? null;
    if (!ON_DEMAND.includes(kind)) {
      return usual;
    }
    const existing = part?.querySelector("details > .charts");
    if (existing) {
      return existing;
    }
    const charts = element("div", { class: "charts" });
    const more = element("details", { class: "more" }, element("summary", {}, "More charts"), charts);
    // A closed `details` has no width, so its charts are drawn when it opens.
    more.addEventListener("toggle", () => this.#view && this.show(this.#view));
    part?.append(more);
    return charts;
  }

  #redrawOnChange(): void {
    const redraw = () => this.#view && this.show(this.#view);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    const print = (isPrinting: boolean) => {
      if (this.#isPrinting !== isPrinting) {
        this.#isPrinting = isPrinting;
        redraw();
      }
    };
    addEventListener("beforeprint", () => print(true));
    addEventListener("afterprint", () => print(false));
    matchMedia("print").addEventListener("change", (event) => print(event.matches));
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth !== width) {
        width = innerWidth;
        requestAnimationFrame(redraw);
      }
    });
  }

  #onIntersection(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const slot = this.#slots.find(({ figure }) => figure === target);
      if (slot && isIntersecting) {
        slot.isNear = true;
        this.#draw(slot);
      }
    }
  }

  #options(slot: Slot, view: View): ChartOptions {
    const chosen = view.point === undefined ? undefined : points(slot.run).get(view.point);
    const point = showsAll(slot.point) ? chosen : slot.point;
    const theme: ThemeName = this.#isPrinting ? "print" : themeOf(view);
    const quantity = slot.kind === "waterfall" ? layersQuantity(view, slot.run) : undefined;
    const room = slot.figure.parentElement?.clientWidth;
    const width = this.#isPrinting ? PAPER : room && room + EDGE;
    return {
      theme,
      interactive: !this.#isPrinting,
      ...(view.variants.length > 0 ? { variants: view.variants } : {}),
      ...(view.operation !== undefined ? { operations: [view.operation] } : {}),
      ...(point !== undefined ? { point } : {}),
      ...(quantity !== undefined ? { quantity } : {}),
      ...(view.sizes ? { over: overOptions(view.sizes, slot.run) } : {}),
      ...(width ? { width } : {}),
    };
  }

  /** Updates a slot to the view; hides it if there is nothing to show. */
  #describe(slot: Slot): void {
    const view = this.#view as View;
    const description = isWanted(slot, view)
      ? describe(slot.kind, slot.run, this.#options(slot, view))
      : null;
    slot.figure.hidden = description === null;
    slot.description = description ?? undefined;
    if (slot.description) {
      const { subtitle, height } = slot.description;
      const title = unbroken(slot.description.title);
      slot.title.textContent = title;
      slot.subtitle.textContent = unbroken(subtitle ?? "");
      slot.canvas.style.height = `${height}px`;
      slot.canvas.setAttribute("aria-label", `Chart: ${title}. Its figures are in the tables of this part.`);
      this.#draw(slot);
    }
  }

  /** Downloads the chart as shown, with its title, as SVG. */
  #save(slot: Slot): void {
    const options = { ...this.#options(slot, this.#view as View), titled: true, interactive: false };
    const description = describe(slot.kind, slot.run, options);
    if (!description) {
      return;
    }
    const { width, height, option } = description;
    const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
    chart.setOption(option);
    const file = new Blob([chart.renderToSVGString()], { type: "image/svg+xml" });
    chart.dispose();
    const link = element("a", { href: URL.createObjectURL(file), download: `${slot.kind}.svg` });
    link.click();
    // The browser may still be reading the blob.
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  #draw(slot: Slot): void {
    const { description, canvas } = slot;
    if (!description || !(this.#isPrinting || (slot.isNear && canvas.clientWidth > 0))) {
      return;
    }
    const { width, height, option } = description;
    const size = { width, height };
    if (slot.chart) {
      slot.chart.resize(size);
    } else {
      slot.chart = init(canvas, null, { renderer: "svg", ...size });
    }
    slot.chart.setOption(option, { notMerge: true });
  }
}

function makeSlot(run: PageRun, kind: ChartKind, point: Point, isUsual: boolean): Slot {
  const title = element("h3");
  const subtitle = element("p", { class: "subtitle" });
  const canvas = element("div", { class: "canvas", role: "img" });
  const save = element("button", { type: "button" }, "Save as SVG");
  const figure = element(
    "figure",
    { class: "chart", "data-kind": kind, tabindex: "0", hidden: true },
    element("figcaption", {}, title, save, subtitle),
    canvas,
  );
  return {
    run,
    kind,
    point,
    isUsual,
    figure,
    title,
    subtitle,
    canvas,
    save,
    description: undefined,
    chart: undefined,
    isNear: false,
  };
}

function showsAll(point: Point): boolean {
  return Object.keys(point).length === 0;
}

/** A few points have a chart each; many share one: the chosen point's, or the first. */
function isWanted({ point, isUsual }: Slot, view: View): boolean {
  return showsAll(point) || (view.point === undefined ? isUsual : pointWords(point) === view.point);
}

function themeOf(view: View): ThemeName {
  return view.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}
