import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import { done, makeOffice, type Office } from "./office.js";

const GOOD = { tests_passed: true, version: "1.2.3" };
const SKILL = { workflow: "release-check" };

/** Returns the files of a skill folder in the office's bundle. */
function skill(name: string, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`bundle/skills/${name}/${path}`, text]));
}

const names = (paths: readonly string[]) => paths.map((path) => path.replace("{bundle-root}/skills/", ""));

describe("a skill", () => {
  it("is loaded with its texts, the index of its steps and the text of the current step only", async () => {
    const loaded = done(await (await (await makeOffice()).open()).preloadWorkflow(SKILL));
    expect(loaded.shape).toBe("skill");
    expect(loaded.files.map(({ role }) => role)).toEqual(["skill", "workflow", "customization", "step"]);
    expect(loaded.steps).toEqual({
      current: {
        step: "steps/step-01-gather",
        title: "gather",
        number: 1,
        of: 3,
        path: "{bundle-root}/skills/release-check/steps/step-01-gather.md",
      },
      index: [
        { step: "steps/step-01-gather", title: "gather" },
        { step: "steps/step-02-verify", title: "verify" },
        { step: "steps/step-03-report", title: "report" },
      ],
    });
    expect(loaded.message).toContain("{skill-root} is {bundle-root}/skills/release-check.");
    expect(loaded.message).toContain(
      "You are at step 1 of 3. Do all of it, then call next_step. Don't read later steps.",
    );
    const texts = loaded.files.map(({ content }) => content).join("\n");
    expect(texts).not.toContain("Nothing goes out that is red.");
  });

  it("that only points to another one loads that one", async () => {
    const loaded = done(await (await (await makeOffice()).open()).preloadWorkflow({ workflow: "release" }));
    expect(names(loaded.filesLoaded)).toEqual([
      "release/SKILL.md",
      "release-check/SKILL.md",
      "release-check/workflow.md",
      "release-check/customize.toml",
      "release-check/steps/step-01-gather.md",
    ]);
  });

  it.each([
    ["a name in quotes", "Invoke the skill `release-check`."],
    ["a path", "IT IS CRITICAL: LOAD the FULL {bundle-root}/skills/release-check/SKILL.md, READ it and follow it!"],
    ["a path with @", "Always LOAD @{bundle-root}/skills/release-check/SKILL.md"],
    ["a relative path", "Read fully and follow ../release-check/SKILL.md"],
    ["words", "This was renamed to `release-check`."],
  ])("can point by %s", async (_, text) => {
    const office = await makeOffice(skill("old", { "SKILL.md": `---\nname: old\ndescription: x\n---\n${text}\n` }));
    const { filesLoaded } = done(await (await office.open()).preloadWorkflow({ workflow: "old" }));
    expect(names(filesLoaded)).toContain("release-check/SKILL.md");
  });

  it("can point to a classic workflow, next to the engine", async () => {
    const text =
      "1. Always LOAD the FULL {core-root}/tasks/workflow.md\n" +
      "2. READ it: it executes the config {bundle-root}/workflows/meeting-notes/workflow.yaml\n";
    const office = await makeOffice(skill("notes", { "SKILL.md": text }));
    const loaded = done(await (await office.open()).preloadWorkflow({ workflow: "notes" }));
    expect(loaded.shape).toBe("classic");
    expect(loaded.filesLoaded).toHaveLength(8);
  });

  it("that contains instructions of its own points nowhere", async () => {
    const text = `# Ask\n\nUse \`release-check\` when all is done.\n\n${"Ask the user. ".repeat(80)}`;
    const office = await makeOffice(skill("ask", { "SKILL.md": text }));
    const { filesLoaded } = done(await (await office.open()).preloadWorkflow({ workflow: "ask" }));
    expect(names(filesLoaded)).toEqual(["ask/SKILL.md"]);
  });

  it("that points in a cycle or to a missing skill is reported", async () => {
    const office = await makeOffice({
      ...skill("one", { "SKILL.md": "forwards to two" }),
      ...skill("two", { "SKILL.md": "forwards to one" }),
      ...skill("three", { "SKILL.md": "Invoke `nobody`." }),
    });
    const workspace = await office.open();
    const circle = done(await workspace.preloadWorkflow({ workflow: "one" }));
    expect(circle.warnings).toEqual(["skills point to each other in a cycle: one → two → one"]);
    const lost = done(await workspace.preloadWorkflow({ workflow: "three" }));
    expect(lost.warnings).toEqual(["{bundle-root}/skills/three/SKILL.md names nobody, which was not found"]);
  });

  it("is followed up to a number of pointers", async () => {
    const chain = Array.from({ length: 8 }, (_, index) =>
      skill(`s${index}`, { "SKILL.md": `forwards to s${index + 1}` }),
    );
    const office = await makeOffice(Object.assign({}, ...chain));
    const { warnings, filesLoaded } = done(await (await office.open()).preloadWorkflow({ workflow: "s0" }));
    expect(warnings).toEqual([expect.stringContaining("too many pointers to follow: s0 → s1")]);
    expect(filesLoaded).toHaveLength(6);
  });

  it("may consist of a workflow.md alone, with front matter that is not YAML", async () => {
    const office = await makeOffice(skill("alone", { "workflow.md": "---\nname: {{x}\n---\n# Alone\n" }));
    const loaded = done(await (await office.open()).preloadWorkflow({ workflow: "alone" }));
    expect(loaded.files.map(({ role }) => role)).toEqual(["workflow"]);
    expect(loaded.warnings[0]).toContain("workflow.md:2:");
  });
});

describe("a skill's customization", () => {
  const layered = (office: Office) => office.open({ readRoots: { custom: join(office.project, "_bmad/custom") } });
  const team =
    '[workflow]\ntone = "dry"\npersistent_facts = ["Ada decides."]\n[[workflow.lenses]]\nid = "docs"\nname = "Manual"\n';
  const user = '[workflow]\ntone = "warm"\n[[workflow.lenses]]\nid = "law"\nname = "Law"\n';

  it("merges the skill's own, the team's and the user's, in this order", async () => {
    const office = await makeOffice({
      "_bmad/custom/release-check.toml": team,
      "_bmad/custom/release-check.user.toml": user,
    });
    const loaded = done(await (await layered(office)).preloadWorkflow(SKILL));
    expect(loaded.warnings).toEqual([]);
    const merged = loaded.files.find(({ role }) => role === "customization");
    expect(merged?.content.split("\n")[0]).toBe(
      "# release-check: {bundle-root}/skills/release-check/customize.toml, then {custom}/release-check.toml, " +
        "then {custom}/release-check.user.toml, merged in this order",
    );
    const { parse } = await import("smol-toml");
    expect(parse(merged?.content ?? "")).toEqual({
      workflow: {
        tone: "warm",
        persistent_facts: ["Releases go out on Tuesdays.", "Ada decides."],
        lenses: [
          { id: "tests", name: "Tests" },
          { id: "docs", name: "Manual" },
          { id: "law", name: "Law" },
        ],
      },
    });
  });

  it("is the skill's own text if there is no other", async () => {
    const office = await makeOffice({ "_bmad/custom/other.toml": team });
    const loaded = done(await (await layered(office)).preloadWorkflow(SKILL));
    expect(loaded.files.find(({ role }) => role === "customization")?.content).toContain(
      "# Defaults of release-check.",
    );
    expect(loaded.warnings).toEqual([]);
  });

  it("that is not TOML is reported with its line, and the others are used", async () => {
    const office = await makeOffice({
      "_bmad/custom/release-check.toml": "[workflow]\ntone = = 1\n",
      "_bmad/custom/release-check.user.toml": user,
    });
    const loaded = done(await (await layered(office)).preloadWorkflow(SKILL));
    expect(loaded.warnings).toEqual([
      expect.stringMatching(/^\{custom\}\/release-check\.toml:2:\d+: the customization/),
    ]);
    expect(loaded.files.find(({ role }) => role === "customization")?.content).toContain("warm");
  });

  it("outside the host's roots is not read, which is reported", async () => {
    const office = await makeOffice({ "_bmad/custom/release-check.toml": team });
    const loaded = done(await (await office.open()).preloadWorkflow(SKILL));
    expect(loaded.warnings).toEqual([expect.stringContaining("the host must add {project-root}/_bmad/custom")]);
    expect(JSON.stringify(loaded)).not.toContain("Ada decides.");
  });
});

describe("the steps of a skill", () => {
  it("are returned one by one, after the gate of the previous one", async () => {
    const workspace = await (await makeOffice()).open();
    await workspace.preloadWorkflow(SKILL);
    const second = done(await workspace.nextStep(SKILL));
    expect(second).toMatchObject({ step: "steps/step-02-verify", number: 2, of: 3, done: false });
    expect(second.gate).toEqual({
      required: expect.objectContaining({ required: Object.keys(GOOD) }),
      example: Object.fromEntries(Object.keys(GOOD).map((name) => [name, expect.stringMatching(/^<.*>$/)])),
    });
    for (const evidence of [undefined, {}, { ...GOOD, tests_passed: false }, { ...GOOD, version: "next" }]) {
      const refused = await workspace.nextStep({ ...SKILL, ...(evidence === undefined ? {} : { evidence }) });
      expect(refused).toMatchObject({
        success: false,
        error: expect.stringContaining("the gate of steps/step-02-verify is not passed: "),
        remedy: expect.stringMatching(/call next_step with evidence such as \{"tests_passed":"<boolean/),
      });
    }
    const third = done(await workspace.nextStep({ ...SKILL, evidence: GOOD }));
    expect(third).toMatchObject({ step: "steps/step-03-report", number: 3 });
    expect(done(await workspace.nextStep(SKILL))).toMatchObject({
      done: true,
      message: "steps/step-03-report was the last step: the workflow is done.",
    });
  });

  it("start with the first for every connection", async () => {
    expect(done(await (await (await makeOffice()).open()).nextStep(SKILL)).step).toBe("steps/step-01-gather");
  });

  it("stop after 12 failures of a gate, counted over all sessions", async () => {
    const workspace = await (await makeOffice()).open();
    await workspace.nextStep(SKILL);
    await workspace.nextStep(SKILL);
    for (let attempt = 0; attempt < 12; attempt += 1) {
      expect(await workspace.nextStep({ ...SKILL, evidence: {} })).toMatchObject({
        error: expect.stringContaining("not passed"),
      });
    }
    done(await workspace.createSession());
    expect(await workspace.nextStep({ ...SKILL, evidence: GOOD })).toMatchObject({
      error: "the gate of steps/step-02-verify failed 12 times",
      remedy: expect.stringContaining("Ask the user"),
    });
  });

  it("belong to each session, and a reopened session continues at its step", async () => {
    const office = await makeOffice();
    const workspace = await office.open({ storage: new MemoryStorage() });
    const { session_id } = done(await workspace.createSession());
    await workspace.preloadWorkflow(SKILL);
    await workspace.nextStep(SKILL);
    done(await workspace.nextStep({ ...SKILL, evidence: GOOD }));
    done(await workspace.createSession());
    expect(done(await workspace.preloadWorkflow(SKILL)).steps?.current?.number).toBe(1);
    // Another process, which loads the skill before it continues the session.
    const after = await office.open();
    await after.preloadWorkflow(SKILL);
    done(await after.createSession({ session_id, reopen: true }));
    const loaded = done(await after.preloadWorkflow(SKILL));
    expect(loaded.steps?.current?.step).toBe("steps/step-03-report");
    expect(loaded.files.map(({ role }) => role)).toEqual(["step"]);
    expect(done(await after.nextStep(SKILL)).done).toBe(true);
    const { steps } = await after.session(session_id).manifest();
    expect(steps).toEqual({ "release-check": "steps/step-03-report" });
    const history = await workspace.session(session_id).history();
    expect(history.filter(({ type }) => type === "step").map((act) => Reflect.get(act, "step"))).toEqual([
      "steps/step-01-gather",
      "steps/step-02-verify",
      "steps/step-03-report",
    ]);
  });

  it("that were started before a session belong to the first session", async () => {
    const workspace = await (await makeOffice()).open();
    await workspace.preloadWorkflow(SKILL);
    done(await workspace.nextStep(SKILL));
    done(await workspace.createSession());
    expect(done(await workspace.preloadWorkflow(SKILL)).steps?.current?.number).toBe(2);
  });

  it("may branch: a named step is returned, but none after the gate of another one", async () => {
    const gate = "---\ngate:\n  evidence_schema:\n    done: {type: boolean}\n---\n";
    const office = await makeOffice(
      skill("branches", {
        "SKILL.md": "Choose `a-steps/step-01-x.md` or `b-steps/step-01-y.md`.",
        "a-steps/step-01-x.md": "then step-02-left.md, step-02b-right.md or step-04-end.md",
        "a-steps/step-02-left.md": "# Left",
        "a-steps/step-02b-right.md": "# Right: then step-04-end.md",
        "a-steps/step-03-check.md": `${gate}# Check`,
        "a-steps/step-04-end.md": "# End: or back to step-02-left.md",
        "b-steps/step-01-y.md": "# Y",
      }),
    );
    const workspace = await office.open();
    const loaded = done(await workspace.preloadWorkflow({ workflow: "branches" }));
    expect(loaded.steps?.choices).toEqual(["a-steps/step-01-x", "b-steps/step-01-y"]);
    expect(loaded.message).toContain("next_step with step: a-steps/step-01-x or b-steps/step-01-y");
    const call = (step?: string, evidence?: Record<string, unknown>) =>
      workspace.nextStep({
        workflow: "branches",
        ...(step === undefined ? {} : { step }),
        ...(evidence && { evidence }),
      });
    expect(await call()).toMatchObject({ error: "there are several steps to choose from" });
    expect(await call("a-steps/step-04-end")).toMatchObject({
      error: expect.stringContaining("can't be the next step"),
    });
    const first = done(await call("step-01-x"));
    expect(first.choices).toEqual(["a-steps/step-02-left", "a-steps/step-02b-right", "a-steps/step-04-end"]);
    expect(first.message).toContain("give one as step");
    expect(await call("step-04-end.md")).toMatchObject({
      error: "a-steps/step-04-end can't be the next step: a-steps/step-03-check before it has a gate",
    });
    expect(done(await call("step-02b-right")).content).toContain("# Right");
    expect(await call("step-03-chekc")).toMatchObject({ error: expect.stringContaining("can't be the next step") });
    expect(done(await call()).step).toBe("a-steps/step-03-check");
    expect(done(await call(undefined, { done: true })).step).toBe("a-steps/step-04-end");
    expect(done(await call("step-02-left")).content).toBe("# Left");
    expect(done(await call("step-03-check")).content).toContain("# Check");
  });

  it("end by default at a step that only leads back, once its gate is passed", async () => {
    const gate = "---\nnextStepFile: ./step-01-x.md\ngate:\n  evidence_schema:\n    good: {type: boolean}\n---\n";
    const office = await makeOffice(
      skill("round", { "SKILL.md": "# Round", "step-01-x.md": "# X", "step-02-y.md": `${gate}# Y` }),
    );
    const workspace = await office.open();
    const next = (more: object = {}) => workspace.nextStep({ workflow: "round", ...more });
    await next();
    expect(done(await next()).choices).toEqual(["done", "step-01-x"]);
    expect(await next({ step: "done" })).toMatchObject({ error: expect.stringContaining("is not passed") });
    expect(done(await next({ evidence: { good: true }, step: "step-01-x" })).number).toBe(1);
    await next();
    expect(done(await next({ evidence: { good: true } })).done).toBe(true);
  });

  it("and texts with marks that a build replaces are reported, code is not", async () => {
    const office = await makeOffice(
      skill("marks", {
        "SKILL.md":
          "# Marks\n\n```toml\n[[workflow.layers]]\n```\n\n~~~sh\nif [[ -f x ]]; then\n~~~\n\n{{user}} [a][b] [[ x ]]\n",
        "workflow.md": "Write to `{{.output}}/x` and follow [[snapshot:step-01-x.md]].",
        "step-01-x.md": "# X: {{ .user.name }}",
      }),
    );
    const { warnings, steps } = done(await (await office.open()).preloadWorkflow({ workflow: "marks" }));
    expect(warnings.map((warning) => warning.replace(/: it is a source.*/, ""))).toEqual([
      "{bundle-root}/skills/marks/workflow.md has marks that a build replaces, such as {{.output}} and [[snapshot:step-01-x.md]]",
      "{bundle-root}/skills/marks/step-01-x.md has marks that a build replaces, such as {{ .user.name }}",
    ]);
    expect(steps?.current).not.toHaveProperty("warnings");
  });

  it("are reported if they are missing or cannot be read", async () => {
    const office = await makeOffice();
    const workspace = await office.open();
    await workspace.preloadWorkflow(SKILL);
    const file = join(office.bundle, "skills/release-check/steps/step-02-verify.md");
    await writeFile(file, "---\ngate: [\n---\n# Verify\n");
    expect(await workspace.nextStep(SKILL)).toMatchObject({ error: expect.stringContaining("step-02-verify.md:") });
    await rm(file);
    expect(done(await workspace.nextStep(SKILL)).step).toBe("steps/step-03-report");
  });

  it("do not exist for a skill with a single text", async () => {
    const office = await makeOffice(skill("plain", { "SKILL.md": "# Plain" }));
    expect(await (await office.open()).nextStep({ workflow: "plain" })).toMatchObject({
      error: '"plain" has no steps in separate files',
    });
  });

  it("are returned one after the other to two concurrent calls", async () => {
    const workspace = await (await makeOffice()).open();
    const both = await Promise.all([workspace.nextStep(SKILL), workspace.nextStep(SKILL)]);
    expect(both.map((answer) => done(answer).number)).toEqual([1, 2]);
  });
});
