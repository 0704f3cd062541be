// Tabs of several runs. All runs stay in the document, and all are printed.

import { all, element } from "./dom.ts";

/** Makes the tabs; returns a function that shows a run (from 1). A single run has no tabs. */
export function tabs(changed: (run: number) => void): (run: number) => void {
  const articles = all("article.run");
  if (articles.length < 2) {
    return () => {};
  }
  const buttons = articles.map((article, at) => {
    const title = article.querySelector("h1")?.textContent ?? "";
    return element(
      "button",
      { type: "button", role: "tab", "aria-controls": article.id, title },
      `Run ${at + 1}`,
    );
  });
  const list = element("div", { class: "tabs", role: "tablist", "aria-label": "Runs" }, ...buttons);
  articles[0]?.before(list);
  buttons.forEach((button, at) => {
    button.addEventListener("click", () => changed(at + 1));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step !== undefined) {
        const to = (at + step + buttons.length) % buttons.length;
        changed(to + 1);
        buttons[to]?.focus();
      }
    });
  });
  for (const article of articles) {
    article.setAttribute("role", "tabpanel");
  }
  return (run) => {
    const shown = run >= 1 && run <= articles.length ? run - 1 : 0;
    articles.forEach((article, at) => {
      article.hidden = at !== shown;
      buttons[at]?.setAttribute("aria-selected", String(at === shown));
      buttons[at]?.setAttribute("tabindex", at === shown ? "0" : "-1");
    });
  };
}
