// Bundles the page and the charts into dist/, which is committed and embedded in the binary, so that building
// `weigh` needs no Node. With the versions of the lock file, builds are reproducible; check.mjs verifies it.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const web = fileURLToPath(new URL("..", import.meta.url));

/** Each bundle's output name and entry file; `globalName` is the global variable that holds its exports. */
const bundles = [
  { out: "page.js", from: "src/page/main.ts" },
  { out: "page.css", from: "src/page/page.css" },
  // The same charts for the JavaScript engine inside the binary.
  { out: "charts.js", from: "src/charts/embedded.ts", globalName: "charts" },
];

/** Builds every bundle into `folder`; returns the names of the files written. */
export async function bundle(folder) {
  const present = bundles.filter(({ from }) => existsSync(web + from));
  for (const { out, from, globalName } of present) {
    await build({
      absWorkingDir: web,
      entryPoints: [from],
      outfile: `${folder}/${out}`,
      bundle: true,
      minify: true,
      format: out.endsWith(".js") ? "iife" : undefined,
      globalName,
      target: out.endsWith(".js") ? "es2022" : ["chrome110", "firefox110", "safari16"],
      charset: "utf8",
      legalComments: "none",
      define: { "process.env.NODE_ENV": '"production"' },
      logLevel: "warning",
    });
  }
  // The report's content security policy allows this script only, by its digest.
  const digest = createHash("sha256")
    .update(readFileSync(`${folder}/page.js`))
    .digest("base64");
  writeFileSync(`${folder}/page.js.digest`, `sha256-${digest}\n`);
  return [...present.map(({ out }) => out), "page.js.digest"];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundle(`${web}dist`);
}
