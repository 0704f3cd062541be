// Runs tests: `src/**/*.test.ts` by default, or those in the folder given as argument. Bundles them first,
// because the oldest Node version that we support cannot run TypeScript.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const web = fileURLToPath(new URL("..", import.meta.url));
const where = process.argv[2] ?? "src";
const tests = readdirSync(join(web, where), { recursive: true })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => join(where, name));
const out = join(web, ".build", where);

rmSync(out, { recursive: true, force: true });
await build({
  absWorkingDir: web,
  entryPoints: tests,
  outdir: out,
  outbase: where,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  loader: { ".css": "text" },
  sourcemap: "inline",
  logLevel: "warning",
});
const files = tests.map((name) => join(web, ".build", name.replace(/\.ts$/, ".mjs")));
// A test that hangs, or that leaves a browser open, must not block the caller.
const ended = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], {
  cwd: web,
  stdio: "inherit",
  timeout: 15 * 60_000,
  killSignal: "SIGKILL",
});
if (ended.error !== undefined) {
  console.error(`${where}: ${ended.error.message}`);
}
process.exitCode = ended.status ?? 1;
