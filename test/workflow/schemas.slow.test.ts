import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { defineWorkflow, MemoryContent } from "phasegate";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { editorSchemas } from "../../scripts/editor-schemas.js";
import { findWorkflows } from "../../src/cli/find-workflows.js";
import { Bases } from "../../src/content/bases.js";
import { checksOf } from "../../src/gate/check-gate.js";
import { BUILT_IN, createVerifiers } from "../../src/verifiers/create-verifiers.js";
import { type Diagnostic, formatDiagnostic } from "../../src/workflow/diagnostic.js";
import { readGate } from "../../src/workflow/files/choose-gate.js";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";
import type { GatePlace, VerifyDefinition } from "../../src/workflow/gate-definition.js";
import { isJsonObject, type JsonValue } from "../../src/workflow/json.js";
import { PhaseNames } from "../../src/workflow/phase-names.js";
import { createReport } from "../../src/workflow/report.js";
import { readBundle } from "../../src/workspace/bundles/bundle.js";
import { howOften } from "../support/how-often.js";
import { CORPUS, skipReason } from "./corpus-workflow.js";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const SCHEMAS = editorSchemas();
const ajv = new Ajv({
  allErrors: true,
  strict: true,
  allowUnionTypes: true,
  strictRequired: false,
  strictTypes: false,
});
// One schema refers to another by the name of its file.
for (const [name, schema] of Object.entries(SCHEMAS)) ajv.addSchema(schema, name);

/** Returns what a schema refuses, as the places and words of ajv. */
function refused(name: string, value: JsonValue): readonly string[] {
  const validate = ajv.getSchema(name);
  if (validate === undefined) throw new Error(`there is no schema ${name}`);
  return validate(value) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath}: ${error.message}`);
}

/** The diagnostics about the shape of a file. All others are about what no schema can know: other files, rules, names. */
const SHAPE = ["KEY_UNKNOWN", "VALUE_WRONG", "FIELD_TYPE_UNKNOWN", "NAME_RESERVED", "RULE_MISPLACED", "GATE_EMPTY"];
const SHAPE_OF_BUNDLES = ["BUNDLE_ENTRY_MISSING"];

/** A missing key is about the shape if it is an error; what a workflow should only have, the schema leaves out. */
function isAboutShape({ code, severity }: Diagnostic): boolean {
  return [...SHAPE, ...SHAPE_OF_BUNDLES].includes(code) || (code === "KEY_MISSING" && severity === "error");
}

const GATE = {
  $schema: "x",
  "x-owner": "me",
  checkpoint: { strict: true, allow_override: false, validators: { small: "value < 9" }, reveal: "names" },
  evidence_schema: {
    count: {
      type: "integer",
      required: true,
      description: "how many",
      example: 3,
      waivable: false,
      validator: ["greater_than_0", "under_limit"],
      validator_params: { limit: 10 },
    },
    small: { type: "int", validator: "small" },
    file: { type: "string", verify: { verifier: "file_exists", min_bytes: 2 } },
  },
  validators: { under_limit: { rule: "value < params.limit", error_message: "too many" } },
  cross_field_validation: [{ rule: "evidence.count > 1", error_message: "no" }, "evidence.small > 1"],
  verify: ["git_clean", { verifier: "own", anything: 1 }],
  approval: { prompt: "Well?", approvers: ["ada"] },
};

const CHECKED = {
  evidence_schema: {
    report: {
      type: "string",
      verify: [
        "file_exists",
        { verifier: "file_exists", path: "a", allow_link: true, min_bytes: 2 },
        { verifier: "directory_exists", path: "a", allow_link: true, min_entries: 2 },
        { verifier: "file_matches", path: "a", pattern: "x", flags: "i", scope: "line", min: 1, max: 2 },
        { verifier: "file_matches", path: "a", pattern: "x", count: 1 },
        { verifier: "markdown_headings", path: "a", under: "Results", level: 2, names: ["One"], min: 1 },
        { verifier: "json_value", path: "a", pointer: "/a", equals: 1 },
        { verifier: "json_value", path: "a", pointer: "/a", rule: "value == 1" },
        { verifier: "git_commit_exists", commit: "0123456", at_head: true, files: ["a"] },
        { verifier: "file_contains", path: "a", texts: ["One"] },
        { verifier: "line_exists", quote: true, paths: ["a"], except: ["b"], min: 1 },
        { verifier: "plan_parses", path: "a", min_tasks: 1, min_phases: 1, no_warnings: true },
        { verifier: "git_tag_exists", tag: "v1", at_head: true },
        { verifier: "git_changes", base: "v1", head: "v2", since: "start" },
        { verifier: "http_ok", url: "https://example.org", status: [200], timeout_ms: 5 },
      ],
    },
  },
  verify: [
    { verifier: "changed_since_phase_start", paths: ["a"], allow_deleted: true },
    { verifier: "unchanged_since_phase_start", path: "a/**", except: ["a/b"] },
    { verifier: "git_clean", path: "a", untracked: false },
    { verifier: "git_clean_since_phase_start", path: "a", since: "start" },
    { verifier: "git_changed_since_phase_start", path: "a" },
    {
      verifier: "command",
      argv: ["node"],
      exit: "nonzero",
      output: [{ pattern: "x", with: "report" }, { rule: "exit == 1" }],
    },
    { verifier: "command", argv: ["node", "-v"], cwd: "a", exit: 0, timeout_ms: 5, allow_options: true },
    { verifier: "command", argv: ["node"], output: { pattern: "x", flags: "i", count: 1 } },
    { verifier: "command", argv: ["node"], output: { rule: "exit == 0" } },
    { verifier: "fails_without", line: "npm test", files: "changed", except: ["test"], since: "start" },
    { verifier: "fails_without", argv: ["node"], files: ["src/a.js"], cwd: "a", output: { pattern: "x" } },
    { verifier: "tasks_shown", field: "where", since: "start" },
    { verifier: "tests_kept", paths: ["spec"], except: ["spec/fixtures"], since: { phase: 2 } },
    { verifier: "tests_kept", since: "Build" },
    { verifier: "git_changes", base: "v1", since: { phase: "build" } },
  ],
};

const EXTENSION = {
  $schema: "x",
  ...{ workflow_type: "garden_v1", extends: "base", name: "Plant", description: "A garden", version: "1.0.0" },
  options: { docs: "a" },
  phases: [
    { change: "Dig", whole_gate: true, override: "less is enough" },
    {
      ...{ before: "Dig", phase_name: "Look", phase_file: "phases/1/phase.md", purpose: "Why", estimated_effort: 1 },
      ...{ key_deliverables: ["a"], validation_criteria: ["b"], skippable: true, skip_when: "!has(options.docs)" },
      ...{ skip_condition: "No docs in options", tasks: [], required_evidence: ["done"] },
      checkpoint: { strict: true, required_evidence: ["more"], verify: "git_clean", approval: "Well?" },
    },
    { after: "Dig", phase_name: "Sow" },
  ],
};

const METADATA = {
  $schema: "x",
  workflow_type: "garden_v1",
  name: "Plant a garden",
  description: "From bare soil to the first leaf",
  version: "1.0.0",
  category: "outdoors",
  estimated_duration: "a spring",
  target_languages: ["typescript"],
  artifacts: ["beds.md"],
  prerequisites: ["a spade"],
  tags: ["soil"],
  target: "none",
  options_schema: { type: "object", properties: { docs: { type: "string" } } },
  start_phase: 1,
  phases: [
    {
      phase_number: 1,
      phase_name: "Dig",
      phase_file: "phases/1/phase.md",
      purpose: "Loose soil",
      estimated_effort: "an hour",
      key_deliverables: ["a bed"],
      validation_criteria: ["no stones"],
      skippable: true,
      skip_when: "!has(options.docs)",
      skip_condition: "No docs in options",
      tasks: [{ task_number: 1, name: "dig", purpose: "Turn it", file: "task-1-dig.md" }],
      required_evidence: ["done"],
      checkpoint: {
        strict: true,
        allow_override: false,
        required_evidence: ["more"],
        validators: {},
        cross_field_validation: "evidence.done == true",
        verify: "git_clean",
        approval: "Well?",
        reveal: "fields",
      },
    },
    { phase_number: "1-N", phase_name: "of the plan", purpose: "x", tasks: [], task_execution: {} },
  ],
  total_phases: "dynamic",
  dynamic_phases: true,
  dynamic_config: {
    source_type: "x",
    parser: "spec_tasks_parser",
    source_path_key: "spec_path",
    templates: { phase: "p.md", task: "t.md" },
    enforce_dependencies: true,
    tick_criteria: false,
    verify: "git_clean",
  },
};
const FILES = {
  "phases/1/phase.md": "# Phase 1: Dig\n",
  "phases/1/task-1-dig.md": "# Task 1: Dig over\n",
  "p.md": "# [PHASE_NAME]",
  "t.md": "# [TASK_NAME]",
};

const BUNDLE = {
  $schema: "x",
  type: "bundle",
  name: "office",
  version: 1,
  description: "x",
  title: "x",
  author: "x",
  created: "x",
  config: {},
  agents: [{ id: "clerk", name: "Clerk", title: "x", description: "x", file: "a.md", entry_point: true }],
  workflows: [{ path: "w", name: "w", id: "w", description: "x" }],
  resources: { templates: "t" },
  core_dependencies: ["c"],
};
const ALONE = {
  type: "standalone",
  name: "office",
  agent: { id: "clerk", name: "Clerk", file: "a.md", entry_point: true },
  workflows: ["w"],
};

type Path = readonly (string | number)[];

/** Returns all places in a value. */
function placesIn(value: JsonValue, path: Path = []): Path[] {
  const inner = Array.isArray(value) ? [...value.entries()] : isJsonObject(value) ? Object.entries(value) : [];
  return [path, ...inner.flatMap(([key, item]) => placesIn(item, [...path, key]))];
}

/** Returns a value with another one at a place; undefined removes what is there. */
function changed(value: JsonValue, [key, ...rest]: Path, to: JsonValue | undefined): JsonValue | undefined {
  if (key === undefined) return to;
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => (index === key ? (changed(item, rest, to) ?? []) : [item]));
  }
  if (!isJsonObject(value)) return value;
  const inner = changed(value[key] ?? null, rest, to);
  const { [key]: _, ...others } = value;
  return inner === undefined ? others : { ...value, [key]: inner };
}

const VALUES: readonly JsonValue[] = [
  ...[null, "", "text", 0, 1, -1, 1.5, true, false, [], [1], ["a"], [null], {}, { a: 1 }],
];

/** A change of a file: another value at a place, an unknown key, or none at all. */
interface Change {
  readonly path: Path;
  readonly to: JsonValue | undefined;
}

function changesOf(base: JsonValue): Change[] {
  return placesIn(base).flatMap((path) => [
    ...VALUES.map((to) => ({ path, to })),
    ...(path.length === 0 ? [] : [{ path, to: undefined }]),
    { path: [...path, "zzz"], to: 1 },
  ]);
}

/** What the readers accept, and the schemas refuse. */
const STRICTER: readonly ((change: Change) => boolean)[] = [
  // A blank text counts as missing for the readers, also where no text is expected.
  ({ to }) => to === "",
];

/** What the readers refuse, and no schema can say: the words of the diagnostics, and an example of each. */
const NOT_SAID: readonly (readonly [words: RegExp, name: "gate" | "metadata", path: Path, to: JsonValue])[] = [
  [/is not on the host's list of commands/, "gate", ["verify"], { verifier: "command", argv: ["other"] }],
  [/it is less than min/, "gate", ["verify"], { verifier: "file_matches", path: "a", pattern: "x", min: 2, max: 1 }],
  [
    /the exact number: leave out/,
    "gate",
    ["verify"],
    { verifier: "file_matches", path: "a", pattern: "x", count: 1, min: 1 },
  ],
  [/a JSON pointer begins with/, "gate", ["verify"], { verifier: "json_value", path: "a", pointer: "b" }],
  [/the rule .* can't be run/, "gate", ["verify"], { verifier: "json_value", path: "a", pointer: "", rule: "x" }],
  [/a commit id has/, "gate", ["verify"], { verifier: "git_commit_exists", commit: "main" }],
  [/it is not a URL/, "gate", ["verify"], { verifier: "http_ok", url: "example" }],
  [/use RE2 syntax/, "gate", ["verify"], { verifier: "file_matches", path: "a", pattern: "(" }],
  [/since(\.phase)? of .* received string/, "gate", ["verify"], { verifier: "tests_kept", since: "Nobody" }],
  [/it leaves its root/, "gate", ["verify"], { verifier: "file_exists", path: "../a" }],
  [/written once/, "gate", ["checkpoint", "approval"], "Well?"],
  [/there are two validators/, "gate", ["checkpoint", "validators"], { under_limit: "value < 5" }],
  [/has no meaning here .Did you mean/, "metadata", ["options_schema", "properties", "docs"], { typ: "string" }],
  [/the required option .* is not among/, "metadata", ["options_schema", "required"], ["doc"]],
  [
    /the default of .* does not fit/,
    "metadata",
    ["options_schema", "properties", "docs"],
    { type: "string", default: 1 },
  ],
];

const verifiers = await createVerifiers({
  projectRoot: REPOSITORY,
  commands: { node: process.execPath, "npm test": process.execPath },
  hosts: ["example.org"],
});

const PLACE: GatePlace = {
  phase: 3,
  phases: new PhaseNames(["Dig", "Build"].map((name, at) => ({ number: at + 1, name }))),
};

async function gateFaults(value: JsonValue): Promise<readonly string[]> {
  const report = createReport();
  const gate = await readGate("gate-definition.yaml", JSON.stringify(value), report, PLACE);
  const read = report.sorted().filter(isAboutShape).map(formatDiagnostic);
  const faults = await Promise.all(gate === undefined ? [] : checksOf(gate).map(verifierFault));
  return [...read, ...faults.flat()];
}

/** Returns why a start refuses the parameters of a verifier. */
async function verifierFault({ verifier, params }: VerifyDefinition): Promise<string[]> {
  try {
    await Object.entries(verifiers)
      .find(([name]) => name === verifier)?.[1]
      .check?.(params);
    return [];
  } catch (error) {
    return [String(error)];
  }
}

async function metadataFaults(value: JsonValue): Promise<readonly string[]> {
  const files = Object.entries({ ...FILES, "metadata.json": JSON.stringify(value) });
  const { diagnostics } = await readWorkflow(
    "garden_v1",
    files.map(([path, text]) => ({ path, text })),
  );
  return diagnostics.filter(isAboutShape).map(formatDiagnostic);
}

const BASES = new Bases([
  {
    name: "the test",
    content: new MemoryContent({
      workflows: [
        defineWorkflow({
          ...{ type: "base", revision: "1", name: "Base", description: "A base" },
          phases: [{ name: "Dig", content: "# Dig", gate: { fields: { done: {}, deep: {} } } }],
        }),
      ],
    }),
  },
]);

async function extensionFaults(value: JsonValue): Promise<readonly string[]> {
  const files = {
    ...{
      "metadata.json": JSON.stringify(value),
      "phases/dig/gate-definition.yaml": "evidence_schema: {done: {type: any}}",
    },
    ...{ "phases/1/phase.md": "# Look", "phases/sow/phase.md": "# Sow" },
  };
  const texts = Object.entries(files).map(([path, text]) => ({ path, text }));
  const { diagnostics } = await readWorkflow("garden_v1", texts, [], [], BASES);
  return diagnostics.filter(isAboutShape).map(formatDiagnostic);
}

async function bundleFaults(value: JsonValue): Promise<readonly string[]> {
  const { diagnostics } = await readBundle("bundle.yaml", JSON.stringify(value));
  return diagnostics.filter(isAboutShape).map(formatDiagnostic);
}

describe("the schemas for editors", () => {
  it.each([
    ["gate-definition.json", "a gate with every key", GATE, gateFaults],
    ["gate-definition.json", "a gate with every verifier", CHECKED, gateFaults],
    ["metadata.json", "a workflow with every key", METADATA, metadataFaults],
    ["metadata.json", "an extension with every key", EXTENSION, extensionFaults],
    ["bundle.json", "a bundle with every key", BUNDLE, bundleFaults],
    ["bundle.json", "a standalone bundle", ALONE, bundleFaults],
  ] as const)("%s refuses what the reader refuses of %s, and nothing else", async (name, _, whole, faultsOf) => {
    const base: JsonValue = JSON.parse(JSON.stringify(whole));
    expect({ reader: await faultsOf(base), schema: refused(name, base) }).toEqual({ reader: [], schema: [] });
    // The number is no divisor of the changes of a place, so that each place gets other ones.
    const changes = changesOf(base).filter((_change, index) => index % howOften(13, 1) === 0);
    const differences: string[] = [];
    for (const change of changes) {
      const value = changed(base, change.path, change.to) ?? null;
      const [fault] = await faultsOf(value);
      const [error] = refused(name, value);
      if ((fault === undefined) === (error === undefined)) continue;
      if (error !== undefined && STRICTER.some((isMeant) => isMeant(change))) continue;
      if (fault !== undefined && NOT_SAID.some(([words]) => words.test(fault))) continue;
      differences.push(`${change.path.join("/")} = ${JSON.stringify(change.to)}: ${error ?? `accepted, but ${fault}`}`);
    }
    expect(differences).toEqual([]);
    expect(changes.length).toBeGreaterThan(10);
  });

  it.each(NOT_SAID)("leave %s to the readers", async (words, kind, path, to) => {
    const [file, whole, faultsOf] = {
      gate: ["gate-definition.json", GATE, gateFaults] as const,
      metadata: ["metadata.json", METADATA, metadataFaults] as const,
    }[kind];
    const value = changed(JSON.parse(JSON.stringify(whole)), path, to) ?? null;
    const faults = await faultsOf(value);
    expect({ faults: faults.map((fault) => words.test(fault) || fault), schema: refused(file, value) }).toEqual({
      faults: [true],
      schema: [],
    });
  });

  it("describe the parameters of every verifier", () => {
    const named = new Set(
      [...CHECKED.evidence_schema.report.verify, ...CHECKED.verify].map((check) => Object(check).verifier),
    );
    expect([...named].filter(Boolean).toSorted()).toEqual(Object.keys(BUILT_IN).toSorted());
  });

  it("describe every key", () => {
    const silent = Object.entries(SCHEMAS).flatMap(([name, schema]) =>
      keysWithoutDescription(JSON.parse(JSON.stringify(schema)), name),
    );
    expect(silent).toEqual([]);
  });

  it("are shipped as they are described", () => {
    const files = readdirSync(join(REPOSITORY, "schemas"));
    expect(files.toSorted()).toEqual(Object.keys(SCHEMAS).toSorted());
    for (const file of files) {
      expect(JSON.parse(readFileSync(join(REPOSITORY, "schemas", file), "utf8"))).toEqual(
        JSON.parse(JSON.stringify(SCHEMAS[file])),
      );
    }
  });

  const missing = existsSync(CORPUS) ? "" : skipReason("spec_creation_v1");
  const roots = ["examples", "starters", "test/workspace/bundle"]
    .map((path) => join(REPOSITORY, path))
    .filter((path) => existsSync(path));
  it("accept every file of the examples that a reader accepts", async () => {
    expect(await filesBelow(roots)).toBeGreaterThan(8);
  });
  it("are named by every file of the starters and the examples", () => {
    for (const root of ["examples", "starters"].map((path) => join(REPOSITORY, path))) {
      const names = readdirSync(root, { recursive: true, encoding: "utf8" });
      // A pack is a package of its own: where it is installed, no path leads to the schemas.
      const own = names.filter((name) => !name.startsWith("packs/"));
      const files = own.map((name) => join(root, name)).filter((file) => Object.hasOwn(READERS, basename(file)));
      expect(files.length).toBeGreaterThan(5);
      for (const file of files) {
        const address = /^(?:# yaml-language-server: \$schema=| *"\$schema": ")([^"\n]+)/m.exec(
          readFileSync(file, "utf8"),
        );
        const schema = basename(file).replace(/yaml$/, "json");
        expect(join(dirname(file), address?.[1] ?? "")).toBe(join(REPOSITORY, "schemas", schema));
      }
    }
  });
  it.skipIf(missing !== "")(`accept every file of real projects that a reader accepts${missing}`, async () => {
    expect(await filesBelow([dirname(dirname(CORPUS))])).toBeGreaterThan(8);
  });
});

/** The files that have a schema, and what reads them. */
const READERS: Readonly<
  Record<string, readonly [name: string, read: (file: string, text: string) => Promise<readonly Diagnostic[]>]>
> = {
  "metadata.json": [
    "metadata.json",
    async (file) =>
      (await findWorkflows(dirname(file))).flatMap(({ read }) =>
        read.diagnostics.filter(({ file: at }) => at === "metadata.json"),
      ),
  ],
  "gate-definition.yaml": [
    "gate-definition.json",
    async (file, text) => {
      const report = createReport();
      await readGate(file, text, report);
      return report.sorted();
    },
  ],
  "bundle.yaml": ["bundle.json", async (file, text) => (await readBundle(file, text)).diagnostics],
};

/** Holds all files below folders against their schemas, and returns how many there were. */
async function filesBelow(folders: readonly string[]): Promise<number> {
  let count = 0;
  for (const folder of folders) {
    for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const reader = READERS[basename(path)];
      if (reader === undefined) continue;
      count += 1;
      const [name, read] = reader;
      const file = join(folder, path);
      const text = readFileSync(file, "utf8");
      const faults = (await read(file, text)).filter(isAboutShape);
      // A key that the reader warns of is refused as well; nothing else is.
      const unknown = new Set(faults.map(({ message }) => /^the key "(.+)" has no meaning here$/.exec(message)?.[1]));
      expect({ file, keys: unknown }).toEqual({ file, keys: unknownTo(name, parse(text)) });
    }
  }
  return count;
}

/** Returns the unknown keys that a schema refuses; any other fault as ajv's words. */
function unknownTo(name: string, value: JsonValue): Set<string> {
  refused(name, value);
  const errors = ajv.getSchema(name)?.errors ?? [];
  return new Set(
    errors
      .filter(({ keyword }) => keyword !== "if")
      .map(({ params, instancePath, message }) => params.additionalProperty ?? `${instancePath} ${message}`),
  );
}

/** Returns the paths of the keys of an object that have no description. */
function keysWithoutDescription(schema: JsonValue, path: string): string[] {
  if (Array.isArray(schema)) return schema.flatMap((part, at) => keysWithoutDescription(part, `${path}/${at}`));
  if (!isJsonObject(schema)) return [];
  const { properties, additionalProperties } = schema;
  const isWhole = additionalProperties !== undefined && isJsonObject(properties);
  const own = isWhole
    ? Object.entries(properties).filter(([, part]) => !(isJsonObject(part) && typeof part.description === "string"))
    : [];
  return [
    ...own.map(([key]) => `${path}/${key}`),
    ...Object.entries(schema).flatMap(([key, part]) => keysWithoutDescription(part, `${path}/${key}`)),
  ];
}
