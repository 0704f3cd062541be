// Sorts tables by click or key on a column heading: ascending, descending, original order.

import { type Key, type Sort, sorted } from "../data/view.ts";
import { all, element } from "./dom.ts";

interface Sortable {
  heads: HTMLTableCellElement[];
  body: HTMLTableSectionElement;
  /** Rows in their original order. */
  rows: HTMLTableRowElement[];
}

/** Makes tables sortable; `changed` is called on each sort. Returns a function that applies a given order. */
export function sortable(changed: (sorts: Sort[]) => void): (sorts: readonly Sort[]) => void {
  const tables = all<HTMLTableElement>("table.sortable").flatMap(read);
  let current: readonly Sort[] = [];
  const apply = (sorts: readonly Sort[]) => {
    current = sorts;
    tables.forEach((table, at) => {
      arrange(
        table,
        sorts.find((sort) => sort.table === at),
      );
    });
  };
  tables.forEach((table, at) => {
    table.heads.forEach((head) => {
      if (head.tagName !== "TH") {
        return;
      }
      const button = element("button", { type: "button" }, ...head.childNodes);
      button.addEventListener("click", () => {
        const before = current.find((sort) => sort.table === at);
        changed([...current.filter((sort) => sort !== before), ...next(before, at, head.cellIndex)]);
      });
      head.append(button);
    });
  });
  return apply;
}

function read(table: HTMLTableElement): Sortable[] {
  const [body, heads] = [table.tBodies[0], table.tHead?.rows[0]?.cells];
  return body && heads ? [{ heads: [...heads], body, rows: [...body.rows] }] : [];
}

function next(before: Sort | undefined, table: number, column: number): Sort[] {
  if (before?.column !== column) {
    return [{ table, column, descending: false }];
  }
  return before.descending ? [] : [{ table, column, descending: true }];
}

function arrange({ heads, body, rows }: Sortable, sort: Sort | undefined): void {
  for (const head of heads) {
    head.removeAttribute("aria-sort");
  }
  const head = sort && heads[sort.column];
  if (!sort || !head || head.tagName !== "TH") {
    if (rows.some((row, at) => body.rows[at] !== row)) {
      body.append(...rows);
    }
    return;
  }
  head.setAttribute("aria-sort", sort.descending ? "descending" : "ascending");
  const keys = rows.map((row) => keyOf(row.cells[sort.column]));
  body.append(...sorted(keys, sort.descending).map((at) => rows[at] as HTMLTableRowElement));
}

function keyOf(cell: HTMLTableCellElement | undefined): Key {
  const number = Number.parseFloat(cell?.dataset.n ?? "");
  return { text: cell?.textContent ?? "", number: Number.isNaN(number) ? undefined : number };
}
