/** The colours in which a terminal shows how sessions stand. */
import type { Writable } from "node:stream";
import type { ListedSession } from "../engine/lists.js";
import type { SessionStatus } from "../ports/storage-adapter.js";
import { type Standing, standingOf, standingText } from "../read/standing.js";
import { styled } from "./terminal.js";

const STATUS_STYLES = {
  active: "cyan",
  paused: "yellow",
  completed: "green",
  failed: "red",
  deleted: "gray",
} as const satisfies Record<SessionStatus, string>;

/** Returns a status, or a text that contains it, in the status's colour. */
export function styledStatus(stream: Writable, status: SessionStatus, text: string = status): string {
  return styled(stream, STATUS_STYLES[status], text);
}

const STANDING_STYLES = {
  working: "cyan",
  refused: "yellow",
  needs_you: "magenta",
  paused: "yellow",
  failed: "red",
  done: "green",
  deleted: "gray",
} as const satisfies Record<Standing, string>;

/** Returns how a session stands, or a text that contains it, in the colour of that. */
export function styledStanding(stream: Writable, session: ListedSession, text = standingText(session)): string {
  return styled(stream, STANDING_STYLES[standingOf(session)], text);
}
