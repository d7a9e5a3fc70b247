/**
 * The ids of tasks, by one definition for lines of tasks, headings, lists of subtasks and dependencies: numbers (`1.2`,
 * `9a`, `1.2b`, `1.a`) and codes (`T001`, `T-001`, `T-HF01`, `T068A`, `FE-01`, `WP02`).
 */

/** The forms in which a plan names its tasks: `Task 1.1`, `T012`, `1.1`. */
export type TaskIds = "task" | "T" | "number";

/** A number, with parts and a letter. */
const NUMBER = String.raw`\d+(?:\.\d+)*(?:\.?[a-z](?![\p{L}\p{N}]))?`;
/** Capitals and digits with hyphens or dots between; at least one digit, and a letter first. */
const CODE = String.raw`(?=[A-Z-]{0,12}\d|TXXX)[A-Z][A-Z0-9]{0,11}(?:-[A-Z0-9]{1,12}){0,3}(?:\.\d+)*[A-Za-z]?(?![\p{L}\p{N}])|#\d+`;

/** Any id in a dependency. A number needs a dot: `3` may count things; a code has no hyphen after a digit: `T001-003` is a range. */
export const ANY_ID = String.raw`\d+(?:\.\d+)+(?:\.?[a-z](?![\p{L}\p{N}]))?|\d+\.?[a-z](?![\p{L}\p{N}])|(?:[A-Z]{1,12}-){0,2}(?:[A-Z]{1,12}-?|t)\d+(?:\.\d+)*[A-Za-z]?(?![\p{L}\p{N}])`;

/** The id of a task as it is written, and the rest of its text. */
export interface TaskTitle {
  readonly id: string;
  readonly rest: string;
  /** True if a colon, a bracket or the end follows the id, so that it is one without doubt. */
  readonly sure: boolean;
}

const OPENING = "^[\\\\*_~\\s]*(?:\\[(?=[A-Z0-9.-]+\\])|[(`](?=[A-Z]))?";
const CLOSING = "(?=[\\s:：.)\\]、`*_~(–—-]|$)";
const NAMED = new RegExp(String.raw`^(${NUMBER}|${CODE}|[a-z]+\d+)(?!\.?[\w–-]*\d)${CLOSING}`, "u");
const CODED = new RegExp(`${OPENING}(${CODE})${CLOSING}`, "u");
/** A whole number needs a dot or bracket after it; `9a` and `1.2` may stand alone. */
const NUMBERED = new RegExp(
  String.raw`${OPENING}(\d+(?:\.\d+)+(?:\.?[a-z](?![\p{L}\p{N}]))?|\d+\.[a-z](?=[\s:.)])|\d+(?=[.)、](?!\d))|\d+[a-z](?=[*_~]{0,3}[.):：]|\*\*))${CLOSING}`,
  "u",
);

/** Spaces, a colon and the rest of a bold label; not `~~`, which strikes out the name. Underscores at the start of a name, `__proto__`, belong to the name. */
const AFTER_ID =
  /^\s*(?:\](?:\([^()]*\))?|[`)])?(?:[\s*]|_+(?![_\p{L}\p{N}]))*[:：.)、–—-]*(?:[\s*]|_+(?![_\p{L}\p{N}]))*/u;
const SURE = /^(?:\]|[*_~]*\s*[:：]|\.\s|\s*[–—-]\s|[*_~]*$)/;

/** Reads the ids at the start of texts, in the forms of a plan. */
export type IdReader = ReturnType<typeof idReader>;

/** Returns a reader of ids. `codes` are the prefixes of codes that are ids in this plan, from {@link codePrefixes}. */
export function idReader(taskWord: RegExp, codes: ReadonlySet<string>) {
  const readForm = (text: string, form: TaskIds): TaskTitle | undefined => {
    if (form === "task") {
      const [word = ""] = taskWord.exec(text) ?? [];
      const id = word === "" ? undefined : NAMED.exec(text.slice(word.length))?.[1];
      return id === undefined ? undefined : titleAfter(text, word.length, id);
    }
    if (form === "number") {
      const [before = "", id] = NUMBERED.exec(text) ?? [];
      return id === undefined ? undefined : titleAfter(text, before.length - id.length, id);
    }
    const title = codeTitle(text);
    return title && codes.has(prefixOf(title.id)) ? { ...title, id: title.id.replace("#", "") } : undefined;
  };
  return {
    /** Returns the title of a task, in the first of the given forms that it has. */
    read(text: string, forms: readonly TaskIds[]): TaskTitle | undefined {
      for (const form of forms) {
        const title = readForm(text, form);
        if (title !== undefined) return title;
      }
      return undefined;
    },
    /** Checks whether a text begins with the word for task. */
    isNamed: (text: string) => taskWord.test(text),
  };
}

/** `T-24 hours` is a time before something. */
const COUNTDOWN = /^[\\*_~\s]*[DT][-–+]\d+\s+(?:min(?:ute)?|hour|day|week|month)s?\b/i;

function codeTitle(text: string): TaskTitle | undefined {
  if (COUNTDOWN.test(text)) return undefined;
  const [before = "", id] = CODED.exec(text) ?? [];
  return id === undefined ? undefined : titleAfter(text, before.length - id.length, id);
}

function titleAfter(text: string, start: number, id: string): TaskTitle {
  const rest = text.slice(start + id.length);
  const name = rest.replace(AFTER_ID, "");
  // A backtick that is not closed behind the id begins the name.
  const isCode = /^\s*`/.test(rest) && !text.slice(0, start).includes("`");
  return { id, rest: isCode ? rest : name, sure: SURE.test(rest) };
}

/** Returns the letters before the first digit: `FE-` of `FE-01`, `T` of `T012`. */
function prefixOf(id: string): string {
  return id.slice(0, Math.max(0, id.search(/\d/))) || id;
}

/** A code that names something else: `UTF-8`, `SHA-256`. */
const NAMES =
  /^(?:UTF|SHA|MD|ISO|RFC|HTTP|TLS|SSL|ES|H|IPV|OAUTH|GPT|AES|RSA|EC|S|P|Q|V|U|K|MP|UUID|BASE|CVE|WCAG|AA|A)-?$/;

/** Returns the prefixes of codes that are ids in a plan, by how its lines begin with them. `namedIn` returns those that dependencies name. */
export function codePrefixes(
  texts: readonly string[],
  namedIn: (isId: (word: string) => boolean) => readonly string[] = () => [],
): ReadonlySet<string> {
  const titles = texts.flatMap((text) => codeTitle(text) ?? []);
  const leading = new Set(titles.map(({ id }) => id).filter((id) => !/^T\d/.test(id)));
  const named = leading.size === 0 ? [] : namedIn((word) => leading.has(word));
  const found = new Set(["T", "TXXX", ...named.map(prefixOf)]);
  const ids = new Map<string, Set<string>>();
  const hyphened: string[] = [];
  for (const { id, sure } of titles) {
    const prefix = prefixOf(id);
    const isName = NAMES.test(prefix);
    if (/^[A-Z]+-\d/.test(id) && !isName) hyphened.push(prefix);
    const known = ids.get(prefix) ?? new Set();
    ids.set(prefix, known.add(id));
    const isCode = known.size > 2 || (sure && id.includes("-"));
    if (/^0\d/.test(id.slice(prefix.length)) || (isCode && !isName)) found.add(prefix);
  }
  return hyphened.length > 1 && hyphened.length * 2 >= texts.length ? new Set([...found, ...hyphened]) : found;
}

/** Makes the ids of tasks unique. `given` are all ids of the source; generated ids differ from them. */
export function uniqueIds(given: Iterable<string>) {
  const own = new Set(given);
  const used = new Set<string>();
  const copies = new Map<string, number>();
  const use = (id: string, isFree: boolean) => {
    let unique = id;
    if (!isFree) {
      let copy = copies.get(id) ?? 2;
      while (used.has(`${id}-${copy}`) || own.has(`${id}-${copy}`)) copy += 1;
      copies.set(id, copy + 1);
      unique = `${id}-${copy}`;
    }
    used.add(unique);
    return unique;
  };
  return {
    /** Returns the id if no earlier task has it; else the first free one of `1.1-2`, `1.1-3`, … */
    take: (id: string) => use(id, !used.has(id)),
    /** Returns an id for a task without one; never one that the source gives to another task. */
    make: (id: string) => use(id, !used.has(id) && !own.has(id)),
  };
}
