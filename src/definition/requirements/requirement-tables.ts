/** Tables of evidence: a requirement in each row. */
import { plainText } from "../markdown/inline-text.js";
import { RESERVED } from "../names.js";
import { readMarks } from "./inline-marks.js";
import type { Reading } from "./reading.js";
import { type Finding, type Place, type Requirement, type RequirementFault, unclear } from "./requirement.js";
import { describe, isOptional, nameFrom } from "./requirement-words.js";
import type { NumberedLine } from "./sentences.js";
import { cellsOf, type Table } from "./table-rows.js";
import { type CellType, cellType, typeHint } from "./table-types.js";
import type { FoundType } from "./type-words.js";
import { cellValidators, proseValidators, validatorHint } from "./validator-words.js";
import { typeFor } from "./valued.js";

interface Columns {
  readonly name: number;
  readonly type: number;
  readonly validator: number;
  readonly description: number;
  readonly required: number;
  readonly optional: number;
}

/** The requirements of a table; undefined if it is none of requirements. */
export function tableFindings(table: Table, reading: Reading): Finding[] | undefined {
  const columns = columnsOf(table.header, reading);
  if (columns === undefined) return undefined;
  const { type, validator, description } = columns;
  if (type === -1 && validator === -1 && description === -1) {
    const hint = "Write the columns | Evidence | Type | Validator | Description |.";
    const message = "this table names evidence, but has no column that says what it is, and isn't read";
    return [unclear({ line: table.line, column: 1 }, message, hint)];
  }
  const after = table.after.map((line) =>
    unclear(
      line,
      "this line follows a table without a bar in it, and is read as no row of it",
      "Put a blank line before it, or bars into it.",
    ),
  );
  return [...table.rows.flatMap((row) => rowFindings(row, columns, table.header.length, reading)), ...after];
}

function columnsOf(header: readonly string[], { inGate, asked }: Reading): Columns | undefined {
  const names = header.map((cell) => describe(cell).toLowerCase().split(/\W+/));
  const find = (...words: string[]) => names.findIndex((name) => words.some((word) => name.includes(word)));
  const evidence = find("evidence");
  const isAsked = inGate || asked === "required" || asked === "optional";
  const name =
    evidence === -1 && isAsked ? find("field", "fields", "name", "requirement", "requirements", "key") : evidence;
  if (name === -1 || asked === "not") return undefined;
  return {
    name,
    type: find("type", "types"),
    validator: find(
      "validator",
      "validators",
      "validation",
      "validations",
      "rule",
      "rules",
      "constraint",
      "constraints",
    ),
    description: find("description", "descriptions", "meaning", "details"),
    required: find("required", "mandatory"),
    optional: find("optional"),
  };
}

function rowFindings(row: NumberedLine, columns: Columns, width: number, reading: Reading): Finding[] {
  const cells = cellsOf(row.text);
  const place = { line: row.line, column: row.column };
  const cell = (index: number) => cells[index] ?? "";
  const names = namesOf(cell(columns.name));
  if (cells.slice(width).some((extra) => extra !== "")) {
    const hint = "Write \\| for a bar inside of a cell.";
    return [fault("REQUIREMENT_UNCLEAR", place, "this row has more cells than the table has columns", hint)];
  }
  if (names.length === 0) {
    if (cells.every((one) => one === "")) return [];
    return [
      unclear(
        place,
        "this row asks for something without a name",
        "Write a name into its first cell: `function_count`.",
      ),
    ];
  }
  return names.flatMap((name) => rowOf(name, cell, columns, place, reading));
}

/** Names in code marks; else an identifier, or a name made of the words. */
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

function rowOf(
  name: string,
  cell: (index: number) => string,
  columns: Columns,
  place: Place,
  reading: Reading,
): Finding[] {
  if (RESERVED.has(name))
    return [fault("NAME_RESERVED", place, `no field may be called ${name}`, "Give it another name.")];
  const given = cell(columns.name);
  const words = plainText(cell(columns.description));
  const stated = cellType(cell(columns.type));
  const found = stated.found ?? typeFor(`${given} ${cell(columns.validator)} ${words}`.replaceAll("_", " "), name);
  const type = found?.type ?? "string";
  const read = cellValidators(cell(columns.validator), type, reading.defined);
  const besides = cellValidators(stated.rest, type, reading.defined);
  const prose = proseValidators(`${given} ${words}`, type);
  const written = [...besides.validators, ...read.validators];
  const optional = yesOrNo(cell(columns.optional));
  const flag = yesOrNo(cell(columns.required)) ?? (optional === undefined ? undefined : !optional);
  const requirement: Requirement = {
    field: {
      name,
      type,
      required:
        flag ?? read.required ?? stated.required ?? (reading.asked !== "optional" && !isOptional(`${given} ${words}`)),
      ...(words === "" ? {} : { description: describe(words) }),
    },
    validators: [...new Set(written.length > 0 ? written : prose.validators)],
    from: "table",
    certainty: isSure(found, stated, read.sure, written, prose.validators) ? "sure" : "guess",
    typed: found !== undefined,
    named: true,
    ...place,
  };
  const unknown = [...besides.unknown, ...read.unknown];
  return [
    requirement,
    ...typeFaults(name, stated, place),
    ...validatorFaults(name, unknown, place, reading),
    ...proseFaults(name, type, written.length > 0 ? [] : prose.unknown, place),
    ...flagFaults(name, cell(columns.required), place),
  ];
}

function isSure(
  found: FoundType | undefined,
  stated: CellType,
  isWritten: boolean,
  written: readonly string[],
  prose: readonly string[],
) {
  return stated.found?.sure === true && found?.sure === true && isWritten && (written.length > 0 || prose.length === 0);
}

function typeFaults(name: string, { unknown }: CellType, place: Place): RequirementFault[] {
  if (unknown === undefined) return [];
  return [fault("FIELD_TYPE_UNKNOWN", place, `there is no type "${unknown}", as ${name} has it`, typeHint(unknown))];
}

function validatorFaults(
  name: string,
  unknown: readonly string[],
  place: Place,
  { defined }: Reading,
): RequirementFault[] {
  return unknown.map((part) =>
    fault(
      "VALIDATOR_UNKNOWN",
      place,
      `there is no validator "${part}", as ${name} has it`,
      validatorHint(part, defined),
    ),
  );
}

/** A condition is none of the two. */
function yesOrNo(cell: string): boolean | undefined {
  const word = describe(cell).toLowerCase();
  if (/^(?:yes|true|required|mandatory|always|must|y|x)$/.test(word) || /^[✅✓✔]/u.test(cell)) return true;
  return /^(?:no|false|optional|n)$/.test(word) || /^[❌✗✘]/u.test(cell) ? false : undefined;
}

function flagFaults(name: string, cell: string, place: Place): RequirementFault[] {
  if (yesOrNo(cell) !== undefined || !/\w/.test(cell)) return [];
  const message = `"${describe(cell)}" is neither yes nor no: ${name} is read as always required`;
  return [unclear(place, message, "Write yes or no, or a gate file with a rule in cross_field_validation.")];
}

function proseFaults(name: string, type: string, unknown: readonly string[], place: Place): RequirementFault[] {
  return unknown.map((said) =>
    unclear(
      place,
      `"${said}" can't be read as a rule for ${name}, which is of type ${type}`,
      "Write a rule under Validator.",
    ),
  );
}

function fault(code: RequirementFault["code"], place: Place, message: string, hint: string): RequirementFault {
  return { severity: "error", code, message, hint, ...place };
}
