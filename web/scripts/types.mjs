// Generates src/data/schema.ts from the JSON schemas, which are generated from the Rust types.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { compile } from "json-schema-to-typescript";

const folder = fileURLToPath(new URL("../../docs/schema/", import.meta.url));
const target = fileURLToPath(new URL("../src/data/schema.ts", import.meta.url));

const PAGE_SCHEMAS = ["detail.json", "page.json", "summary.json"];

/** The definitions of all schemas; throws if two schemas define one name differently. */
function definitions() {
  const all = {};
  for (const file of PAGE_SCHEMAS) {
    const { $schema, $defs = {}, ...root } = JSON.parse(readFileSync(folder + file, "utf8"));
    for (const [name, definition] of Object.entries({ ...$defs, [root.title]: root })) {
      if (name in all && !isDeepStrictEqual(withoutTitle(all[name]), withoutTitle(definition))) {
        throw new Error(`docs/schema/${file}: \`${name}\` is defined differently in another schema`);
      }
      // The root type of a schema also has its name as `title`.
      all[name] = definition;
    }
  }
  return all;
}

function withoutTitle({ title, ...definition }) {
  return definition;
}

/**
 * Rewrites two constructs that json-schema-to-typescript misreads: tuples (`prefixItems`), and references
 * that have a description of their own, for which it would generate a second type.
 */
function supported(node) {
  if (Array.isArray(node)) return node.map(supported);
  if (node === null || typeof node !== "object") return node;
  if (typeof node.$ref === "string") return { $ref: node.$ref };
  const { prefixItems, ...rest } = node;
  const walked = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, supported(value)]));
  return prefixItems === undefined ? walked : { ...walked, items: supported(prefixItems) };
}

export async function types() {
  const all = definitions();
  const roots = Object.fromEntries(
    Object.keys(all)
      .sort()
      .map((name) => [name, { $ref: `#/$defs/${name}` }]),
  );
  const schema = {
    title: "Everything",
    description: "Every type of the schemas by its name; only there so that none is left out.",
    type: "object",
    properties: roots,
    additionalProperties: false,
    $defs: supported(all),
  };
  const text = await compile(schema, "Everything", {
    additionalProperties: false,
    bannerComment: "// Made by `npm run types` from docs/schema/*.json. Do not edit.",
    style: { printWidth: 110 },
  });
  return `${text}${quantities(all.Quantity["x-quantities"])}`;
}

/** QUANTITIES is data, not a type: the type generator leaves it out. */
function quantities(rows) {
  const entries = rows.map(({ name, ...row }) => [name, row]);
  return `
/**
 * The fixed properties of each quantity.
 */
export const QUANTITIES: Readonly<
  Record<Quantity, { unit: Unit; higher_is: Effect; is_by_operation: boolean; contrast: "log" | "plain" }>
> = ${JSON.stringify(Object.fromEntries(entries), null, 2)};
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(target, await types());
}
