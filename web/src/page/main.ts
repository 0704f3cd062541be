// The page's script. The report's markup already contains all texts and tables; the script adds interaction.
// It keeps one value, the view: each action of the reader changes the view, and the display follows from the
// view and the data.

import { cleaned } from "../data/format.ts";
import { variants } from "../data/points.ts";
import type { PageData } from "../data/schema.ts";
import { link, read, UNTOUCHED, type View } from "../data/view.ts";
import { Charts } from "./charts.ts";
import { controls } from "./controls.ts";
import { all, valuesOf } from "./dom.ts";
import { applyFilter } from "./filter.ts";
import { localTimes } from "./moments.ts";
import { tabs } from "./runs.ts";
import { sortable } from "./sort.ts";

function data(): PageData {
  return cleaned(JSON.parse(document.getElementById("data")?.textContent ?? '{"runs":[]}') as PageData);
}

function start(): void {
  document.documentElement.classList.add("scripted");
  localTimes();
  let view = read(location.hash);
  const { runs } = data();
  const change = (to: View) => {
    view = to;
    show();
    history.replaceState(null, "", link(view));
  };
  const sort = sortable((sorts) => change({ ...view, sorts }));
  const select = tabs((run) => change({ ...view, run }));
  const bar = controls(
    document.getElementById("controls") as HTMLElement,
    [...new Set([...runs.flatMap(variants), ...valuesOf("data-variant")])],
    (to) => change(dropUndefined({ ...view, ...to })),
    () => change({ ...UNTOUCHED, ...withoutFilters(view) }),
  );
  const charts = new Charts(runs, (choice) => change(dropUndefined({ ...view, ...choice })));
  const parts = all<HTMLDetailsElement>("main details");

  function show(): void {
    const { theme } = view;
    if (theme) {
      document.documentElement.dataset.theme = theme;
    } else {
      delete document.documentElement.dataset.theme;
    }
    select(view.run ?? 1);
    sort(view.sorts);
    bar(view, applyFilter(view));
    parts.forEach((part, at) => {
      part.open = view.opened.includes(at);
    });
    charts.show(view);
  }

  parts.forEach((part, at) => {
    part.addEventListener("toggle", () => {
      const others = view.opened.filter((other) => other !== at);
      const opened = part.open ? [...others, at].sort((a, b) => a - b) : others;
      if (opened.length !== view.opened.length) {
        view = { ...view, opened };
        history.replaceState(null, "", link(view));
      }
    });
  });
  // A link within the page must not reset the reader's choices.
  document.addEventListener("click", (event) => {
    const to =
      event.target instanceof Element ? event.target.closest('a[href^="#"]')?.getAttribute("href") : null;
    if (to && !to.includes("?")) {
      event.preventDefault();
      change(goTo({ ...view, anchor: to.slice(1) }));
      scroll(view.anchor);
    }
  });
  addEventListener("hashchange", () => {
    view = goTo(read(location.hash));
    show();
    scroll(view.anchor);
  });
  view = goTo(view);
  show();
  scroll(view.anchor);
}

/** Selects the run that contains the view's anchor. */
function goTo(view: View): View {
  const run = document.getElementById(view.anchor)?.closest<HTMLElement>("article.run")?.dataset.run;
  return run === undefined || Number(run) + 1 === (view.run ?? 1) ? view : { ...view, run: Number(run) + 1 };
}

function scroll(anchor: string): void {
  const target = anchor === "" ? null : document.getElementById(anchor);
  target?.scrollIntoView({ behavior: "instant" });
  if (target?.id === "main") {
    target.focus();
  }
}

/** What "show all" keeps: position, run, opened parts and theme, but no filter. */
function withoutFilters({ anchor, run, opened, theme }: View): Partial<View> {
  return dropUndefined({ ...UNTOUCHED, anchor, opened, run, theme });
}

/** Drops choices that are `undefined`. */
function dropUndefined(view: { [K in keyof View]: View[K] | undefined }): View {
  return Object.fromEntries(
    Object.entries(view).filter(([, value]) => value !== undefined),
  ) as unknown as View;
}

start();
