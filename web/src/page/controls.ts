// The bar at the top of the page: variants, operation, point, theme, and a link to the view.

import { link, type Theme, type View } from "../data/view.ts";
import { element, valuesOf } from "./dom.ts";

export type Change = Partial<Pick<View, "variants">> & {
  operation?: string | undefined;
  point?: string | undefined;
  theme?: Theme | undefined;
};

/** Up to this many variants are in the bar itself; more are in a list that opens. */
const AT_ONCE = 6;

export function controls(
  root: HTMLElement,
  names: readonly string[],
  changed: (change: Change) => void,
  reset: () => void,
): (view: View, rows: { shown: number; of: number }) => void {
  const variants = variantChips(names, changed);
  const operation = choice("operation", valuesOf("data-operation"), (value) => changed({ operation: value }));
  const point = choice("point", valuesOf("data-point"), (value) => changed({ point: value }));
  const matches = element("output", { class: "matches" });
  const all = element("button", { type: "button" }, "Show all");
  all.addEventListener("click", reset);
  const theme = choice(
    "colours",
    ["light", "dark"],
    (value) => changed({ theme: value as Theme | undefined }),
    "auto",
  );
  const copy = element("button", { type: "button" }, "Copy link to this view");
  let shownView: View | undefined;
  copy.addEventListener("click", () => {
    const address = `${location.href.split("#")[0]}${shownView ? link(shownView) : ""}`;
    void copied(address, copy);
  });
  const parts = [variants.root, operation.root, point.root].filter((part) => part !== undefined);
  const form = element("form", { role: "search", "aria-label": "What is shown" }, ...parts, matches, all);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.append(element("span", { class: "push" }, ...(theme.root ? [theme.root] : []), copy));
  root.classList.add("controls");
  root.append(form);
  return (view, { shown, of }) => {
    shownView = view;
    variants.show(view.variants);
    operation.show(view.operation);
    point.show(view.point);
    theme.show(view.theme);
    const isFiltered = shown < of;
    matches.textContent = isFiltered ? `${shown} of ${of} rows` : "";
    all.hidden = !isFiltered && view.sorts.length === 0;
  };
}

function variantChips(names: readonly string[], changed: (change: Change) => void) {
  if (names.length < 2) {
    return { root: undefined, show: () => {} };
  }
  const boxes = names.map((name) => element("input", { type: "checkbox", value: name }));
  const chips = boxes.map((box) =>
    element("label", { class: "chip", title: box.value }, box, element("span", {}, box.value)),
  );
  const set = element("fieldset", {}, element("legend", {}, "Variants"), ...chips);
  const count = element("summary");
  const root = names.length <= AT_ONCE ? set : element("details", { class: "menu" }, count, set);
  set.addEventListener("change", () => {
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
    // An empty selection would be useless: clearing the last box means all variants again.
    changed({ variants: chosen.length === boxes.length ? [] : chosen });
  });
  const show = (chosen: readonly string[]) => {
    for (const box of boxes) {
      box.checked = chosen.length === 0 || chosen.includes(box.value);
    }
    count.textContent = `Variants: ${chosen.length === 0 ? "all" : `${chosen.length} of ${names.length}`}`;
  };
  return { root, show };
}

function choice(
  name: string,
  values: readonly string[],
  chosen: (value: string | undefined) => void,
  none = `every ${name}`,
) {
  if (values.length < 2) {
    return { root: undefined, show: () => {} };
  }
  const options = values.map((value) => element("option", { value }, value));
  const root = element("select", { "aria-label": name }, element("option", { value: "" }, none), ...options);
  root.addEventListener("change", () => chosen(root.selectedIndex === 0 ? undefined : root.value));
  const show = (value: string | undefined) => {
    root.selectedIndex = value === undefined ? 0 : values.indexOf(value) + 1;
  };
  return { root, show };
}

async function copied(address: string, button: HTMLButtonElement): Promise<void> {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(address);
    button.textContent = "Copied";
  } catch {
    // A page opened from disk may have no clipboard access; the address bar has the same link.
    button.textContent = "It is in the address bar";
  }
  setTimeout(() => {
    button.textContent = before;
  }, 2000);
}
