import type { Location } from "../roots/location.js";
import { type FileSource, readWhole } from "./source.js";

/** What a call has looked at: files and folders, by how they are shown. */
interface Looks {
  readonly files: Map<string, Location>;
  readonly folders: Map<string, Location>;
}

/** What calls of the same name have looked at the last time: all of it is begun with at once, before it is asked for. */
const lastLooks = new WeakMap<FileSource["found"], Map<string, Looks>>();
/** How many names are known by what they look at. */
const NAMES_MAX = 200;

/**
 * A source for one call: each file and folder is looked at once, and what the same call looked at the last time is begun
 * with side by side. What isn't asked for this time was looked at in vain, and goes nowhere.
 */
export function withinCall(source: FileSource, name: string): FileSource {
  const names = lastLooks.get(source.found) ?? new Map<string, Looks>();
  lastLooks.set(source.found, names);
  const before = names.get(name);
  const asked: Looks = { files: new Map(), folders: new Map() };
  names.delete(name);
  names.set(name, asked);
  const [oldest] = names.keys();
  if (oldest !== undefined && names.size > NAMES_MAX) names.delete(oldest);
  const reading = begin(before?.files, (location) => readWhole(source, location));
  const listing = begin(before?.folders, (location) => source.list(location));
  return {
    ...source,
    // What is read in here is read whole.
    read: (location) => once(location, asked.files, reading, () => readWhole(source, location)),
    list: (location) => once(location, asked.folders, listing, () => source.list(location)),
  };

  function once<T>(
    location: Location,
    noted: Map<string, Location>,
    begun: Map<string, Promise<T>>,
    look: () => Promise<T>,
  ): Promise<T> {
    const path = source.show(location);
    noted.set(path, location);
    const looking = begun.get(path) ?? look();
    begun.set(path, looking);
    return looking;
  }
}

function begin<T>(
  locations: ReadonlyMap<string, Location> | undefined,
  look: (location: Location) => Promise<T>,
): Map<string, Promise<T>> {
  const begun = new Map<string, Promise<T>>();
  for (const [path, location] of locations ?? []) {
    const looking = look(location);
    // Whoever asks for it is told why it can't be had.
    looking.catch(() => {});
    begun.set(path, looking);
  }
  return begun;
}
