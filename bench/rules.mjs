/** A gate of 20 fields and 10 rules, warm, against zod on the same fields and the bare language on the same rules. */
import { Environment } from "@marcbachmann/cel-js";
import { checkGate, compileRules } from "phasegate/gate";
import * as z from "zod";
import { batchesInTurn, row, time } from "./measure.mjs";

const TYPES = ["boolean", "integer", "number", "string", "list"];
const CEL = { boolean: "bool", integer: "int", number: "double", string: "string", list: "list<dyn>" };
const ZOD = {
  boolean: z.literal(true),
  integer: z.int(),
  number: z.number(),
  string: z.string().trim().min(1),
  list: z.array(z.unknown()),
};
const VALUES = { boolean: true, integer: 12, number: 91.5, string: "what was done", list: ["a.ts", "b.ts", "c.ts"] };

/** By the field that they are about; the last two are about the evidence as a whole. */
const VALIDATORS = [
  ["f1", "value > 0"],
  ["f6", "value >= params.min && value <= params.max", { min: 1, max: 50 }],
  ["f2", "value >= 80 && value <= 100"],
  ["f7", "value < 99.5"],
  ["f3", "size(value.trim()) >= 3"],
  ["f8", "value.startsWith('what')"],
  ["f4", "size(value) > 2"],
  ["f9", "value.all(v, v.endsWith('.ts'))"],
];
const CROSS = ["evidence.f1 + 1 == 13", "evidence.f6 == evidence.f11 && evidence.f2 > evidence.f1"];

const fields = Array.from({ length: 20 }, (_, index) => ({ name: `f${index}`, type: TYPES[index % TYPES.length] }));
const evidence = Object.fromEntries(fields.map(({ name, type }) => [name, VALUES[type]]));

function gate() {
  const rule = ([, cel, params]) => ({ source: cel, cel, ...(params === undefined ? {} : { params }) });
  return {
    kind: "fields",
    strict: true,
    allowOverride: false,
    source: "gate-file",
    fields: fields.map((field) => {
      const rules = VALIDATORS.filter(([name]) => name === field.name).map(rule);
      return { ...field, required: true, ...(rules.length === 0 ? {} : { rules }) };
    }),
    rules: CROSS.map((cel) => ({ source: cel, cel })),
  };
}

/** The same rules on the bare language: values as it wants them, and no check of what they may cost. */
function bareRules() {
  const language = new Environment().registerVariable("evidence", "map").registerVariable("params", "map");
  const given = Object.fromEntries(
    fields.map(({ name, type }) => [name, type === "integer" ? BigInt(evidence[name]) : evidence[name]]),
  );
  const typed = (name) =>
    language.clone().registerVariable("value", CEL[fields.find((field) => field.name === name).type]);
  const rules = [
    ...VALIDATORS.map(([name, cel, params = {}]) => {
      const bigs = Object.fromEntries(Object.entries(params).map(([key, value]) => [key, BigInt(value)]));
      return { run: typed(name).parse(cel), context: { evidence: given, params: bigs, value: given[name] } };
    }),
    ...CROSS.map((cel) => ({ run: language.clone().parse(cel), context: { evidence: given, params: {} } })),
  ];
  return () => {
    for (const { run, context } of rules) if (run(context) !== true) throw new Error("a rule doesn't hold");
  };
}

export async function run() {
  const definition = gate();
  const rules = await compileRules(definition);
  const schema = z.object(Object.fromEntries(fields.map(({ name, type }) => [name, ZOD[type]])));
  const bare = bareRules();
  const found = await batchesInTurn({
    baseline: {
      fn: () => {
        schema.parse(evidence);
        bare();
      },
    },
    gate: {
      fn: () => {
        const verdict = checkGate(definition, evidence, { rules });
        if (!verdict.passed) throw new Error(JSON.stringify(verdict.problems));
      },
    },
  });
  const baseline = `zod's parse and the bare rules ${time(found.baseline.median)}`;
  const { median, ratio } = found.gate;
  return [row("a gate of 20 fields and 10 rules, warm", time(median), baseline, ratio)];
}
