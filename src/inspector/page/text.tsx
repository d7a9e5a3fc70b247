/**
 * Text from outside: evidence, names, notes, the contents of files. It is never HTML; what can't be seen, or would turn the
 * text around it, is shown as a sign; and what is long is cut. Times, numbers and states are here, too.
 */
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { ListedSession } from "../../read/model.js";
import type { Standing as SessionStanding } from "../../read/standing.js";
import { unchangedText } from "../../read/why-text.js";
import { HIDDEN } from "../../workflow/hidden.js";

/** Makes hidden characters visible, as [U+202E]. A carriage return before a line feed is not hidden. */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

const LINE_MAX = 300;

/** Returns a text for one line: hidden characters made visible, and cut. */
export function line(text: string, max = LINE_MAX): string {
  const shown = visible(text.slice(0, max).replaceAll(/\r?\n|\t/g, " "));
  return text.length > max ? `${shown}…` : shown;
}

interface LineProps {
  readonly text?: string;
  readonly max?: number;
  readonly code?: boolean;
  /** The page's own words that introduce it. */
  readonly before?: string;
}

/** A text from outside in one line; nothing if there is no text. */
export function Line({ text, max, code = false, before }: LineProps) {
  if (text === undefined) return null;
  const shown = line(text, max);
  return (
    <>
      {before}
      {code ? <code dir="auto">{shown}</code> : <bdi>{shown}</bdi>}
    </>
  );
}

/** As many characters at the end of a path are never cut, less those before the first slash among them. */
const END = 28;
const PATH_MAX = 400;

/** A text from outside in one line that is cut in the middle where it is too wide: the end of a path says most. */
export function MiddleCut({ text }: { readonly text: string }) {
  const characters = [...line(text, PATH_MAX)];
  if (characters.length <= END) return <bdi>{characters.join("")}</bdi>;
  const slash = characters.indexOf("/", characters.length - END);
  const at = slash === -1 ? characters.length - END : slash;
  return (
    <span class="middle-cut" dir="auto">
      <span>{characters.slice(0, at).join("")}</span>
      <span>{characters.slice(at).join("")}</span>
    </span>
  );
}

/** Returns a text for one line without its middle, if it is longer: for names, of which the end says most. */
export function ends(text: string, max = 120): string {
  const characters = [...line(text, PATH_MAX)];
  const before = Math.floor(max / 3);
  if (characters.length <= max) return characters.join("");
  return [...characters.slice(0, before), "…", ...characters.slice(before - max)].join("");
}

const LONG_FIRST = 2000;
/** Lines that are shown at first: of prose, and of code. */
const [LINES_FIRST, CODE_FIRST] = [60, 20];
const LONG_MORE = 20_000;

/** A text from outside with its lines. A long one is cut, with a button for more. */
export function Long({ text, code = false }: { readonly text: string; readonly code?: boolean }) {
  const shown = useSignal(firstOf(text, code ? CODE_FIRST : LINES_FIRST));
  const part = visible(text.slice(0, shown.value)) + (text.length > shown.value ? "…" : "");
  const Tag = code ? "pre" : "div";
  return (
    <>
      <Tag class="text" dir="auto" tabIndex={code && isWide(text) ? 0 : undefined}>
        {part}
      </Tag>
      <More shown={shown} all={text.length} step={LONG_MORE} what="character" />
    </>
  );
}

/** The characters that are shown at first: so many, or so many lines. */
function firstOf(text: string, most: number): number {
  const part = text.slice(0, LONG_FIRST);
  const lines = part.split("\n");
  return lines.length <= most ? LONG_FIRST : lines.slice(0, most).join("\n").length;
}

/** A text that may be wider than its place is reached with the keyboard. */
function isWide(text: string): boolean {
  return /[^\n]{60}/.test(text.slice(0, LONG_FIRST)) || text.split("\n", 20).length > 15;
}

interface MoreProps {
  readonly shown: { value: number };
  readonly all: number;
  /** As many more are shown with each click. */
  readonly step: number;
  readonly what: string;
}

/** The button at the end of something that is cut. */
export function More({ shown, all, step, what }: MoreProps) {
  const left = all - shown.value;
  if (left <= 0) return null;
  return (
    <button type="button" class="more" onClick={() => (shown.value += step)}>
      Show more ({counted(left, what)} left)
    </button>
  );
}

interface SomeProps<T> {
  readonly items: readonly T[];
  readonly first?: number;
  readonly what: string;
  readonly children: (item: T, index: number) => ComponentChildren;
}

/** A long list: the first items, and a button for more. */
export function Some<T>({ items, first = 50, what, children }: SomeProps<T>) {
  const shown = useSignal(first);
  return (
    <>
      {items.slice(0, shown.value).map(children)}
      {items.length > shown.value && (
        <li>
          <More shown={shown} all={items.length} step={500} what={what} />
        </li>
      )}
    </>
  );
}

const numbers = new Intl.NumberFormat("en");
const dayAndTime = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** Returns `1 phase`, `2,000 phases`. */
export function counted(count: number, what: string): string {
  return `${numbers.format(count)} ${what}${count === 1 ? "" : what.endsWith("s") ? "es" : "s"}`;
}

export function number(value: number): string {
  return numbers.format(value);
}

/** A moment in local time; in UTC when the pointer is on it. */
export function Time({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={utc(at)}>
      {dayAndTime.format(new Date(at))}
    </time>
  );
}

/** The time, every 20 seconds: for ages. */
const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 20_000);

/** How long ago a moment was: `3 min`. The moment itself when the pointer is on it. */
export function Ago({ at, suffix = "" }: { readonly at: string; readonly suffix?: string }) {
  return (
    <time dateTime={at} title={`${dayAndTime.format(new Date(at))} (${utc(at)})`}>
      {duration(Math.max(0, now.value - Date.parse(at)) / 1000)}
      {suffix}
    </time>
  );
}

function utc(at: string): string {
  return `${at.slice(0, 19).replace("T", " ")} UTC`;
}

const UNITS = [
  ["d", 86_400, "day"],
  ["h", 3600, "hour"],
  ["min", 60, "minute"],
] as const;

/** Returns a time as `45 s`, `3 min`, `2 h 5 min`, `4 d`; from a minute on also in words: `2 hours 5 minutes`. */
export function duration(seconds: number, inWords = false): string {
  const at = UNITS.findIndex(([, size]) => seconds >= size);
  const unit = UNITS[at];
  if (unit === undefined) return seconds > 0 && seconds < 1 ? "under 1 s" : `${Math.floor(seconds)} s`;
  const text = (count: number, [short, , word]: (typeof UNITS)[number]) =>
    inWords ? counted(count, word) : `${count} ${short}`;
  const whole = Math.floor(seconds / unit[1]);
  const next = UNITS[at + 1];
  const rest = next === undefined || whole >= 10 ? 0 : Math.floor((seconds % unit[1]) / next[1]);
  return [text(whole, unit), ...(next === undefined || rest === 0 ? [] : [text(rest, next)])].join(" ");
}

/** Says of a session that is stuck how long it has been so: `no change for 4 d`; undefined for any other one. */
export function unchanged(session: ListedSession, inWords = false): string | undefined {
  return unchangedText(session, now.value, (seconds) => duration(seconds, inWords));
}

const TONES = {
  accent: ["active", "working", "verifying", "current"],
  good: ["completed", "done", "passed", "ok"],
  bad: ["failed", "broken", "denied"],
  refused: ["refused"],
  warn: ["waiting", "paused", "overridden", "waived", "warning"],
  hollow: ["ahead", "skipped", "next"],
};

/** Returns the class that has the colours of a state. */
export function toneOf(state: string): string {
  const tone = Object.entries(TONES).find(([, states]) => states.includes(state));
  return tone === undefined ? "" : `tone-${tone[0]}`;
}

export function State({ of, word = of }: { readonly of: string; readonly word?: string }) {
  return <span class={`state ${toneOf(of)}`}>{word.replaceAll("_", " ")}</span>;
}

/** How a session stands: a word, with a colour and a shape of its own. */
export function Standing({ of, word }: { readonly of: SessionStanding | "damaged"; readonly word: string }) {
  return <span class={`standing is-${of}`}>{word}</span>;
}
