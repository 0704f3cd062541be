// Creates elements. Text is set only as text: the page never parses markup, so data cannot inject any.

type Child = Node | string;

/** Attributes that are `undefined` or `false` are left out. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | boolean | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) {
      created.setAttribute(name, value === true ? "" : value);
    }
  }
  created.append(...children);
  return created;
}

export function all<E extends Element = HTMLElement>(selector: string, within: ParentNode = document): E[] {
  return [...within.querySelectorAll<E>(selector)];
}

export function valuesOf(attribute: string): string[] {
  const found = all(`[${attribute}]`).map((one) => one.getAttribute(attribute) ?? "");
  return [...new Set(found)].filter((value) => value !== "");
}
