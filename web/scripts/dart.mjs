// Checks that Dart files are formatted: `node scripts/dart.mjs [--write] FILE…`. Names the files that `dart
// format` would change, and exits with 1; --write rewrites them. It runs Dart's own formatter (dart_style),
// compiled to WebAssembly with garbage collection (WasmGC), in Chromium: the oldest Node version that we
// support lacks WasmGC.
import { readFile, writeFile } from "node:fs/promises";
import { chromium } from "playwright-core";

const files = process.argv.slice(2).filter((argument) => argument !== "--write");
if (files.length === 0) {
  console.error("usage: node scripts/dart.mjs [--write] FILE…");
  process.exit(2);
}

const ORIGIN = "http://formatter.invalid";
const PACKAGE = new URL("../node_modules/@wasm-fmt/dart_fmt/", import.meta.url);
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
try {
  const page = await browser.newPage();
  // No network: the package's files are served from disk, and any other request is an error.
  await page.route("**", async (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    if (name === "") return route.fulfill({ contentType: "text/html", body: "" });
    const contentType = name.endsWith(".wasm") ? "application/wasm" : "text/javascript";
    return route.fulfill({ contentType, body: await readFile(new URL(name, PACKAGE)) });
  });
  await page.goto(ORIGIN);
  for (const file of files) {
    const written = await readFile(file, "utf8");
    const formatted = await page.evaluate(
      async ([module, source, name]) => {
        const { default: load, format } = await import(module);
        await load();
        return format(source, name);
      },
      [`${ORIGIN}/dart_fmt_web.js`, written, file],
    );
    if (formatted === written) continue;
    if (process.argv.includes("--write")) {
      await writeFile(file, formatted);
    } else {
      console.error(`${file}: not as \`dart format\` writes it`);
      process.exitCode = 1;
    }
  }
} finally {
  await browser.close();
}
