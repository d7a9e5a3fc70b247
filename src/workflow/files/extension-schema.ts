/** The schema of a metadata.json that extends another workflow: it says only in what it differs. */
import * as z from "zod/mini";
import {
  anyObject,
  described,
  filled,
  flag,
  label,
  listOf,
  object,
  optional,
  type Read,
  required,
  said,
  schemaKey,
  text,
} from "../file-schema.js";
import { isJsonObject } from "../json.js";
import { phaseEntry } from "./metadata.js";

export const insertEntry = said(
  object({
    before: optional(filled, "The name of the phase before which this one is inserted."),
    after: optional(filled, "The name of the phase after which this one is inserted."),
    phase_name: required(
      filled,
      "Its name. Its folder is `phases/` and the name in small letters, with `_` for all but letters and digits.",
      '"phase_name": and what the phase is called',
    ),
    ...z.omit(phaseEntry, { phase_number: true, phase_name: true, phase_file: true }).shape,
    phase_file: optional(
      text,
      "Its text, relative to the workflow's folder. Default: `phase.md` in the phase's folder.",
    ),
  }),
  { gated: ["required_evidence", "checkpoint"] },
);

export const changeEntry = object({
  change: required(
    filled,
    "The name of a phase of the base. Its folder has what is different: `phase.md` and `task-N-….md` count in place of the base's texts, and its gate file is added to the base's gate.",
    '"change": and the name of a phase',
  ),
  whole_gate: optional(flag, "True if the gate file is the whole gate, in place of the base's. Default: false.", false),
  override: optional(
    said(z.string(), {
      words: () => ({
        expected: "the reason, as a text",
        hint: 'Say why: "override": "another gate asks for it", say.',
      }),
    }),
    "Why the gate may ask for less than the base's; shown wherever the workflow is listed. Without it that is an error.",
  ),
});

const isChange = (entry: unknown) => isJsonObject(entry) && "change" in entry;

const anyChange = described(
  said(z.union([changeEntry, insertEntry]), {
    choose: (entry) => (isChange(entry) ? changeEntry : insertEntry),
    words: () => ({
      expected: "an object",
      hint: 'Write {"before": "Fix", "phase_name": "Threats"}, or {"change": "Fix"}, with names of phases.',
    }),
  }),
  { id: "difference", description: "A phase that is inserted, or one of the base in which something is different." },
);

export const extensionFile = object({
  ...schemaKey,
  workflow_type: required(filled, "The name of the workflow's folder."),
  extends: required(
    filled,
    "The type of the workflow that this one extends. What is not said here is as there.",
    '"extends": and the type of a workflow, or remove the key',
  ),
  name: optional(filled, "The name that people see. Default: the base's."),
  description: optional(filled, "What the workflow is for. Default: the base's."),
  version: optional(label, "For people. Default: the base's."),
  options: optional(anyObject, "Options of the base with values that no session can change. Default: none."),
  phases: optional(listOf(anyChange), "In what the phases differ, in this order. Default: in nothing."),
});

export type WrittenExtension = Read<z.infer<typeof extensionFile>>;
/** An entry of `phases`, of either kind. */
export type WrittenChange = Omit<Read<z.infer<typeof insertEntry>> & Read<z.infer<typeof changeEntry>>, never>;
