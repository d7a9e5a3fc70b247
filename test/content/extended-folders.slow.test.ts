import { rm } from "node:fs/promises";
import { join } from "node:path";
import {
  type ContentProvider,
  createEngine,
  definePhase,
  defineWorkflow,
  MemoryContent,
  MemoryStorage,
} from "phasegate";
import { combineContent, extendWorkflow, workflowToFiles } from "phasegate/compose";
import { FileContent, loadWorkflow } from "phasegate/fs";
import { RagContent } from "phasegate/rag";
import { createVerifiers } from "phasegate/verify";
import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import type { GateDefinition, WorkflowStructure } from "../../src/workflow/structure.js";
import { makeHouse } from "../inspector/house.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { failure } from "../support/failure.js";
import { writeFiles } from "../support/write-files.js";
import { BASE, extension, OWN, THREATS } from "./extended-folders.js";

let root: string;
beforeEach(async () => {
  root = await temporaryFolder();
});

async function filesOf(files: Readonly<Record<string, string>>, folder = root) {
  await writeFiles(folder, files);
  return new FileContent({ roots: [folder] });
}

async function structureOf(content: ContentProvider, type = "own"): Promise<WorkflowStructure> {
  const definition = await content.definition(type);
  if (definition === undefined) throw new Error(`there is no workflow ${type}`);
  return definition.structure;
}

/** Returns the diagnostics of a workflow, as `code file:line`, with the message. */
async function faultsOf(content: ContentProvider, type = "own"): Promise<string[]> {
  const listing = (await content.list()).find((one) => one.type === type);
  return (listing?.diagnostics ?? []).map(({ code, file, line, message }) => `${code} ${file}:${line}: ${message}`);
}

/** Returns what a definition says besides revisions, paths, and what the reader of a folder chooses. */
function comparable({ revision: _, searches: __, extends: from, phases, ...structure }: WorkflowStructure) {
  return JSON.parse(
    JSON.stringify({
      ...structure,
      extends: { type: from?.type, weaker: from?.weaker },
      phases: phases.map(({ file: ___, textRevision: ____, gate, tasks, ...phase }) => ({
        ...phase,
        gate: comparableGate(gate),
        tasks: tasks.map(({ file: _____, textRevision: ______, ...task }) => task),
      })),
    }),
  );
}

function comparableGate(gate: GateDefinition) {
  if (gate.kind !== "fields") return gate;
  const { source: _, fields, verify = [], ...others } = gate;
  const checks = [...verify].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  return { ...others, verify: checks, fields: fields.map(({ sample: __, ...field }) => field) };
}

describe("a folder that extends another one", () => {
  it("is the same workflow as in code", async () => {
    const content = await filesOf({ ...BASE, ...OWN });
    expect(await faultsOf(content)).toEqual([]);
    const inCode = await extendWorkflow(await loadWorkflow(join(root, "base")), {
      ...{ type: "own", revision: "1", name: "Own", options: { level: "high" } },
      phases: [
        {
          before: "Do it",
          phase: definePhase({
            ...{ name: "Threat model", purpose: "Why", content: THREATS["own/phases/threat_model/phase.md"] },
            gate: { fields: { threats: { type: "list", validator: "value.all(one, one in artifacts.plan.files)" } } },
          }),
        },
        {
          ...{ change: "Do it", content: OWN["own/phases/do_it/phase.md"], tasks: { 2: "# Test more" } },
          gate: {
            fields: {
              note: { required: true, validator: "min_length_5" },
              link: { type: "string" },
            },
            crossFieldValidation: ["evidence.link != evidence.file"],
            verify: [
              { verifier: "file_exists", field: "link" },
              { verifier: "changed_since_phase_start", params: { path: "docs", since: { phase: "Threat model" } } },
            ],
          },
        },
        { change: "Close", gate: { approval: { prompt: "Is it over?" } } },
      ],
    });
    const structure = await structureOf(content);
    expect(comparable(structure)).toEqual(comparable(inCode.definition.structure));
    expect(structure.phases.map(({ number, name }) => `${number} ${name}`)).toEqual([
      ...["1 Plan", "2 Threat model", "3 Do it", "4 Close"],
    ]);
    for (const part of [1, 2, 3, 4].map((phase) => ({ phase }))) {
      expect((await content.text("own", part)).text).toBe(await inCode.text(part));
    }
    for (const task of [1, 2])
      expect((await content.text("own", { phase: 3, task })).text).toBe(await inCode.text({ phase: 3, task }));
    const revisions = structure.phases.flatMap(({ textRevision, tasks }) => [
      textRevision,
      ...tasks.map((one) => one.textRevision),
    ]);
    expect(revisions).toEqual(
      inCode.definition.structure.phases.flatMap(({ textRevision, tasks }) => [
        ...[textRevision, ...tasks.map((one) => one.textRevision)],
      ]),
    );
  });

  it("is walked with its texts and documents, those of a later phase at its phase", async () => {
    const project = await temporaryFolder();
    await writeFiles(project, { "a.ts": "a", "src/a.ts": "a", "docs/a.md": "a", "link.md": "a" });
    const content = await filesOf({ ...BASE, ...OWN });
    const verifiers = await createVerifiers({ projectRoot: project });
    const engine = createEngine({ content, storage: new MemoryStorage(), verifiers });
    const { sessionId, options } = await engine.start({ workflowType: "own" });
    expect(options).toEqual({ level: "high", depth: 1 });
    const session = engine.session(sessionId);
    const read = async (path: string) => (await session.document(path)).content.text;
    expect((await failure(read("phases/2/notes.md"))).code).toBe("PHASE_LOCKED");
    expect(await read("core/words.md")).toBe("The words of the base.");
    expect(await read("core/own.md")).toBe("Our words.");
    expect((await session.completePhase(1, { files: ["a.ts"] })).passed).toBe(true);
    expect(await read("notes.md")).toBe("Our notes.");
    expect((await failure(read("phases/3/how.md"))).code).toBe("PHASE_LOCKED");
    expect((await session.completePhase(2, { threats: ["b.ts"] })).passed).toBe(false);
    expect((await session.completePhase(2, { threats: ["a.ts"] })).passed).toBe(true);
    expect(await read("how.md")).toBe("How the base does it.");
    const evidence = { file: "a.ts", passed: true, note: "a note", link: "link.md" };
    expect((await session.completePhase(3, { ...evidence, note: "a" })).passed).toBe(false);
    await writeFiles(project, { "src/b.ts": "b", "docs/b.md": "b" });
    expect((await session.completePhase(3, evidence)).passed).toBe(true);
  });

  it("has a new revision when it or its base changes, and running sessions keep their own", async () => {
    const content = await filesOf({ ...BASE, ...OWN });
    const engine = createEngine({
      content,
      storage: new MemoryStorage(),
      verifiers: await createVerifiers({ projectRoot: root }),
    });
    const { sessionId } = await engine.start({ workflowType: "own" });
    const first = await structureOf(content);
    expect((await structureOf(content)).revision).toBe(first.revision);
    await writeFiles(root, { "base/phases/1/phase.md": "# Plan\n\nPlan anew." });
    const second = await structureOf(content);
    expect(second.revision).not.toBe(first.revision);
    expect((await content.text("own", { phase: 1 })).text).toBe("# Plan\n\nPlan anew.");
    await writeFiles(root, { "own/phases/threat_model/phase.md": "# Threats\n\nAll of them." });
    const third = await structureOf(content);
    expect(new Set([first, second, third].map(({ revision }) => revision)).size).toBe(3);
    expect(await content.definition("own", third.revision)).toBeDefined();
    expect(await content.definition("own", first.revision)).toBeUndefined();
    await writeFiles(root, { "base/metadata.json": "{" });
    expect((await content.text("own", { phase: 1 })).text).toBe("# Plan\n\nPlan anew.");
    expect((await content.text("own", { phase: 2 })).text).toBe("# Threats\n\nAll of them.");
    const evidence = { files: ["own/metadata.json"] };
    expect((await engine.session(sessionId).completePhase(1, evidence)).passed).toBe(true);
    expect((await failure(engine.start({ workflowType: "own" }))).code).toBe("DEFINITION_INVALID");
  });

  it("has its entries applied in their order, also those that name what another one inserts", async () => {
    const content = await filesOf({
      ...BASE,
      ...extension({
        phases: [
          { after: "Plan", phase_name: "Second" },
          { after: "Plan", phase_name: "First" },
          { before: "Second", phase_name: "Between" },
        ],
      }),
      ...Object.fromEntries(
        ["first", "second", "between"].flatMap((name) => [
          [`own/phases/${name}/phase.md`, `# ${name}`],
          [`own/phases/${name}/gate-definition.yaml`, `evidence_schema: {${name}: {type: string}}\n`],
        ]),
      ),
    });
    const { definition } = await loadWorkflow(join(root, "own"));
    expect(definition.structure).toEqual(await structureOf(content));
    expect(definition.structure.phases.map(({ name }) => name)).toEqual([
      ...["Plan", "First", "Between", "Second", "Do it", "Close"],
    ]);
    expect((await content.text("own", { phase: 3 })).text).toBe("# between");
  });

  it("keeps a text that phases of the base share where one of them gets another", async () => {
    const phases = [1, 2].map((number) => ({ phase_number: number, phase_name: `P${number}`, phase_file: "all.md" }));
    const content = await filesOf({
      "base/metadata.json": JSON.stringify({ workflow_type: "base", name: "B", description: "B", phases }),
      ...{ "base/all.md": "# All", "base/phases/1/gate-definition.yaml": "gate: none\n" },
      "base/phases/2/gate-definition.yaml": "gate: none\n",
      ...extension({ phases: [{ change: "P2" }] }),
      "own/phases/p2/phase.md": "# Other",
    });
    const textOf = async (phase: number) => (await content.text("own", { phase })).text;
    expect(await Promise.all([1, 2].map(textOf))).toEqual(["# All", "# Other"]);
    await writeFiles(root, {
      ...extension({ phases: [{ change: "P1" }, { change: "P2" }] }),
      "own/phases/p1/phase.md": "# One",
    });
    expect(await Promise.all([1, 2].map(textOf))).toEqual(["# One", "# Other"]);
    expect((await content.documents("own")).map(({ path }) => path)).not.toContain("all.md");
  });

  it("can itself be extended", async () => {
    const content = await filesOf({
      ...{ ...BASE, ...OWN },
      ...extension({ phases: [{ after: "Threat model", phase_name: "Weigh" }, { change: "Plan" }] }, "more", "own"),
      "more/phases/weigh/phase.md": "# Weigh",
      "more/phases/weigh/gate-definition.yaml":
        'evidence_schema:\n  worst: {type: string, validator: "value in artifacts.threat_model.threats"}\n',
      "more/phases/plan/phase.md": "# Plan more",
    });
    expect(await faultsOf(content, "more")).toEqual([]);
    const { phases, name, extends: from } = await structureOf(content, "more");
    expect({ name, from: from?.type }).toEqual({ name: "Own", from: "own" });
    expect(phases.map((one) => one.name)).toEqual(["Plan", "Threat model", "Weigh", "Do it", "Close"]);
    const textAt = async (phase: number) => (await content.text("more", { phase })).text.split("\n")[0];
    expect(await Promise.all([1, 2, 3, 4, 5].map(textAt))).toEqual([
      ...["# Plan more", "# Threats", "# Weigh", "# Do it well", "# Close"],
    ]);
    const documents = (await content.documents?.("more"))?.map(({ path }) => path) ?? [];
    expect(documents).toEqual(
      expect.arrayContaining(["phases/2/notes.md", "phases/4/how.md", "core/own.md", "core/words.md"]),
    );
  });

  it("may ask for less only where it says why", async () => {
    const weaker = (more: object) => ({
      ...{ ...BASE, ...extension({ phases: [{ change: "Do it", ...more }] }) },
      "own/phases/do_it/gate-definition.yaml": "evidence_schema:\n  passed: {type: boolean, required: false}\n",
    });
    expect(await faultsOf(await filesOf(weaker({})))).toEqual([
      'GATE_WEAKER metadata.json:6: the gate of "Do it" would ask for less: the field "passed" is optional',
    ]);
    const reason = { override: "the tests run elsewhere" };
    expect(await faultsOf(await filesOf(weaker(reason)))).toEqual([]);
    const content = new FileContent({ roots: [root] });
    expect((await structureOf(content)).extends?.weaker).toEqual([
      { phase: "Do it", what: ['the field "passed" is optional'], reason: "the tests run elsewhere" },
    ]);
    const house = await makeHouse({ engine: createEngine({ content, storage: new MemoryStorage() }) });
    expect(JSON.stringify(await house.get("workflows/own"))).toContain(
      'the gate of \\"Do it\\" asks for less than in base: the field \\"passed\\" is optional',
    );
    const whole = await filesOf({
      ...extension({ phases: [{ change: "Do it", whole_gate: true, ...reason }] }),
      "own/phases/do_it/gate-definition.yaml": "evidence_schema:\n  file: {type: string}\n",
    });
    expect(await faultsOf(whole)).toEqual([]);
    expect((await structureOf(whole)).phases[1]?.gate).toMatchObject({ fields: [{ name: "file" }] });
    expect((await structureOf(whole)).extends?.weaker?.[0]?.what).toContain('the field "passed" is gone');
    const idle = await filesOf({
      ...extension({ phases: [{ change: "Do it", ...reason }] }),
      "own/phases/do_it/gate-definition.yaml": "evidence_schema:\n  own: {type: string}\n",
    });
    expect(await faultsOf(idle)).toEqual([
      "VALUE_WRONG metadata.json:7: override is given, and the gate asks for no less",
    ]);
  });

  it("says all that is wrong, each at its place", async () => {
    const content = await filesOf({
      ...BASE,
      ...extension({
        options: { lvel: "high", depth: "deep" },
        phases: [
          { before: "Dou", phase_name: "Ask" },
          { phase_name: "Nowhere" },
          { before: "Plan", after: "Plan", phase_name: "Both" },
          { before: "Do it", phase_name: "Early" },
          { change: "Close" },
          { change: "Do it", override: true },
          { after: "Close", phase_name: "close!" },
        ],
      }),
      "own/phases/early/phase.md": "# Early",
      "own/phases/early/gate-definition.yaml":
        'evidence_schema:\n  a: {type: string, validator: "value == artifacts.close.done"}\nverify: {verifier: changed_since_phase_start, path: a, since: {phase: Do it}}\n',
      "own/phases/do_it/gate-definition.yaml":
        "evidence_schema:\n  b: {type: string, validator: nonsense}\n  note: {type: integer}\nvalidators: {is_planned: 'true', idle: 'true'}\n",
      "own/phases/do_it/task-7-x.md": "# X",
      "own/phases/do_i/gate-definition.yaml": "evidence_schema:\n  b: {type: string}\n",
      "own/phases/close_/phase.md": "# C",
    });
    const faults = await faultsOf(content);
    expect(faults).toEqual([
      'VALUE_WRONG metadata.json:5: the base has no option "lvel"; did you mean "level"?',
      'VALUE_WRONG metadata.json:6: the base does not take this value of "depth": Invalid input: expected number, received string',
      'PHASE_UNKNOWN metadata.json:10: there is no phase "Dou"; there are "Plan", "Do it", "Close"',
      "KEY_MISSING metadata.json:13: nothing says where the phase belongs",
      "KEY_MISSING metadata.json:18: the phase has two places",
      "PHASE_UNKNOWN metadata.json:26: nothing is different: there is no file in phases/close/",
      'VALUE_WRONG metadata.json:30: "override" must be the reason, as a text, not true',
      'PHASE_FILE_MISSING metadata.json:32: phase 5 has no text: there is no "phases/close/phase.md"',
      "GATE_OPEN metadata.json:32: phase 5 requires nothing: any evidence passes its gate",
      "PHASE_DUPLICATE metadata.json:34: there are two entries for the folder phases/close",
      'PHASE_DUPLICATE metadata.json:34: "close" is the name of 2 phases: 4 (Close), 5 (close!)',
      "PHASE_UNLISTED phases/close_:undefined: no entry has the folder phases/close_, so it is ignored",
      "GATE_FILE_MISNAMED phases/do_i/gate-definition.yaml:undefined: this gate file is not in the folder of an entry, so it isn't read",
      'VALIDATOR_UNKNOWN phases/do_it/gate-definition.yaml:2: there is no validator "nonsense"',
      'VALUE_WRONG phases/do_it/gate-definition.yaml:4: the base has a validator "is_planned"',
      'VALIDATOR_UNUSED phases/do_it/gate-definition.yaml:4: no field names the validator "idle", so it never runs',
      "PHASE_UNKNOWN phases/do_it/task-7-x.md:undefined: the phase has no task 7, whose text could be another one: it has 1, 2",
      'RULE_INVALID phases/early/gate-definition.yaml:2: the rule "value == artifacts.close.done" can\'t be run: "close" is the name of 2 phases: 4 (Close), 5 (close!)',
      'SINCE_WRONG phases/early/gate-definition.yaml:3: "changed_since_phase_start": `since` names the phase "Do it", which is not before phase 2',
    ]);
  });

  it("names keys that are missing or of another kind", async () => {
    const faultsIn = async (metadata: object) => faultsOf(await filesOf({ ...BASE, ...extension(metadata) }));
    expect(await faultsIn({ extends: " " })).toEqual(['KEY_MISSING metadata.json:1: the key "extends" is missing']);
    expect(await faultsIn({ extends: 7, phases: 7 })).toEqual([
      expect.stringMatching(/^VALUE_WRONG metadata.json:3: "extends" must be a text/),
      expect.stringMatching(/^VALUE_WRONG metadata.json:4: "phases" must be a list/),
    ]);
    expect(await faultsIn({ workflow_type: "other", phases: [7, { change: "" }, { before: "Plan" }] })).toEqual([
      expect.stringContaining("WORKFLOW_TYPE_DIFFERS metadata.json:2"),
      expect.stringContaining("VALUE_WRONG metadata.json:5"),
      expect.stringMatching(/^KEY_MISSING metadata.json:6: .*"change"/),
      expect.stringMatching(/^KEY_MISSING metadata.json:9: .*"phase_name"/),
    ]);
    expect(await faultsIn({ tags: ["x"] })).toEqual([
      'KEY_UNKNOWN metadata.json:4: the key "tags" has no meaning here',
    ]);
  });

  it("reports rules, checks and an approval where the addition has them", async () => {
    const faultsIn = async (gate: string, more: object = {}) => {
      const content = await filesOf({
        ...{ ...BASE, ...extension({ phases: [{ change: "Do it", ...more }] }) },
        "own/phases/do_it/gate-definition.yaml": gate,
      });
      return (await faultsOf(content)).map((fault) => fault.replace("phases/do_it/gate-definition.yaml", "gate"));
    };
    expect(await faultsIn("cross_field_validation:\n  - evidence.file != ''\n  - evidence.files != ''\n")).toEqual([
      expect.stringContaining("RULE_INVALID gate:3: "),
    ]);
    expect(await faultsIn("cross_field_validation: evidence.files != ''\n")).toEqual([
      expect.stringContaining("RULE_INVALID gate:1: "),
    ]);
    expect(
      await faultsIn("verify:\n  - {verifier: changed_since_phase_start, path: a,\n     since: {phase: Close}}\n"),
    ).toEqual([expect.stringContaining("SINCE_WRONG gate:3: ")]);
    expect(await faultsIn("evidence_schema:\n  note: {validator: 7}\n")).toEqual([
      expect.stringContaining("VALUE_WRONG gate:2: "),
    ]);
    expect(await faultsIn("evidence_schema: 7\n")).toEqual([expect.stringContaining("VALUE_WRONG gate:1: ")]);
    expect(await faultsIn("for_each: artifacts.plan.files\ntarget: src\n")).toEqual([
      'RULE_MISPLACED gate:1: "for_each" belongs to a phase that is a workflow, and there is no "workflow"',
      'RULE_MISPLACED gate:2: "target" belongs to a phase that is a workflow, and there is no "workflow"',
    ]);
    expect(await faultsIn("# ours\nworkflow: base\ntarget: src\n")).toEqual([
      "RULE_MISPLACED gate:2: a gate that becomes a workflow can't be added to that of the base",
    ]);
    expect(await faultsIn("verfy: file_exists\n")).toEqual([expect.stringContaining("KEY_UNKNOWN gate:1: ")]);
    expect(await faultsIn("7\n")).toEqual([expect.stringContaining("GATE_EMPTY gate:1: ")]);
    expect(await faultsIn("checkpoint: {approval: Well?}\n")).toEqual([]);
    expect(await faultsIn("gate: none\n")).toEqual([expect.stringContaining("GATE_WEAKER metadata.json:6: ")]);
    expect(await faultsIn("gate: none\n", { override: "nobody needs it" })).toEqual([]);
    await writeFiles(root, { "own/phases/do_it/gate.yml": "evidence_schema: {}" });
    await rm(join(root, "own/phases/do_it/gate-definition.yaml"));
    expect(await faultsOf(new FileContent({ roots: [root] }))).toEqual(
      [
        expect.stringContaining("GATE_FILE_MISNAMED phases/do_it/gate.yml"),
        expect.stringContaining("VALUE_WRONG metadata.json:7: override is given"),
      ]
        .sort()
        .reverse(),
    );
  });
});

describe("a folder that extends one with a phase that is a workflow", () => {
  const phases = [
    { phase_number: 1, phase_name: "Plan" },
    { phase_number: 2, phase_name: "Part" },
    { phase_number: 3, phase_name: "Free" },
  ];
  const files = (entry: object, gate: string, phase: string) => ({
    "base/metadata.json": JSON.stringify({ workflow_type: "base", name: "B", description: "B", phases }),
    ...Object.fromEntries(phases.map((one) => [`base/phases/${one.phase_number}/phase.md`, `# ${one.phase_name}`])),
    "base/phases/1/gate-definition.yaml": "evidence_schema: {files: {type: list}}\n",
    "base/phases/2/gate-definition.yaml": "workflow: part\n",
    "base/phases/3/gate-definition.yaml": "gate: none\n",
    ...extension({ phases: [{ change: phase, ...entry }] }),
    [`own/phases/${phase.toLowerCase()}/gate-definition.yaml`]: gate,
  });
  const faultsIn = async (entry: object, gate: string, phase = "Part") =>
    faultsOf(await filesOf(files(entry, gate, phase), phase === "Part" ? root : await temporaryFolder()));

  it.each([
    "workflow: other\n",
    "for_each: artifacts.plan.files\n",
    "approval: Well?\n",
    "target: src\n",
    "verfy: x\n",
  ])("can't add to its gate: %s", async (gate) => {
    expect(await faultsIn({}, gate)).toEqual([
      "RULE_MISPLACED phases/part/gate-definition.yaml:1: the gate of the base is a workflow, to which nothing can be added",
    ]);
  });

  it("can give it, or another one, as a whole", async () => {
    const each = "workflow: part\nfor_each: artifacts.plan.files\ntarget: {rule: item}\n";
    expect(await faultsIn({ whole_gate: true, override: "one for each file" }, each)).toEqual([]);
    expect((await structureOf(new FileContent({ roots: [root] }))).phases[1]?.gate).toMatchObject({
      verify: [{ verifier: "workflow", params: { type: "part", for_each: "artifacts.plan.files" } }],
    });
    expect(await faultsIn({ whole_gate: true }, "workflow: part\n", "Free")).toEqual([]);
    expect(await faultsIn({}, "workflow: part\n", "Free")).toEqual([
      "RULE_MISPLACED phases/free/gate-definition.yaml:1: a gate that becomes a workflow can't be added to that of the base",
    ]);
  });
});

describe("the base of a folder", () => {
  const missing = async (content: ContentProvider) => (await faultsOf(content))[0];

  it("is looked for in all sources, in their order", async () => {
    const [first, second] = [await temporaryFolder(), await temporaryFolder()];
    const own = await filesOf(OWN, first);
    const base = await filesOf(BASE, second);
    expect(await missing(own)).toBe(
      'BASE_MISSING metadata.json:3: there is no workflow "base" to extend: looked in its own folders',
    );
    const content = combineContent([own, base], { names: ["ours", "theirs"] });
    expect(await faultsOf(content)).toEqual([]);
    expect((await content.text("own", { phase: 1 })).text).toBe("# Plan\n\nWrite the plan.");
    expect((await content.text("own", { phase: 2 })).text).toBe("# Threats\n\nRead `notes.md` first.");
    expect((await content.documents?.("own"))?.map(({ path }) => path)).toContain("phases/3/how.md");
    const other = await temporaryFolder();
    const hiding = await filesOf({ ...BASE, "base/phases/1/phase.md": "# Plan\n\nOther." }, other);
    const hidden = combineContent([combineContent([own, hiding]), base]);
    expect((await hidden.text("own", { phase: 1 })).text).toBe("# Plan\n\nOther.");
    expect((await own.list())[0]?.status).toBe("broken");
    await writeFiles(first, extension({}, "own", "bse"));
    expect(await missing(content)).toBe(
      'BASE_MISSING metadata.json:3: there is no workflow "bse" to extend: looked in ours and theirs',
    );
    const [listing] = (await content.list()).filter(({ type }) => type === "own");
    expect(listing?.diagnostics[0]?.hint).toContain('"base"');
  });

  it("may be in code, with gates that are schemas", async () => {
    const base = defineWorkflow({
      ...{ type: "base", revision: "1", name: "Base", description: "In code" },
      options: z.object({ level: z.enum(["low", "high"]) }),
      phases: [
        { name: "Plan", content: "# Plan", gate: { evidence: z.object({ files: z.array(z.string()) }) } },
        { name: "Do it", content: () => "# Do it", gate: { fields: { file: { type: "string" } } } },
      ],
      documents: { "phases/2/how.md": "How", "core/a.md": "A" },
    });
    const own = {
      ...extension({ phases: [{ change: "Plan" }, { before: "Plan", phase_name: "Ask" }] }),
      "own/phases/plan/gate-definition.yaml": "approval: Well?\n",
      "own/phases/ask/phase.md": "# Ask",
      "own/phases/ask/gate-definition.yaml": "evidence_schema:\n  what: {type: string}\n",
    };
    const content = combineContent([await filesOf(own), new MemoryContent({ workflows: [base] })]);
    expect(await faultsOf(content)).toEqual([]);
    const engine = createEngine({ content, storage: new MemoryStorage() });
    const { sessionId } = await engine.start({ workflowType: "own", target: "src", options: { level: "low" } });
    const session = engine.session(sessionId);
    expect((await session.completePhase(1, { what: "this" })).passed).toBe(true);
    expect((await session.completePhase(2, { files: [7] })).passed).toBe(false);
    expect((await content.text("own", { phase: 3 })).text).toBe("# Do it");
    expect((await content.documents?.("own"))?.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["phases/1/phase.md", "phases/3/how.md", "core/a.md"]),
    );
    for (const gate of [
      "evidence_schema:\n  a: {type: string}\n",
      "workflow: base\n",
      "for_each: options.level\n",
      "verify: {verifier: workflow, type: base, waivable: false}\n",
    ]) {
      await writeFiles(root, { "own/phases/plan/gate-definition.yaml": gate });
      expect(await faultsOf(content)).toEqual([
        expect.stringMatching(/^(RULE_MISPLACED|WORKFLOW_PHASE_WRONG) phases\/plan\/gate-definition.yaml:1/),
      ]);
    }
  });

  it("is in the same content for texts in memory", async () => {
    const sources: Record<string, Record<string, string>> = {};
    for (const [path, text] of Object.entries({ ...BASE, ...OWN })) {
      const [type = "", ...rest] = path.split("/");
      sources[type] = { ...sources[type], [rest.join("/")]: text };
    }
    const content = new MemoryContent({ sources });
    expect(comparable(await structureOf(content))).toEqual(
      comparable(await structureOf(await filesOf({ ...BASE, ...OWN }))),
    );
    expect((await content.text("own", { phase: 1 })).text).toBe("# Plan\n\nWrite the plan.");
    expect((await content.text("own", { phase: 3, task: 2 })).text).toBe("# Test more");
    expect((await content.documents("own")).map(({ path }) => path)).toContain("phases/3/how.md");
  });

  it("is found behind a search, which has the texts of whole folders only", async () => {
    const [first, second] = [await temporaryFolder(), await temporaryFolder()];
    const retriever = { search: async () => [] };
    const found = new RagContent({ definitions: await filesOf(OWN, first), retriever });
    const content = combineContent([found, await filesOf(BASE, second)]);
    expect((await content.text("own", { phase: 1 })).text).toBe("# Plan\n\nWrite the plan.");
    expect((await content.text("own", { phase: 2 })).text).toBe("# Threats\n\nRead `notes.md` first.");
  });

  it("can't extend the folder in turn, nor be broken", async () => {
    const circle = { ...extension({}, "a", "b"), ...extension({}, "b", "c"), ...extension({}, "c", "b") };
    const sources = Object.fromEntries(
      Object.entries(circle).map(([path, text]) => [path.slice(0, 1), { "metadata.json": text }]),
    );
    for (const content of [
      await filesOf(circle),
      new MemoryContent({ sources }),
      combineContent([await filesOf(circle)]),
    ]) {
      expect(await faultsOf(content, "b")).toEqual([
        expect.stringMatching(
          /^BASE_BROKEN metadata\.json:3: .*metadata\.json:3:\d+: error: workflows extend one another in a circle: "b" → "c" → "b"/,
        ),
      ]);
      expect(await faultsOf(content, "a")).toEqual([
        expect.stringMatching(/^BASE_BROKEN metadata\.json:3: .*"b".*circle/),
      ]);
    }
    const self = await filesOf(extension({}, "own", "own"), await temporaryFolder());
    expect(await missing(self)).toMatch(/^BASE_CIRCULAR metadata\.json:3: .*: "own" → "own"$/);
  });

  it("is beside the folder that is loaded, or in `bases`", async () => {
    const files = await filesOf({ ...BASE, ...OWN });
    const loaded = await loadWorkflow(join(root, "own"));
    expect(loaded.definition.structure).toEqual(await structureOf(files));
    expect(await loaded.text({ phase: 1 })).toBe("# Plan\n\nWrite the plan.");
    expect(loaded.documents).toEqual({
      ...{ "core/own.md": "Our words.", "core/words.md": "The words of the base." },
      ...{ "phases/2/notes.md": "Our notes.", "phases/3/how.md": "How the base does it." },
    });
    const alone = await temporaryFolder();
    await writeFiles(alone, OWN);
    const error = await failure(loadWorkflow(join(alone, "own")));
    expect(error.message).toContain("looked in the folders beside it (`bases` is not given)");
    const other = await loadWorkflow(join(alone, "own"), { bases: files });
    expect(comparable(other.definition.structure)).toEqual(comparable(loaded.definition.structure));
    const written = await workflowToFiles(other);
    expect(written["metadata.json"]).not.toContain("extends");
    const again = new MemoryContent({ sources: { own: written } });
    const { extends: _, ...structure } = comparable(await structureOf(again));
    const { extends: __, ...expected } = comparable(loaded.definition.structure);
    expect(structure).toEqual(expected);
  });
});
