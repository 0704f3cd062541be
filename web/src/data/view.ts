// What a reader has chosen to see, and how it is written into a link: `#costs?variant=go&variant=rust&point=64+B`.
// The part before the question mark is where in the page; what is left out is as it was when the page was opened.

/** A reader's choices. */
export interface View {
  /** The element that is linked to, without `#`; empty for the top. */
  anchor: string;
  /** Names of variants that are shown; empty for all. */
  variants: readonly string[];
  /** The operation that is shown; absent for all. */
  operation?: string;
  /** The point that is shown; absent for all. */
  point?: string;
  /** The run that is shown of several, from 1; absent for the first. */
  run?: number;
  /** Sorted tables: number of the table in the page, of the column, and the order. */
  sorts: readonly Sort[];
  /** Parts that are opened, by their number in the page. */
  opened: readonly number[];
  /** Light or dark, where the reader chose. */
  theme?: Theme;
  /** How charts over message size are drawn, where the reader chose: `time` to `relayed`. */
  sizes?: Readonly<Record<string, string>>;
  /** The quantity of which waterfalls of layers are drawn, where the reader chose. */
  layers?: string;
}

export type Theme = "light" | "dark";

/** How one table is sorted. */
export interface Sort {
  table: number;
  column: number;
  descending: boolean;
}

/** The view of a page that nobody has touched. */
export const UNTOUCHED: View = { anchor: "", variants: [], sorts: [], opened: [] };

/** What a row or part of the page is about; absent where it is about all. */
export interface Place {
  variant?: string | undefined;
  operation?: string | undefined;
  point?: string | undefined;
}

/** Whether something is shown in a view: what says nothing of a filter passes it. */
export function shows(view: View, place: Place): boolean {
  const { variant, operation, point } = place;
  return (
    (variant === undefined || view.variants.length === 0 || view.variants.includes(variant)) &&
    (operation === undefined || view.operation === undefined || view.operation === operation) &&
    (point === undefined || view.point === undefined || view.point === point)
  );
}

/** A view as the fragment of a link, with its `#`; `#` alone for an untouched one. */
export function link(view: View): string {
  const given = new URLSearchParams();
  for (const variant of view.variants) {
    given.append("variant", variant);
  }
  const { operation, point, run, theme, layers } = view;
  const single = { operation, point, run, theme, layers };
  for (const [key, value] of Object.entries(single)) {
    if (value !== undefined) {
      given.append(key, String(value));
    }
  }
  for (const { table, column, descending } of view.sorts) {
    given.append("sort", `${table}.${column}.${descending ? "down" : "up"}`);
  }
  for (const [key, value] of Object.entries(view.sizes ?? {})) {
    given.append("sizes", `${key}.${value}`);
  }
  for (const part of view.opened) {
    given.append("open", String(part));
  }
  const text = given.toString();
  return `#${encodeURIComponent(view.anchor)}${text === "" ? "" : `?${text}`}`;
}

/** The view of a link's fragment; what it cannot understand it leaves out. */
export function read(fragment: string): View {
  const [anchor = "", ...rest] = fragment.replace(/^#/, "").split("?");
  const given = new URLSearchParams(rest.join("?"));
  const view: View = {
    anchor: decoded(anchor),
    variants: given.getAll("variant"),
    sorts: given.getAll("sort").flatMap(sort),
    opened: given.getAll("open").flatMap(count),
  };
  const operation = given.get("operation");
  const point = given.get("point");
  const run = count(given.get("run") ?? "")[0];
  const theme = given.get("theme");
  const layers = given.get("layers");
  const sizes = Object.fromEntries(given.getAll("sizes").flatMap(pair));
  return {
    ...view,
    ...(operation === null ? {} : { operation }),
    ...(point === null ? {} : { point }),
    ...(run === undefined ? {} : { run }),
    ...(theme === "light" || theme === "dark" ? { theme } : {}),
    ...(Object.keys(sizes).length > 0 ? { sizes } : {}),
    ...(layers === null ? {} : { layers }),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function count(text: string): number[] {
  return /^\d{1,6}$/.test(text) ? [Number(text)] : [];
}

/** `key.value`; the value may have dots of its own. */
function pair(text: string): [string, string][] {
  const at = text.indexOf(".");
  return at > 0 && at < text.length - 1 ? [[text.slice(0, at), text.slice(at + 1)]] : [];
}

function sort(text: string): Sort[] {
  const found = /^(\d{1,6})\.(\d{1,3})\.(up|down)$/.exec(text);
  return found
    ? [{ table: Number(found[1]), column: Number(found[2]), descending: found[3] === "down" }]
    : [];
}

/** One cell as it is sorted by. */
export interface Key {
  /** The bare number of a figure. */
  number?: number | undefined;
  text: string;
}

/** Order of two cells: figures by size, then texts by their letters, numbers in them by size; dashes last. */
export function compare(one: Key, other: Key): number {
  if (one.number !== undefined && other.number !== undefined) {
    return one.number - other.number;
  }
  if (one.number !== undefined || other.number !== undefined) {
    return one.number === undefined ? 1 : -1;
  }
  return one.text.localeCompare(other.text, "en", { numeric: true });
}

/** The numbers of rows in sorted order; rows that are equal stay as they were. What has no figure is last either way. */
export function sorted(keys: readonly Key[], descending: boolean): number[] {
  const order = keys.map((_, at) => at);
  return order.sort((a, b) => {
    const [one, other] = [keys[a] as Key, keys[b] as Key];
    const isMixed = (one.number === undefined) !== (other.number === undefined);
    return compare(one, other) * (descending && !isMixed ? -1 : 1) || a - b;
  });
}
