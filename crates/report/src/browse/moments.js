// Times in the reader's time zone; the markup has them in UTC.
for (const moment of document.querySelectorAll("time[datetime]")) {
  const at = new Date(moment.dateTime);
  if (!Number.isNaN(at.getTime())) {
    moment.title = moment.textContent;
    moment.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  }
}
