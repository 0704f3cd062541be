// Tests of the page in a real browser, opened from disk. `cargo run -p weighbridge-report --example pages --
// FOLDER` makes the pages. Environment: PAGES is that folder, CHROMIUM the browser if not the system's.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, errors, type Page } from "playwright-core";
import { absolute, change, cleaned, difference, label, typeset, unbroken } from "../../src/data/format.ts";
import { pointWords } from "../../src/data/points.ts";
import type { Cost, PageData } from "../../src/data/schema.ts";

const PAGES = process.env.PAGES ?? "";
const HOSTILE = "<script>alert('1')</script>";

const PAGES_WITH_CHARTS = [
  "pair",
  "troubled",
  "crowd",
  "matrix",
  "layers",
  "layered",
  "capacity",
  "sizes",
  "pairs",
  "bare",
  "runs",
  "suite",
  "large",
];

/** Time limit of one test: usually it takes about 5 s, more on a busy machine. */
const STALLED_MS = 120_000;

let browser: Browser;
/** The step in progress and its page: the diagnostics of a test that stalls. */
let step = "";
let opened: Page | undefined;

/** A test in a browser of its own. One that stalls fails with what was being done. */
function browserTest(name: string, body: () => Promise<void>): void {
  test(name, async () => {
    assert.notEqual(PAGES, "", "PAGES must name the folder of the pages");
    step = "starting the browser";
    opened = undefined;
    const isDone = await within(STALLED_MS, async () => {
      browser = await chromium.launch({
        executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
        args: [
          "--no-sandbox",
          "--disable-gpu",
          "--no-first-run",
          "--disable-background-networking",
          "--disable-sync",
        ],
      });
      await body();
    }).finally(() => within(10_000, async () => browser?.close()).catch(() => undefined));
    assert.ok(isDone, `the browser stalled: ${step}`);
  });
}

/** Whether `work` finished in time; if not, adds to `step` whether script and rendering still respond. */
async function within(limitMs: number, work: () => Promise<void>): Promise<boolean> {
  let alarm: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    alarm = setTimeout(() => resolve(false), limitMs);
  });
  // The browser library's own timeouts (30 s) mean the same as ours.
  const given = work().then(
    () => true,
    (error: unknown) => {
      if (!(error instanceof errors.TimeoutError)) throw error;
      step += `: ${error.message.split("\n")[0]}`;
      return false;
    },
  );
  const isInTime = await Promise.race([given, late]).finally(() => clearTimeout(alarm));
  if (!isInTime && opened !== undefined) {
    const page = opened;
    opened = undefined;
    const doesRun = await within(5_000, () => page.evaluate(() => undefined));
    const doesDraw = await within(5_000, () =>
      page.evaluate(() => new Promise<void>((done) => requestAnimationFrame(() => done()))),
    );
    step += `; its script ${doesRun ? "runs" : "does not run"}, frames are ${doesDraw ? "" : "not "}drawn`;
  }
  return isInTime;
}

/** Runs `read` on a page; fails on any console message, error, dialog or network request. */
async function withPage(
  name: string,
  read: (page: Page) => Promise<void>,
  options: BrowserContextOptions & { fragment?: string } = {},
): Promise<void> {
  const { fragment = "", ...context } = options;
  step = `${name}: opening`;
  const visit = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...context });
  const complaints: string[] = [];
  const address = `${pathToFileURL(`${PAGES}/${name}.html`).href}${fragment}`;
  try {
    const page = await visit.newPage();
    opened = page;
    page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(`error: ${error.stack}`));
    page.on("dialog", (dialog) => complaints.push(`dialog: ${dialog.message()}`));
    page.on("request", (request) => {
      const to = request.url().split("#")[0] ?? "";
      if (to !== address.split("#")[0] && !to.startsWith("blob:")) {
        complaints.push(`request: ${request.url()}`);
      }
    });
    await page.goto(address);
    step = `${name}: reading`;
    await read(page);
    step = `${name}: closing`;
  } finally {
    await visit.close();
  }
  assert.deepEqual(complaints, [], name);
}

/** Scrolls through the page, collapsed parts included, so that every chart is drawn. */
async function scrolledThrough(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (const more of document.querySelectorAll<HTMLDetailsElement>("details.more")) {
      more.open = true;
    }
    for (const figure of document.querySelectorAll("figure.chart:not([hidden])")) {
      figure.scrollIntoView({ behavior: "instant" });
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)));
    }
  });
}

/** Texts of the visible table rows and cards. */
function visibleTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const rows = [...document.querySelectorAll<HTMLElement>("main tbody tr, .card")];
    return rows.filter((row) => row.checkVisibility()).map((row) => row.textContent ?? "");
  });
}

for (const name of PAGES_WITH_CHARTS) {
  browserTest(`${name} opens from disk, draws its charts, and asks for nothing`, () =>
    withPage(name, async (page) => {
      await scrolledThrough(page);
      const charts = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>("article:not([hidden]) figure.chart:not([hidden])")].map(
          (figure) => ({
            title: figure.querySelector("h3")?.textContent ?? "",
            marks: figure.querySelectorAll("svg path, svg text").length,
            label: figure.querySelector("[role=img]")?.getAttribute("aria-label") ?? "",
          }),
        ),
      );
      assert.ok(name === "bare" || charts.length > 0, `${name} has charts`);
      for (const { title, marks, label: spoken } of charts) {
        assert.ok(title.length > 5 && spoken.includes(title), `${name}: a chart has a title: ${spoken}`);
        assert.ok(marks > 5, `${name}: \`${title}\` is drawn`);
      }
    }),
  );
}

browserTest("the verdict stands first, then why to believe it", async () => {
  await withPage("pair", async (page) => {
    const order = await page.locator("article > section").evaluateAll((all) => all.map((one) => one.id));
    assert.deepEqual(order.slice(0, 3), ["verdict", "trust", "costs"]);
    const sentence = await page.locator(".card .plain").first().innerText();
    assert.match(
      sentence,
      /^A typical request takes 20\.9\s% longer with go than with rust at 64\sB: \+3\.21\sµs/,
    );
    const box = await page.locator(".card").first().boundingBox();
    assert.ok(box && box.y + box.height < 900, "it is seen without scrolling");
  });
});

browserTest("the figures shown are those of the JSON", async () => {
  for (const name of ["pair", "troubled", "crowd"]) {
    await withPage(name, async (page) => {
      const data = cleaned(JSON.parse(await page.locator("#data").innerText()) as PageData);
      const { summary } = data.runs[0] as PageData["runs"][0];
      const rows = await page.locator(".verdicts tbody tr").evaluateAll((all) =>
        all.map((row) => {
          const { variant = "", operation = "", point = "" } = (row as HTMLElement).dataset;
          const cells = [...row.querySelectorAll("td.n")].map((cell) => cell.textContent ?? "");
          const says = row.querySelector("td.says")?.textContent ?? "";
          return {
            key: [variant, operation, point, row.querySelector("th")?.textContent].join("|"),
            cells,
            says,
          };
        }),
      );
      const shown = new Map(rows.map((row) => [row.key, row]));
      assert.equal(shown.size, summary.costs.length);
      for (const cost of summary.costs) {
        const key = [cost.variant, cost.operation, pointWords(cost.point), label(cost.quantity)].join("|");
        const row = shown.get(key);
        assert.ok(row, `a row for ${key}`);
        assert.deepEqual(row.cells.slice(2), wanted(cost), key);
        assert.ok(row.says.includes(cost.verdict), `${key}: ${row.says}`);
      }
      const figures = summary.variants.flatMap((variant) => variant.figures);
      const cells = await page
        .locator("#figures tbody tr")
        .evaluateAll((all) => all.map((row) => row.lastElementChild?.textContent));
      const expected = figures.map(({ unit, estimate, reason }) =>
        estimate ? joined(absolute(unit, estimate)) : reason ? `withheld: ${unbroken(reason)}` : "–",
      );
      assert.deepEqual(cells, expected);
    });
  }
});

function wanted(cost: Cost): string[] {
  if (!cost.difference || !cost.ratio || cost.verdict === "invalid" || cost.verdict === "withheld") {
    return ["–", "–"];
  }
  // The verdict rests on the interval of the change.
  return [joined({ point: difference(cost.unit, cost.difference).point }), joined(change(cost.ratio))];
}

function joined({ point, interval }: { point: string; interval?: string }): string {
  return typeset(interval === undefined ? point : `${point} ${interval}`);
}

browserTest("filters hide rows and charts, and a link to the view restores it", async () => {
  let fragment = "";
  let before: string[] = [];
  await withPage("pair", async (page) => {
    const all = await visibleTexts(page);
    await page.getByRole("combobox", { name: "point" }).selectOption("64 KiB");
    await page.getByRole("checkbox", { name: "rust" }).uncheck();
    await page.locator("summary", { hasText: "What was measured" }).click();
    await page.getByRole("button", { name: "change" }).last().click();
    before = await visibleTexts(page);
    assert.ok(before.length > 5 && before.length < all.length, `${before.length} of ${all.length}`);
    assert.ok(
      before.every((row) => !row.startsWith("rust")),
      "rows of what was left out are gone",
    );
    const subtitles = await page.locator("figure.chart:not([hidden]) .subtitle").allInnerTexts();
    assert.ok(!subtitles.some((subtitle) => /64\sB/.test(subtitle)), `charts follow: ${subtitles}`);
    fragment = new URL(page.url()).hash;
    assert.match(fragment, /point=64\+KiB/);
    assert.match(fragment, /variant=go/);
  });
  await withPage(
    "pair",
    async (page) => {
      assert.deepEqual(await visibleTexts(page), before);
      assert.equal(await page.locator("details[open]").count(), 1);
      assert.equal(await page.locator('th[aria-sort="ascending"]').count(), 1);
      await page.getByRole("button", { name: "Show all" }).click();
      assert.ok((await visibleTexts(page)).length > before.length);
      assert.equal(await page.getByRole("checkbox", { name: "rust" }).isChecked(), true);
    },
    { fragment },
  );
});

browserTest("waterfalls are of the quantity that is chosen, and a link to the view restores it", async () => {
  let fragment = "";
  const titles = (page: Page) => page.locator("#layers figure.chart:not([hidden]) h3").allInnerTexts();
  await withPage("layered", async (page) => {
    await page.locator("#layers").scrollIntoViewIfNeeded();
    assert.match((await titles(page)).join(), /response p50/);
    await page.getByRole("combobox", { name: "quantity" }).selectOption("wire bytes/op");
    assert.match((await titles(page)).join(), /wire bytes\/op/);
    fragment = new URL(page.url()).hash;
    assert.match(fragment, /layers=wire_bytes_per_operation/);
  });
  await withPage(
    "layered",
    async (page) => {
      await page.locator("#layers").scrollIntoViewIfNeeded();
      assert.match((await titles(page)).join(), /wire bytes\/op/);
    },
    { fragment },
  );
});

browserTest("charts over message size follow their bar, and a link to the view restores it", async () => {
  let fragment = "";
  const titles = (page: Page) => page.locator("#sizes figure.chart:not([hidden]) h3").allInnerTexts();
  const drawn = (page: Page) =>
    page.locator("#sizes figure.chart:not([hidden]) .canvas").first().getAttribute("aria-label");
  let before = "";
  await withPage("sizes", async (page) => {
    await page.locator("#sizes").scrollIntoViewIfNeeded();
    const given = await titles(page);
    assert.match(given[1] ?? "", /^ruby against rust: time ×8/);
    await page.getByRole("combobox", { name: "relative to" }).selectOption("java");
    await page.getByRole("combobox", { name: "time", exact: true }).selectOption("response");
    await page.getByRole("combobox", { name: "panels" }).selectOption("each");
    assert.match((await titles(page))[1] ?? "", /against java/);
    before = (await drawn(page)) ?? "";
    assert.match(before, /34\.0\sµs \(rust\)/, "the response time is 4 µs more");
    fragment = new URL(page.url()).hash;
    assert.match(fragment, /sizes=reference\.java/);
  });
  await withPage(
    "sizes",
    async (page) => {
      assert.equal(await drawn(page), before);
      assert.equal(await page.getByRole("combobox", { name: "panels" }).inputValue(), "each");
      const rows = await page.locator("#sizes .cliffs tbody tr").allInnerTexts();
      assert.match(rows[0] ?? "", /rust\s+87,380 \[87,102, 87,700\]/);
      await page.getByRole("combobox", { name: "panels" }).selectOption("");
      assert.ok(!new URL(page.url()).hash.includes("panels"));
    },
    { fragment },
  );
});

browserTest("tables sort by a click on a heading, and by a second the other way", async () => {
  await withPage("pair", async (page) => {
    const table = page.locator("#costs table").first();
    const numbers = () =>
      table
        .locator("tbody tr td:nth-of-type(4)")
        .evaluateAll((all) => all.map((cell) => Number((cell as HTMLElement).dataset.n)));
    const given = await numbers();
    const heading = table.getByRole("button", { name: "change" });
    await heading.click();
    assert.deepEqual(
      await numbers(),
      [...given].sort((a, b) => a - b),
    );
    await heading.click();
    assert.deepEqual(
      await numbers(),
      [...given].sort((a, b) => b - a),
    );
    await heading.click();
    assert.deepEqual(await numbers(), given);
  });
});

browserTest("a chart is saved as a file, with its title in it", async () => {
  await withPage("pair", async (page) => {
    const figure = page.locator("figure.chart:not([hidden])").first();
    const title = await figure.locator("h3").innerText();
    await figure.hover();
    const save = figure.getByRole("button", { name: "Save as SVG" });
    const [file] = await Promise.all([page.waitForEvent("download"), save.click()]);
    assert.equal(file.suggestedFilename(), "forest.svg");
    const text = await readFile(await file.path(), "utf8");
    assert.ok(text.startsWith("<svg") && text.includes(title.slice(0, 20)), text.slice(0, 200));
  });
});

browserTest("everything is reached by keyboard, and where one is can be seen", async () => {
  await withPage("pair", async (page) => {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.className), "skip");
    const reached = new Set<string>();
    for (let step = 0; step < 90; step++) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => {
        const here = document.activeElement as HTMLElement;
        const is = (selector: string) => here.matches(selector);
        const frame = is(".chip input") ? (here.nextElementSibling as HTMLElement) : here;
        const isSeen = getComputedStyle(frame).outlineStyle !== "none" && here.checkVisibility();
        return {
          kind: is("figure") ? "chart" : is("th button") ? "heading" : here.tagName,
          isSeen,
        };
      });
      if (at.kind !== "BODY") {
        assert.ok(at.isSeen, `focus is seen on ${at.kind}`);
      }
      reached.add(at.kind);
    }
    for (const kind of ["INPUT", "SELECT", "BUTTON", "A", "heading", "chart", "SUMMARY"]) {
      assert.ok(reached.has(kind), `${kind} is reached: ${[...reached]}`);
    }
    await page.getByRole("checkbox", { name: "go" }).focus();
    await page.keyboard.press("Space");
    assert.equal(await page.locator(".card").first().isVisible(), false);
  });
});

browserTest("without script the tables say everything", async () => {
  await withPage(
    "pair",
    async (page) => {
      const costs = page.locator("#costs tbody tr");
      assert.equal(await costs.count(), 24);
      assert.ok(await costs.last().isVisible());
      assert.ok(await page.getByText("A typical request takes 20.9 % longer").isVisible());
      await page.locator("summary", { hasText: "Percentiles as a table" }).click();
      assert.ok(await page.locator("#latency tbody tr").first().isVisible());
      assert.equal(await page.locator("#controls *").count(), 0);
    },
    { javaScriptEnabled: false },
  );
});

browserTest("hostile text is text, wherever it stands", async () => {
  await withPage("hostile", async (page) => {
    await scrolledThrough(page);
    // Hovering over a chart shows its tooltip, which contains names.
    for (const chart of await page.locator("figure.chart:not([hidden]) .canvas").all()) {
      await chart.scrollIntoViewIfNeeded();
      const box = await chart.boundingBox();
      for (const share of box ? [0.3, 0.5, 0.7] : []) {
        await page.mouse.move(
          (box?.x ?? 0) + (box?.width ?? 0) * share,
          (box?.y ?? 0) + (box?.height ?? 0) * 0.5,
        );
      }
    }
    const found = await page.evaluate(() => ({
      scripts: document.scripts.length,
      images: document.querySelectorAll("img, iframe, object, embed, link, [onerror], [onload]").length,
      title: document.title,
      text: document.body.innerText,
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      control: /[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/.test(document.body.textContent ?? ""),
    }));
    assert.deepEqual([found.scripts, found.images, found.control], [2, 0, false]);
    assert.ok(found.title.startsWith(HOSTILE));
    assert.ok(found.text.split(HOSTILE).length > 50, "it is there to be read");
  });
});

browserTest("the page's policy lets nothing else run, and nothing out", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(pathToFileURL(`${PAGES}/pair.html`).href);
  const refused = await page.evaluate(async () => {
    const directives: string[] = [];
    document.addEventListener("securitypolicyviolation", (event) =>
      directives.push(event.effectiveDirective),
    );
    const script = document.createElement("script");
    script.textContent = "globalThis.intruded = true";
    const image = document.createElement("img");
    image.src = "http://127.0.0.1:9/";
    document.body.append(script, image);
    const sent = await fetch("http://127.0.0.1:9/").then(
      () => "sent",
      () => "refused",
    );
    await new Promise((done) => setTimeout(done, 50));
    return { directives: directives.sort(), sent, intruded: "intruded" in globalThis };
  });
  await context.close();
  assert.deepEqual(refused, {
    directives: ["connect-src", "img-src", "script-src-elem"],
    sent: "refused",
    intruded: false,
  });
});

browserTest("several runs are read one at a time, and not as one", async () => {
  await withPage("runs", async (page) => {
    assert.ok(await page.getByText("Not measured together.").isVisible());
    assert.equal(await page.locator("#run-2").isVisible(), false);
    await page.getByRole("tab", { name: "Run 1" }).focus();
    await page.keyboard.press("ArrowRight");
    assert.deepEqual(
      [await page.locator("#run-1").isVisible(), await page.locator("#run-2").isVisible()],
      [false, true],
    );
    assert.match(page.url(), /run=2/);
    const heads = await page.locator(".besides thead th").allInnerTexts();
    assert.deepEqual(
      heads.slice(-2).map((head) => head.trim().slice(0, 5)),
      ["Run 1", "Run 2"],
    );
  });
  await withPage("runs", async (page) => assert.ok(await page.locator("#trust-2").isVisible()), {
    fragment: "#trust-2",
  });
});

for (const name of PAGES_WITH_CHARTS) {
  browserTest(`${name} on a telephone: no chart scrolls sideways, and none loses a word`, () =>
    withPage(
      name,
      async (page) => {
        await scrolledThrough(page);
        const wide = await page.evaluate(() => {
          const found: string[] = [];
          if (document.documentElement.scrollWidth > innerWidth) found.push("the page");
          for (const figure of document.querySelectorAll<HTMLElement>("figure.chart:not([hidden])")) {
            const canvas = figure.querySelector(".canvas");
            const svg = canvas?.querySelector("svg");
            if (!canvas?.checkVisibility() || !svg) continue;
            const kind = figure.dataset.kind ?? "";
            if (canvas.scrollWidth > canvas.clientWidth) found.push(`${kind} is wider than its place`);
            const box = svg.getBoundingClientRect();
            for (const text of svg.querySelectorAll("text")) {
              const { left, right } = text.getBoundingClientRect();
              const isCut = left < box.left - 1 || right > Math.min(box.right, innerWidth) + 1;
              if (isCut) found.push(`${kind} cuts \`${text.textContent}\``);
            }
          }
          return found;
        });
        assert.deepEqual(wide, []);
      },
      { viewport: { width: 390, height: 844 } },
    ),
  );
}

browserTest("on a telephone a table of verdicts shows what each costs and its verdict", () =>
  withPage(
    "pair",
    async (page) => {
      const out = await page.evaluate(() => {
        const rows = [...document.querySelectorAll<HTMLElement>(".verdicts tbody tr")];
        // Of what it holds: a cell whose content is laid out by its row has no box of its own.
        const isSeen = (cell: HTMLElement) => {
          const content = document.createRange();
          content.selectNodeContents(cell);
          const box = content.getBoundingClientRect();
          return box.width > 0 && box.right <= innerWidth;
        };
        return rows.filter((row) => {
          const cells = [...row.querySelectorAll<HTMLElement>("td.n:not(.absolute), td.says")];
          return cells.length !== 3 || !cells.every(isSeen);
        }).length;
      });
      assert.equal(out, 0);
    },
    { viewport: { width: 390, height: 844 } },
  ),
);

browserTest("times are in the reader's time zone", () =>
  withPage(
    "pair",
    async (page) => {
      const moment = page.locator("header time").first();
      assert.equal(await moment.innerText(), "21 Nov 2026, 19:15");
      assert.equal(await moment.getAttribute("title"), "2026-11-21T10:15:00Z");
    },
    { timezoneId: "Asia/Tokyo", locale: "en-GB" },
  ),
);

browserTest("it is read on a telephone, in the dark and on paper", async () => {
  const phone = { viewport: { width: 390, height: 844 }, colorScheme: "dark" as const };
  await withPage(
    "troubled",
    async (page) => {
      await scrolledThrough(page);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.notEqual(ground, "rgb(255, 255, 255)");
    },
    phone,
  );
  await withPage("pair", async (page) => {
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator("#controls").isVisible(), false);
    assert.ok(
      await page.locator("#figures tbody tr").last().isVisible(),
      "what is folded is unfolded on paper",
    );
    const undrawn = await page.evaluate(
      () =>
        [...document.querySelectorAll("figure.chart:not([hidden]) .canvas")].filter(
          (one) => !one.querySelector("svg"),
        ).length,
    );
    assert.equal(undrawn, 0, "every chart is drawn for paper, seen or not");
  });
});
