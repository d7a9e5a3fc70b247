import { defineWorkflow } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import schemas from "../../schemas/gate-definition.json" with { type: "json" };
import { gateSchema } from "../../src/workflow/gate-definition.js";
import { canonicalJson } from "../../src/workflow/json.js";
import { gateFile, metadata, phase, read } from "./workflow-texts.js";

const FILE = "phases/1/gate-definition.yaml";
const LONELY = metadata({ phases: [phase(1, { required_evidence: undefined }), phase(2)] });
const readGate = async (text: string) => {
  const { structure, lines } = await read({ "metadata.json": LONELY, [FILE]: text });
  return { gate: structure?.phases[0]?.gate, lines };
};

const keySchema = z.looseObject({
  default: z.unknown().optional(),
  type: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
});

/** Returns a value that a key takes, other than its default. */
function sampleOf(schema: object): unknown {
  const { default: preset, type, enum: words } = keySchema.parse(schema);
  if (words !== undefined) return words.find((word) => word !== preset);
  const types: unknown[] = [type].flat();
  if (types.includes("boolean")) return preset !== true;
  if (types.includes("string")) return "words";
  if (types.includes("integer") || types.includes("number")) return 3;
  throw new Error("this key needs a sample of its own");
}

describe("every key of a gate file is pinned", () => {
  const FIELD = { type: "string", validator: "value != 'x'" };
  const FIELD_SAMPLES = {
    ...{ type: "any", validator: "value != 'y'", validator_params: { limit: 1 }, example: "z", verify: "file_exists" },
  };
  const GATE_SAMPLES = {
    ...{ validators: { mine: "value > 0" }, cross_field_validation: "evidence.a != ''", verify: "git_clean" },
    approval: "Ready?",
  };
  const { field } = schemas.definitions;
  const { checkpoint, approval } = schemas.properties;
  const approvals = approval.anyOf.flatMap(({ properties = {} }) => Object.entries<object>(properties));

  /** Returns the gate as a session keeps it. */
  const pinned = async (gate: object) => {
    const stored: unknown = JSON.parse(JSON.stringify((await readGate(JSON.stringify(gate))).gate));
    return canonicalJson(gateSchema.parse(stored));
  };

  it.each(Object.entries(field.properties))("of a field: %s", async (key, schema) => {
    const value = new Map<string, unknown>(Object.entries(FIELD_SAMPLES)).get(key) ?? sampleOf(schema);
    const without = await pinned({ evidence_schema: { a: FIELD } });
    expect(await pinned({ evidence_schema: { a: { ...FIELD, [key]: value } } })).not.toBe(without);
  });

  it.each(Object.entries(checkpoint.properties))("of a checkpoint: %s", async (key, schema) => {
    const value = new Map<string, unknown>(Object.entries(GATE_SAMPLES)).get(key) ?? sampleOf(schema);
    const gate = { evidence_schema: { a: { ...FIELD, validator: "mine" } }, validators: { mine: "value != 'x'" } };
    const other = key === "validators" ? { ...gate, validators: undefined } : gate;
    const mine = key === "validators" ? { mine: "value != 'y'" } : value;
    expect(await pinned({ ...other, checkpoint: { [key]: mine } })).not.toBe(await pinned(gate));
  });

  it.each(approvals)("of an approval: %s", async (key, schema) => {
    const gate = { evidence_schema: { a: FIELD }, approval: { prompt: "Ready?" } };
    const value = key === "approvers" ? ["ann"] : sampleOf(schema);
    expect(await pinned({ ...gate, approval: { ...gate.approval, [key]: value } })).not.toBe(await pinned(gate));
  });
});

describe("the rules of a gate file", () => {
  it("are pinned as written, and in CEL", async () => {
    const { gate, lines } = await readGate(
      [
        gateFile(
          'a: {type: int, validator: [positive, "lambda x: x < 9", mine], validator_params: {max: 8}}',
          "b: {type: str, validator: file_exists, validator_params: {root: docs}}",
          "c: {type: str, verify: [file_exists, {verifier: file_matches, pattern: x}]}",
        ),
        'validators: {mine: {rule: "value <= params.max", error_message: too many}}',
        "cross_field_validation: \"lambda e: e['a'] > 0\"",
        "verify: git_clean",
        "approval: Ready?",
        "reveal: none",
      ].join("\n"),
    );
    expect(lines).toEqual([]);
    expect(gate).toMatchObject({
      fields: [
        {
          name: "a",
          rules: [
            { source: "positive", cel: "value > 0", params: { max: 8 } },
            { source: "lambda x: x < 9", cel: "value < 9" },
            { source: "mine", cel: "value <= params.max", message: "too many" },
          ],
        },
        { name: "b" },
        { name: "c" },
      ],
      rules: [{ source: "lambda e: e['a'] > 0", cel: 'evidence["a"] > 0' }],
      verify: [
        { verifier: "file_exists", params: {}, field: "c" },
        { verifier: "file_matches", params: { pattern: "x" }, field: "c" },
        { verifier: "file_exists", params: { root: "docs" }, field: "b" },
        { verifier: "git_clean", params: {} },
      ],
      approval: { prompt: "Ready?" },
      reveal: "none",
    });
  });

  it("may be in the checkpoint, and are omitted if switched off", async () => {
    const checkpoint = "checkpoint: {approval: {prompt: Ready?}, reveal: names, verify: [git_clean]}\n";
    const { gate } = await readGate(`${checkpoint}${gateFile("a: {type: bool}")}approval: false\n`);
    expect(gate).toMatchObject({
      approval: { prompt: "Ready?" },
      reveal: "names",
      verify: [{ verifier: "git_clean" }],
    });
    const off = "validators: false\ncross_field_validation: {}\nverify: false\napproval: false\n";
    const none = await readGate(`${gateFile("a: {type: bool}")}${off}`);
    expect(none.lines).toEqual([]);
    for (const key of ["rules", "verify", "approval", "reveal"]) expect(none.gate).not.toHaveProperty(key);
    expect(
      (await readGate(`${gateFile("a: {type: bool}")}validators: []\ncross_field_validation: false\n`)).lines,
    ).toEqual([]);
  });

  it("may be verifiers or an approval alone, without fields", async () => {
    expect((await readGate("verify: git_clean\n")).gate).toMatchObject({
      fields: [],
      verify: [{ verifier: "git_clean" }],
    });
    expect((await readGate("approval: {prompt: Ready?}\n")).gate).toMatchObject({ fields: [] });
    expect((await readGate("reveal: none\n")).gate).toBeUndefined();
  });

  it("are reported if they are ignored", async () => {
    const unused = await readGate(
      `${gateFile("a: {type: int, validator_params: {min: 1}}")}validators: {x: value > 0}\n`,
    );
    expect(unused.gate).toBeDefined();
    expect(unused.lines).toEqual([
      `${FILE}:2:18: warning: these parameters are ignored: the field names no validator (Write validator: and its name.)`,
      `${FILE}:3:14: warning: no field names the validator "x", so it never runs (Write validator: x at the field that it is for, or remove it.)`,
    ]);
    const checkpoint = {
      approval: { prompt: "x" },
      verify: false,
      validators: {},
      reveal: "names",
      strict: true,
      allow_override: false,
    };
    const json = metadata({ phases: [phase(1, { required_evidence: undefined, checkpoint }), phase(2)] });
    const { lines } = await read({ "metadata.json": json, [FILE]: gateFile("a: {type: bool}") });
    expect(lines).toEqual([
      expect.stringContaining(
        `warning: "approval" is ignored here: the metadata requires an approval, "x", and the gate file none (Move it to ${FILE}.)`,
      ),
      expect.stringContaining(
        'warning: "reveal" is ignored here: the metadata shows agents "names" of the gate, the gate file "fields"',
      ),
    ]);
  });

  it("are reported once for a wrong validator, not at each field that names it", async () => {
    const { lines } = await readGate(
      `${gateFile("a: {type: int, validator: x}", "b: {type: int, validator: x}")}validators: {x: valu > 0}\n`,
    );
    expect(lines).toEqual([expect.stringMatching(/:4:14: error: .*unknown variable: valu \(Did you mean value\?\)$/)]);
    const unfit = await readGate(`${gateFile("a: {type: str, validator: x}")}validators: {x: value > 0}\n`);
    expect(unfit.lines).toEqual([
      expect.stringMatching(/:2:18: error: .*a text can't be compared with a whole number \(>\)/),
    ]);
  });

  it("may have any names of fields", async () => {
    const fields = gateFile(
      '"tests-pass": {type: bool}',
      '"a b": {type: int}',
      "value: {type: int}",
      "map: {type: list}",
    );
    const rules = JSON.stringify([
      "evidence['tests-pass'] && evidence['a b'] > evidence.value",
      "size(evidence.map) > 0",
    ]);
    expect((await readGate(`${fields}cross_field_validation: ${rules}\n`)).lines).toEqual([]);
  });
});

describe("a gate defined in code", () => {
  it("may have verifiers and an approval, and hide its requirements", () => {
    const gate = {
      evidence: z.object({ report: z.string() }),
      verify: [{ verifier: "git_clean" }, { verifier: "file_matches", params: { pattern: "x" }, field: "report" }],
      approval: { prompt: "Ready?", approvers: ["ada"] },
      reveal: "names" as const,
    };
    const { definition } = defineWorkflow({
      type: "t",
      revision: "1",
      name: "n",
      description: "d",
      phases: [
        { number: 1, name: "p", content: "", gate },
        { number: 2, name: "q", content: "", gate: { evidence: z.object({}), approval: { prompt: "Well?" } } },
      ],
    });
    expect(definition.structure.phases.map((one) => one.gate)).toMatchObject([
      {
        kind: "schema",
        verify: [
          { verifier: "git_clean", params: {} },
          { verifier: "file_matches", params: { pattern: "x" }, field: "report" },
        ],
        approval: { prompt: "Ready?", approvers: ["ada"] },
        reveal: "names",
      },
      { approval: { prompt: "Well?" } },
    ]);
  });
});
