import { describe, expect, it } from "vitest";
import { gateFile, metadata, phase, read } from "./workflow-texts.js";

const FILE = "phases/1/gate-definition.yaml";

/** Returns the diagnostics if metadata, text and gate file differ. */
async function told(changes: Record<string, unknown>, file: string, text = "# Phase 1: Dig\n"): Promise<string[]> {
  const json = metadata({ phases: [phase(1, { required_evidence: undefined, ...changes }), phase(2)] });
  const { diagnostics } = await read({ "metadata.json": json, [FILE]: file, "phases/1/phase.md": text });
  return diagnostics.map(({ code, severity, message, line, file: place }) => {
    const where = place === "metadata.json" ? "" : `${line} `;
    return `${code === "GATE_DIFFERS" && severity === "warning" ? "" : code}${where}${message}`;
  });
}

describe("a gate file that differs from the metadata", () => {
  const NAMED = { required_evidence: ["a", "b", "c"] };

  it("is reported with the fields that are missing, added or optional", async () => {
    expect(
      await told(NAMED, gateFile("b: {type: bool}", "c: {type: bool, required: false}", "d: {type: int}")),
    ).toEqual([
      "gate file and metadata ask for different evidence, and the gate file counts: only the metadata has a; only the gate file has d; required by the metadata and optional in the gate file: c",
    ]);
  });

  it.each<[string, unknown, string, string[]]>([
    ["approval", { prompt: "Ready?" }, "", ['the metadata requires an approval, "Ready?", and the gate file none']],
    ["approval", "Ready?", "approval: {prompt: Ready?}", []],
    [
      "approval",
      { prompt: "Ready?" },
      "approval: {prompt: Sure?}",
      ['the metadata asks approvers "Ready?", the gate file asks "Sure?"'],
    ],
    [
      "approval",
      { prompt: "R?", approvers: ["ada"] },
      "approval: {prompt: R?}",
      ["the approvers are ada in the metadata and any approver in the gate file"],
    ],
    [
      "approval",
      { prompt: "R?" },
      "approval: {prompt: R?, approvers: [ada, bo]}",
      ["the approvers are any approver in the metadata and ada, bo in the gate file"],
    ],
    ["approval", { prompt: "R?", approvers: ["ada"] }, "approval: {prompt: R?, approvers: [ada]}", []],
    ["verify", "git_clean", "", ['the metadata has checks that the gate file doesn\'t have: "git_clean"']],
    [
      "verify",
      ["git_clean", { verifier: "command", argv: ["x"] }],
      "verify: git_clean",
      ['the metadata has checks that the gate file doesn\'t have: "command"'],
    ],
    ["verify", ["git_clean"], "verify: git_clean", []],
    ["reveal", "names", "reveal: names", []],
    ["reveal", "none", "reveal: names", ['the metadata shows agents "none" of the gate, the gate file "names"']],
    [
      "validators",
      { low: "value < 9" },
      "",
      ['the metadata defines validators that the gate file doesn\'t have: "value < 9"'],
    ],
    ["cross_field_validation", ["evidence.a == true"], "cross_field_validation: [evidence.a == true]", []],
    ["cross_field_validation", { rule: "evidence.a == true" }, "cross_field_validation: [evidence.a == true]", []],
    [
      "cross_field_validation",
      "evidence.a != false",
      "cross_field_validation: [evidence.a == true]",
      ['the metadata has rules between fields that the gate file doesn\'t have: "evidence.a != false"'],
    ],
    [
      "cross_field_validation",
      [{ rule: "evidence.a != false" }],
      "",
      ['the metadata has rules between fields that the gate file doesn\'t have: "evidence.a != false"'],
    ],
    ["strict", true, "checkpoint: {strict: false}", ["it is true in the metadata and false in the gate file"]],
    ["allow_override", true, "", ["it is true in the metadata and false in the gate file"]],
    ["strict", false, "checkpoint: {strict: false}", []],
  ])("is reported with the ignored %s %j next to %j", async (key, value, more, expected) => {
    const lines = await told({ checkpoint: { [key]: value } }, `${gateFile("a: {type: bool}")}${more}\n`);
    expect(lines).toEqual(expected.map((line) => `"${key}" is ignored here: ${line}`));
  });

  it("is not compared if it cannot be read", async () => {
    expect(await told({ checkpoint: { strict: false, approval: "x" } }, "a: [")).toEqual([
      expect.stringMatching(/^YAML_SYNTAX/),
    ]);
  });
});

describe("a gate file that differs from the phase's text", () => {
  it("is reported with the field, type or validator, at the line of the text", async () => {
    const text = [
      "# Checkpoint",
      "| Evidence | Type | Validator |",
      "|---|---|---|",
      "| a | int | > 5 |",
      "| b | bool | |",
      "| c | string | file_exists |",
      "| d | string | |",
      "",
      "- [ ] A claim in its own words",
      "- must provide `e`, a number of at least 3",
    ].join("\n");
    const file = gateFile(
      "a: {type: number}",
      "c: {type: str, validator: file_exists}",
      "d: {type: str, required: false}",
      "e: {type: str}",
    );
    expect(await told({}, file, text)).toEqual([
      '4 the text differs from the gate file, which counts: a is of type integer in the text, number in the gate file; a has no validator "value > 5" in the gate file',
      "5 the text differs from the gate file, which counts: the gate file doesn't ask for b",
      "7 the text differs from the gate file, which counts: d is required in the text, optional in the gate file",
    ]);
  });
});

describe("examples in a phase's text", () => {
  const TABLE =
    "# Phase 1: Dig\n\n| Evidence | Type | Validator |\n|---|---|---|\n| depth | int | > 5 |\n| tags | list | |\n| ok | bool | |\n| note | str | value != evidence.other |\n| other | str | |\n";
  const fence = (text: string, language = "json") => `\n\`\`\`${language}\n${text}\n\`\`\`\n`;

  async function examples(text: string, checkpoint: Record<string, unknown> = {}) {
    const json = metadata({ phases: [phase(1, { required_evidence: undefined, checkpoint }), phase(2)] });
    const { diagnostics, structure } = await read({ "metadata.json": json, "phases/1/phase.md": text });
    const gate = structure?.phases[0]?.gate;
    return {
      told: diagnostics.map(({ code, severity, line, message }) => `${severity} ${code} ${line} ${message}`),
      shown:
        gate?.kind === "fields"
          ? Object.fromEntries(
              gate.fields.flatMap(({ name, example }) => (example === undefined ? [] : [[name, example]])),
            )
          : undefined,
    };
  }

  it("are read below the requirements' own heading, and in a list or block quote", async () => {
    const good = { depth: 6, tags: ["a"], ok: true, note: "x", other: "y" };
    expect(await examples(TABLE + fence(JSON.stringify(good)))).toEqual({ told: [], shown: good });
    expect(await examples(`${TABLE}\n> ${fence(JSON.stringify(good)).trim().replaceAll("\n", "\n> ")}\n`)).toEqual({
      told: [],
      shown: good,
    });
    const halves = `${fence('{"depth": 6, // deep\n "tags": ["a"], "ok": true}').replace(", // deep", ",\n// deep")}${fence("note: x\nother: y", "yaml")}`;
    expect(await examples(TABLE + halves)).toEqual({ told: [], shown: good });
    expect(
      (await examples(TABLE + fence("{'depth': 7, 'tags': [-1], 'ok': True, 'note': 'n', 'other': 'o'}", "python")))
        .shown,
    ).toMatchObject({ depth: 7, tags: [-1] });
  });

  it("that would not pass are reported, and not shown", async () => {
    const wrong = { depth: 5, tags: "a", ok: false, note: " ", unknown: 1 };
    const said = "warning EXAMPLE_REFUSED 11 the example would not pass:";
    expect(await examples(TABLE + fence(JSON.stringify(wrong)))).toEqual({
      told: [
        `${said} depth is 5, and value > 5 must hold`,
        `${said} tags is "a", and must be of type list`,
        `${said} ok is false, and must be true`,
        `${said} note is " ", and must not be empty`,
        `${said} it has no other`,
      ],
      shown: {},
    });
  });

  it("that break a rule between fields are reported, but not if the rule needs a session", async () => {
    const values = { depth: 6, tags: ["a"], ok: true, note: "x", other: "y" };
    const needing = ["size(artifacts) == 1", "evidence.depth > int(options.least)"];
    const rules = ["evidence.depth > 10", ...needing, "int(evidence.note) > 0"];
    expect((await examples(TABLE + fence(JSON.stringify(values)), { cross_field_validation: rules })).told).toEqual([
      "warning EXAMPLE_REFUSED 11 the example would not pass: evidence.depth > 10 doesn't hold",
      "warning EXAMPLE_REFUSED 11 the example would not pass: int(evidence.note) > 0 doesn't hold",
    ]);
  });

  it("that cannot be read are reported if they name a field", async () => {
    expect((await examples(`${TABLE}${fence('{"depth": 6')}${fence("[1")}${fence("a: 1", "yaml")}`)).told).toEqual([
      "warning EXAMPLE_REFUSED 11 this example can't be read as JSON, YAML or a Python dict",
    ]);
  });
});
