/** The folders of sessions with their manifests: where a file may be saved, how much, and the errors of sessions. */
import { posix } from "node:path";
import { distance } from "fastest-levenshtein";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { FullClock } from "../../ports/clock.js";
import { sha256 } from "../../sandbox/replace.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import type { Saved } from "../../sandbox/save.js";
import { randomEnd, shown } from "../../workflow/names.js";
import type { WorkspaceLimits } from "../options.js";
import {
  changeManifest,
  MANIFEST,
  type Manifest,
  type ManifestOutput,
  readManifest,
  reopened,
  withOutput,
  writeManifest,
} from "./manifest.js";

/** The facts of a new session. */
export type SessionFacts = Pick<Manifest, "workflow" | "agent" | "inputs" | "owner" | "team" | "steps">;

const NEAR_MAX = 3;

/** Runs the steps with the same key one after the other: two at once could exceed a limit, or both leave one step. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(key: string, step: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(step);
    // The next step waits for this one, whether it succeeds or fails.
    const ended = turn.catch(() => undefined);
    this.#last.set(key, ended);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    }
  }
}

export class SessionFolders {
  readonly #sandbox: Sandbox;
  readonly #limits: WorkspaceLimits;
  readonly #clock: FullClock;
  readonly #turns = new Turns();

  constructor(sandbox: Sandbox, limits: WorkspaceLimits, clock: FullClock) {
    this.#sandbox = sandbox;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Without an id, or if it is taken, the id is the current time with a random end. */
  async create(wanted: string | undefined, facts: SessionFacts, isTaken: (id: string) => Promise<boolean>) {
    const ids = [...(wanted === undefined ? [] : [wanted]), newSessionId(this.#clock)];
    for (const id of ids) {
      if ((await isTaken(id)) || !(await this.#sandbox.makeFolder(id))) continue;
      const at = this.#now();
      const times = { created_at: at, updated_at: at };
      const manifest: Manifest = { session_id: id, status: "active", ...facts, outputs: [], ...times };
      await writeManifest(this.#sandbox, manifest);
      return manifest;
    }
    throw new PhasegateError("CONFLICT", "no free id was found for the session", {
      remedy: "Call create_session again.",
      details: { sessionId: wanted ?? "" },
    });
  }

  /** Reopens a session, with the files that exist in its folder. */
  async reopen(id: string): Promise<Manifest> {
    return this.#turns.run(id, async () => {
      const before = await this.manifest(id);
      const found = await this.#outputsIn(id, before);
      return changeManifest(this.#sandbox, id, (now) => reopened(now, before, found, this.#now()));
    });
  }

  /** Saves a file and adds it to the manifest. The path is relative to the session's folder. */
  save(id: string, given: string, text: string): Promise<Saved & { readonly path: string }> {
    return this.#turns.run(id, async () => {
      const manifest = await this.requireActive(id);
      const path = await checkedOutput(this.#sandbox, id, given, manifest);
      this.#checkQuotas(manifest, path, Buffer.byteLength(text));
      const saved = await this.#sandbox.save(`${id}/${path}`, { text, maxBytes: this.#limits.fileBytes });
      const output = { path, bytes: saved.bytes, sha256: saved.hash, saved_at: this.#now() };
      await this.#change(id, ({ outputs }) => ({ outputs: withOutput(outputs, output) }));
      return { ...saved, path };
    });
  }

  noteStep(id: string, skill: string, step: string): Promise<Manifest> {
    return this.#turns.run(id, () => this.#change(id, ({ steps }) => ({ steps: { ...steps, [skill]: step } })));
  }

  complete(id: string, status: "completed" | "failed", summary?: string): Promise<Manifest> {
    return this.#turns.run(id, async () => {
      await this.requireActive(id);
      return this.#change(id, (now) => ({ status, summary: summary ?? now.summary, completed_at: this.#now() }));
    });
  }

  /** Reads a session's manifest. Throws `SESSION_NOT_FOUND`. */
  async manifest(id: string): Promise<Manifest> {
    try {
      return (await readManifest(this.#sandbox, id)).manifest;
    } catch (error) {
      if (isPhasegateError(error, "FILE_NOT_FOUND")) throw noSession(id, await this.#near(id));
      throw error;
    }
  }

  /** Reads an active session's manifest. Throws `INVALID_TRANSITION` if the session has ended. */
  async requireActive(id: string): Promise<Manifest> {
    const manifest = await this.manifest(id);
    if (manifest.status !== "active") throw isOver(id, manifest.status);
    return manifest;
  }

  async exists(id: string): Promise<boolean> {
    try {
      await this.#sandbox.list(id);
      return true;
    } catch (error) {
      if (isPhasegateError(error, "FILE_NOT_FOUND")) return false;
      throw error;
    }
  }

  #change(id: string, change: (now: Manifest) => Partial<Manifest>): Promise<Manifest> {
    return changeManifest(this.#sandbox, id, (now) => ({ ...now, ...change(now), updated_at: this.#now() }));
  }

  #checkQuotas({ outputs }: Manifest, path: string, bytes: number): void {
    const { fileBytes, sessionBytes, sessionFiles } = this.#limits;
    if (bytes > fileBytes) {
      const what = `the file has ${bytes} bytes, and the limit is ${fileBytes}`;
      throw quotaReached(what, fileBytes, bytes, "Save it in parts, each in its own file.");
    }
    const others = outputs.filter((output) => output.path !== path);
    const total = others.reduce((sum, output) => sum + output.bytes, bytes);
    if (total > sessionBytes)
      throw quotaReached(`the limit of a session is ${sessionBytes} bytes`, sessionBytes, total);
    if (others.length < sessionFiles) return;
    throw quotaReached(`the limit of a session is ${sessionFiles} files`, sessionFiles, others.length + 1);
  }

  /** A killed process may have left a file without an entry. The workspace has not saved files over the limit. */
  async #outputsIn(id: string, manifest: Manifest): Promise<readonly ManifestOutput[]> {
    const { sessionBytes: maxBytes, sessionFiles } = this.#limits;
    const { entries, truncated } = await this.#sandbox.walk(id, { maxEntries: sessionFiles * 2 });
    // An incomplete list cannot tell which files are gone.
    if (truncated) return manifest.outputs;
    const found: ManifestOutput[] = [];
    for (const { path, signature: listed } of entries) {
      if (path === `${id}/${MANIFEST}` || listed === undefined || listed.size > maxBytes) continue;
      const { bytes, signature } = await this.#sandbox.readBytes(path, { maxBytes });
      const output = { path: path.slice(id.length + 1), bytes: bytes.length, sha256: sha256(bytes) };
      const known = manifest.outputs.find((before) => before.path === output.path && before.sha256 === output.sha256);
      found.push(known ?? { ...output, saved_at: new Date(signature.changedAt).toISOString() });
    }
    return found;
  }

  async #near(id: string): Promise<readonly string[]> {
    return (await this.#sandbox.list("."))
      .flatMap(({ kind, path }) => (kind === "folder" ? [{ path, steps: distance(id, path) }] : []))
      .sort((a, b) => a.steps - b.steps)
      .slice(0, NEAR_MAX)
      .map(({ path }) => path);
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

/** The deepest path, in names. Reopening a session does not search deeper. */
const NAMES_MAX = 12;

/** Returns the path in normal form C. A name that differs only in case or composition is the same on another system. */
export async function checkedOutput(
  sandbox: Sandbox,
  id: string,
  given: string,
  { outputs }: Pick<Manifest, "outputs">,
): Promise<string> {
  const path = given.normalize("NFC");
  if (folded(path) === folded(MANIFEST)) {
    throw refusal(path, "only the workspace writes the manifest", "Save under another name.");
  }
  if (path.split("/").length > NAMES_MAX) {
    throw refusal(path, `it is more than ${NAMES_MAX} names deep`, "Use fewer folders.");
  }
  // Saved under exactly this name before. The file system cannot tell: if it ignores case, it also finds a similar
  // name.
  if (outputs.some((output) => output.path === path)) return path;
  let folder = id;
  for (const name of path.split("/")) {
    const twin = (await namesIn(sandbox, folder)).find((there) => there !== name && folded(there) === folded(name));
    if (twin !== undefined) {
      throw refusal(
        path,
        `on some systems ${name} is the same name as ${twin}, which exists`,
        `Use ${twin}, or another name.`,
      );
    }
    folder = `${folder}/${name}`;
  }
  return path;
}

async function namesIn(sandbox: Sandbox, folder: string): Promise<readonly string[]> {
  try {
    return (await sandbox.list(folder)).map(({ path }) => posix.basename(path));
  } catch (error) {
    // A folder that does not exist yet has no names. Other errors are thrown when the file is saved.
    if (isPhasegateError(error, "FILE_NOT_FOUND") || isPhasegateError(error, "PATH_REFUSED")) return [];
    throw error;
  }
}

/** Returns one form for all names that some file system takes for the same: `ſ` is `s` on macOS, and `ﬆ` is `st`. */
function folded(name: string): string {
  return name.normalize("NFD").toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
}

function refusal(path: string, reason: string, remedy: string): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `${path} can't be saved: ${reason}`, { remedy, details: { reason } });
}

/** Builds a session id from the time (UTC) and chance: `YYYY-MM-DD-HHMMSS-xxxxxxxx`. */
function newSessionId(clock: FullClock): string {
  const [date = "", time = ""] = new Date(clock.now()).toISOString().split("T");
  return `${date}-${time.slice(0, 8).replaceAll(":", "")}-${randomEnd(clock.newId())}`;
}

/** Builds the error for a session that does not exist; `near` are existing ones with similar ids. */
export function noSession(id: string, near: readonly string[]): PhasegateError<"SESSION_NOT_FOUND"> {
  const similar = near.length === 0 ? "" : `Similar sessions: ${near.join(", ")}. `;
  return new PhasegateError("SESSION_NOT_FOUND", `there is no session ${shown(id)}`, {
    remedy: `${similar}Call create_session without session_id for a new one.`,
    details: { sessionId: id },
  });
}

function isOver(id: string, status: string): PhasegateError<"INVALID_TRANSITION"> {
  return new PhasegateError("INVALID_TRANSITION", `the session ${id} is ${status}`, {
    remedy: `To continue it, call create_session with {"session_id": "${id}", "reopen": true}.`,
    details: { command: "save_output", status, allowed: ["create_session"] },
  });
}

function quotaReached(
  what: string,
  limit: number,
  bytes: number,
  remedy = "Save less, or replace existing files by saving to their paths.",
): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `nothing was saved: ${what}`, {
    remedy,
    details: { bytes, limit },
  });
}
