// All checks of web/ that need no browser: the generated types and dist/ are current, types, lint, format.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "./build.mjs";
import { types } from "./types.mjs";

const web = fileURLToPath(new URL("..", import.meta.url));

function fail(message) {
  console.error(`web: ${message}`);
  process.exitCode = 1;
}

function run(program, ...args) {
  try {
    execFileSync(join(web, "node_modules/.bin", program), args, { cwd: web, stdio: "inherit" });
  } catch {
    fail(`${program} found something`);
  }
}

if ((await types()) !== readFileSync(`${web}src/data/schema.ts`, "utf8")) {
  fail("src/data/schema.ts is not what docs/schema/*.json say; run `npm run types`");
}
run("tsc", "--project", ".");
run("biome", "ci", "--colors=off", ".");

const fresh = mkdtempSync(join(tmpdir(), "weighbridge-web-"));
try {
  const built = await bundle(fresh);
  for (const name of built) {
    if (!readFileSync(join(fresh, name)).equals(readFileSync(`${web}dist/${name}`))) {
      fail(`dist/${name} is not what a fresh build gives; run \`npm run build\``);
    }
  }
  for (const name of readdirSync(`${web}dist`).filter((name) => !built.includes(name))) {
    fail(`dist/${name} is built by nothing; remove it`);
  }
} finally {
  rmSync(fresh, { recursive: true });
}
