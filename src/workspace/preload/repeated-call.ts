/**
 * Reuses what the same call read and loaded the last time. The files that it needed then are read at once, in parallel,
 * before anything asks for them; if all of them are unchanged, the loaded workflow is returned as it is.
 */
import { isPhasegateError } from "../../errors.js";
import { RecentMap } from "../../workflow/cache.js";
import type { Location } from "../roots/paths.js";
import type { LoadedWorkflow } from "./load-parts.js";
import { type FileSource, type FolderEntry, type FoundWorkflow, folderOf, readWhole, type WholeText } from "./parts.js";

/** A call that loads a workflow. */
interface LoadingCall {
  /** Reads each file and folder once. */
  readonly source: FileSource;
  /** Returns what the same call loaded the last time if everything that it read is unchanged; otherwise loads now. */
  unlessSame(found: FoundWorkflow, load: () => Promise<LoadedWorkflow>): Promise<LoadedWorkflow>;
}

/** The files and folders that a call has read, and the workflow that it loaded. */
interface Call {
  /** Grows until the call ends. */
  readonly files: ReadonlyMap<string, Location>;
  readonly folders: ReadonlyMap<string, Location>;
  readonly built?: Built;
}

/** A loaded workflow, and everything that was read for it. It depends on nothing else. */
interface Built {
  readonly file: string;
  readonly loaded: LoadedWorkflow;
  readonly files: readonly ReadResult<WholeText>[];
  readonly folders: readonly ReadResult<readonly FolderEntry[]>[];
}

const lastCalls = new WeakMap<FileSource["found"], RecentMap<string, Call>>();

/** The most characters of loaded workflows in memory. */
const KEPT_MAX = 8_000_000;
/** The most calls in memory that keep no workflow. */
const CALLS_MAX = 200;

/**
 * Starts a call for a workflow, and reads in advance what the same call read the last time. What is not requested this
 * time is discarded.
 */
export function withinCall(source: FileSource, name: string): LoadingCall {
  const calls = lastCalls.get(source.found) ?? new RecentMap<string, Call>(KEPT_MAX, weightOf);
  lastCalls.set(source.found, calls);
  const before = calls.get(name);
  const files = startReads(fileReader(source), before?.files.values() ?? []);
  const folders = startReads(folderReader(source), before?.folders.values() ?? []);
  const call = { files: files.requested, folders: folders.requested };
  return {
    // The limit of `read` is ignored: preloading always reads whole files.
    source: { ...source, read: files.read, list: folders.read },
    async unlessSame({ file }, load) {
      // The search for the workflow is not part of it, except for the folder in which it was found.
      files.forget(file);
      folders.forget(folderOf(file));
      const built = before?.built;
      if (built?.file === source.show(file) && (await isUnchanged(built))) {
        calls.set(name, { ...call, built });
        return built.loaded;
      }
      const known = source.found.size;
      const loaded = await load();
      const read = { files: await files.results(), folders: await folders.results() };
      // Not if a file is missing: the names next to it were not recorded. Nor after a search of all folders: the next call
      // finds the workflow without one.
      const isReusable = loaded.parts.missing.length === 0 && source.found.size === known;
      calls.set(name, isReusable ? { ...call, built: { file: source.show(file), loaded, ...read } } : call);
      return loaded;
    },
  };

  async function isUnchanged(built: Built): Promise<boolean> {
    const same = await Promise.all([files.areUnchanged(built.files), folders.areUnchanged(built.folders)]);
    return same.every((one) => one);
  }
}

function weightOf({ built }: Call): number {
  const characters = built?.loaded.parts.files.reduce((sum, { content }) => sum + content.length, 0) ?? 0;
  return characters + KEPT_MAX / CALLS_MAX;
}

/** Reads one kind of thing, and compares results. */
interface Reader<T> {
  read(location: Location): Promise<T>;
  same(one: T, other: T): boolean;
  show(location: Location): string;
}

function fileReader(source: FileSource): Reader<WholeText> {
  return {
    read: (location) => readWhole(source, location),
    same: (one, other) => one === other || (one.text === other.text && one.size === other.size),
    show: source.show,
  };
}

function folderReader(source: FileSource): Reader<readonly FolderEntry[]> {
  return {
    read: (location) => source.list(location),
    same: (one, other) =>
      one.length === other.length &&
      one.every(({ path, kind }, index) => path === other[index]?.path && kind === other[index]?.kind),
    show: source.show,
  };
}

/** The result of reading a location: a value or an error. */
interface ReadResult<T> {
  readonly location: Location;
  readonly outcome: PromiseSettledResult<T>;
}

/** The reads of one call. Each location is read once. */
interface Reads<T> {
  /** Reads a location, which counts as requested. */
  read(location: Location): Promise<T>;
  /** Forgets all requests except this one. */
  forget(except: Location): void;
  /** The locations requested so far. */
  readonly requested: ReadonlyMap<string, Location>;
  /** Returns the results of all requests. */
  results(): Promise<readonly ReadResult<T>[]>;
  /** Returns true if all locations have the same results now; then all of them count as requested. */
  areUnchanged(before: readonly ReadResult<T>[]): Promise<boolean>;
}

/** Starts to read some locations in parallel, before they are requested. */
function startReads<T>(reader: Reader<T>, locations: Iterable<Location>): Reads<T> {
  const reading = new Map<string, Promise<T>>();
  const requested = new Map<string, Location>();
  for (const location of locations) {
    // The error is thrown when the location is requested.
    readOnce(location).catch(() => {});
  }

  function readOnce(location: Location): Promise<T> {
    const path = reader.show(location);
    const result = reading.get(path) ?? reader.read(location);
    reading.set(path, result);
    return result;
  }

  return {
    requested,
    read(location) {
      requested.set(reader.show(location), location);
      return readOnce(location);
    },
    forget(except) {
      const kept = reader.show(except);
      for (const path of requested.keys()) if (path !== kept) requested.delete(path);
    },
    async results() {
      const locations = [...requested.values()];
      const outcomes = await Promise.allSettled(locations.map(readOnce));
      return locations.flatMap((location, index) => {
        const outcome = outcomes[index];
        return outcome === undefined ? [] : [{ location, outcome }];
      });
    },
    async areUnchanged(before) {
      const now = await Promise.allSettled(before.map(({ location }) => readOnce(location)));
      const same = before.every(({ outcome }, index) => isSame(reader, outcome, now[index]));
      if (same) for (const { location } of before) requested.set(reader.show(location), location);
      return same;
    },
  };
}

function isSame<T>(
  { same }: Reader<T>,
  one: PromiseSettledResult<T>,
  other: PromiseSettledResult<T> | undefined,
): boolean {
  if (one.status === "fulfilled") return other?.status === "fulfilled" && same(one.value, other.value);
  if (other?.status !== "rejected" || !isPhasegateError(one.reason) || !isPhasegateError(other.reason)) return false;
  return one.reason.code === other.reason.code && one.reason.message === other.reason.message;
}
