/** One call's looks at the disk, beside what the same call saw and made the last time. */
import type { Location } from "../roots/location.js";
import { folderOf } from "./load-context.js";
import type { LoadedWorkflow } from "./load-parts.js";
import { beginLooks, type LookKind, type Seen } from "./looks.js";
import { keepNewest, type Newest } from "./newest.js";
import { type FileSource, type FolderEntry, type FoundWorkflow, readWhole, type WholeText } from "./source.js";

/** A call that loads a workflow. */
export interface LoadingCall {
  /** Each file and folder is looked at once. */
  readonly source: FileSource;
  /** What was loaded the last time, if all that was looked at for it is as it was; else what is loaded now. */
  unlessSame(found: FoundWorkflow, load: () => Promise<LoadedWorkflow>): Promise<LoadedWorkflow>;
}

/** What a call has looked at and made. */
interface Call {
  /** Grows as long as the call goes on. */
  readonly files: ReadonlyMap<string, Location>;
  readonly folders: ReadonlyMap<string, Location>;
  readonly made?: Made;
}

/** A workflow as it was loaded, and what was seen on the way: it is made of nothing else. */
interface Made {
  readonly file: string;
  readonly loaded: LoadedWorkflow;
  readonly files: readonly Seen<WholeText>[];
  readonly folders: readonly Seen<readonly FolderEntry[]>[];
}

const lastCalls = new WeakMap<FileSource["found"], Newest<Call>>();
/** How many characters of loaded workflows are kept, and how many calls that keep none are worth as many. */
const KEPT_MAX = 8_000_000;
const CALLS_MAX = 200;

/**
 * Begins a call of some name. What the same call looked at the last time is looked at side by side, before it is asked for;
 * what isn't asked for this time was looked at in vain, and goes nowhere.
 */
export function withinCall(source: FileSource, name: string): LoadingCall {
  const calls = lastCalls.get(source.found) ?? keepNewest<Call>(KEPT_MAX, weightOf);
  lastCalls.set(source.found, calls);
  const before = calls.get(name);
  const files = beginLooks(fileLooks(source), before?.files.values() ?? []);
  const folders = beginLooks(folderLooks(source), before?.folders.values() ?? []);
  const call = { files: files.asked, folders: folders.asked };
  return {
    // What is read in here is read whole.
    source: { ...source, read: files.at, list: folders.at },
    async unlessSame({ file }, load) {
      // How it was found matters no more, but for the folder that it was found in.
      files.forget(file);
      folders.forget(folderOf(file));
      const made = before?.made;
      if (made?.file === source.show(file) && (await isAsBefore(made))) {
        calls.put(name, { ...call, made });
        return made.loaded;
      }
      const known = source.found.size;
      const loaded = await load();
      const seen = { files: await files.seen(), folders: await folders.seen() };
      // What lies beside a missing file is no look of these; and who searched all folders needn't do so the next time.
      const lasts = loaded.parts.missing.length === 0 && source.found.size === known;
      calls.put(name, lasts ? { ...call, made: { file: source.show(file), loaded, ...seen } } : call);
      return loaded;
    },
  };

  async function isAsBefore(made: Made): Promise<boolean> {
    const same = await Promise.all([files.areAs(made.files), folders.areAs(made.folders)]);
    return same.every((one) => one);
  }
}

function fileLooks(source: FileSource): LookKind<WholeText> {
  return {
    look: (location) => readWhole(source, location),
    same: (one, other) => one === other || (one.text === other.text && one.size === other.size),
    show: source.show,
  };
}

function folderLooks(source: FileSource): LookKind<readonly FolderEntry[]> {
  return {
    look: (location) => source.list(location),
    same: (one, other) =>
      one.length === other.length &&
      one.every(({ path, kind }, index) => path === other[index]?.path && kind === other[index]?.kind),
    show: source.show,
  };
}

function weightOf({ made }: Call): number {
  const characters = made?.loaded.parts.files.reduce((sum, { content }) => sum + content.length, 0) ?? 0;
  return characters + KEPT_MAX / CALLS_MAX;
}
