import type { SourcePosition } from "../errors.js";
import type { Diagnostic } from "./diagnostic.js";
import type { DiagnosticCode } from "./diagnostic-codes.js";
import { escapeHidden } from "./names.js";
import type { InferredRequirement } from "./requirement.js";

/** What to write instead; as a function where it has to be looked for, which is done only for what is kept. */
export type Hint = string | (() => string);

/** Reports one thing that is wrong. */
type Add = (code: DiagnosticCode, place: SourcePosition, message: string, hint: Hint) => void;

/** Collects what is wrong, so that all of it can be said at once, each with a hint of what to write instead. */
export interface Report {
  readonly error: Add;
  readonly warn: Add;
  /** Reports that reading something has thrown: a fault of the reader's own, which must not become more than an error. */
  failed(place: SourcePosition, error: unknown): void;
  /** Takes down what was read out of a phase's text. */
  infer(requirement: InferredRequirement): void;
  /** By file, line and column; behind them how many more there are than are kept. */
  sorted(): Diagnostic[];
  /** In the order in which they were taken down. */
  inferred(): readonly InferredRequirement[];
  /**
   * Counts rules of a definition, and lets others run where it has been read for a while. False, with an error the first
   * time, where the definition has more rules than are read.
   */
  hasRoom(count: number, place: SourcePosition): Promise<boolean>;
}

/** How many errors of one definition are kept, and how many warnings: nobody reads more, and a file can have a fault in each line. */
const KEPT_MAX = 1000;

/** An empty report, or one that begins with what others have found. */
export function createReport(found: readonly Diagnostic[] = []): Report {
  const diagnostics = [...found];
  const inferred: InferredRequirement[] = [];
  const counts = { error: 0, warning: 0 };
  let left: Diagnostic | undefined;
  let leftOut = 0;
  const add = (severity: Diagnostic["severity"]): Add => {
    return (code, place, message, hint) => {
      counts[severity] += 1;
      if (counts[severity] <= KEPT_MAX) {
        // What a parser says of a text can hold parts of that text.
        const say = singleLine(typeof hint === "string" ? hint : hint());
        diagnostics.push({ ...place, severity, code, message: singleLine(message), hint: say });
        return;
      }
      leftOut += 1;
      if (left === undefined || (severity === "error" && left.severity === "warning")) left = more(place, severity);
    };
  };
  const error = add("error");
  const spend = spending(error);
  const takeTurns = turns();
  return {
    error,
    warn: add("warning"),
    failed(place, thrown) {
      const hint = "Mend or simplify what stands here. If it looks right, report this with the file.";
      error("DEFINITION_UNREADABLE", place, `reading this has failed: ${shortened(String(thrown))}`, hint);
    },
    infer: (requirement) => void inferred.push(requirement),
    sorted() {
      const sorted = [...diagnostics].sort(byPlace);
      return left === undefined ? sorted : [...sorted, { ...left, message: `${leftOut} more are not listed` }];
    },
    inferred: () => inferred,
    async hasRoom(count, place) {
      const room = spend(count, place);
      await takeTurns();
      return room;
    },
  };
}

/** Returns a text as one line: line feeds and tabs become a space, hidden characters become escapes. */
export function singleLine(text: string): string {
  return escapeHidden(text.replace(/(?:\r?\n|\t)+/g, " "));
}

/** What stands for all that are left out; it is an error where one of them is. */
function more({ file }: SourcePosition, severity: Diagnostic["severity"]): Diagnostic {
  const hint = "Mend those that are listed, then check again.";
  return { file, severity, code: "DIAGNOSTICS_MORE" satisfies DiagnosticCode, message: "", hint };
}

/** How many rules one definition may have, in all its gates: each is compiled, and tried on values. */
const RULES_MAX = 5000;

function spending(error: Add) {
  let left = RULES_MAX;
  let told = false;
  return (count: number, place: SourcePosition): boolean => {
    left -= count;
    if (left >= 0) return true;
    const hint = "Ask for less at each gate, or make several workflows of it.";
    const message = `the definition has more than ${RULES_MAX} rules and validators in all`;
    if (!told) error("DEFINITION_TOO_LARGE", place, message, hint);
    told = true;
    return false;
  };
}

/** So many milliseconds at a time a definition is read without letting anything else run. */
const TURN_MS = 20;

/** Lets whatever waits run, once some time has passed since it last could. */
function turns(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < TURN_MS) return;
    await new Promise((resolve) => setTimeout(resolve));
    since = performance.now();
  };
}

/** How much is repeated of what an error says, in characters. */
const SAID_MAX = 300;

function shortened(text: string): string {
  return text.length <= SAID_MAX ? text : `${text.slice(0, SAID_MAX)}…`;
}

function byPlace(a: Diagnostic, b: Diagnostic): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
