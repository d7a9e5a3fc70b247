import { randomUUID } from "node:crypto";
import { posix } from "node:path";
import { distance } from "fastest-levenshtein";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { Clock } from "../../ports/clock.js";
import type { FileSignature } from "../../sandbox/read.js";
import { sha256 } from "../../sandbox/replace.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import type { Saved } from "../../sandbox/save.js";
import type { WorkspaceLimits } from "../options.js";
import {
  changeManifest,
  MANIFEST,
  type Manifest,
  type ManifestOutput,
  readManifest,
  reopened,
  withEnd,
  withOutput,
  withStep,
  writeManifest,
} from "./manifest.js";
import { isOver, noSession, quotaReached } from "./recorder.js";
/** What a session is begun with. */
export type SessionFacts = Pick<Manifest, "workflow" | "agent" | "inputs" | "steps">;

/** What to do with a file over its limit: replacing others is of no use. */
const TOO_LONG = "Save it in parts, each a file of its own.";
/** How many sessions are named where one isn't found. */
const NEAR_MAX = 3;

/** The folders of sessions below the output root, each with its manifest. */
export class SessionFolders {
  readonly #sandbox: Sandbox;
  readonly #limits: WorkspaceLimits;
  readonly #clock: Clock;
  /** The end of what is written in a session: two saves at once would both find room for one. */
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor(sandbox: Sandbox, limits: WorkspaceLimits, clock: Clock) {
    this.#sandbox = sandbox;
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * Makes a session's folder and manifest. Without an id, or with one that is taken, it gets a new one: made of the time,
   * or a UUID where that is taken, too.
   */
  async create(wanted: string | undefined, facts: SessionFacts, isTaken: (id: string) => Promise<boolean>) {
    const ids = [...(wanted === undefined ? [] : [wanted]), sessionIdAt(this.#clock.now()), randomUUID()];
    for (const id of ids) {
      if ((await isTaken(id)) || !(await this.#sandbox.makeFolder(id))) continue;
      const at = this.#now();
      const manifest: Manifest = {
        session_id: id,
        status: "active",
        ...facts,
        outputs: [],
        created_at: at,
        updated_at: at,
      };
      await writeManifest(this.#sandbox, manifest);
      return manifest;
    }
    throw new PhasegateError("CONFLICT", "no id was free for a session", {
      remedy: "Call create_session again.",
      details: { sessionId: wanted ?? "" },
    });
  }

  /** Goes on with a session that is there, with the files that really lie in its folder. */
  async reopen(id: string): Promise<Manifest> {
    return this.#inTurn(id, async () => {
      const before = await this.manifest(id);
      const found = await this.#outputsIn(id, before);
      return changeManifest(this.#sandbox, id, (now) => reopened(now, { before, found }, this.#now()));
    });
  }

  /** Saves a file of a session, and notes it in the manifest. The path is relative to the session's folder, and checked. */
  save(id: string, given: string, text: string): Promise<Saved & { readonly path: string }> {
    return this.#inTurn(id, async () => {
      const manifest = await this.requireActive(id);
      const path = await checkedOutput(this.#sandbox, id, given, manifest);
      this.#checkQuotas(manifest, path, Buffer.byteLength(text));
      const saved = await this.#sandbox.save(`${id}/${path}`, { text, maxBytes: this.#limits.fileBytes });
      const output = { path, bytes: saved.bytes, sha256: saved.hash, saved_at: this.#now() };
      await changeManifest(this.#sandbox, id, (now) => withOutput(now, output));
      return { ...saved, path };
    });
  }

  /** Notes which step of a skill was given. */
  noteStep(id: string, skill: string, step: string): Promise<Manifest> {
    return this.#inTurn(id, () => changeManifest(this.#sandbox, id, (now) => withStep(now, skill, step, this.#now())));
  }

  /** Notes that a session is over. */
  complete(id: string, status: "completed" | "failed", summary?: string): Promise<Manifest> {
    return this.#inTurn(id, async () => {
      await this.requireActive(id);
      return changeManifest(this.#sandbox, id, (now) => withEnd(now, status, this.#now(), summary));
    });
  }

  /** What is known of a session. Throws `SESSION_NOT_FOUND`. */
  async manifest(id: string): Promise<Manifest> {
    try {
      return await readManifest(this.#sandbox, id);
    } catch (error) {
      if (isPhasegateError(error, "FILE_NOT_FOUND")) throw noSession(id, await this.#near(id));
      throw error;
    }
  }

  /** The same of a session that is under way. Throws `INVALID_TRANSITION` for one that is over. */
  async requireActive(id: string): Promise<Manifest> {
    const manifest = await this.manifest(id);
    if (manifest.status !== "active") throw isOver(id, manifest.status);
    return manifest;
  }

  /** Whether a session has a folder. */
  async exists(id: string): Promise<boolean> {
    try {
      await this.#sandbox.list(id);
      return true;
    } catch (error) {
      if (isPhasegateError(error, "FILE_NOT_FOUND")) return false;
      throw error;
    }
  }

  #checkQuotas({ outputs }: Manifest, path: string, bytes: number): void {
    const { fileBytes, sessionBytes, sessionFiles } = this.#limits;
    if (bytes > fileBytes)
      throw quotaReached(`it has ${bytes} bytes, and a file may have ${fileBytes}`, fileBytes, bytes, TOO_LONG);
    const others = outputs.filter((output) => output.path !== path);
    const total = others.reduce((sum, output) => sum + output.bytes, bytes);
    if (total > sessionBytes) throw quotaReached(`a session may hold ${sessionBytes} bytes`, sessionBytes, total);
    if (others.length < sessionFiles) return;
    throw quotaReached(`a session may have ${sessionFiles} files`, sessionFiles, others.length + 1);
  }

  /** A process that died between a file and its manifest has left one that isn't in it. */
  async #outputsIn(id: string, manifest: Manifest): Promise<readonly ManifestOutput[]> {
    const { entries, truncated } = await this.#sandbox.walk(id, { maxEntries: this.#limits.sessionFiles * 2 });
    // Who hasn't seen everything can't say what has gone.
    if (truncated) return manifest.outputs;
    const most = this.#limits.sessionBytes;
    const files = entries.filter(({ path, signature }) => path !== `${id}/${MANIFEST}` && isSmaller(signature, most));
    const found: ManifestOutput[] = [];
    for (const { path } of files) {
      const { bytes, signature } = await this.#sandbox.readBytes(path, { maxBytes: most });
      const output = { path: path.slice(id.length + 1), bytes: bytes.length, sha256: sha256(bytes) };
      const known = manifest.outputs.find((before) => before.path === output.path && before.sha256 === output.sha256);
      found.push(known ?? { ...output, saved_at: new Date(signature.changedAt).toISOString() });
    }
    return found;
  }

  async #near(id: string): Promise<readonly string[]> {
    const names = (await this.#sandbox.list(".")).filter(({ kind }) => kind === "folder").map(({ path }) => path);
    const steps = new Map(names.map((name) => [name, distance(id, name)]));
    return [...steps]
      .sort(([, a], [, b]) => a - b)
      .slice(0, NEAR_MAX)
      .map(([name]) => name);
  }

  async #inTurn<T>(id: string, step: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(id) ?? Promise.resolve();
    const turn = before.then(step);
    // Who comes next waits for the end of this one, however it ends.
    const ended = turn.then(
      () => {},
      () => {},
    );
    this.#queues.set(id, ended);
    try {
      return await turn;
    } finally {
      if (this.#queues.get(id) === ended) this.#queues.delete(id);
    }
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

/** What is larger was put there by somebody else. */
function isSmaller(signature: FileSignature | undefined, most: number): boolean {
  return signature !== undefined && signature.size <= most;
}

/** How many names a path may have: what lies deeper is not looked for as a session is gone on with. */
const NAMES_MAX = 12;

/**
 * Checks where a file of a session may be saved, and gives the path in its one form (NFC). A name that differs from one
 * that is there in case or composition alone is refused: on another system they would be one file.
 */
export async function checkedOutput(
  sandbox: Sandbox,
  id: string,
  given: string,
  { outputs }: Pick<Manifest, "outputs">,
): Promise<string> {
  const path = given.normalize("NFC");
  if (folded(path) === folded(MANIFEST)) {
    throw refusal(path, "the workspace keeps the manifest itself", "Save under another name.");
  }
  if (path.split("/").length > NAMES_MAX) {
    throw refusal(path, `it is more than ${NAMES_MAX} names deep`, "Use fewer folders.");
  }
  // Saved under just this name before. Whether a file system finds it is no answer: one that folds names finds its twin.
  if (outputs.some((output) => output.path === path)) return path;
  let folder = id;
  for (const name of path.split("/")) {
    const twin = (await namesIn(sandbox, folder)).find((there) => there !== name && folded(there) === folded(name));
    if (twin !== undefined) {
      throw refusal(
        path,
        `on some systems ${name} is the same name as ${twin}, which is there`,
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
    // A folder that is to be made has no names yet; what else is wrong with it is told where it is used.
    if (isPhasegateError(error, "FILE_NOT_FOUND") || isPhasegateError(error, "PATH_REFUSED")) return [];
    throw error;
  }
}

/** One form for all names that some file system takes for one: `ſ` is an `s` on a Mac, and `ﬆ` is `st`. */
function folded(name: string): string {
  return name.normalize("NFD").toUpperCase().toLowerCase().normalize("NFC");
}

function refusal(path: string, reason: string, remedy: string): PhasegateError<"PATH_REFUSED"> {
  return new PhasegateError("PATH_REFUSED", `${path} can't be saved: ${reason}`, { remedy, details: { reason } });
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}-\d{6}$/;

/** Whether a name may be that of a session's folder: a UUID in lower case, or `YYYY-MM-DD-HHMMSS`. */
export function isSessionFolder(name: string): boolean {
  return UUID.test(name) || TIMESTAMP.test(name);
}

/** A session's id made of a time (UTC): `YYYY-MM-DD-HHMMSS`. */
function sessionIdAt(milliseconds: number): string {
  const [date = "", time = ""] = new Date(milliseconds).toISOString().split("T");
  return `${date}-${time.slice(0, 8).replaceAll(":", "")}`;
}
