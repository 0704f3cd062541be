// Creates elements. Text is set only as text: the page never parses markup, so data cannot inject any.

type Child = Node | string;

/** Attributes that are `undefined` or `false` are left out. */
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

export function all<E extends Element = HTMLElement>(selector: string, within: ParentNode = document): E[] {
  return [...within.querySelectorAll<E>(selector)];
}

/** Distinct values of an attribute, in document order. */
export function valuesOf(attribute: string): string[] {
  const found = all(`[${attribute}]`).map((one) => one.getAttribute(attribute) ?? "");
  return [...new Set(found)].filter((value) => value !== "");
}
