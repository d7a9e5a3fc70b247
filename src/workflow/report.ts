/**
 * Collects everything that is wrong with a definition, and limits the work per definition: 1,000 diagnostics of each
 * severity, 5,000 rules, and a turn of the event loop every 20 ms.
 */
import type { SourcePosition } from "../errors.js";
import type { Diagnostic, DiagnosticCode } from "./diagnostic.js";
import type { FieldType } from "./gate-definition.js";
import { singleLine } from "./hidden.js";

/** The hint: what to write instead. A function is only called for diagnostics that are kept. */
export type Hint = string | (() => string);

type Add<Code> = (code: Code, place: SourcePosition, message: string, hint: Hint) => void;

/** A requirement that was read from the text of a phase, for people to review. */
export interface InferredRequirement extends SourcePosition {
  readonly phase: number;
  readonly name: string;
  readonly type: FieldType;
  readonly required: boolean;
  readonly validators: readonly string[];
  /** The form in which the text states it. */
  readonly from: "table" | "checkbox" | "sentence";
  /** `sure` if the form is unambiguous, `guess` if words were interpreted. */
  readonly certainty: "sure" | "guess";
}

/** Collects the diagnostics of one definition, each with a hint. `Code` are the codes beside those of workflows. */
export interface Report<Code extends string = never> {
  readonly error: Add<Code | DiagnosticCode>;
  readonly warn: Add<Code | DiagnosticCode>;
  /** Reports that a reader has thrown, which is a bug of the reader, as an error of the definition. */
  failed(place: SourcePosition, error: unknown): void;
  infer(requirement: InferredRequirement): void;
  /** Returns the diagnostics by file, line and column, then the number of those that were left out. */
  sorted(): Diagnostic[];
  inferred(): readonly InferredRequirement[];
  /** Counts rules, and lets other work run. Returns false, with an error the first time, if there are too many. */
  spendRules(count: number, place: SourcePosition): Promise<boolean>;
}

/** Maximum number of errors, and of warnings, that are kept: a file can have a fault in each line. */
const KEPT_MAX = 1000;

const MESSAGE_MAX = 300;
/** Maximum number of rules in one definition: each is compiled and tried on values. */
const RULES_MAX = 5000;

/** Creates a report that begins with the given diagnostics. `takeTurns` lets other work run, if it is time. */
export function createReport<Code extends string = never>(
  found: readonly Diagnostic[] = [],
  takeTurns: () => Promise<void> = async () => {},
): Report<Code> {
  const diagnostics = [...found];
  const inferred: InferredRequirement[] = [];
  const counts = { error: 0, warning: 0 };
  let left: Diagnostic | undefined;
  let leftOut = 0;
  const add = (severity: Diagnostic["severity"]): Add<Code | DiagnosticCode> => {
    return (code, place, message, hint) => {
      counts[severity] += 1;
      if (counts[severity] <= KEPT_MAX) {
        // A parser's message can hold parts of the text.
        const say = singleLine(typeof hint === "string" ? hint : hint());
        diagnostics.push({ ...place, severity, code, message: singleLine(message), hint: say });
        return;
      }
      leftOut += 1;
      if (left !== undefined && (severity === "warning" || left.severity === "error")) return;
      const remedy = "Correct the listed problems, then check again.";
      left = {
        file: place.file,
        severity,
        code: "DIAGNOSTICS_MORE" satisfies DiagnosticCode,
        message: "",
        hint: remedy,
      };
    };
  };
  const error = add("error");
  let spent = 0;
  return {
    error,
    warn: add("warning"),
    failed(place, thrown) {
      const hint = "Correct or simplify this place. If it looks right, report this with the file.";
      const text = String(thrown);
      const said = text.length > MESSAGE_MAX ? `${text.slice(0, MESSAGE_MAX)}…` : text;
      error("DEFINITION_UNREADABLE", place, `reading this has failed: ${said}`, hint);
    },
    infer: (requirement) => void inferred.push(requirement),
    sorted() {
      const sorted = [...diagnostics].sort(byPlace);
      return left === undefined ? sorted : [...sorted, { ...left, message: `${leftOut} more are not listed` }];
    },
    inferred: () => inferred,
    async spendRules(count, place) {
      const message = `the definition has more than ${RULES_MAX} rules and validators`;
      const hint = "Require less at each gate, or split the workflow.";
      const isFirst = spent <= RULES_MAX;
      spent += count;
      if (isFirst && spent > RULES_MAX) error("DEFINITION_TOO_LARGE", place, message, hint);
      await takeTurns();
      return spent <= RULES_MAX;
    },
  };
}

function byPlace(a: Diagnostic, b: Diagnostic): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
