import { isJsonObject } from "../../definition/json.js";
import { pageAnswer } from "../page-answer.js";
import { readJsonCursor } from "../paging.js";
import { compact, type WireObject } from "../wire-object.js";
import { carryOut } from "./carry-out.js";
import { refusalOf } from "./refusal.js";
import type { RoutedCall } from "./requests.js";
import type { RoutedFace } from "./routed-face.js";
import type { RoutedToolAnswer } from "./routed-tool.js";
import { READING } from "./routed-tool-schema.js";
import { shrinkResult } from "./shrink-result.js";

/** A face whose answers have a budget, and whose clients are told what to call next. */
export interface BoundedFace extends RoutedFace {
  /** In characters of JSON. */
  readonly room: number;
  /** A call as the client would make it. */
  readonly example: (call: RoutedCall, fields: WireObject) => WireObject | undefined;
}

/** Carries out a call, and keeps its answer inside its budget. Never rejects. */
export async function answerInRoom(face: BoundedFace, call: RoutedCall, input: unknown): Promise<RoutedToolAnswer> {
  if (READING.has(call) && isJsonObject(input)) return read(face, call, input);
  const answered = await carryOut(face, call, input);
  if (!answered.ok) return refusal(face, answered.refusal.body);
  const { instance_id: id } = answered.body;
  const show = face.example("status", { instance_id: id });
  return { isError: false, body: shrinkResult(answered.body, face.room, show) };
}

/** What is read comes as pages of its JSON where it is too long; put together they are the whole answer. */
async function read(face: BoundedFace, call: RoutedCall, { cursor, ...rest }: WireObject): Promise<RoutedToolAnswer> {
  const given = typeof cursor === "string" ? cursor : undefined;
  const json = given === undefined ? undefined : readJsonCursor(given);
  // Only a history has pages of its own.
  const paged = json !== undefined || call !== "history";
  const inner = paged ? json?.inner : given;
  const answered = await carryOut(face, call, compact({ ...rest, cursor: given === undefined ? cursor : inner }));
  if (!answered.ok) return refusal(face, answered.refusal.body);
  try {
    const example = face.example(call, rest) ?? rest;
    const page = pageAnswer(answered.body, face.room, { call: example, cursor: paged ? given : undefined, inner });
    return { isError: false, body: page };
  } catch (error) {
    return refusal(face, refusalOf(face, call, rest, error).body);
  }
}

function refusal({ room }: BoundedFace, body: WireObject): RoutedToolAnswer {
  return { isError: true, body: shrinkResult(body, room, undefined) };
}
