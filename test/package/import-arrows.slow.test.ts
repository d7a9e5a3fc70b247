import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { cruise, type IViolation } from "dependency-cruiser";
import extractConfig from "dependency-cruiser/config-utl/extract-depcruise-config";
import extractTsConfig from "dependency-cruiser/config-utl/extract-ts-config";
import { expect, test } from "vitest";
import { plant } from "./run-tool.js";

/** What each module may import, once more and by hand. Whatever isn't here must be caught. */
const MAY_IMPORT: Readonly<Record<string, string>> = {
  workflow: "",
  template: "workflow",
  plan: "workflow",
  rules: "workflow",
  "workflow/infer": "workflow rules",
  gate: "workflow rules",
  approval: "workflow ports log",
  "routed/decision": "workflow",
  ports: "workflow plan routed/decision",
  "workflow/files": "workflow workflow/infer rules ports",
  runtime: "workflow ports",
  log: "workflow ports",
  engine: "workflow ports runtime",
  phased: "workflow template plan rules gate routed/decision ports workflow/files runtime log approval engine",
  routed: "workflow template plan rules gate routed/decision ports runtime log approval engine phased",
  tools: "workflow template plan rules gate routed/decision ports runtime approval engine phased routed",
  sandbox: "workflow",
  "storage/common": "workflow ports",
  "storage/memory": "workflow ports storage/common",
  "storage/files": "workflow ports storage/common",
  "storage/sql": "workflow ports storage/common",
  "storage/sqlite": "workflow ports storage/common storage/sql",
  "storage/durable-objects": "workflow ports storage/common storage/sql",
  "storage/postgres": "workflow ports storage/common",
  content: "workflow workflow/files ports sandbox",
  search: "workflow workflow/files ports sandbox content",
  deciders: "workflow ports routed/decision",
  verifiers: "workflow plan rules gate ports sandbox",
  workspace: "workflow workflow/files gate ports runtime log engine phased tools sandbox",
  testing: "workflow workflow/files ports phased content",
  agents: "workflow ports engine phased routed tools workspace",
  mcp: "workflow gate ports runtime phased routed tools workspace read",
  http: "workflow ports runtime phased routed tools",
  login: "workflow ports",
  otel: "workflow routed/decision ports",
  graph: "workflow",
  read: "workflow template plan rules gate routed/decision ports workflow/infer workflow/files runtime log approval engine phased routed workspace graph",
  inspector:
    "workflow template plan rules gate routed/decision ports workflow/infer workflow/files runtime log approval engine phased routed workspace graph read",
  // Four files alone: see below.
  "inspector/page": "",
  setup: "workflow sandbox",
  cli: `workflow template plan rules gate routed/decision ports workflow/infer workflow/files runtime log approval engine phased routed
    tools sandbox storage/common storage/files storage/sqlite storage/postgres content search deciders verifiers workspace testing mcp http agents login otel setup graph read inspector`,
};
const ROOMS = Object.keys(MAY_IMPORT);

/** Where Node's modules may be imported. */
const NODE_FILES = [
  "sandbox/x.ts",
  "storage/files/x.ts",
  "storage/sqlite/x.ts",
  "storage/postgres/x.ts",
  "search/x.ts",
  "verifiers/x.ts",
  "workspace/x.ts",
  "testing/x.ts",
  "cli/x.ts",
  "mcp/stdio.ts",
  "agents/transcript.ts",
  "inspector/x.ts",
  "setup/project.ts",
  "setup/ignored.ts",
  "setup/own-record.ts",
];

test("every wrong-way import between two rooms is caught, and no other", async () => {
  const pairs = ROOMS.flatMap((from) => ROOMS.filter((to) => to !== from).map((to) => [from, to] as const));
  const files = Object.fromEntries([
    ...ROOMS.map((room) => [`src/${room}/target.ts`, "export const target = 1;"]),
    ...pairs.map(([from, to]) => [`src/${from}/${slug(to)}.ts`, `import "${up(from)}${to}/target.js";`]),
  ]);
  const caught = (await violations(files)).map(({ from, to }) => `${from} → ${to}`);
  const wrong = pairs.filter(([from, to]) => !(MAY_IMPORT[from] ?? "").split(/\s+/).includes(to));
  expect(wrong.length).toBeGreaterThan(100);
  expect([...new Set(caught)].sort()).toEqual(
    wrong.map(([from, to]) => `src/${from}/${slug(to)}.ts → src/${to}/target.ts`).sort(),
  );
});

test("ARCHITECTURE.md draws the same directions", () => {
  const model = "workflow template plan rules gate routed/decision ports";
  const page = readFileSync(join(import.meta.dirname, "../../ARCHITECTURE.md"), "utf8");
  const [, drawing = ""] = /\n```\n(workflow [\s\S]*?)\n```\n/.exec(page) ?? [];
  const lines = drawing.split("\n").map((line) => line.split("←").map((part) => part.trim()));
  const drawn = lines.flatMap(([from = "", to = ""]) => {
    const [names = "", ...others] = to.split(/; |, which /);
    const rooms = names.split(", ");
    const may = from.replace("the model", model).split(/, | (?!←)/);
    // What is said of one of several: "search may import these and content".
    const [, one = "", more = ""] = /^(\S+) may import (?:these and )?([\w/]+)/.exec(others.join()) ?? [];
    return rooms.map((room) => ({ room, may: [...may, ...(room === one ? [more] : [])] }));
  });
  expect(drawn.length).toBeGreaterThan(25);
  for (const room of new Set(drawn.map((one) => one.room))) {
    const may = drawn.filter((one) => one.room === room).flatMap((one) => one.may);
    if (room === "cli") expect(may).toEqual(["all", "of", "them", "except", "storage/memory"]);
    else expect([room, ...new Set(may)].sort()).toEqual([room, ...(MAY_IMPORT[room] ?? "").split(/\s+/)].sort());
  }
});

test("an import of a type, and an import() are imports", async () => {
  const files = {
    "src/phased/event.ts": "export interface Event { readonly type: string }",
    "src/ports/storage.ts": 'import type { Event } from "../phased/event.js";\nexport type Port = Event;',
    "src/gate/late.ts": 'export const late = () => import("../phased/event.js");',
  };
  expect(await rulesByFile(files)).toEqual({
    "src/ports/storage.ts": ["arrows-ports"],
    "src/gate/late.ts": ["arrows-gate"],
  });
});

test("the page imports what it says to the server, as types, and two files of code that both use", async () => {
  const files = {
    "src/inspector/wire.ts": "export interface About { readonly title: string }\nexport const code = 1;",
    "src/inspector/inspector.ts": "export interface Inspector { readonly base: string }",
    "src/inspector/page/good.ts": 'import type { About } from "../wire.js";\nexport type Title = About;',
    "src/read/model.ts": "export interface Row { readonly id: string }",
    "src/inspector/page/row.ts": 'import type { Row } from "../../read/model.js";\nexport type Shown = Row;',
    "src/read/filter.ts": "export const FILTERS = 1;",
    "src/workflow/hidden.ts": "export const HIDDEN = 1;",
    "src/inspector/page/shared.ts":
      'export { FILTERS } from "../../read/filter.js";\nexport { HIDDEN } from "../../workflow/hidden.js";',
    "src/inspector/page/code.ts": 'export { code } from "../wire.js";',
    "src/inspector/page/server.ts":
      'import type { Inspector } from "../inspector.js";\nexport type Server = Inspector;',
  };
  expect(await rulesByFile(files)).toEqual({
    "src/inspector/page/code.ts": ["page-imports-types"],
    "src/inspector/page/server.ts": ["page-knows-the-wire"],
  });
});

test("nobody imports an entry point or an index.ts", async () => {
  const files = {
    "src/index.ts": "export const name = 1;",
    "src/fs.ts": 'import "./index.js";',
    "src/cli/main.ts": 'import "../fs.js";',
    "src/gate/index.ts": "export const name = 1;",
    "src/gate/check.ts": 'import "./index.js";',
  };
  expect(await rulesByFile(files)).toEqual({
    "src/fs.ts": ["entry-not-imported"],
    "src/cli/main.ts": ["arrows-cli", "entry-not-imported"],
    "src/gate/check.ts": ["entry-not-imported"],
  });
});

test("anyone may import errors.ts, which imports nothing", async () => {
  const files = {
    "src/errors.ts": 'import "./workflow/names.js";',
    "src/workflow/names.ts": "export const name = 1;",
    ...Object.fromEntries(ROOMS.map((room) => [`src/${room}/thrower.ts`, `import "${up(room)}errors.js";`])),
  };
  expect(await rulesByFile(files)).toEqual({ "src/errors.ts": ["errors-alone"] });
});

test("Node's modules are caught outside their rooms, with and without the prefix", async () => {
  const inside = NODE_FILES.map((file) => [`src/${file}`, 'import "node:fs";\nimport "path";']);
  const others = ["index.ts", ...ROOMS.map((room) => `${room}/planted.ts`)].filter(
    (file) => !NODE_FILES.includes(file.replace("planted", "x")),
  );
  const outside = others.map((file, index) => [
    `src/${file}`,
    index % 2 === 0 ? 'import "node:fs";' : 'import "path";',
  ]);
  const expected = others.map((file) => [`src/${file}`, ["node-outside"]]);
  expect(others).toContain("storage/memory/planted.ts");
  expect(others).toContain("mcp/planted.ts");
  expect(await rulesByFile(Object.fromEntries([...inside, ...outside]))).toEqual(Object.fromEntries(expected));
});

test("recorded sessions import no time, timers or random numbers, and other files of workspaces may", async () => {
  const code = 'import { randomUUID } from "node:crypto";\nimport "node:path";\nexport const name = randomUUID;';
  const timers = 'export { setTimeout } from "timers/promises";';
  const files = {
    "src/workspace/session/random.ts": code,
    "src/workspace/session/timers.ts": timers,
    "src/workspace/random.ts": code,
  };
  expect(await rulesByFile(files)).toEqual({
    "src/workspace/session/random.ts": ["effects-by-the-clock"],
    "src/workspace/session/timers.ts": ["effects-by-the-clock"],
  });
});

test("the core reaches nothing that needs Node, by however many steps", async () => {
  const files = {
    "src/index.ts": 'export { content } from "./content/memory.js";',
    "src/content/memory.ts": 'export const content = () => [import("../sandbox/inside.js"), import("./shared.js")];',
    "src/sandbox/inside.ts": "export const inside = 1;",
    "src/content/shared.ts": "export const shared = 1;",
  };
  expect(await rulesByFile(files)).toEqual({ "src/index.ts": ["core-runs-anywhere"] });
});

test("cycles, unknown rooms, unknown modules and tools of development are caught", async () => {
  const files = {
    "src/gate/a.ts": 'import type { B } from "./b.js";\nexport type A = B;',
    "src/gate/b.ts": 'import type { A } from "./a.js";\nexport type B = A;',
    "src/cellar/planted.ts": 'import "../gate/a.js";',
    "src/plan/planted.ts": 'import "not-there";',
    "src/template/planted.ts": 'import "fast-check";',
    "src/mcp/planted.ts": 'import "@modelcontextprotocol/server";',
  };
  expect(await rulesByFile(files)).toEqual({
    // A cycle is reported once.
    "src/gate/a.ts": ["no-cycles"],
    "src/cellar/planted.ts": ["room-unknown"],
    "src/plan/planted.ts": ["resolvable"],
    "src/template/planted.ts": ["shipped-dependencies"],
  });
});

/** The violations that the project's own rules find, in a folder with these files. */
async function violations(files: Readonly<Record<string, string>>): Promise<readonly IViolation[]> {
  const baseDir = plant(files, ["package.json", "tsconfig.json"]);
  const { options, ...ruleSet } = await extractConfig(resolve(".dependency-cruiser.mjs"));
  const { output } = await cruise(["src"], { ...options, ruleSet, validate: true, baseDir }, undefined, {
    tsConfig: extractTsConfig(join(baseDir, "tsconfig.json")),
  });
  if (typeof output === "string") throw new Error(output);
  return output.summary.violations;
}

async function rulesByFile(files: Readonly<Record<string, string>>): Promise<Record<string, string[]>> {
  const rules: Record<string, Set<string>> = {};
  for (const { from, rule } of await violations(files)) {
    rules[from] ??= new Set();
    rules[from].add(rule.name);
  }
  return Object.fromEntries(Object.entries(rules).map(([file, names]) => [file, [...names].sort()]));
}

function slug(room: string): string {
  return `to-${room.replace("/", "-")}`;
}

function up(room: string): string {
  return "../".repeat(room.split("/").length);
}
