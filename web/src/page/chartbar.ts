// The bar above charts with choices of how they are drawn. An empty choice leaves it to the chart.

import { element } from "./dom.ts";

export type Chosen = Readonly<Record<string, string>>;

export interface Choice {
  key: string;
  label: string;
  values: readonly (readonly [value: string, words: string])[];
}

/** Inserts the bar; returns a function that shows a view in it, or `null` without charts or choices. */
export function chartBar(
  charts: Element | null,
  name: string,
  choices: readonly Choice[],
  chosen: (values: Chosen) => void,
): ((values: Chosen) => void) | null {
  const usable = choices.filter(({ values }) => values.length > 1);
  if (!charts?.hasChildNodes() || usable.length === 0) {
    return null;
  }
  let current: Chosen = {};
  const made = usable.map(({ key, label, values }) => {
    const options = values.map(([value, words]) => element("option", { value }, words));
    const select = element("select", {}, element("option", { value: "" }, "as it suits"), ...options);
    select.addEventListener("change", () => {
      const { [key]: _, ...others } = current;
      chosen(select.value === "" ? others : { ...others, [key]: select.value });
    });
    return { key, select, root: element("label", {}, `${label} `, select) };
  });
  const form = element("form", { class: "chartbar", "aria-label": name }, ...made.map(({ root }) => root));
  form.addEventListener("submit", (event) => event.preventDefault());
  charts.before(form);
  return (values) => {
    current = values;
    for (const { key, select } of made) {
      select.value = current[key] ?? "";
    }
  };
}
