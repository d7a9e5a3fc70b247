import { describe, expect, it } from "vitest";
import { gateFile, metadata, phase, read } from "./workflow-texts.js";

const FILE = "phases/1/gate-definition.yaml";
const LONELY = metadata({ phases: [phase(1, { required_evidence: undefined }), phase(2)] });
const readGate = (text: string) => read({ "metadata.json": LONELY, [FILE]: text });

/** Returns `CODE line:column` of the errors in the gate file. */
async function errorsOf(text: string): Promise<string[]> {
  const { diagnostics, structure } = await readGate(text);
  const errors = diagnostics.filter(({ file, severity }) => file === FILE && severity === "error");
  if (errors.length > 0) expect(structure).toBeUndefined();
  return errors.map(({ code, line, column }) => `${code} ${line}:${column}`);
}

describe("a gate file", () => {
  it("defines fields, with types in all their spellings", async () => {
    const words = ["boolean", "bool", "integer", "int", "number", "float", "string", "str", "object", "dict"];
    const { structure, lines } = await readGate(
      [
        "checkpoint: {strict: false, allow_override: true}",
        gateFile(...[...words, "list", "array"].map((word, index) => `f${index}: {type: ${word}}`)),
        "validators: {}",
        "cross_field_validation: []",
      ].join("\n"),
    );
    expect(lines).toEqual([]);
    const gate = structure?.phases[0]?.gate;
    expect(gate).toMatchObject({ kind: "fields", strict: false, allowOverride: true, source: "gate-file" });
    expect(gate?.kind === "fields" ? gate.fields.map(({ type }) => type) : []).toEqual(
      "boolean boolean integer integer number number string string object object list list".split(" "),
    );
  });

  it("is strict with required fields by default", async () => {
    const { structure } = await readGate(
      gateFile('a: {type: str, description: "why", example: "so", validator: null}', "b: {type: int, required: false}"),
    );
    expect(structure?.phases[0]?.gate).toEqual({
      kind: "fields",
      strict: true,
      fields: [
        { name: "a", type: "string", required: true, description: "why", example: "so" },
        { name: "b", type: "integer", required: false },
      ],
      source: "gate-file",
    });
  });

  it("may use anchors and aliases", async () => {
    const { structure } = await readGate(gateFile("a: &flag {type: boolean}", "b: *flag"));
    expect(structure?.phases[0]?.gate).toMatchObject({ fields: [{ name: "a" }, { name: "b", type: "boolean" }] });
  });

  it.each([
    ["is empty", "", "GATE_EMPTY 1:1"],
    ["is a list", "- a", "GATE_EMPTY 1:1"],
    ["has no evidence", "checkpoint: {strict: true}", "GATE_EMPTY 1:1"],
    ["has an empty evidence schema", "evidence_schema: {}", "GATE_EMPTY 1:1"],
    ["is not YAML", "a: [1", "YAML_SYNTAX 1:6"],
    ["is two documents", "a: 1\n---\nb: 2", "YAML_SYNTAX 2:1"],
    ["is indented with tabs", "a:\n\tb: 1", "YAML_SYNTAX 2:1"],
    ["has a key twice", gateFile("a: {type: bool}", "a: {type: bool}"), "KEY_DUPLICATE 3:3"],
    ["has a list as a key", "? [1]\n: 2", "YAML_SYNTAX 1:3"],
    ["runs code by a tag", gateFile("a: {type: !!js/function 'x'}"), "YAML_TAG 2:13"],
    ["has a custom tag", gateFile("a: !field {type: bool}"), "YAML_TAG 2:6"],
    ["is YAML 1.1", `%YAML 1.1\n---\n${gateFile("a: {type: bool}")}`, "YAML_VERSION 1:1"],
    ["merges", `x: &x {type: bool}\n${gateFile("a: {<<: *x}")}`, "YAML_MERGE 3:7"],
    ["merges into the prototype", "x: &x {__proto__: {required: false}}\n<<: *x", "NAME_RESERVED 1:8"],
    ["names an anchor with a no-break space", gateFile("a: &\u00a0 {type: bool}"), "YAML_SYNTAX 2:9"],
    ["refers to a missing anchor", gateFile("a: *nothing"), "YAML_ALIASES 2:6"],
    ["names what comes later", gateFile("a: *later", "b: &later {type: bool}"), "YAML_ALIASES 2:6"],
    ["holds itself", gateFile("a: &a {type: bool, example: *a}"), "VALUE_NOT_JSON 2:22"],
    ["is not finite", gateFile("a: {type: bool, example: [1, {b: .inf}]}"), "VALUE_NOT_JSON 2:33"],
    ["is nested too deep", "[".repeat(20_000), "NESTED_TOO_DEEPLY"],
    ["has an unknown type", gateFile("a: {type: date}"), "FIELD_TYPE_UNKNOWN 2:7"],
    ["has no type", gateFile("a: {required: true}"), "KEY_MISSING 2:3"],
    ["has a type of the wrong kind", gateFile("a: {type: [bool]}"), "VALUE_WRONG 2:7"],
    ["has a field that is a text", gateFile("a: boolean"), "VALUE_WRONG 2:3"],
    ["has fields that are a list", "evidence_schema: [a]", "VALUE_WRONG 1:1"],
    ['has "required" with a text', gateFile("a: {type: bool, required: yes}"), "VALUE_WRONG 2:19"],
    ['has "strict" with a text', `checkpoint: {strict: no}\n${gateFile("a: {type: bool}")}`, "VALUE_WRONG 1:14"],
    ["has a checkpoint that is a text", `checkpoint: x\n${gateFile("a: {type: bool}")}`, "VALUE_WRONG 1:1"],
    ["calls a field constructor", gateFile("constructor: {type: bool}"), "NAME_RESERVED 2:3"],
    ["calls a field nothing", gateFile('" ": {type: bool}'), "NAME_RESERVED 2:3"],
    ["has a validator that is not a rule", `${gateFile("a: {type: bool}")}validators: {x: "v >"}`, "RULE_INVALID 3:14"],
    ["has a validator that is a number", `${gateFile("a: {type: bool}")}validators: {x: 5}`, "VALUE_WRONG 3:14"],
    ["has validators in a list", `${gateFile("a: {type: bool}")}validators: [x]`, "VALUE_WRONG 3:1"],
    [
      "has a rule with an unknown name",
      `${gateFile("a: {type: bool}")}cross_field_validation: [x]`,
      "RULE_INVALID 3:26",
    ],
    ["has a number as rule", `${gateFile("a: {type: bool}")}cross_field_validation: [1]`, "VALUE_WRONG 3:26"],
    ["has rules that are not a list", `${gateFile("a: {type: bool}")}cross_field_validation: 1`, "VALUE_WRONG 3:1"],
    ["has an approval without a prompt", `${gateFile("a: {type: bool}")}approval: true`, "VALUE_WRONG 3:1"],
    ["asks a person nothing", `${gateFile("a: {type: bool}")}approval: {}`, "KEY_MISSING 3:1"],
    [
      "has an approval with an empty list of approvers",
      `${gateFile("a: {type: bool}")}approval: {prompt: x, approvers: []}`,
      "VALUE_WRONG 3:23",
    ],
    ["asks for one at the checkpoint", `checkpoint: {approval: 1}\n${gateFile("a: {type: bool}")}`, "VALUE_WRONG 1:14"],
    ["verifies by nothing", gateFile("a: {type: bool, verify: {pattern: x}}"), "VALUE_WRONG 2:19"],
    ["verifies by a number in a list", gateFile("a: {type: bool, verify: [file_exists, 7]}"), "VALUE_WRONG 2:41"],
    [
      "describes a check by a number",
      gateFile("a: {type: bool, verify: {verifier: git_clean, description: 1}}"),
      "VALUE_WRONG 2:49",
    ],
    [
      "excludes a check from waivers in words",
      gateFile("a: {type: bool, verify: [{verifier: git_clean, waivable: never}]}"),
      "VALUE_WRONG 2:50",
    ],
    ["has invalid parameters", gateFile("a: {type: bool, validator_params: 1}"), "VALUE_WRONG 2:19"],
    ["reveals later", `${gateFile("a: {type: bool}")}reveal: after`, "VALUE_WRONG 3:1"],
    ["reveals a field", gateFile("a: {type: bool, reveal: names}"), "RULE_MISPLACED 2:19"],
    ["asks a person about a field", gateFile("a: {type: bool, approval: really}"), "RULE_MISPLACED 2:19"],
    ["has an unknown validator", gateFile("a: {type: bool, validator: is_treu}"), "VALIDATOR_UNKNOWN 2:19"],
    ["has a validator for another type", gateFile("a: {type: bool, validator: min_length_3}"), "RULE_INVALID 2:19"],
    ["has validators of the wrong kind", gateFile("a: {type: bool, validator: [1]}"), "VALUE_WRONG 2:19"],
  ])("that %s is an error, at its position", async (_, text, expected) => {
    const errors = await errorsOf(text);
    expect(errors.find((line) => line.startsWith(expected)) ?? errors).toContain(expected);
  });

  it("does not expand aliases without limit", async () => {
    const ten = (name: string) => `[${Array(10).fill(`*${name}`).join(", ")}]`;
    const bomb = ["a: &a [1, 1]", `b: &b ${ten("a")}`, `c: &c ${ten("b")}`, `d: &d ${ten("c")}`, `e: ${ten("d")}`];
    expect(await errorsOf(bomb.join("\n"))).toEqual(["YAML_ALIASES 2:8"]);
  });

  it("is limited to the size that a session can pin", async () => {
    const word = "x".repeat(60_000);
    const fields = Array.from({ length: 90 }, (_, index) => `f${index}: {type: str, example: *long}`);
    const { diagnostics } = await readGate(gateFile(`f: {type: str, example: &long ${word}}`, ...fields));
    expect(diagnostics.map(({ code }) => code)).toEqual(["DEFINITION_TOO_LARGE"]);
  });

  // Quadratic time would exceed the time limit of a test.
  it("accepts many keys", { timeout: 60_000 }, async () => {
    const fields = Array.from({ length: 7000 }, (_, index) => `f${index}: {type: boolean}`);
    const { structure } = await readGate(gateFile(...fields));
    expect(structure?.phases[0]?.gate).toMatchObject({ fields: { length: 7000 } });
  });

  it("reports the positions of many errors", { timeout: 60_000 }, async () => {
    const fields = Array.from({ length: 7000 }, (_, index) => `f${index}: {type: x}`);
    const { diagnostics } = await readGate(gateFile(...fields));
    expect(diagnostics.slice(0, 1000).map(({ code }) => code)).toEqual(Array(1000).fill("FIELD_TYPE_UNKNOWN"));
    expect(diagnostics.slice(1000).map(({ code, severity, message }) => [code, severity, message])).toEqual([
      ["DIAGNOSTICS_MORE", "error", "6000 more are not listed"],
    ]);
  });

  it("has a limited number of tokens", async () => {
    expect(await errorsOf(`a: ${"[".repeat(150_000)}`)).toEqual(["DEFINITION_TOO_LARGE 1:120001"]);
    expect(await errorsOf(`${gateFile("a: {type: bool}")}# ${"x".repeat(400_000)}\n`)).toEqual([]);
  });

  it("has a limited number of rules", async () => {
    const fields = (count: number) => Array.from({ length: count }, (_, at) => `f${at}: {type: bool, validator: v}`);
    const rest = 'validators: {v: "value == true"}\ncross_field_validation: ["size(evidence.f0) > 0"]\n';
    const codes = async (count: number) => await errorsOf(gateFile(...fields(count)) + rest);
    expect(await codes(4999)).toEqual(["DEFINITION_TOO_LARGE 5002:26"]);
    expect(await codes(5000)).toEqual(["DEFINITION_TOO_LARGE 5001:23"]);
  });

  it.each([
    ["approval: {prompt: a, approvers: [ann]}\ncheckpoint: {approval: {prompt: b, approvers: [bob]}}", "approval"],
    ["reveal: fields\ncheckpoint: {reveal: none}", "reveal"],
    ['validators: {v: "value == true"}\ncheckpoint: {validators: {v: "value == false"}}', "two validators"],
    ["approval: {prompt: a, approvers: null}", "approvers"],
    ['approval: {prompt: a, approvers: ""}', "approvers"],
  ])("refuses what would be ignored: %j", async (text, says) => {
    const { diagnostics, structure } = await readGate(`${gateFile("a: {type: bool}")}${text}\n`);
    expect(structure).toBeUndefined();
    expect(diagnostics.map(({ message }) => message).join()).toContain(says);
  });

  it("refuses unknown keys, and suggests the known key", async () => {
    const { diagnostics, structure } = await readGate(
      [
        "checkpoint: {stric: false, x-note: 1}",
        `${gateFile("a: {type: bool, requird: false, x-note: 2}")}aproval: Is it good?`,
        "approval: {prompt: Is it good?, aprovers: [ann]}",
        'validators: {v: {eror_message: no, rule: "value == true"}}',
        'cross_field_validation: [{rule: "evidence.a", error_massage: no}]',
        "colour: red",
        "x-colour: red",
        "",
      ].join("\n"),
    );
    expect(structure).toBeUndefined();
    expect(diagnostics.map(({ code, severity, line, hint }) => [code, severity, line, hint])).toEqual([
      ["KEY_UNKNOWN", "error", 1, 'Did you mean "strict"?'],
      ["KEY_UNKNOWN", "error", 3, 'Did you mean "required"?'],
      ["KEY_UNKNOWN", "error", 4, 'Did you mean "approval"?'],
      ["KEY_UNKNOWN", "error", 5, 'Did you mean "approvers"?'],
      ["VALIDATOR_UNUSED", "warning", 6, expect.anything()],
      ["KEY_UNKNOWN", "error", 6, 'Did you mean "error_message"?'],
      ["KEY_UNKNOWN", "error", 7, 'Did you mean "error_message"?'],
      ["KEY_UNKNOWN", "error", 8, "Check its spelling, or remove it; if it is for another program, begin it with x-."],
    ]);
  });
});

describe("a rule's message", () => {
  it("must be a text", async () => {
    const { diagnostics } = await read({
      "phases/1/gate-definition.yaml": `${gateFile("done: {type: int}")}cross_field_validation: [{rule: "evidence.done > 1", error_message: [no]}]\n`,
    });
    expect(diagnostics).toMatchObject([
      {
        code: "VALUE_WRONG",
        severity: "error",
        line: 3,
        message: expect.stringContaining('"error_message" must be a text'),
      },
    ]);
  });
});

describe("the gate of a phase", () => {
  it("is that of the gate file; a difference in the metadata is reported", async () => {
    const changes = { "metadata.json": metadata({ phases: [phase(1, { required_evidence: ["a", "b"] }), phase(2)] }) };
    const same = await read({ ...changes, [FILE]: gateFile("b: {type: bool}", "a: {type: bool}") });
    expect(same.lines).toEqual([]);
    const { diagnostics, structure } = await read({
      ...changes,
      [FILE]: gateFile("b: {type: bool}", "c: {type: bool}"),
    });
    expect(structure?.phases[0]?.gate).toMatchObject({ source: "gate-file", fields: [{ name: "b" }, { name: "c" }] });
    expect(diagnostics).toMatchObject([{ code: "GATE_DIFFERS", severity: "warning", line: 10 }]);
    expect(diagnostics[0]?.message).toContain("only the metadata has a; only the gate file has c");
    const fewer = await read({ ...changes, [FILE]: gateFile("b: {type: bool}") });
    expect(fewer.diagnostics[0]?.message).toMatch(/only the metadata has a$/);
  });

  it("is never open because a gate file is unreadable, duplicate or misnamed", async () => {
    const good = gateFile("a: {type: bool}");
    expect((await read({ [FILE]: "a: [" })).structure).toBeUndefined();
    expect((await read({ [FILE]: good, "phases/1/gate-definition.yml": good })).codes).toEqual([
      "warning GATE_DIFFERS",
      "error GATE_DUPLICATE",
    ]);
    expect((await read({ "phases/1/gate_definition.yaml": good })).codes).toEqual(["error GATE_FILE_MISNAMED"]);
    expect((await read({ "phases/1/Gate-Definition.YAML": good })).codes).toEqual(["error GATE_FILE_MISNAMED"]);
    expect((await read({ "phases/1/notes.yaml": good, "phases/1/more/gate.yaml": good })).codes).toEqual([]);
    expect((await read({ "phases/1/more/gate-definition.yaml": good })).codes).toEqual(["error GATE_FILE_MISNAMED"]);
    const large = await read({ [FILE]: `${good}# ${"x".repeat(1024 * 1024)}` });
    expect(large.codes).toEqual(["error FILE_TOO_LARGE"]);
  });

  it.each([
    "gate-definition.json",
    "gate-definition.yaml.bak",
    "gate-definition.yaml~",
    "gate-definition.txt",
    "gate-definition.md",
    "gate-definition",
    "GATE_DEFINITION.YML",
    "gateDefinition.toml",
    "my-gate-definition.json",
    "gate.json",
    "gate.yaml.old",
    "gate-definition.yaml/empty.md",
    "g\u0430te-definition.yaml",
    "g\u200bate-definition.yaml",
    "\uff47ate-definition.yml",
  ])("is an error if only %s resembles a gate file, with or without metadata", async (name) => {
    for (const json of [metadata(), LONELY]) {
      const { diagnostics, structure } = await read({ "metadata.json": json, [`phases/1/${name}`]: "x" });
      expect(structure).toBeUndefined();
      const errors = diagnostics.filter(({ severity }) => severity === "error");
      expect(errors).toMatchObject([{ code: "GATE_FILE_MISNAMED", file: `phases/1/${name.split("/")[0]}` }]);
      expect(errors[0]?.hint).toContain("Rename it to phases/1/gate-definition.yaml");
    }
  });

  it.each(["phases/01/", "Phases/1/", "phases/\u0661/", "phases/1\u200b/", "phase/1/", "phases/1 /"])(
    "is an error if a gate file is in %j, which resembles a phase's folder",
    async (folder) => {
      const file = `${folder}gate-definition.yaml`;
      const { diagnostics } = await read({ [file]: gateFile("done: {type: bool}") });
      expect(diagnostics).toMatchObject([{ code: "GATE_FILE_MISNAMED", severity: "error", file }]);
    },
  );

  it("is an error if a gate file is above the phases, unless a phase's text is there, too", async () => {
    const good = gateFile("done: {type: bool}");
    for (const file of ["gate-definition.yaml", "phases/gate-definition.yml"]) {
      const { diagnostics } = await read({ [file]: good });
      expect(diagnostics).toMatchObject([{ code: "GATE_FILE_MISNAMED", severity: "error", file }]);
    }
    const { structure, lines } = await read({
      "metadata.json": metadata({ phases: [phase(1, { phase_file: "phases/one.md" }), phase(2)] }),
      "phases/one.md": "# One",
      "phases/gate-definition.yaml": good,
    });
    expect(lines).toEqual([]);
    expect(structure?.phases[0]?.gate).toMatchObject({ source: "gate-file" });
  });

  it("is not affected by such names next to a gate file, nor by names of texts", async () => {
    const beside = { [FILE]: gateFile("done: {type: bool}"), [`${FILE}.bak`]: "x", "phases/1/gate.json": "x" };
    expect((await read(beside)).lines).toEqual([]);
    const tasks = [{ task_number: 1, name: "define", file: "gate-definition.md" }];
    const texts = {
      "metadata.json": metadata({ phases: [phase(1, { tasks }), phase(2)] }),
      "phases/1/gate-definition.md": "# Task 1: Define the gate",
      "phases/1/task-1-dig.md": undefined,
      "phases/2/task-3-validation-gates.md": "x",
      "phases/2/gates.png": "x",
    };
    expect((await read(texts)).codes).toEqual(["warning TASK_UNLISTED"]);
  });
});

describe("a hint", () => {
  it.each([
    [gateFile("tests_pass: boolean"), 'Write "tests_pass": {type: boolean}'],
    [gateFile("count: int"), 'Write "count": {type: int}'],
    [gateFile("a: [1]"), 'Write "a": {type: boolean}'],
    [gateFile('a: {type: bool, required: "no"}'), "Write false, without quotes."],
    [gateFile("a: {type: bool, required: Yes}"), "Write true, without quotes."],
    [gateFile("a: {type: bool, required: maybe}"), "Write true or false, without quotes."],
    [gateFile("a: {type: bool, description: 5}"), 'Write "5".'],
    [gateFile("a: {type: bool, description: [b]}"), 'Write a text in double quotes: "like this".'],
    ["evidence_schema: [a]", 'Write keys and values in braces: {"key": "value"}.'],
    [gateFile("constructor: {type: bool}"), "Give it another name."],
    [gateFile("__proto__: {type: bool}"), "Give it another name."],
    [
      gateFile("a: {type: bool, example: .nan}"),
      "Write a finite number, or a flatter value that doesn't contain itself.",
    ],
    [gateFile("? [1]", ": {type: bool}"), "Write one word before the colon, without '?', brackets or '*'."],
    [gateFile("a: *none"), "Write the value itself, or in double quotes if it is a text that begins with '*'."],
    [gateFile('a: {type: bool, description: "\\d"}'), "Write a backslash in double quotes twice"],
    ["a:\n\tb: 1", "Indent with spaces."],
    ["a: @b", "Put the text into double quotes."],
    ["a: b: c", "Check quotes, brackets and indentation"],
  ])("is given for %j", async (text, hint) => {
    const { diagnostics } = await readGate(text);
    const errors = diagnostics.filter(({ file, severity }) => file === FILE && severity === "error");
    expect(errors[0]?.hint).toContain(hint);
  });

  it("is given for text that is nested too deep", async () => {
    expect((await readGate("[".repeat(20_000))).diagnostics.map(({ hint }) => hint)).toContain("Make it flatter.");
  });

  it("replaces the parser's technical messages", async () => {
    const words = async (text: string) => {
      const { diagnostics } = await readGate(text);
      const found = diagnostics.filter(({ file, severity }) => file === FILE && severity === "error");
      return found.map(({ code, line, message, hint }) => [code, line, message, hint]);
    };
    expect(await words(`${gateFile("a: {type: bool}")}---\nb: 2`)).toEqual([
      [
        "YAML_SYNTAX",
        3,
        "a second document begins here, and only one is read",
        "Keep one document: remove the line that begins with '---', and the rest after it.",
      ],
    ]);
    expect(await words(gateFile("a: {type: !!js/function x}"))).toEqual([
      ["YAML_TAG", 2, 'tags are not read: "!!js/function"', "Write the plain value, without '!'."],
    ]);
    for (const line of ["%YAML 1.3", "%FOO bar"]) {
      expect(await words(`${line}\n---\n${gateFile("a: {type: bool}")}`)).toEqual([
        ["YAML_VERSION", 1, "only YAML 1.2 is read, and no other directive", "Remove the line that begins with '%'."],
      ]);
    }
    const many = Array(101).fill("*flag").join(", ");
    expect(await words(gateFile("a: &flag {type: bool}", `b: {type: list, example: [${many}]}`))).toEqual([
      ["YAML_ALIASES", 3, "aliases expand to more than 100 values", "Write the values in place of the aliases ('*')."],
    ]);
  });
});
