import type { ErrorCode, YAMLError } from "yaml";
import { shown } from "../names.js";
import type { DiagnosticCode } from "./diagnostic-codes.js";
import type { YamlReading } from "./yaml-reading.js";

/** What is said of a fault that the parser has found. */
interface Words {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly hint: string;
}

const QUOTES = "Put the text into double quotes.";
const CHECK = "Check quotes, brackets and indentation; put a text that holds ':', '#' or '*' into double quotes.";

/** What to write where the parser's own message says what is wrong, and only that. */
const HINTS: Partial<Record<ErrorCode, string>> = {
  BAD_ALIAS: QUOTES,
  BAD_DQ_ESCAPE: "Write a backslash in double quotes twice, or put the text into single quotes.",
  BAD_INDENT: "Indent what belongs together by the same number of spaces.",
  BAD_SCALAR_START: QUOTES,
  TAB_AS_INDENT: "Indent with spaces.",
};

/** Whether a document is YAML 1.2 of the core schema, and the only one in its text. */
export function isSound({ document, text, report, at }: YamlReading): boolean {
  const faults = [...document.errors, ...document.warnings];
  for (const fault of faults) {
    const { code, message, hint } = wordsOf(fault, text);
    report.error(code, at(fault.pos[0]), message, hint);
  }
  const is11 = document.directives.yaml.version !== "1.2";
  if (is11) report.error("YAML_VERSION", at(0), "only YAML 1.2 is read", "Remove the line that begins with %YAML.");
  return faults.length === 0 && !is11;
}

function wordsOf({ code, message, pos }: YAMLError, text: string): Words {
  switch (code) {
    case "RESOURCE_EXHAUSTION":
      return { code: "NESTED_TOO_DEEPLY", message: "nested too deeply", hint: "Make it flatter." };
    case "MULTIPLE_DOCS": {
      const hint = "Keep one document: remove the line that begins with '---', and what belongs to another one.";
      return { code: "YAML_SYNTAX", message: "a second document begins here, and only one is read", hint };
    }
    case "TAG_RESOLVE_FAILED":
    case "BAD_COLLECTION_TYPE": {
      const tag = shown(text.slice(...pos));
      return { code: "YAML_TAG", message: `tags are not read: ${tag}`, hint: "Write the plain value, without '!'." };
    }
    case "BAD_DIRECTIVE": {
      const hint = "Remove the line that begins with '%'.";
      return { code: "YAML_VERSION", message: "only YAML 1.2 is read, and no other directive", hint };
    }
    default:
      return { code: "YAML_SYNTAX", message: `not YAML: ${message}`, hint: HINTS[code] ?? CHECK };
  }
}
