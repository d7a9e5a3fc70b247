import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";
import { frozenGate } from "../../src/workflow/files/write-gate.js";
import type { FieldType } from "../../src/workflow/structure.js";
import { howOften } from "../support/how-often.js";
import { metadata, phase, texts } from "./workflow-texts.js";

const RUNS = Number(process.env.PHASEGATE_PROPERTY_RUNS ?? howOften(20, 2_000));
const LIMIT = { timeout: Math.max(30_000, RUNS * 300) };
const JSON_TEXT = metadata({ phases: [phase(1, { required_evidence: undefined }), phase(2)] });

interface Wanted {
  readonly name: string;
  readonly type: FieldType;
  readonly required: boolean;
  /** The text of a rule, and the rule that it must become; both empty for none. */
  readonly rule: readonly [written: string, read: string];
}

const RULES: Partial<Record<FieldType, readonly (readonly [string, string])[]>> = {
  integer: [
    ["", ""],
    ["> 5", "value > 5"],
    ["at least 3", "value >= 3"],
    ["under 100", "value < 100"],
    ["no more than 9", "value <= 9"],
  ],
  number: [
    ["", ""],
    [">= 80%", "value >= 80"],
    ["at most 99.5", "value <= 99.5"],
  ],
  string: [
    ["", ""],
    ["non-empty", "non_empty"],
    ["at least 10 characters", "size(visible(value)) >= 10"],
  ],
  list: [
    ["", ""],
    ["at least 2 items", "size(value) >= 2"],
    ["non-empty", "non_empty"],
  ],
  boolean: [["", ""]],
};
const WORDS: Partial<Record<FieldType, readonly string[]>> = {
  integer: ["integer", "int"],
  number: ["float"],
  string: ["string", "str"],
  list: ["list", "array"],
  boolean: ["boolean", "bool"],
};

const wantedIn = (names: readonly string[]) =>
  fc.tuple(
    ...names.map((name) =>
      fc.constantFrom<FieldType>("integer", "number", "string", "list", "boolean").chain((type) =>
        fc.record({
          name: fc.constant(name),
          type: fc.constant(type),
          required: fc.boolean(),
          rule: fc.constantFrom(...(RULES[type] ?? [])),
        }),
      ),
    ),
  );

const NAMES = ["alpha_x", "beta_y", "gamma_z", "delta_w", "omega_v"];
const STYLES = [
  "table",
  "bare table",
  "list",
  "nested",
  "boxes",
  "sentence",
  "long sentence",
  "bold items",
  "quoted",
] as const;
const NOISE = [
  "Some prose about counts and lists, at least 7 of them.",
  "<!-- You must provide `hidden_name` (integer). -->",
  "```md\n- [ ] `fenced_name`: integer\nYou must provide `other_name`.\n```",
  "| Tool | Version |\n|---|---|\n| `node_x` | 24 |",
  "Not required: `nothing_here`.",
  "~~~yaml\nrequired: [yaml_name]\n~~~",
  "See [`some_file`](docs/some_file.md) for *more*.",
];

function described({ type, required, rule: [written] }: Wanted, word: string): string {
  return [word, ...(written === "" ? [] : [written]), ...(required ? [] : ["optional"])].join(", ") || type;
}

function render(style: (typeof STYLES)[number], wanted: readonly Wanted[], pick: number): string {
  const word = ({ type }: Wanted) => WORDS[type]?.[pick % (WORDS[type]?.length ?? 1)] ?? type;
  const said = (one: Wanted) => described(one, word(one));
  const row = (one: Wanted) => [`\`${one.name}\``, word(one), one.rule[0], one.required ? "yes" : "no"];
  const head = ["Evidence", "Type", "Validator", "Required"];
  switch (style) {
    case "table":
      return [head, head.map(() => ":--"), ...wanted.map(row)].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
    case "bare table":
      return [["No", ...head], ["No", ...head].map(() => "---"), ...wanted.map((one) => ["1", ...row(one)])]
        .map((cells) => cells.join(" | "))
        .join("\n");
    case "list":
      return `You must provide:\n\n${wanted.map((one) => `- \`${one.name}\`: ${said(one)}`).join("\n")}`;
    case "nested":
      return `1. First\n\n   Required:\n${wanted.map((one) => `   * ${one.name} (${said(one)})`).join("\n")}`;
    case "boxes":
      return `## Checkpoint\n${wanted.map((one) => `- [ ] \`${one.name}\` (${said(one)})\n  - how to get it`).join("\n")}\n\n## Next`;
    case "sentence":
      return wanted.map((one) => `You **must provide** *${one.name}* (${said(one)}).`).join("\n");
    case "long sentence":
      return `You must provide ${wanted.map((one) => `\`${one.name}\` (${said(one)})`).join(",\n")}.`;
    case "bold items":
      return `#### Required evidence\n${wanted.map((one) => `- **${one.name}**: ${said(one)}`).join("\n")}\n\n#### After`;
    case "quoted":
      return `> **Evidence:**\n>\n${wanted.map((one) => `> - \`${one.name}\` – ${said(one)}`).join("\n")}`;
  }
}

const documents = fc
  .record({
    wanted: wantedIn(NAMES),
    cuts: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
    styles: fc.tuple(fc.constantFrom(...STYLES), fc.constantFrom(...STYLES), fc.constantFrom(...STYLES)),
    noise: fc.array(fc.constantFrom(...NOISE), { minLength: 4, maxLength: 4 }),
    pick: fc.nat({ max: 1 }),
    end: fc.constantFrom("\n", "\r\n"),
  })
  .map(({ wanted, cuts, styles, noise, pick, end }) => {
    const [first, second] = [Math.min(...cuts), Math.max(...cuts)];
    const parts = [wanted.slice(0, first), wanted.slice(first, second), wanted.slice(second)];
    const blocks = parts.flatMap((part, index) => [
      noise[index] ?? "",
      `## Part ${index}`,
      part.length === 0 ? "" : render(styles[index] ?? "table", part, pick),
    ]);
    const text = ["# Phase 1: Dig", ...blocks, "## The end", noise[3] ?? ""].join("\n\n").replaceAll("\n", end);
    return { wanted, text };
  });

async function gateOf(files: Record<string, string>) {
  const read = await readWorkflow(
    "garden_v1",
    texts({ "metadata.json": JSON_TEXT, "docs/some_file.md": "", ...files }),
  );
  const gate = read.definition?.structure.phases[0]?.gate;
  if (gate?.kind !== "fields") throw new Error(JSON.stringify(read.diagnostics));
  return { ...read, gate };
}

describe("a document with known requirements, in any layout", () => {
  it("has exactly these requirements, and is frozen to the same gate", LIMIT, async () => {
    await fc.assert(
      fc.asyncProperty(documents, async ({ wanted, text }) => {
        const { gate, inferred = [], diagnostics } = await gateOf({ "phases/1/phase.md": text });
        const fields = gate.fields.map(({ name, type, required, rules = [] }) => ({
          name,
          type,
          required,
          rules: rules.map(({ source }) => source),
        }));
        const expected = wanted.map(({ name, type, required, rule: [, rule] }) => ({
          name,
          type,
          required,
          rules: rule === "" ? [] : [rule],
        }));
        expect(fields).toEqual(expected);
        expect(diagnostics.filter(({ code }) => code !== "CRLF")).toEqual([]);
        const frozen = await frozenGate(gate, inferred);
        const again = await gateOf({ "phases/1/phase.md": text, "phases/1/gate-definition.yaml": frozen });
        expect(again.gate).toEqual({ ...gate, source: "gate-file" });
        expect(again.diagnostics.filter(({ code }) => code !== "CRLF")).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});
