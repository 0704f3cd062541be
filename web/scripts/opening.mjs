// Measures how long a page takes to open in Chromium and to apply a filter: `node scripts/opening.mjs PAGE
// [TURNS]`. Prints median and range over the turns, each in a fresh browser profile; see docs/PERFORMANCE.md.
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page, turns = "7"] = process.argv.slice(2);
if (page === undefined) {
  console.error("usage: node scripts/opening.mjs PAGE [TURNS]");
  process.exit(2);
}
const address = pathToFileURL(page).href;
const measured = {
  "opened, ms": [],
  "charts in sight drawn, ms": [],
  "all charts drawn, ms": [],
  "a filter followed, ms": [],
};

for (let turn = 0; turn < Number(turns); turn++) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-sync",
    ],
  });
  const tab = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const from = performance.now();
  await tab.goto(address);
  measured["opened, ms"].push(performance.now() - from);
  await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  measured["charts in sight drawn, ms"].push(performance.now() - from);
  const times = await tab.evaluate(async () => {
    const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const start = performance.now();
    for (const more of document.querySelectorAll("details.more")) {
      more.open = true;
    }
    for (const figure of document.querySelectorAll("figure.chart:not([hidden])")) {
      figure.scrollIntoView({ behavior: "instant" });
      await painted();
    }
    const drawn = performance.now();
    document.querySelector(".chip input:not(:first-child), .chip input")?.click();
    await painted();
    return { drawn: drawn - start, followed: performance.now() - drawn };
  });
  measured["all charts drawn, ms"].push(times.drawn);
  measured["a filter followed, ms"].push(times.followed);
  await browser.close();
}

for (const [what, times] of Object.entries(measured)) {
  const sorted = times.sort((a, b) => a - b).map(Math.round);
  console.log(
    `${what}: ${sorted[sorted.length >> 1]} (${sorted[0]} to ${sorted.at(-1)}, ${sorted.length} turns)`,
  );
}
