import { join } from "node:path";
import { PassThrough } from "node:stream";
import {
  type ContentProvider,
  createWorkflowTool,
  defineWorkflow,
  MemoryContent,
  MemoryStorage,
  type WorkflowDefinition,
  type WorkflowListing,
} from "phasegate";
import { FileContent } from "phasegate/fs";
import { createRoutedEngine, RoutedFolders, type TextSource } from "phasegate/routed";
import { discoverBundles } from "phasegate/workspace";
import { afterEach, describe, expect, it, vi } from "vitest";
import { runCli } from "../../src/cli/cli.js";
import { LinearDecider } from "../../src/deciders/linear.js";
import { createEngine } from "../../src/phased/engine.js";
import { loadRuleLanguage } from "../../src/rules/language.js";
import { SMALL } from "../cli/workflow-folders.js";
import { FolderOfTexts, gardenTexts } from "../routed/definition/folder-of-texts.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { howOften } from "../support/how-often.js";
import { writeFiles } from "../support/write-files.js";
import { makeOffice } from "../workspace/preload/office.js";
import { RULE_BOMBS, ruled, TEXT_BOMBS } from "./bombs.js";

afterEach(() => {
  vi.useRealTimers();
});

const METADATA = JSON.stringify({
  workflow_type: "bad",
  version: "1",
  name: "Bad",
  description: "What may be broken",
  phases: [{ phase_number: 1, phase_name: "One", required_evidence: ["done"] }],
});

/** Returns a workflow's folder in which one file is a bomb. */
function folderWith(path: string, text: string): Record<string, string> {
  return { "metadata.json": METADATA, "phases/1/phase.md": "# Phase 1: One\n", [path]: text };
}

/** Combines each bomb with each place; in the short form each bomb has one place, and each place has some bombs. */
function placed<Thing, Place, Result>(
  things: readonly Thing[],
  places: readonly Place[],
  place: (thing: Thing, at: number, place: Place) => Result,
): Result[] {
  const each = howOften(places.length, 1);
  return things.flatMap((thing, at) =>
    places.filter((_, index) => (at + index) % each === 0).map((where) => place(thing, at, where)),
  );
}

/** Returns all of them; in the short form every third, where another test gives the same reader all of them. */
function some<T>(things: readonly T[]): T[] {
  return things.filter((_, at) => at % howOften(3, 1) === 0);
}

/** Returns folders of phased workflows with each bomb in one of their files. */
function brokenFolders(): Record<string, Record<string, string>> {
  const files = ["metadata.json", "phases/1/gate-definition.yaml", "phases/1/phase.md", "phases/1/task-1-a.md"];
  const texts = placed(Object.values(TEXT_BOMBS), files, (text, _, path) => folderWith(path, text));
  const rules = Object.values(RULE_BOMBS).map((rule) => folderWith("phases/1/gate-definition.yaml", ruled(rule)));
  const templates = Object.values(TEXT_BOMBS).map((text) => ({
    "metadata.json": METADATA.replace('"phase_number":1', '"phase_number":"1-N"'),
    "phase-template.md": text,
    "phases/dynamic/phase-template.md": text,
    "phases/dynamic/task-template.md": text,
  }));
  return Object.fromEntries([...texts, ...rules, ...templates].map((files, at) => [`bad-${at}`, files]));
}

const GOOD = Object.fromEntries(Object.entries(SMALL).map(([path, text]) => [path.slice("small/".length), text]));

/** Lists the workflows with the tool, starts the good one, and completes it. */
async function runGood(content: ContentProvider, type = "small"): Promise<readonly unknown[]> {
  const engine = createEngine({ storage: new MemoryStorage(), content });
  const tool = createWorkflowTool(engine, { maxTokens: 100_000 });
  const listed = await tool.dispatch({ action: "list_workflows" });
  expect(listed).toMatchObject({ status: "success" });
  const started = await tool.dispatch({ action: "start", workflow_type: type, target_file: "a.ts" });
  expect(started).toMatchObject({ status: "success" });
  const session_id = Reflect.get(started, "session_id");
  for (const [phase, evidence] of [[1, { tests_pass: true }] as const, [2, { shipped: true }] as const]) {
    const done = await tool.dispatch({ action: "complete_phase", session_id, phase, evidence });
    expect(done).toMatchObject({ status: "success" });
  }
  const workflows: unknown = Reflect.get(listed, "workflows");
  return Array.isArray(workflows) ? workflows : [];
}

async function written(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await temporaryFolder();
  await writeFiles(root, files);
  return root;
}

const never = () => new Promise<never>(() => {});

describe("one broken definition next to a good one", () => {
  it("does not affect the others as folders in memory, in any file", { timeout: 300_000 }, async () => {
    await loadRuleLanguage();
    const sources = { ...brokenFolders(), small: GOOD };
    const workflows = await runGood(new MemoryContent({ sources }));
    expect(workflows).toHaveLength(Object.keys(sources).length);
    expect(workflows[0]).toEqual({ workflow_type: "small", description: expect.any(String) });
  });

  it("does not affect the engine or the server as folders on disk", { timeout: 300_000 }, async () => {
    const folders = Object.entries({ ...Object.fromEntries(some(Object.entries(brokenFolders()))), small: GOOD });
    const files = folders.flatMap(([type, texts]) => {
      return Object.entries(texts).map(([path, text]) => [`${type}/${path}`, text] as const);
    });
    const root = await written(Object.fromEntries(files));
    const workflows = await runGood(new FileContent({ roots: [root] }));
    expect(workflows[0]).toEqual({ workflow_type: "small", description: expect.any(String) });
    const terminal = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
    const flags = [
      "--workflows",
      root,
      "--state",
      join(root, "..", "state"),
      "--log-level",
      "silent",
      "--max-tokens",
      "100000",
    ];
    const ended = runCli(["serve", ...flags], terminal);
    const send = (message: object) => terminal.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    send({ id: 0, method: "initialize", params });
    send({ method: "notifications/initialized" });
    send({ id: 1, method: "tools/call", params: { name: "pos_workflow", arguments: { action: "list_workflows" } } });
    let said = "";
    terminal.stdout.on("data", (chunk) => {
      said += String(chunk);
    });
    await vi.waitFor(() => expect(said).toContain('"id":1'), { timeout: 120_000 });
    terminal.stdin.end();
    expect(await ended).toBe(0);
    expect(said).toContain("workflow_type");
    expect(said).toContain("small");
  });

  it("is reported with the size of its expansion, its line and a hint", async () => {
    for (const rule of ["types that double", "a lambda that doubles"] as const) {
      const bad = folderWith("phases/1/gate-definition.yaml", ruled(RULE_BOMBS[rule] ?? ""));
      const [listing] = await new MemoryContent({ sources: { bad } }).list();
      expect(listing?.diagnostics.filter(({ severity }) => severity === "error")).toEqual([
        expect.objectContaining({
          ...{ file: "phases/1/gate-definition.yaml", line: 2, code: "RULE_INVALID" },
          hint: expect.stringContaining("split it into two rules"),
        }),
      ]);
    }
  });

  it("does not affect the others as routed workflows", { timeout: 300_000 }, async () => {
    const bombs = [
      ...Object.values(TEXT_BOMBS),
      ...Object.values(RULE_BOMBS).map((rule) => `---\ngate:\n  ${ruled(rule).replaceAll("\n", "\n  ")}\n---\n`),
    ];
    const index = "# S\n\n1. [Dig](steps/dig.md)\n\n{{file:part.md}}\n";
    const places: readonly ((text: string, at: number) => [string, string][])[] = [
      (text, at) => [[`I${at}/index.md`, text]],
      (text, at) => [
        [`S${at}/index.md`, index],
        ...["steps/dig.md", "part.md", "a.md"].map((path): [string, string] => [`S${at}/${path}`, text]),
      ],
    ];
    const folders = placed(bombs, places, (text, at, place) => place(text, at));
    const bad = folders.flat();
    const workflows = new RoutedFolders({
      source: new FolderOfTexts({ ...Object.fromEntries(bad), ...gardenTexts() }),
    });
    const engine = createRoutedEngine({ storage: new MemoryStorage(), workflows, decider: new LinearDecider() });
    const listings = await engine.listWorkflows();
    expect(listings.find(({ name }) => name === "GARDEN")).toMatchObject({ status: "ready" });
    expect(listings).toHaveLength(folders.length + 1);
    expect(await engine.start({ workflow: "GARDEN" })).toMatchObject({ currentStep: "Dig" });
  });

  it("does not affect the others in a workspace", { timeout: 300_000 }, async () => {
    const bombs = some(Object.values(TEXT_BOMBS));
    const places: readonly ((text: string, at: number) => [string, string][])[] = [
      (text, at) => [[`bundle/workflows/y${at}/workflow.yaml`, text]],
      (text, at) => [
        [`bundle/workflows/c${at}/workflow.yaml`, "config_source: ./config.yaml\ninstructions: ./i.md\n"],
        [`bundle/workflows/c${at}/config.yaml`, text],
        [`bundle/workflows/c${at}/i.md`, text],
      ],
      (text, at) => [[`bundle/skills/s${at}/SKILL.md`, text]],
      (text, at) => [
        [`bundle/skills/t${at}/SKILL.md`, "---\nname: t\n---\n# T\n"],
        [`bundle/skills/t${at}/customize.toml`, text],
        [`_bmad/custom/t${at}.toml`, text],
      ],
    ];
    const files = placed(bombs, places, (text, at, place) => place(text, at)).flat();
    const office = await makeOffice(Object.fromEntries(files));
    const workspace = await office.open();
    const listed = await workspace.workflows();
    expect(listed.map(({ name }) => name)).toContain("release");
    for (const { name } of listed) {
      const loaded = await workspace.preloadWorkflow({ workflow: name });
      if (!loaded.success) expect(JSON.stringify(loaded)).not.toContain("INTERNAL");
    }
    expect(await workspace.preloadWorkflow({ workflow: "release" })).toMatchObject({ success: true });
  });

  it("does not affect the others as bundles", { timeout: 300_000 }, async () => {
    const good = "type: standalone\nname: good\nagent: {id: clerk, file: clerk.md}\n";
    const bad = some(Object.values(TEXT_BOMBS)).map((text, at) => [`b${at}/bundle.yaml`, text]);
    const root = await written({ ...Object.fromEntries(bad), "good/bundle.yaml": good, "good/clerk.md": "# Clerk\n" });
    const { bundles, diagnostics } = await discoverBundles(root);
    expect(bundles.map(({ name }) => name)).toEqual(["good"]);
    expect(new Set(diagnostics.map(({ file }) => file)).size).toBe(bad.length);
  });
});

describe("a definition in code", () => {
  const coded = (type: string, content: () => Promise<string>) =>
    defineWorkflow({
      type,
      revision: "1",
      name: type,
      description: "D",
      phases: [{ number: 1, name: "One", content }],
    });

  it("whose texts throw or hang does not affect the others", async () => {
    const thrown = coded("throws", () => Promise.reject(new Error("gone")));
    const hung = coded("hangs", never);
    const good = coded("good", () => Promise.resolve("Do it."));
    const content = new MemoryContent({ workflows: [thrown, hung, good], sources: { small: GOOD } });
    const workflows = await runGood(content);
    expect(workflows).toHaveLength(4);
    const engine = createEngine({ storage: new MemoryStorage(), content });
    void engine.start({ workflowType: "hangs", target: "a" });
    await expect(engine.start({ workflowType: "throws", target: "a" })).rejects.toMatchObject({
      code: "CONTENT_UNAVAILABLE",
    });
    expect(await engine.start({ workflowType: "good", target: "a" })).toMatchObject({ workflowType: "good" });
  });
});

describe("a custom content provider", () => {
  const good = () => new MemoryContent({ sources: { small: GOOD } });

  /** Returns a provider whose definitions fail in the given ways. */
  function provider(definitions: Readonly<Record<string, () => Promise<unknown>>>): ContentProvider {
    const inner = good();
    return {
      types: async () => [...Object.keys(definitions), "small"],
      list: () => inner.list(),
      text: (type, part) => inner.text(type, part),
      definition: async (type) => {
        // Plain JavaScript is not checked by the compiler.
        const made = (await definitions[type]?.()) as WorkflowDefinition | undefined;
        return made ?? inner.definition(type);
      },
    };
  }

  it("may throw or hang for some types: the others are listed, and only these are broken", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const secret = new Error("/home/ann/.env");
    const content = provider({
      throws: () => Promise.reject(secret),
      hangs: never,
      odd: async () => ({ structure: { type: "odd" } }),
      number: async () => 7,
      getter: async () => ({
        get structure() {
          throw secret;
        },
      }),
    });
    const engine = createEngine({ storage: new MemoryStorage(), content });
    const listing = engine.listWorkflows();
    await vi.advanceTimersByTimeAsync(10_000);
    const said = new Map((await listing).map((one) => [one.type, one]));
    const brokenBy = (text: string) => ({
      status: "broken",
      diagnostics: [{ severity: "error", code: "DEFINITION_UNREADABLE", message: expect.stringContaining(text) }],
    });
    expect(said.get("small")).toMatchObject({ status: "ready" });
    expect(said.get("throws")).toMatchObject(brokenBy("(Error)"));
    expect(said.get("hangs")).toMatchObject(brokenBy("within 10 seconds"));
    expect(said.get("odd")).toMatchObject(brokenBy("failed"));
    expect(said.get("number")).toMatchObject(brokenBy("failed"));
    expect(said.get("getter")).toMatchObject(brokenBy("(Error)"));
    expect(JSON.stringify([...said.values()])).not.toContain(".env");
    // A type that hangs is not waited for again.
    const again = await engine.listWorkflows();
    expect(again.map(({ type, status }) => `${type} ${status}`)).toContain("hangs broken");
    vi.useRealTimers();
    expect(await runGood(good())).toHaveLength(1);
    expect(await engine.start({ workflowType: "small", target: "a.ts" })).toMatchObject({ workflowType: "small" });
  });

  it("may list invalid entries, which alone are broken", async () => {
    const inner = good();
    const garbage: readonly unknown[] = [
      null,
      7,
      {},
      { type: "a" },
      { type: "b", status: "ready", diagnostics: [null] },
    ];
    const content: ContentProvider = {
      list: async () => [...garbage, ...(await inner.list())] as readonly WorkflowListing[],
      definition: (type) => inner.definition(type),
      text: (type, part) => inner.text(type, part),
    };
    const workflows = await runGood(content);
    expect(workflows).toHaveLength(garbage.length + 1);
    expect(workflows[0]).toEqual({ workflow_type: "small", description: expect.any(String) });
  });
});

describe("a custom source of texts", () => {
  /** Returns a source that behaves differently for some paths. */
  function source(special: Readonly<Record<string, () => Promise<unknown>>>): TextSource {
    const texts = Object.fromEntries(Object.keys(special).map((path) => [path, ""]));
    const inner = new FolderOfTexts({ ...texts, ...gardenTexts() });
    return {
      list: (folder) => inner.list(folder),
      // Plain JavaScript is not checked by the compiler.
      read: async (path) => (special[path] === undefined ? inner.read(path) : ((await special[path]()) as string)),
    };
  }

  it("may throw, hang or return no text: the others are listed and run", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const texts = source({
      "THROWS/index.md": () => Promise.reject(new Error("/home/ann/.env")),
      "HANGS/index.md": never,
      "NUMBER/index.md": async () => 7,
      "HUGE/index.md": async () => "x".repeat(3_000_000),
    });
    const workflows = new RoutedFolders({ source: texts });
    const engine = createRoutedEngine({ storage: new MemoryStorage(), workflows, decider: new LinearDecider() });
    const listing = engine.listWorkflows();
    await vi.advanceTimersByTimeAsync(10_000);
    const said = new Map((await listing).map((one) => [one.name, one]));
    vi.useRealTimers();
    expect(said.get("GARDEN")).toMatchObject({ status: "ready" });
    const code = (name: string) => said.get(name)?.diagnostics.map((one) => one.code);
    expect(code("THROWS")).toContain("DEFINITION_UNREADABLE");
    expect(code("HANGS")).toEqual(["DEFINITION_UNREADABLE"]);
    expect(code("NUMBER")).toContain("DEFINITION_UNREADABLE");
    expect(code("HUGE")).toContain("FILE_TOO_LARGE");
    expect(JSON.stringify([...said.values()])).not.toContain(".env");
    expect(await engine.start({ workflow: "GARDEN" })).toMatchObject({ currentStep: "Dig" });
  });
});
