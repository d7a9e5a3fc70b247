import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { combineContent } from "../../src/content/combine.js";
import { FileContent } from "../../src/content/files.js";
import { MemoryContent } from "../../src/content/memory.js";
import type { ContentProvider } from "../../src/ports/content-provider.js";
import { BROKEN_CONTENTS, type BrokenContent, brokenContent } from "../../src/testing/broken.js";
import { contentContract, runContentContract } from "../../src/testing/content-contract.js";
import { ContractError } from "../../src/testing/contract.js";
import { defineWorkflow } from "../../src/workflow/files/define-workflow.js";
import { FAULTY, SMALL } from "../cli/workflow-folders.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

const inCode = defineWorkflow({
  type: "in_code",
  revision: "1",
  name: "In code",
  description: "Two phases in code",
  phases: [
    { number: 0, name: "Zero", content: "# Zero", tasks: [{ name: "first", content: "# First" }] },
    { number: 2, name: "Two", content: async () => "# Two" },
  ],
});

/** Files below the folder of their workflow, by that folder. */
function sourcesOf(files: Readonly<Record<string, string>>): Record<string, Record<string, string>> {
  const sources: Record<string, Record<string, string>> = {};
  for (const [path, text] of Object.entries(files)) {
    const [type = "", ...rest] = path.split("/");
    sources[type] = { ...sources[type], [rest.join("/")]: text };
  }
  return sources;
}

/** The small workflow with phases out of a plan after its own. */
const PLANNED: Readonly<Record<string, string>> = {
  "planned/metadata.json": (SMALL["small/metadata.json"] ?? "")
    .replace('"small"', '"planned"')
    .replace("{", '{ "dynamic_phases": true, "dynamic_config": { "parser": "spec_tasks_parser" },'),
  "planned/phases/dynamic/phase-template.md": "# [PHASE_NAME]\n",
  "planned/phases/dynamic/task-template.md": "# [TASK_NAME]\n",
  ...Object.fromEntries(
    Object.entries(SMALL).flatMap(([path, text]) =>
      path.endsWith("metadata.json") ? [] : [[path.replace(/^small/, "planned"), text]],
    ),
  ),
};

/** A ready workflow with a task, one with templates, and a broken one. */
const FILES: Readonly<Record<string, string>> = {
  ...SMALL,
  ...PLANNED,
  "small/phases/1/task-1-saw.md": "# Task 1: Saw\n",
  ...Object.fromEntries(Object.entries(FAULTY).map(([path, text]) => [path.replace(/^small/, "broken"), text])),
};

const SOURCES = sourcesOf(FILES);

let root: string;

beforeEach(async () => {
  root = join(await temporaryFolder(), "workflows");
  await writeFiles(root, FILES);
});

/** The project's own providers, and what they list. */
const PROVIDERS: [name: string, provider: () => ContentProvider, listed: string[]][] = [
  ["MemoryContent with code", () => new MemoryContent({ workflows: [inCode] }), ["in_code ready"]],
  [
    "MemoryContent with texts",
    () => new MemoryContent({ sources: SOURCES }),
    ["broken broken", "planned ready", "small ready"],
  ],
  [
    "MemoryContent with both",
    () => new MemoryContent({ workflows: [inCode], sources: SOURCES }),
    ["broken broken", "in_code ready", "planned ready", "small ready"],
  ],
  [
    "combineContent",
    () => combineContent([new MemoryContent({ workflows: [inCode] }), new FileContent({ roots: [root] })]),
    ["broken broken", "in_code ready", "planned ready", "small ready"],
  ],
  ["FileContent", () => new FileContent({ roots: [root] }), ["broken broken", "planned ready", "small ready"]],
];

describe.each(PROVIDERS)("%s", (_, provider, listed) => {
  for (const { name, run } of contentContract({ open: async () => provider() })) it(name, run);

  it("has what the contract is to be tried on", async () => {
    expect((await provider().list()).map(({ type, status }) => `${type} ${status}`)).toEqual(listed);
  });
});

/** A sound provider with some methods replaced. */
function wrap(replace: (inner: ContentProvider) => Partial<ContentProvider>): ContentProvider {
  const inner = new MemoryContent({ sources: SOURCES });
  const sound: ContentProvider = {
    list: () => inner.list(),
    definition: (type, revision) => inner.definition(type, revision),
    text: (type, part) => inner.text(type, part),
  };
  return { ...sound, ...replace(inner) };
}

/** Providers with one fault each, and the case that must find it. */
const FAULTS: Readonly<Record<string, readonly [found: string, provider: () => ContentProvider]>> = {
  "lists a workflow twice": [
    "list: returns every workflow once, and an error for each broken one",
    () => wrap((inner) => ({ list: async () => [...(await inner.list()), ...(await inner.list())] })),
  ],
  "hides broken workflows' errors": [
    "list: returns every workflow once, and an error for each broken one",
    () =>
      wrap((inner) => ({
        list: async () => (await inner.list()).map((listing) => ({ ...listing, diagnostics: [] })),
      })),
  ],
  "has no workflow at all": [
    "list: returns every workflow once, and an error for each broken one",
    () => new MemoryContent({}),
  ],
  "gives the newest definition for any revision": [
    "definition: returns undefined for an unknown type and an unknown revision",
    () => wrap((inner) => ({ definition: (type) => inner.definition(type) })),
  ],
  "gives no definition of what it lists": [
    "definition: returns what the list has as ready, under the same type",
    () => wrap(() => ({ definition: async () => undefined })),
  ],
  "takes a broken workflow for none": [
    "definition: a broken workflow throws DEFINITION_INVALID",
    () =>
      wrap((inner) => ({
        definition: (type, revision) => inner.definition(type, revision).catch(() => undefined),
      })),
  ],
  "says where its files lie": [
    "text: returns one for every phase and task, with revision, tokens and sources",
    () =>
      wrap((inner) => ({
        text: async (type, part) => ({ ...(await inner.text(type, part)), sources: ["/srv/workflows/a.md"] }),
      })),
  ],
  "has no text of tasks": [
    "text: returns one for every phase and task, with revision, tokens and sources",
    () =>
      wrap((inner) => ({
        text: (type, part) => inner.text(type, "template" in part ? part : { phase: part.task ?? part.phase + 100 }),
      })),
  ],
  "has no templates": [
    "text: returns both templates if phases come from a plan, and throws TEMPLATE if not",
    () => wrap((inner) => ({ text: (type, part) => inner.text(type, "template" in part ? { phase: 987 } : part) })),
  ],
  "gives a workflow without templates those of another": [
    "text: returns both templates if phases come from a plan, and throws TEMPLATE if not",
    () =>
      wrap((inner) => ({
        text: (type, part) => inner.text("template" in part ? "planned" : type, part),
      })),
  ],
  "gives a text another revision each time": [
    "text: has the same revision for the same text",
    () => {
      let count = 0;
      return wrap((inner) => ({
        text: async (type, part) => {
          count += 1;
          return { ...(await inner.text(type, part)), revision: String(count).padStart(12, "0") };
        },
      }));
    },
  ],
  "gives an empty text where there is none": [
    "text: throws CONTENT_UNAVAILABLE for an unknown phase and an unknown task",
    () =>
      wrap((inner) => ({
        text: (type, part) =>
          inner.text(type, part).catch(() => ({ text: "", revision: "0".repeat(12), sources: [], tokens: 0 })),
      })),
  ],
  "throws errors of its own": [
    "text: throws CONTENT_UNAVAILABLE for an unknown phase and an unknown task",
    () =>
      wrap((inner) => ({
        text: (type, part) =>
          inner.text(type, part).catch(() => {
            throw new Error("ENOENT");
          }),
      })),
  ],
};

/** The names of the cases that a provider fails. */
async function failures(provider: () => ContentProvider): Promise<string[]> {
  const names: string[] = [];
  for (const { name, run } of contentContract({ open: async () => provider() }))
    await run().catch(() => names.push(name));
  return names;
}

/** The case that must find each. */
const BROKEN: Readonly<Record<BrokenContent, string>> = {
  "any-revision": "definition: returns undefined for an unknown type and an unknown revision",
  "empty-texts": "text: throws CONTENT_UNAVAILABLE for an unknown phase and an unknown task",
  "hidden-errors": "list: returns every workflow once, and an error for each broken one",
  "listed-twice": "list: returns every workflow once, and an error for each broken one",
  "restless-revisions": "text: has the same revision for the same text",
  "swallowed-error": "definition: a broken workflow throws DEFINITION_INVALID",
};

describe("runContentContract", () => {
  for (const kind of BROKEN_CONTENTS) {
    it(`finds ${kind}, and what is sound beside it`, async () => {
      const sound = new MemoryContent({ sources: SOURCES });
      const error = await runContentContract({ open: async () => brokenContent(kind, sound) }).catch((one) => one);
      expect(error).toBeInstanceOf(ContractError);
      expect(error.message).toContain(BROKEN[kind]);
      expect(error.report.kept).toBeGreaterThan(3);
    });
  }

  it("reports that a sound one keeps all", async () => {
    const report = await runContentContract({ open: async () => new MemoryContent({ sources: SOURCES }) });
    expect(report).toMatchObject({ kept: 8, broken: 0, notTried: 0 });
  });
});

describe("contentContract", () => {
  for (const [name, [found, provider]] of Object.entries(FAULTS)) {
    it(`finds a provider that ${name}`, async () => {
      expect(await failures(provider)).toContainEqual(expect.stringContaining(found));
    });
  }

  it("passes a sound one, and names each case once", async () => {
    expect(await failures(() => wrap(() => ({})))).toEqual([]);
    const names = contentContract({ open: async () => new MemoryContent({}) }).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
