/**
 * A copy of each project's record, in the user's own configuration. A record in a project, and a configuration of a client, may
 * come from somebody else: they are believed only as far as this copy says the same, or the user does (`--trust`).
 */
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import process from "node:process";
import * as z from "zod";
import { isPhasegateError } from "../errors.js";
import { bytesBelow, writeBelow } from "../sandbox/change.js";
import { isInside } from "../sandbox/resolve.js";
import { openIfThere } from "../sandbox/sandbox.js";
import { digest } from "../workflow/json.js";
import type { Roots } from "./places.js";
import { isOutside } from "./places.js";
import { type RecordedPiece, recordSchema, recordText, type SetupRecord } from "./record.js";

const ownSchema = z.object({ root: z.string(), record: recordSchema });

/** A record has some kB. */
const RECORD_MAX = 4 * 1024 * 1024;

/** Reads what this user has set up in a project; undefined if nothing is known. */
export async function readOwnRecord(roots: Roots): Promise<SetupRecord | undefined> {
  const folder = configurationOf(roots);
  const sandbox = folder === undefined ? undefined : await openIfThere(folder);
  if (sandbox === undefined) return undefined;
  try {
    const { text } = await sandbox.read(pathFor(roots), { maxBytes: RECORD_MAX });
    const { root, record } = ownSchema.parse(JSON.parse(text));
    return root === roots.root ? record : undefined;
  } catch (error) {
    // One that can't be read confirms nothing.
    if (isPhasegateError(error) || error instanceof SyntaxError || error instanceof z.ZodError) return undefined;
    throw error;
  }
}

/** What came of keeping a record: why it can't be kept, or how to have again what was kept before. */
interface Kept {
  readonly problem?: string;
  readonly undo?: () => void;
}

/**
 * Keeps what this user has set up in a project; forgets it if there is nothing any more. Synchronous, as runs do this only while
 * they hold the claim of the project: another run's record would be lost otherwise.
 */
export function keepOwnRecord(roots: Roots, record: SetupRecord | undefined): Kept {
  const folder = configurationOf(roots);
  if (folder === undefined) return { problem: "there is no folder for it outside of the project" };
  const text = record && `${JSON.stringify({ root: roots.root, record }, null, 1)}\n`;
  try {
    const made = join(folder, dirname(pathFor(roots)));
    if (record === undefined && !existsSync(made)) return {};
    mkdirSync(made, { recursive: true });
    const base = realpathSync(made);
    const name = basename(pathFor(roots));
    const before = bytesBelow(base, name)?.toString();
    const write = (next: string | undefined) => {
      if (next !== undefined || bytesBelow(base, name) !== undefined) writeBelow(base, name, next);
    };
    write(text);
    return { undo: () => write(before) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Returns true if a record in a project is the one that this user's init has left there. */
export function isConfirmed(record: SetupRecord, own: SetupRecord | undefined): boolean {
  const { pending: _, ...left } = record;
  return own !== undefined && recordText(left) === recordText(own);
}

/** Returns a record that a user trusts, without what it says of files outside of the project and this user's own does not. */
export function trusted(record: SetupRecord, own: SetupRecord | undefined): SetupRecord {
  const known = new Set((own?.pieces ?? []).map((piece) => JSON.stringify(piece)));
  const isKnown = (piece: RecordedPiece) => !isOutside(piece.path) || known.has(JSON.stringify(piece));
  const pieces = record.pieces.filter(isKnown);
  const paths = new Set(pieces.map(({ path }) => path));
  return {
    ...record,
    pieces,
    files: Object.fromEntries(Object.entries(record.files).filter(([path]) => !isOutside(path) || paths.has(path))),
    folders: record.folders.filter((folder) => !isOutside(folder) || own?.folders.includes(folder) === true),
  };
}

/** Returns the folder of the user's configurations. Undefined if there is none, or it is in the project, whose makers could write it. */
function configurationOf({ root, home }: Roots): string | undefined {
  const { XDG_CONFIG_HOME: given = "" } = process.env;
  const folder = isAbsolute(given) ? given : join(home, ".config");
  return isInside(root, folder) ? undefined : folder;
}

function pathFor({ root }: Roots): string {
  return `phasegate/projects/${digest(root)}.json`;
}
