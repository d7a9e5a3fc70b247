import { MemoryContent } from "phasegate";
import { describe, expect, it } from "vitest";
import { makeEngine } from "../support/make-engine.js";
import { gatedFiles, makeProject } from "../support/verified.js";

const RUN = `evidence_schema: {done: {type: boolean}}
verify: {verifier: command, argv: [node, test.js, "{options.name}"]}
`;
const FILE = `evidence_schema: {done: {type: boolean}}
verify: {verifier: file_exists, path: "{options.file}"}
`;
/** Returns a script that fails unless its only argument is the given text. */
const SCRIPT = (name: string) => `process.exit(process.argv[2] === ${JSON.stringify(name)} ? 0 : 1);\n`;

/** Creates an engine on a workflow whose first phase has the given gate and, if given, the rule that skips it. */
async function attacked(gate: string, rule?: string, schema?: object) {
  const { verifiers, write } = await makeProject();
  const files = gatedFiles("attacked", [gate, gate]);
  const metadata = JSON.parse(files["metadata.json"] ?? "");
  if (rule !== undefined) metadata.phases[0].skip_when = rule;
  if (schema !== undefined) metadata.options_schema = schema;
  const sources = { attacked: { ...files, "metadata.json": JSON.stringify(metadata) } };
  const { engine } = makeEngine({ content: new MemoryContent({ sources }), verifiers });
  const start = async (options: Record<string, unknown>, idempotencyKey = "k") =>
    engine.start({ workflowType: "attacked", target: "a", options, idempotencyKey });
  const submit = async (options: Record<string, unknown>, key?: string) => {
    const { sessionId } = await start(options, key);
    return engine.session(sessionId).completePhase(1, { done: true });
  };
  return { engine, start, submit, write };
}

describe("the options of a start", () => {
  it("cannot add an option to a command", async () => {
    const { start, submit, write } = await attacked(RUN);
    await write("test.js", SCRIPT("suite"));
    await expect(start({ name: "--eval=process.exit(0)" }, "a")).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringContaining("it would be read as an option"),
    });
    expect(await submit({ name: "suite" }, "b")).toMatchObject({ passed: true });
  });

  it("cannot add a second command or argument", async () => {
    const { start, submit, write } = await attacked(RUN);
    await write("test.js", SCRIPT("suite; exit 0"));
    for (const name of ["suite && true", "$(true)", "suite\nexit 0"]) {
      expect(await submit({ name }, JSON.stringify(name))).toMatchObject({ passed: false });
    }
    for (const name of [["suite; exit 0"], { a: 1 }]) {
      await expect(start({ name }, JSON.stringify(name))).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(await submit({ name: "suite; exit 0" }, "honest")).toMatchObject({ passed: true });
  });

  it("cannot insert evidence or other values into a check", async () => {
    const { submit, write } = await attacked(RUN);
    await write("test.js", SCRIPT("{evidence.done}"));
    // The value is inserted as it is, not read as a placeholder.
    expect(await submit({ name: "{evidence.done}" }, "a")).toMatchObject({ passed: true });
    await write("test.js", SCRIPT("true"));
    expect(await submit({ name: "{evidence.done}" }, "b")).toMatchObject({ passed: false });
  });

  it("cannot lead a check out of the project, or leave it without a path", async () => {
    const { start, submit, write } = await attacked(FILE);
    await write("real.md", "text");
    for (const file of ["../../etc/passwd", "/etc/passwd", "", null, 7, ["real.md"]]) {
      await expect(start({ file }, JSON.stringify(file))).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(await submit({}, "none")).toMatchObject({ passed: false });
    expect(await submit({ file: "real.md" }, "honest")).toMatchObject({ passed: true });
  });

  it("cannot be changed after the start", async () => {
    const { engine, start } = await attacked("evidence_schema: {done: {type: boolean}}\n", "has(options.fast)");
    const { sessionId, phase } = await start({});
    expect(phase.currentPhase).toBe(1);
    await expect(start({ fast: true })).rejects.toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
    await engine
      .session(sessionId)
      .retryPhase(1)
      .catch(() => undefined);
    expect(await engine.session(sessionId).state()).toMatchObject({ currentPhase: 1, skippedPhases: [] });
  });

  it("cannot reach a prototype, or skip a phase by a rule that fails", async () => {
    const gate = "evidence_schema: {done: {type: boolean}}\n";
    const { start } = await attacked(
      gate,
      "options.n / options.zero == 1 || options.list.all(x, options.list.all(y, x == y))",
    );
    await expect(start(JSON.parse('{"__proto__": {"zero": 1}}'))).rejects.toMatchObject({ code: "INVALID_INPUT" });
    const wrong = [
      { n: 1, zero: 0, list: [1, 2] },
      { n: "x", zero: {}, list: 3 },
      // The rule has too many steps, and is not run.
      { n: 2, zero: 1, list: Array.from({ length: 5000 }, () => 1) },
    ];
    for (const [index, options] of wrong.entries()) {
      expect((await start(options, String(index))).phase.currentPhase).toBe(1);
    }
    expect((await start({ n: 1, zero: 1, list: [] }, "honest")).phase.currentPhase).toBe(2);
  });

  it("cannot block the host with a pattern", async () => {
    const schema = { properties: { name: { type: "string", pattern: "^(a|a)+$" } } };
    const { start } = await attacked("evidence_schema: {done: {type: boolean}}\n", undefined, schema);
    const begun = performance.now();
    await expect(start({ name: `${"a".repeat(30_000)}!` })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(performance.now() - begun).toBeLessThan(5_000);
    expect((await start({ name: "aaa" }, "honest")).options).toEqual({ name: "aaa" });
  });
});
