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
 * - clients.ts: where each client reads what from, and in which form
 * - pieces.ts: how a piece is found, added, replaced and removed; json-text.ts and changes.ts for each form
 * - changes.ts also has what must be cut out to undo an addition to the letter
 * - places.ts: the files and folders that may be written at all
 * - record.ts: what is remembered of what was written; own-record.ts: what this user has written, on this machine
 * - ignored.ts: whether git would commit a path
 * - project.ts reads and writes files: everything else is pure
 */
import { type Cuts, cutAll, insertAll, movedCuts, resizedCuts } from "./changes.js";
import {
  addPiece,
  byHand,
  digestAt,
  digestOf,
  isLeftover,
  nameOf,
  type Piece,
  type Place,
  problemAt,
  removePiece,
  replacePiece,
  titleOf,
} from "./pieces.js";
import { isOutside } from "./places.js";
import {
  type Choices,
  placeOf,
  RECORD_PATH,
  type RecordedPiece,
  recordText,
  type SetupRecord,
  wholeDigest,
} from "./record.js";

/** A file as it was read. */
export interface FileFact {
  /** Its text with a byte order mark, if it has one; missing if there is no file, or it can't be read. */
  readonly text?: string;
  /** Why it must not be written: it is read-only, or a link out of the project; or why it can't be read. */
  readonly problem?: string;
  /** The path of the file that it leads to, if it is a link inside of the project. */
  readonly leadsTo?: string;
}

/** What is to be done. */
export type Mode = "add" | "update" | "remove";

/** What a plan is made of. */
export interface Situation {
  readonly mode: Mode;
  /** The pieces that should be there; none for `remove`. */
  readonly pieces: readonly Piece[];
  readonly choices: Choices;
  /** True if files outside of the project may be changed. What is there is taken out by `remove` in any case. */
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

/** What to do, and what not. */
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

/** Plans the changes. */
export function planSetup(situation: Situation): SetupPlan {
  const { mode, record, folders } = situation;
  const drafts = new Drafts(situation);
  const notes = new Map<string, Note>();
  const refused: Refused[] = [];
  const kept: RecordedPiece[] = [];
  const note = (one: Note) => notes.set(`${one.path} ${one.text}`, one);

  const recorded = new Map((record?.pieces ?? []).map((piece) => [nameOf(placeOf(piece)), piece]));
  for (const piece of mode === "remove" ? [] : situation.pieces) {
    const entry = recorded.get(nameOf(piece));
    recorded.delete(nameOf(piece));
    const outcome = planPiece(piece, entry, situation, drafts.of(piece.path));
    if (outcome.refused !== undefined) refused.push({ path: piece.path, text: outcome.refused, byHand: byHand(piece) });
    if (outcome.note !== undefined) note({ path: piece.path, ...outcome.note });
    if (outcome.entry !== undefined) kept.push(outcome.entry);
  }
  for (const entry of recorded.values()) {
    // It was wanted by an earlier run. Adding takes nothing away, and what is outside of the project is named each time.
    const stays = mode === "add" || (mode === "update" && isOutside(entry.path));
    const outcome: Outcome = stays ? { entry } : planRemoval(entry, mode, drafts.of(entry.path));
    if (outcome.refused !== undefined) refused.push({ path: entry.path, text: outcome.refused });
    if (outcome.note !== undefined) note({ path: entry.path, ...outcome.note });
    if (outcome.entry !== undefined) kept.push(outcome.entry);
  }

  const changes = drafts.changes();
  const make = missingFolders(changes, folders);
  const unmake = (record?.folders ?? []).filter(
    (folder) =>
      !kept.some(({ path }) => isIn(path, folder)) &&
      (mode === "remove" || changes.some(({ path, after }) => after === undefined && isIn(path, folder))),
  );
  const next: SetupRecord = {
    format: 1,
    choices: situation.choices,
    folders: [...(record?.folders ?? []).filter((folder) => !unmake.includes(folder)), ...make],
    files: drafts.recorded(kept),
    pieces: kept,
  };
  return {
    ...(kept.length > 0 && { record: next }),
    changes: [...changes, ...recordChange(situation, kept.length === 0 ? undefined : recordText(next))],
    ...(mode !== "remove" && changes.length > 0 && { pending: recordText({ ...next, pending: true }) }),
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

function planPiece(piece: Piece, entry: RecordedPiece | undefined, situation: Situation, draft: Draft): Outcome {
  const { mode } = situation;
  const asWas: Outcome = entry === undefined ? {} : { entry };
  if (isOutside(piece.path) && !situation.outside) return asWas;
  if (piece.kind === "file") {
    const left = leftOut(piece.path, entry, situation, draft.exists);
    if (left !== undefined) return { ...asWas, ...left };
  }
  const unreadable = draft.unreadable ?? problemAt(draft.text, piece);
  if (unreadable !== undefined) return { ...asWas, refused: unreadable };
  const found = draft.exists ? digestAt(draft.text, piece) : undefined;
  const wanted = digestOf(piece);
  // An interrupted run may have renewed it without saying so in the record.
  if (found === wanted) return entry === undefined ? {} : { entry: { ...entry, digest: wanted } };
  if (found !== undefined) {
    if (entry === undefined) return { refused: `it has ${titleOf(piece)} that init did not write` };
    if (found !== entry.digest) {
      return mode === "add"
        ? asWas
        : { ...asWas, note: { text: "was edited since init wrote it, and stays as it is" } };
    }
    if (mode === "add") {
      return { ...asWas, note: { text: "is not what init would write now; `phasegate init --update` renews it" } };
    }
  }
  if (draft.protected !== undefined) return { ...asWas, refused: draft.protected };
  const made = found === undefined ? draft.add(piece) : draft.replace(piece);
  if (made === undefined) return { ...asWas, refused: "it is laid out in a way that can't be changed safely" };
  return { entry: { ...placeIn(piece), digest: wanted, ...(made > 0 && { made }) } };
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
  const place = placeOf(entry);
  if (!draft.exists && draft.unreadable === undefined) return {};
  const unreadable = draft.unreadable ?? problemAt(draft.text, place);
  if (unreadable !== undefined) return { entry, refused: `${unreadable}; remove ${titleOf(place)} by hand` };
  const found = digestAt(draft.text, place);
  if (found === undefined) return {};
  if (found !== entry.digest) return { note: { text: "was edited since init wrote it: it stays, and is yours now" } };
  if (draft.protected !== undefined) return { entry, refused: `${draft.protected}; remove ${titleOf(place)} by hand` };
  if (mode === "remove" && draft.restore()) return {};
  if (draft.remove(place, entry.made ?? 0)) return {};
  return { entry, refused: `it is laid out in a way that can't be changed safely; remove ${titleOf(place)} by hand` };
}

/** A file while it is planned. */
class Draft {
  readonly #fact: FileFact;
  readonly #mark: string;
  /** What init inserted, if the rest is known to be as it was. */
  #cuts: Cuts | undefined;
  /** True if there was no such file before init. */
  #created: boolean;
  /** The text without a byte order mark; empty if there is no file. */
  text: string;
  exists: boolean;

  constructor(fact: FileFact, recorded: SetupRecord["files"][string] | undefined) {
    this.#fact = fact;
    const { text = "" } = fact;
    this.#mark = text.startsWith(BOM) ? BOM : "";
    this.text = text.slice(this.#mark.length);
    this.exists = fact.text !== undefined;
    this.#created = !this.exists || recorded?.created === true;
    const isAsLeft = recorded !== undefined && this.exists && wholeDigest(text) === recorded.digest;
    this.#cuts = recorded === undefined || !this.exists ? [] : isAsLeft ? recorded.cuts : undefined;
  }

  /** Why the file can't be read. */
  get unreadable(): string | undefined {
    return this.exists ? undefined : this.#fact.problem;
  }

  /** Why the file must not be written. */
  get protected(): string | undefined {
    return this.#fact.problem;
  }

  /** Adds a piece. Returns how many objects and lists were made around it; undefined if the result would be wrong. */
  add(piece: Piece): number | undefined {
    const { insertions, made } = addPiece(this.text, piece);
    const next = insertAll(this.text, insertions);
    if (problemAt(next, piece) !== undefined || digestAt(next, piece) !== digestOf(piece)) return undefined;
    this.#cuts = this.#cuts && movedCuts(this.#cuts, insertions);
    this.text = next;
    this.exists = true;
    return made;
  }

  /** Replaces a piece. Returns 0, or undefined if the result would be wrong. */
  replace(piece: Piece): number | undefined {
    const next = replacePiece(this.text, piece);
    if (next === undefined || problemAt(next, piece) !== undefined || digestAt(next, piece) !== digestOf(piece)) {
      return undefined;
    }
    this.#cuts = this.#cuts && resizedCuts(this.#cuts, this.text, next);
    this.text = next;
    return 0;
  }

  /** Gives the file back its former text. Returns false if that is not known to the letter. */
  restore(): boolean {
    if (this.#cuts === undefined || this.#cuts.length === 0) return false;
    this.text = cutAll(this.text, this.#cuts);
    this.exists = !this.#created;
    this.#cuts = [];
    return true;
  }

  /** Removes what is at a place. Returns false if the result would be wrong. */
  remove(place: Place, made: number): boolean {
    if (place.kind === "file") {
      this.exists = false;
      return true;
    }
    const next = removePiece(this.text, place, made);
    if (next === undefined || problemAt(next, place) !== undefined || digestAt(next, place) !== undefined) return false;
    this.text = next;
    this.#cuts = undefined;
    if (this.#created && isLeftover(next, place)) this.exists = false;
    return true;
  }

  /** Returns the change of the file; undefined if it stays. */
  change(path: string): FileChange | undefined {
    const before = this.#fact.text;
    const after = this.exists ? this.#mark + this.text : undefined;
    if (before === after) return undefined;
    return { path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
  }

  /** Returns what is recorded of the file. */
  recorded(): SetupRecord["files"][string] {
    const cuts = this.#cuts?.map(([offset, length]): [number, number] => [offset, length]);
    return { created: this.#created, digest: wholeDigest(this.#mark + this.text), ...(cuts && { cuts }) };
  }
}

const BOM = "\ufeff";

/** The files of a plan. */
class Drafts {
  readonly #situation: Situation;
  readonly #drafts = new Map<string, Draft>();

  constructor(situation: Situation) {
    this.#situation = situation;
  }

  of(path: string): Draft {
    const { files, record } = this.#situation;
    const draft = this.#drafts.get(path) ?? new Draft(files.get(path) ?? {}, record?.files[path]);
    this.#drafts.set(path, draft);
    return draft;
  }

  changes(): FileChange[] {
    return [...this.#drafts].flatMap(([path, draft]) => draft.change(path) ?? []);
  }

  /** Returns what is recorded of the files in which pieces are kept. A file that is not touched keeps its entry. */
  recorded(kept: readonly RecordedPiece[]): SetupRecord["files"] {
    const paths = new Set(kept.flatMap(({ kind, path }) => (kind === "file" ? [] : [path])));
    return Object.fromEntries(
      [...paths].flatMap((path) => {
        const draft = this.#drafts.get(path);
        const before = this.#situation.record?.files[path];
        const isTouched = draft?.change(path) !== undefined;
        const entry = isTouched || before === undefined ? draft?.recorded() : before;
        return entry === undefined ? [] : [[path, entry]];
      }),
    );
  }
}

function placeIn(piece: Piece): Omit<RecordedPiece, "digest"> {
  const { path, kind } = piece;
  return "keys" in piece ? { path, kind, keys: [...piece.keys] } : { path, kind };
}

/** Returns the folders that the new files need and that don't exist, each after its parent. */
function missingFolders(changes: readonly FileChange[], folders: ReadonlySet<string>): string[] {
  const missing = new Set<string>();
  for (const { path, before, after } of changes) {
    if (before !== undefined || after === undefined) continue;
    const names = path.split("/").slice(0, -1);
    for (const index of names.keys()) {
      const folder = names.slice(0, index + 1).join("/");
      if (folder !== "~" && !folders.has(folder)) missing.add(folder);
    }
  }
  return [...missing];
}

function recordChange({ mode, files }: Situation, after: string | undefined): FileChange[] {
  const before = files.get(RECORD_PATH)?.text;
  // Adding never deletes it, whatever is in it.
  if (before === after || (mode === "add" && after === undefined)) return [];
  return [{ path: RECORD_PATH, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

function isIn(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}
