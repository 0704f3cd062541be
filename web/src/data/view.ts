// What the reader has chosen to see, and its form in a link: `#costs?variant=go&variant=rust&point=64+B`. The
// part before `?` is an anchor; what is absent has the page's default.

export interface View {
  /** Id of the linked element; empty for the top of the page. */
  anchor: string;
  /** Names of the variants shown; empty: all. */
  variants: readonly string[];
  /** The operation shown; absent: all. */
  operation?: string;
  /** The point shown, as text; absent: all. */
  point?: string;
  /** The run shown, from 1; absent: the first. */
  run?: number;
  sorts: readonly Sort[];
  /** Indices of the `details` elements that are open. */
  opened: readonly number[];
  /** Absent: as the system prefers. */
  theme?: Theme;
  /** Choices for charts over message size: `time` to `relayed`. */
  sizes?: Readonly<Record<string, string>>;
  /** The quantity of waterfalls. */
  layers?: string;
}

export type Theme = "light" | "dark";

/** A sorted table: its index in the page, the column, the order. */
export interface Sort {
  table: number;
  column: number;
  descending: boolean;
}

export const UNTOUCHED: View = { anchor: "", variants: [], sorts: [], opened: [] };

/** What a row or part of the page is about; absent: about all. */
export interface Place {
  variant?: string | undefined;
  operation?: string | undefined;
  point?: string | undefined;
}

/** Whether a view shows a place. A filter does not affect a place that has no value for it. */
export function shows(view: View, place: Place): boolean {
  const { variant, operation, point } = place;
  return (
    (variant === undefined || view.variants.length === 0 || view.variants.includes(variant)) &&
    (operation === undefined || view.operation === undefined || view.operation === operation) &&
    (point === undefined || view.point === undefined || view.point === point)
  );
}

/** The link fragment, with `#`; `#` alone for the default view. */
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

/** Parses a link fragment; ignores what it does not understand. */
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
  const sizes = Object.fromEntries(given.getAll("sizes").flatMap(splitAtDot));
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

/** Splits `key.value` at the first dot: the value may contain dots. */
function splitAtDot(text: string): [string, string][] {
  const at = text.indexOf(".");
  return at > 0 && at < text.length - 1 ? [[text.slice(0, at), text.slice(at + 1)]] : [];
}

function sort(text: string): Sort[] {
  const found = /^(\d{1,6})\.(\d{1,3})\.(up|down)$/.exec(text);
  return found
    ? [{ table: Number(found[1]), column: Number(found[2]), descending: found[3] === "down" }]
    : [];
}

export interface Key {
  number?: number | undefined;
  text: string;
}

/** Compares cells: figures by value, then texts in natural order (embedded numbers by value), dashes last. */
export function compare(one: Key, other: Key): number {
  if (one.number !== undefined && other.number !== undefined) {
    return one.number - other.number;
  }
  if (one.number !== undefined || other.number !== undefined) {
    return one.number === undefined ? 1 : -1;
  }
  return one.text.localeCompare(other.text, "en", { numeric: true });
}

/** Row indices in sorted order. Stable; cells without a figure are last in either direction. */
export function sorted(keys: readonly Key[], descending: boolean): number[] {
  const order = keys.map((_, at) => at);
  return order.sort((a, b) => {
    const [one, other] = [keys[a] as Key, keys[b] as Key];
    const isMixed = (one.number === undefined) !== (other.number === undefined);
    return compare(one, other) * (descending && !isMixed ? -1 : 1) || a - b;
  });
}
