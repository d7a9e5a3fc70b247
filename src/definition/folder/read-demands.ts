import { type ApprovalDefinition, REVEALS, type Reveal } from "../gate-structure.js";
import type { VerifyDefinition } from "../structure.js";
import { isJsonObject, type JsonValue } from "../json.js";
import { shown } from "../names.js";
import { nearest } from "../nearest.js";
import type { ObjectReader } from "./object-reader.js";

/** What a gate asks for beside evidence. */
export interface Demands {
  readonly verify: readonly VerifyDefinition[];
  readonly approval?: ApprovalDefinition;
  readonly reveal?: Reveal;
}

/** Reads `verify`, `approval` and `reveal`, from the top of a gate or from its checkpoint. */
export function readDemands(readers: readonly ObjectReader[]): Demands {
  for (const key of ["approval", "reveal"]) refuseSecond(readers, key);
  const verify = readers.flatMap(readVerify);
  const [approval] = readers.flatMap((reader) => readApproval(reader) ?? []);
  const [reveal] = readers.flatMap((reader) => readReveal(reader) ?? []);
  return { verify, ...(approval === undefined ? {} : { approval }), ...(reveal === undefined ? {} : { reveal }) };
}

/** What a gate can have once must not stand in two places: one of them would be passed over. */
function refuseSecond(readers: readonly ObjectReader[], key: string): void {
  const [, second] = readers.filter((reader) => (reader.value(key) ?? false) !== false);
  const hint = "Write it once, at the top of the gate or in its checkpoint.";
  second?.wrong([key], second.value(key), "written once, and it stands at the top of the gate too", hint);
}

const VERIFY_HINT = "Write the verifier's name, {verifier: name, …its parameters}, or a list of these.";

/** Reads `verify`: a verifier's name, an object with it and its parameters, or a list of these. */
export function readVerify(reader: ObjectReader): VerifyDefinition[] {
  const value = reader.asked("verify", VERIFY_HINT);
  if (value === undefined || value === false) return [];
  const items = Array.isArray(value) ? value : [value];
  return items.flatMap((item, index) => {
    const check = verifyOf(item);
    if (check !== undefined) return [check];
    const keys = Array.isArray(value) ? ["verify", index] : ["verify"];
    reader.wrong(keys, item, "a verifier's name, or an object with one", VERIFY_HINT);
    return [];
  });
}

function verifyOf(item: JsonValue): VerifyDefinition | undefined {
  if (typeof item === "string" && item.trim() !== "") return { verifier: item.trim(), params: {} };
  if (!isJsonObject(item)) return undefined;
  const { verifier, ...params } = item;
  return typeof verifier === "string" && verifier.trim() !== "" ? { verifier: verifier.trim(), params } : undefined;
}

/** Reads `approval`: what the person is asked, alone or with who may answer. */
function readApproval(reader: ObjectReader): ApprovalDefinition | undefined {
  const hint = 'Write approval: {prompt: "what the person is asked"}.';
  const value = reader.asked("approval", hint);
  if (value === undefined || value === false) return undefined;
  if (typeof value === "string") return { prompt: value };
  if (!isJsonObject(value)) {
    reader.wrong(["approval"], value, "an object with a prompt", hint);
    return undefined;
  }
  const approval = reader.object("approval");
  const prompt = approval?.required("prompt", approval.text("prompt"), 'prompt: "what the person is asked"');
  const approvers = approval?.texts("approvers");
  const named = Object.hasOwn(value, "approvers") ? value.approvers : undefined;
  if (approvers?.length === 0 || named === null || named === "") {
    approval?.wrong(["approvers"], named, "a list of at least one name", "Name somebody, or leave it out.");
  }
  approval?.refuseRest();
  return prompt === undefined ? undefined : { prompt, ...(approvers === undefined ? {} : { approvers }) };
}

function readReveal(reader: ObjectReader): Reveal | undefined {
  const value = reader.asked("reveal", `Write one of ${REVEALS.join(", ")}`);
  if (value === undefined) return undefined;
  const reveal = REVEALS.find((candidate) => candidate === value);
  if (reveal !== undefined) return reveal;
  const meant = nearest(String(value), REVEALS);
  const hint = `Write one of ${REVEALS.join(", ")}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
  reader.wrong(["reveal"], value, `one of ${REVEALS.map(shown).join(", ")}`, hint);
  return undefined;
}
