/**
 * Plans what `phasegate init` changes: the pieces that are wanted and the files as they are go in, changed files and the
 * next record come out. Pure: nothing is read or written here.
 *
 * - A piece that is missing is added. A piece that is there stays as it is, whoever wrote it.
 * - `update` also renews pieces that are as init left them, and takes out those that are no longer wanted.
 * - `remove` takes out the pieces that are as init left them. A file that nobody has changed gets back its former bytes.
 * - A workflow's folder counts as a whole: nothing is added to one that somebody else made or has taken files out of.
 * - What an interrupted run has not written is written by the next one.
 * - A file that can't be changed safely is refused, with what to add by hand; the others are planned.
 *
 * This is the entry file of the folder. What is decided where:
 * - wanted.ts: which pieces a project should have, and the commands that start the server and check the project
 * - beginning.ts: how agents are told to begin, also by the server
 * - clients.ts: where each client reads what from, and in which form
 * - pieces.ts: how a piece is found, added, replaced and removed; json-text.ts and changes.ts for each form
 * - changes.ts also has what must be cut out to undo an addition to the letter
 * - places.ts: the files and folders that may be written at all
 * - packs.ts: what a package says of itself as a pack, and what is kept of one; read-pack.ts: which of its files count
 * - record.ts: what is remembered of what was written; own-record.ts: what this user has written, on this machine
 * - ignored.ts: whether git would commit a path
 * - project.ts reads and writes files, read-pack.ts reads packages: everything else is pure
 */
import { applyEdits } from "jsonc-parser";
import { digest } from "../workflow/json.js";
import { type Cuts, cutAll, cutsAfter } from "./changes.js";
import type { PinnedPack } from "./packs.js";
import { digestAt, digestOf, formOf, nameOf, type Piece } from "./pieces.js";
import { isOutside } from "./places.js";
import { type Choices, RECORD_PATH, type RecordedPiece, recordText, type SetupRecord } from "./record.js";

export interface FileFact {
  /** Its text with a byte order mark, if it has one; missing if there is no file, or it can't be read. */
  readonly text?: string;
  /** Why it must not be written: it is read-only, or a link out of the project; or why it can't be read. */
  readonly problem?: string;
  /** The path of the file that it leads to, if it is a link inside of the project. */
  readonly leadsTo?: string;
}

export type Mode = "add" | "update" | "remove";

export interface Situation {
  readonly mode: Mode;
  /** The pieces that should be there; none for `remove`. */
  readonly pieces: readonly Piece[];
  readonly choices: Choices;
  /** The packs to record; none if missing. */
  readonly packs?: readonly PinnedPack[];
  /** The pieces that `add` renews as well, if they are as init left them. */
  readonly renewed?: readonly Piece[];
  /** True if files outside of the project may be changed. `remove` takes its pieces out of them in any case. */
  readonly outside: boolean;
  /** The files of all pieces, wanted and recorded, and that of the record, with the text from which `record` was parsed. */
  readonly files: ReadonlyMap<string, FileFact>;
  /** The folders of these files that exist. */
  readonly folders: ReadonlySet<string>;
  readonly record?: SetupRecord;
}

/** A file to write; to make, if it has no `before`, and to delete, if it has no `after`. */
export interface FileChange {
  readonly path: string;
  readonly before?: string;
  readonly after?: string;
}

/** Something about a path that a person should know. */
export interface Note {
  readonly path: string;
  readonly text: string;
}

/** A file that was not changed although it should be. */
export interface Refused extends Note {
  /** What to add by hand; missing if something should be removed. */
  readonly byHand?: string;
}

export interface SetupPlan {
  /** In the order in which to write them; the record comes last. */
  readonly changes: readonly FileChange[];
  /** What is recorded afterwards; missing if nothing is left that init wrote. */
  readonly record?: SetupRecord;
  /** The record to write before everything else: a later run completes what an interrupted one has begun. */
  readonly pending?: string;
  /** Folders to make, each after its parent. */
  readonly make: readonly string[];
  /** Folders to remove if they are empty, each before its parent. */
  readonly unmake: readonly string[];
  readonly notes: readonly Note[];
  readonly refused: readonly Refused[];
}

export function planSetup(situation: Situation): SetupPlan {
  const { mode, record, folders } = situation;
  const drafts = new Map<string, Draft>();
  const notes = new Map<string, Note>();
  const refused: Refused[] = [];
  const kept: RecordedPiece[] = [];
  const draftOf = (path: string) => {
    const draft = drafts.get(path) ?? new Draft(situation.files.get(path) ?? {}, record?.files[path]);
    drafts.set(path, draft);
    return draft;
  };
  const settle = (path: string, { entry, note, refused: why }: Outcome, byHand?: string) => {
    if (why !== undefined) refused.push({ path, text: why, byHand });
    if (note !== undefined) notes.set(`${note.path ?? path} ${note.text}`, { path, ...note });
    if (entry !== undefined) kept.push(entry);
  };

  const recorded = new Map((record?.pieces ?? []).map((piece) => [nameOf(piece), piece]));
  const order = [...recorded.keys()];
  for (const piece of mode === "remove" ? [] : situation.pieces) {
    const entry = recorded.get(nameOf(piece));
    recorded.delete(nameOf(piece));
    const outcome = planPiece(piece, entry, situation, draftOf(piece.path));
    settle(piece.path, outcome, formOf(piece).byHand(piece, piece.value));
  }
  for (const entry of recorded.values()) {
    // It was wanted by an earlier run. Adding takes nothing away, and what is outside of the project is named each time.
    const stays = mode === "add" || (mode === "update" && isOutside(entry.path));
    settle(entry.path, stays ? { entry } : planRemoval(entry, mode, draftOf(entry.path)));
  }

  // What was recorded before keeps its line; what is new comes after it.
  const lineOf = (piece: RecordedPiece) => {
    const at = order.indexOf(nameOf(piece));
    return at < 0 ? order.length : at;
  };
  kept.sort((one, other) => lineOf(one) - lineOf(other));

  const changes = [...drafts].flatMap(([path, draft]) => draft.change(path) ?? []);
  const make = missingFolders(changes, folders);
  const unmake = (record?.folders ?? []).filter(
    (folder) =>
      !kept.some(({ path }) => isIn(path, folder)) &&
      (mode === "remove" || changes.some(({ path, after }) => after === undefined && isIn(path, folder))),
  );
  // A file that is not touched keeps its entry.
  const paths = new Set(kept.flatMap(({ kind, path }) => (kind === "file" ? [] : path)));
  const files = [...paths].flatMap((path) => {
    const draft = drafts.get(path);
    const before = record?.files[path];
    const entry = before === undefined || draft?.change(path) !== undefined ? draft?.recorded() : before;
    return entry === undefined ? [] : [[path, entry] as const];
  });
  const next: SetupRecord = {
    format: 1,
    choices: situation.choices,
    packs: situation.packs && [...situation.packs],
    folders: [...(record?.folders ?? []).filter((folder) => !unmake.includes(folder)), ...make],
    files: Object.fromEntries(files),
    pieces: kept,
  };
  const left = kept.length > 0 ? next : undefined;
  return {
    record: left,
    changes: [...changes, ...recordChange(situation, left && recordText(left))],
    pending: mode !== "remove" && changes.length > 0 ? recordText({ ...next, pending: true }) : undefined,
    make,
    unmake: unmake.toReversed(),
    notes: [...notes.values()],
    refused,
  };
}

/** What was decided about a piece: its next entry in the record, and what a person should know. */
interface Outcome {
  readonly entry?: RecordedPiece;
  readonly note?: { readonly text: string; readonly path?: string };
  readonly refused?: string;
}

const UNSAFE = "it is laid out in a way that can't be changed safely";

function planPiece(piece: Piece, entry: RecordedPiece | undefined, situation: Situation, draft: Draft): Outcome {
  const { renewed = [] } = situation;
  const mode = situation.mode === "add" && renewed.includes(piece) ? "update" : situation.mode;
  const { value, ...place } = piece;
  if (isOutside(piece.path) && !situation.outside) return { entry };
  if (piece.kind === "file") {
    const left = leftOut(piece.path, entry, situation, draft.exists);
    if (left !== undefined) return { entry, ...left };
  }
  const unreadable = draft.problemAt(piece);
  if (unreadable !== undefined) return { entry, refused: unreadable };
  const found = draft.digestAt(piece);
  const wanted = digestOf(piece, value) ?? "";
  // An interrupted run may have renewed it without saying so in the record.
  if (found === wanted) return { entry: entry && { ...entry, digest: wanted } };
  if (found !== undefined) {
    if (entry === undefined) return { refused: `it has ${formOf(piece).title(piece)} that init did not write` };
    if (found !== entry.digest) {
      if (renewed.includes(piece)) return { entry, refused: "it was edited since init wrote it" };
      return mode === "add"
        ? { entry }
        : { entry, note: { text: "was edited since init wrote it, and stays as it is" } };
    }
    if (mode === "add") {
      return { entry, note: { text: "is not what init would write now; `phasegate init --update` renews it" } };
    }
  }
  if (draft.protected !== undefined) return { entry, refused: draft.protected };
  const made = draft.put(piece, found !== undefined);
  if (made === undefined) return { entry, refused: UNSAFE };
  const { path, kind, keys } = { keys: undefined, ...place };
  return { entry: { path, kind, keys: keys && [...keys], digest: wanted, made: made > 0 ? made : undefined } };
}

/** Says that a file of a workflow is left out; undefined if it is treated as any piece. */
function leftOut(
  path: string,
  entry: RecordedPiece | undefined,
  { mode, folders, record }: Situation,
  exists: boolean,
): Pick<Outcome, "note"> | undefined {
  const unit = path.split("/").slice(0, 2).join("/");
  if (!folders.has(unit)) return undefined;
  const isOurs = record?.pieces.some((piece) => isIn(piece.path, unit)) === true;
  if (!isOurs) return { note: { path: unit, text: "was there before, and stays as it is" } };
  // A recorded file that is missing was taken out, or not yet written. One that is not recorded is new in this version.
  if (entry !== undefined) return exists || record?.pending === true ? undefined : {};
  if (exists) return { note: { text: "was not written by init, and stays as it is" } };
  return mode === "update" ? undefined : {};
}

/** Removes a recorded piece that nobody has changed since it was written. */
function planRemoval(entry: RecordedPiece, mode: Mode, draft: Draft): Outcome {
  const refusal = (why: string) => ({ entry, refused: `${why}; remove ${formOf(entry).title(entry)} by hand` });
  if (!draft.exists && draft.protected === undefined) return {};
  const unreadable = draft.problemAt(entry);
  if (unreadable !== undefined) return refusal(unreadable);
  const found = draft.digestAt(entry);
  if (found === undefined) return {};
  if (found !== entry.digest) return { note: { text: "was edited since init wrote it: it stays, and is yours now" } };
  if (draft.protected !== undefined) return refusal(draft.protected);
  return (mode === "remove" && draft.restore()) || draft.remove(entry) ? {} : refusal(UNSAFE);
}

const BOM = "\ufeff";

class Draft {
  readonly #before: string | undefined;
  readonly #mark: string;
  /** What init inserted, if the rest is known to be as it was. */
  #cuts: Cuts | undefined;
  /** True if there was no such file before init. */
  readonly #created: boolean;
  /** The text without a byte order mark; empty if there is no file. */
  #text: string;
  exists: boolean;
  /** Why the file must not be written; if it does not exist, why it can't be read. */
  readonly protected: string | undefined;

  constructor({ text, problem }: FileFact, recorded: SetupRecord["files"][string] | undefined) {
    this.#before = text;
    this.#mark = text?.startsWith(BOM) ? BOM : "";
    this.#text = text?.slice(this.#mark.length) ?? "";
    this.exists = text !== undefined;
    this.protected = problem;
    this.#created = !this.exists || recorded?.created === true;
    const isNew = recorded === undefined || text === undefined;
    this.#cuts = isNew ? [] : digest(text) === recorded.digest ? recorded.cuts : undefined;
  }

  /** Says why nothing can be changed at a place. */
  problemAt(place: RecordedPiece | Piece): string | undefined {
    return (this.exists ? undefined : this.protected) ?? formOf(place).problem(this.#text, place);
  }

  digestAt(place: RecordedPiece | Piece): string | undefined {
    return this.exists ? digestAt(this.#text, place) : undefined;
  }

  /** Adds or replaces a piece. Returns how many objects and lists were made around it; undefined if the result would be wrong. */
  put(piece: Piece, isThere: boolean): number | undefined {
    const form = formOf(piece);
    const edit = isThere ? form.replace(this.#text, piece, piece.value) : undefined;
    if (isThere && edit === undefined) return undefined;
    const { edits, made } = edit ? { edits: [edit], made: 0 } : form.add(this.#text, piece, piece.value);
    const next = applyEdits(this.#text, edits);
    const isRight = form.problem(next, piece) === undefined && digestAt(next, piece) === digestOf(piece, piece.value);
    if (!isRight) return undefined;
    this.#cuts = this.#cuts && cutsAfter(this.#cuts, edits);
    this.#text = next;
    this.exists = true;
    return made;
  }

  /** Gives the file back its former text. Returns false if that is not known to the letter. */
  restore(): boolean {
    if (this.#cuts === undefined || this.#cuts.length === 0) return false;
    this.#text = cutAll(this.#text, this.#cuts);
    this.exists = !this.#created;
    this.#cuts = [];
    return true;
  }

  /** Returns false if the result would be wrong. */
  remove(place: RecordedPiece): boolean {
    if (place.kind === "file") {
      this.exists = false;
      return true;
    }
    const { problem, remove, isLeftover } = formOf(place);
    const next = remove(this.#text, place, place.made ?? 0);
    if (next === undefined || problem(next, place) !== undefined || digestAt(next, place) !== undefined) return false;
    this.#text = next;
    this.#cuts = undefined;
    if (this.#created && isLeftover(next, place.path)) this.exists = false;
    return true;
  }

  /** Returns undefined if the file stays as it is. */
  change(path: string): FileChange | undefined {
    const after = this.exists ? this.#mark + this.#text : undefined;
    return this.#before === after ? undefined : { path, before: this.#before, after };
  }

  recorded(): SetupRecord["files"][string] {
    const cuts = this.#cuts?.map(([offset, length]): [number, number] => [offset, length]);
    return { created: this.#created, digest: digest(this.#mark + this.#text), cuts };
  }
}

/** Returns the folders that the new files need and that don't exist, each after its parent. */
function missingFolders(changes: readonly FileChange[], folders: ReadonlySet<string>): string[] {
  const added = changes.filter(({ before, after }) => before === undefined && after !== undefined);
  const needed = added.flatMap(({ path }) => {
    const names = path.split("/").slice(0, -1);
    return names.map((_, index) => names.slice(0, index + 1).join("/"));
  });
  return [...new Set(needed)].filter((folder) => folder !== "~" && !folders.has(folder));
}

function recordChange({ mode, files }: Situation, after: string | undefined): FileChange[] {
  const before = files.get(RECORD_PATH)?.text;
  // Adding never deletes it, whatever is in it.
  if (before === after || (mode === "add" && after === undefined)) return [];
  return [{ path: RECORD_PATH, before, after }];
}

function isIn(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}
