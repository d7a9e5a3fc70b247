/** A workflow folder, and folders that extend it. */
export const BASE = {
  "base/metadata.json": JSON.stringify({
    ...{ workflow_type: "base", name: "Base", description: "A base", version: "7", category: "tests" },
    ...{ estimated_duration: "an hour", target: "none" },
    options_schema: {
      type: "object",
      properties: { level: { type: "string", enum: ["low", "high"] }, depth: { type: "integer", default: 1 } },
      required: ["level"],
      additionalProperties: false,
    },
    phases: [
      { phase_number: 1, phase_name: "Plan" },
      { phase_number: 4, phase_name: "Do it" },
      { phase_number: 5, phase_name: "Close" },
    ],
  }),
  "base/phases/1/phase.md": "# Plan\n\nWrite the plan.",
  "base/phases/1/gate-definition.yaml":
    'evidence_schema:\n  files: {type: list, validator: "value.size() > 0", verify: file_exists}\n',
  "base/phases/4/phase.md": "# Do it\n\nAs `how.md` says.",
  "base/phases/4/how.md": "How the base does it.",
  "base/phases/4/task-1-edit.md": "# Edit",
  "base/phases/4/task-2-test.md": "# Test",
  "base/phases/4/gate-definition.yaml": [
    "evidence_schema:",
    "  file: {type: string, validator: is_planned}",
    "  passed: {type: boolean}",
    "  note: {type: string, required: false}",
    "validators: {is_planned: {rule: 'value in artifacts[\"1\"].files', error_message: not planned}}",
    'cross_field_validation: [\'"1" in artifacts && evidence.file != ""\']',
    "verify: {verifier: changed_since_phase_start, path: src, since: {phase: 1}}",
  ].join("\n"),
  "base/phases/5/phase.md": "# Close\n\nDone.",
  "base/phases/5/gate-definition.yaml": "evidence_schema:\n  done: {type: boolean}\n",
  "base/core/words.md": "The words of the base.",
};

export const THREATS = {
  "own/phases/threat_model/phase.md": "# Threats\n\nRead `notes.md` first.",
  "own/phases/threat_model/notes.md": "Our notes.",
  "own/phases/threat_model/gate-definition.yaml":
    'evidence_schema:\n  threats: {type: list, validator: "value.all(one, one in artifacts.plan.files)"}\n',
};

/** Returns the metadata.json of a folder that extends another one. */
export function extension(more: object, type = "own", base = "base") {
  return { [`${type}/metadata.json`]: JSON.stringify({ workflow_type: type, extends: base, ...more }, undefined, 1) };
}

export const OWN = {
  ...extension({
    ...{ name: "Own", options: { level: "high" } },
    phases: [{ before: "Do it", phase_name: "Threat model", purpose: "Why" }, { change: "Do it" }, { change: "Close" }],
  }),
  ...THREATS,
  "own/phases/do_it/gate-definition.yaml": [
    "evidence_schema:",
    "  note: {type: string, required: true, validator: min_length_5}",
    "  link: {type: string, verify: file_exists}",
    "cross_field_validation: ['evidence.link != evidence.file']",
    "verify: {verifier: changed_since_phase_start, path: docs, since: {phase: Threat model}}",
  ].join("\n"),
  "own/phases/do_it/phase.md": "# Do it well\n\nAs `how.md` says.",
  "own/phases/do_it/task-2-own.md": "# Test more",
  "own/phases/close/gate-definition.yaml": "approval: Is it over?\n",
  "own/core/own.md": "Our words.",
};
