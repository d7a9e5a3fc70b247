/** What the gates of a pack ask for: commands and servers, which a user grants; approvers; and the code of its own verifiers. */

import { checksOf } from "../gate/check-gate.js";
import { hasPlaceholder } from "../gate/fill-params.js";
import { approvalOf } from "../phased/state/decide-gate.js";
import type { PackGate } from "../setup/packs.js";
import { aboutVerifier } from "../workflow/built-in-verifiers.js";
import { CHILD_CHECK } from "../workflow/child-workflow.js";
import { isJsonObject, type JsonValue, ownValue } from "../workflow/json.js";
import type { GateDefinition, VerifyDefinition, WorkflowStructure } from "../workflow/structure.js";

export interface PackWants {
  /** Commands as `--allow-command` takes them. */
  readonly commands: readonly string[];
  /** Servers as `--allow-host` takes them. */
  readonly hosts: readonly string[];
  /** Such as `option test_command of fix`: a session's option names the command, and the server decides what it may be. */
  readonly chosen: readonly string[];
  /** The names of approvers; `any approver` where a gate names none. */
  readonly approvers: readonly string[];
  /** Verifiers that phasegate does not have. */
  readonly verifiers: readonly string[];
}

/** Returns the gates of workflows, in order. */
export function gatesOf(structures: readonly WorkflowStructure[]): PackGate[] {
  return structures.flatMap(({ type: workflow, phases, dynamic }) => {
    const found = phases.map(({ number, gate, skippable, skipWhen }): PackGate => {
      const skips = [
        ...(skippable ? ["by the host"] : []),
        ...(skipWhen === undefined ? [] : [`when ${skipWhen.cel}`]),
      ];
      return { workflow, where: `phase ${number}`, gate, ...(skips.length > 0 && { skips }) };
    });
    if (dynamic === undefined) return found;
    const gate: GateDefinition = { kind: "plan", tasks: [], items: [], verify: dynamic.verify };
    return [...found, { workflow, where: "each phase of a plan", gate }];
  });
}

export function wantsOf(structures: readonly WorkflowStructure[]): PackWants {
  const wants = {
    commands: new Set<string>(),
    hosts: new Set<string>(),
    chosen: new Set<string>(),
    approvers: new Set<string>(),
    verifiers: new Set<string>(),
  };
  for (const structure of structures) {
    for (const { gate } of gatesOf([structure])) {
      const approval = approvalOf(gate);
      for (const name of approval?.approvers ?? (approval ? ["any approver"] : [])) wants.approvers.add(name);
      for (const check of checksOf(gate)) {
        if (aboutVerifier(check.verifier) === undefined && check.verifier !== CHILD_CHECK)
          wants.verifiers.add(check.verifier);
        else addWanted(check, structure, wants);
      }
    }
  }
  const { commands, hosts, chosen, approvers, verifiers } = wants;
  return {
    commands: [...commands],
    hosts: [...hosts],
    chosen: [...chosen],
    approvers: [...approvers],
    verifiers: [...verifiers],
  };
}

function addWanted(
  { verifier, params }: VerifyDefinition,
  structure: WorkflowStructure,
  { commands, hosts, chosen }: Record<"commands" | "hosts" | "chosen", Set<string>>,
): void {
  const { line, argv, url } = params;
  if (typeof line === "string") {
    const [, option] = /^\{options\.([\w-]+)\}$/.exec(line) ?? [];
    if (option === undefined) commands.add(line);
    else {
      chosen.add(`option ${option} of ${structure.type}`);
      for (const preset of presetsOf(structure, option)) commands.add(preset);
    }
  }
  if (Array.isArray(argv)) commands.add(commandLine(argv.map(String)));
  if (verifier === "http_ok" && typeof url === "string" && URL.canParse(url)) hosts.add(new URL(url).host);
}

/** Returns the commands that an option has by default, or may be. */
function presetsOf({ optionsSchema }: WorkflowStructure, option: string): string[] {
  const schema = ownValue(ownValue(optionsSchema, "properties"), option);
  if (!isJsonObject(schema)) return [];
  const values: JsonValue[] = [schema.default ?? null, schema.const ?? null, ...[schema.enum ?? []].flat()];
  return values.filter((value) => typeof value === "string");
}

/** Returns a command as the host allows it: with its arguments, or alone if only a session knows these. */
function commandLine(words: readonly string[]): string {
  const [name = ""] = words;
  const written = words.map((word) =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : word.includes('"') ? `'${word}'` : `"${word}"`,
  );
  const isFixed = words.every((word) => !hasPlaceholder(word) && !(word.includes('"') && word.includes("'")));
  return isFixed ? written.join(" ") : name;
}
