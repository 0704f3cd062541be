// Times of the page in the reader's time zone. The markup has them in UTC.
import { all } from "./dom.ts";

export function localTimes(): void {
  for (const moment of all<HTMLTimeElement>("time[datetime]")) {
    const at = new Date(moment.dateTime);
    if (Number.isNaN(at.getTime())) {
      continue;
    }
    moment.title = moment.textContent ?? "";
    moment.textContent = at.toLocaleString(undefined, {
      dateStyle: "medium",
      timeStyle: "short",
    });
  }
}
