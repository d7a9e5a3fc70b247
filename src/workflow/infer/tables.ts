/** Reads tables of evidence. They are split here: Markdown's extension would slow parsing down by a third. */
import { plainText } from "../from-markdown.js";
import { orNearest, RESERVED } from "../names.js";
import { readMarks } from "./inline-marks.js";
import {
  describe,
  type Finding,
  type FoundType,
  fault,
  isOptional,
  nameFrom,
  type Place,
  type Reading,
  TABLE_TYPES,
  typeFor,
  typeNamed,
  unclear,
} from "./requirement.js";
import type { NumberedLine } from "./sentences.js";
import { cellValidators, proseValidators, validatorHint } from "./validators.js";

interface Table {
  /** The lines before it. */
  readonly before: readonly NumberedLine[];
  readonly header: readonly string[];
  readonly line: number;
  readonly rows: readonly NumberedLine[];
  /** Lines without a bar after it. GFM reads them as rows, people don't. */
  readonly after: readonly NumberedLine[];
}

/** Returns the requirements of a table; undefined if it is not a table of requirements. */
export function tableFindings({ header, line, rows, after }: Table, reading: Reading): Finding[] | undefined {
  const columns = columnsOf(header, reading);
  if (columns === undefined) return undefined;
  const { type, validator, description } = columns;
  if (type === -1 && validator === -1 && description === -1) {
    const hint = "Write the columns | Evidence | Type | Validator | Description |.";
    const message =
      "this table names evidence, but has no column for its type, validator or description, so it isn't read";
    return [unclear({ line, column: 1 }, message, hint)];
  }
  const hint = "Put a blank line before it, or add bars.";
  const message = "this line follows a table but has no bar, so it isn't read as a row";
  return [
    ...rows.flatMap((row) => rowFindings(row, columns, header.length, reading)),
    ...after.map((place) => unclear(place, message, hint)),
  ];
}

/** Returns the table in the lines of a paragraph; undefined if there is none. */
export function tableIn(lines: readonly NumberedLine[]): Table | undefined {
  const at = lines.findIndex(({ text }, index) => {
    return index > 0 && text.includes("|") && isTableRule(text) && (lines[index - 1]?.text ?? "").includes("|");
  });
  const head = lines[at - 1];
  if (at === -1 || head === undefined) return undefined;
  const rows = lines.slice(at + 1);
  const end = rows.findIndex(({ text }) => !text.includes("|"));
  return {
    before: lines.slice(0, at - 1),
    header: cellsOf(head.text),
    line: head.line,
    rows: end === -1 ? rows : rows.slice(0, end),
    after: end === -1 ? [] : rows.slice(end),
  };
}

/** The words in the headers of the columns of a table of requirements. */
const NAMES = ["field", "fields", "name", "requirement", "requirements", "key"];
const VALIDATORS = "validator validators validation validations rule rules constraint constraints".split(" ");
const DESCRIPTIONS = ["description", "descriptions", "meaning", "details"];

/** The position of each column; -1 for those that are missing. */
type Columns = NonNullable<ReturnType<typeof columnsOf>>;

/** Returns the text in a column; empty if it is missing. */
type CellOf = (column: keyof Columns) => string;

/** Returns undefined if the table asks for nothing. */
function columnsOf(header: readonly string[], { inGate, asked }: Reading) {
  const names = header.map((cell) => describe(cell).toLowerCase().split(/\W+/));
  const find = (words: readonly string[]) => names.findIndex((name) => words.some((word) => name.includes(word)));
  const evidence = find(["evidence"]);
  const isAsked = inGate || asked === "required" || asked === "optional";
  const name = evidence === -1 && isAsked ? find(NAMES) : evidence;
  if (name === -1 || asked === "not") return undefined;
  const [type, validator, description] = [find(["type", "types"]), find(VALIDATORS), find(DESCRIPTIONS)];
  return {
    name,
    type,
    validator,
    description,
    required: find(["required", "mandatory"]),
    optional: find(["optional"]),
  };
}

function rowFindings({ text, line, column }: NumberedLine, columns: Columns, width: number, reading: Reading) {
  const cells = cellsOf(text);
  const place = { line, column };
  const cell: CellOf = (name) => cells[columns[name]] ?? "";
  if (cells.slice(width).some((extra) => extra !== "")) {
    const hint = "Write \\| for a bar in a cell.";
    return [fault("REQUIREMENT_UNCLEAR", place, "this row has more cells than the table has columns", hint)];
  }
  const names = namesOf(cell("name"));
  if (names.length === 0 && cells.some((cell) => cell !== "")) {
    return [unclear(place, "this row has no name", "Write a name into its first cell, such as `function_count`.")];
  }
  return names.flatMap((name) => rowOf(name, cell, place, reading));
}

/** Returns the cells of a row. An escaped bar belongs to its cell. */
function cellsOf(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll("\\|", "|").trim());
}

/** Returns the names in a cell: those in code spans, else an identifier, else a name made from the words. */
function namesOf(cell: string): string[] {
  const codes = readMarks(cell).marks.flatMap(({ kind, text }) => (kind === "code" ? [text] : []));
  const named = codes.filter((code) => /^[A-Za-z_][\w-]*$/.test(code));
  if (named.length > 0) return [...new Set(named)];
  const words = describe(cell)
    .replace(/[([](?:optional|required|mandatory)[)\]]|\*$/gi, "")
    .replace(/\s+/g, " ")
    .trim();
  const parts = words.split(/,|\band\b/).map((part) => part.trim());
  const areNames = parts.every((part) => /^[A-Za-z]\w+$/.test(part) && part.slice(1, -1).includes("_"));
  if (parts.length > 1 && areNames) return parts;
  const name = /^[A-Za-z_][\w-]*$/.test(words) ? words : nameFrom(words);
  return name === "" ? [] : [name];
}

function rowOf(name: string, cell: CellOf, place: Place, { asked, defined }: Reading): Finding[] {
  if (RESERVED.has(name))
    return [fault("NAME_RESERVED", place, `no field may be called ${name}`, "Give it another name.")];
  const words = plainText(cell("description"));
  const spoken = `${cell("name")} ${words}`;
  const stated = cellType(cell("type"));
  const found = stated.found ?? typeFor(`${cell("name")} ${cell("validator")} ${words}`.replaceAll("_", " "), name);
  const type = found?.type ?? "string";
  const read = cellValidators(cell("validator"), type, defined);
  const besides = cellValidators(stated.rest, type, defined);
  const prose = proseValidators(spoken, type);
  const written = [...besides.validators, ...read.validators];
  const isWritten = written.length > 0;
  const optional = yesOrNo(cell("optional"));
  const flag = yesOrNo(cell("required")) ?? (optional === undefined ? undefined : !optional);
  const isSure = stated.found?.sure === true && read.sure && (isWritten || prose.validators.length === 0);
  const findings: Finding[] = [
    {
      field: {
        name,
        type,
        required: flag ?? read.required ?? stated.required ?? (asked !== "optional" && !isOptional(spoken)),
        ...(words === "" ? {} : { description: describe(words) }),
      },
      validators: [...new Set(isWritten ? written : prose.validators)],
      from: "table",
      certainty: isSure ? "sure" : "guess",
      typed: found !== undefined,
      named: true,
      ...place,
    },
  ];
  if (stated.unknown !== undefined) {
    const hint = `Write one of boolean, integer, number, string, object, list or any${orNearest(stated.unknown, TABLE_TYPES)}`;
    findings.push(fault("FIELD_TYPE_UNKNOWN", place, `${name} has the unknown type "${stated.unknown}"`, hint));
  }
  for (const part of [...besides.unknown, ...read.unknown]) {
    const message = `${name} has the unknown validator "${part}"`;
    findings.push(fault("VALIDATOR_UNKNOWN", place, message, validatorHint(part, defined)));
  }
  for (const said of isWritten ? [] : prose.unknown) {
    const message = `"${said}" can't be read as a rule for ${name}, which is of type ${type}`;
    findings.push(unclear(place, message, "Write a rule under Validator."));
  }
  if (yesOrNo(cell("required")) === undefined && /\w/.test(cell("required"))) {
    const message = `"${describe(cell("required"))}" is neither yes nor no: it does not decide if ${name} is required`;
    findings.push(unclear(place, message, "Write yes or no, or a gate file with a rule in cross_field_validation."));
  }
  return findings;
}

/** A type, and the rest of its cell: `positive integer`, `string (optional)`. */
interface CellType {
  readonly found?: FoundType;
  readonly required?: boolean;
  /** The rest of the cell, which may hold validators. */
  readonly rest: string;
  /** Text that is not a type. */
  readonly unknown?: string;
}

const EMPTY = /^(?:|[-–—.]+|n\/?a|\?)$/i;

function cellType(cell: string): CellType {
  const text = plainText(cell).replaceAll("`", "").trim();
  if (EMPTY.test(text)) return { rest: "" };
  const whole = typeNamed(text);
  if (whole !== undefined) return { found: whole, rest: "" };
  const [, inner] = /^optional\s*[[<(](.+)[\])>]$/is.exec(text) ?? [];
  const end = text.search(/(?:\?|(?:\||or)\s*(?:null|none|undefined))$/i);
  const bare = (inner ?? (end > 0 ? text.slice(0, end) : undefined))?.trim();
  if (bare !== undefined) return { ...cellType(bare), required: false };
  return inParts(text);
}

function inParts(text: string): CellType {
  const isOptional = /\boptional\b/i.test(text) && !/\b(?:not|non)[- ]optional\b/i.test(text);
  const isRequired = /\b(?:required|mandatory)\b/i.test(text);
  const rest = text.replace(/\b(?:non-)?(?:optional|required|mandatory)\b/gi, " ");
  const flags = isOptional ? { required: false } : isRequired ? { required: true } : {};
  const words = rest.split(/[\s,;()]+/).filter((word) => word !== "");
  const found = words.flatMap((word) => typeNamed(word) ?? []);
  const types = new Set(found.map(({ type }) => type));
  const others = words.filter((word) => typeNamed(word) === undefined).join(" ");
  if (types.size === 2 && types.has("integer") && types.has("number")) {
    return { ...flags, found: { type: "number", sure: false }, rest: others.replace(/\||\bor\b/g, "") };
  }
  const [first] = found;
  const isList = /\b(?:list|array)s?\s+of\b/i.test(rest);
  if (isList) return { ...flags, found: { type: "list", sure: false }, rest: "" };
  if (first === undefined || types.size > 1) return { ...flags, rest: "", unknown: text };
  return { ...flags, found: others === "" ? first : { ...first, sure: false }, rest: others };
}

/** Returns yes or no; undefined for anything else, such as a condition. */
function yesOrNo(cell: string): boolean | undefined {
  const word = describe(cell).toLowerCase();
  if (/^(?:yes|true|required|mandatory|always|must|y|x)$/.test(word) || /^[✅✓✔]/u.test(cell)) return true;
  return /^(?:no|false|optional|n)$/.test(word) || /^[❌✗✘]/u.test(cell) ? false : undefined;
}

/** Checks whether a line separates a table's header from its rows: `| --- | :-: |`. */
function isTableRule(line: string): boolean {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split("|").every((cell) => /^:?-+:?$/.test(cell.trim()));
}
