// Making elements. Text is only ever set as text: nothing here, and nothing in the page, parses markup.

type Child = Node | string;

/** An element with attributes and children; an attribute that is `undefined` or `false` is left out. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | boolean | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children);
  return made;
}

/** Every element that a selector finds, in order. */
export function all<E extends Element = HTMLElement>(selector: string, within: ParentNode = document): E[] {
  return [...within.querySelectorAll<E>(selector)];
}

/** Distinct values of an attribute, in order of appearance. */
export function valuesOf(attribute: string): string[] {
  const found = all(`[${attribute}]`).map((one) => one.getAttribute(attribute) ?? "");
  return [...new Set(found)].filter((value) => value !== "");
}
