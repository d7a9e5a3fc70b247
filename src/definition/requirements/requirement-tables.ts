/**
 * Tables of evidence. Rows are split here: the Markdown extension for tables would be most of what a phase's
 * text costs, and a table is a paragraph without it.
 */
import { isValidatorName, namedValidator, VERIFYING_VALIDATORS } from "../rules/named-validators.js";
import type { FieldType } from "../structure.js";
import type { Requirement } from "./requirement.js";
import { codeNames, describe, isOptional, nameFrom, typeFrom, validatorsFrom } from "./requirement-words.js";

/** A line of a text, with its number from 1. */
export interface NumberedLine {
  readonly text: string;
  readonly line: number;
}

interface Columns {
  readonly name: number;
  readonly type: number;
  readonly validator: number;
  readonly description: number;
  readonly required: number;
}

/** The requirements of a table; empty if the lines hold none. `inGate` says that they stand below a gate's heading. */
export function tableRequirements(lines: readonly NumberedLine[], inGate: boolean): Requirement[] {
  const at = lines.findIndex(
    ({ text }, index) => index > 0 && /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$/.test(text),
  );
  const columns = columnsOf(cellsOf(lines[at - 1]?.text ?? ""), inGate);
  if (at === -1 || columns === undefined) return [];
  const rows = lines.slice(at + 1);
  const end = rows.findIndex(({ text }) => !text.includes("|"));
  return rows.slice(0, end === -1 ? undefined : end).flatMap((row) => requirementOf(row, columns));
}

/** The cells of a row. A bar that is escaped is part of its cell. */
function cellsOf(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll("\\|", "|").trim());
}

function columnsOf(header: readonly string[], inGate: boolean): Columns | undefined {
  const names = header.map((cell) => describe(cell).toLowerCase());
  const find = (...words: string[]) =>
    names.findIndex((name) => words.some((word) => name.split(/\W+/).includes(word)));
  const evidence = find("evidence");
  const name = evidence === -1 && inGate ? find("field", "name", "requirement") : evidence;
  const columns = {
    name,
    type: find("type"),
    validator: find("validator", "validation", "rule"),
    description: find("description", "meaning", "details"),
    required: find("required", "mandatory"),
  };
  const others = [columns.type, columns.validator, columns.description].filter((index) => index !== -1);
  return name === -1 || others.length === 0 ? undefined : columns;
}

function requirementOf({ text, line }: NumberedLine, columns: Columns): Requirement[] {
  const cells = cellsOf(text);
  const cell = (index: number) => cells[index] ?? "";
  const given = cell(columns.name);
  const [code] = codeNames(given);
  const name = code ?? (/^[A-Za-z_][\w-]*$/.test(describe(given)) ? describe(given) : nameFrom(describe(given)));
  if (name === "") return [];
  const words = `${given} ${cell(columns.validator)} ${cell(columns.description)}`;
  const found = typeFrom(cell(columns.type)) ?? typeFrom(words);
  const type = found?.type ?? "string";
  const validator = describe(cell(columns.validator));
  const isRule = isWritten(validator, type);
  const description = describe(cell(columns.description));
  const required = requiredBy(cell(columns.required)) ?? !isOptional(words);
  const hasGuessed = !isRule && /\w/.test(validator) && !/^none$/i.test(validator);
  return [
    {
      field: { name, type, required, ...(description === "" ? {} : { description }) },
      validators: isRule ? [validator] : validatorsFrom(words, type),
      from: "table",
      certainty: found?.sure === true && !hasGuessed ? "sure" : "guess",
      line,
      column: text.length - text.trimStart().length + 1,
    },
  ];
}

/** Whether a cell holds a validator or a rule, not words about one. */
function isWritten(cell: string, type: FieldType): boolean {
  if (/^lambda\b|\bvalue\b.*[<>=(]|\(value\)/.test(cell)) return true;
  return isValidatorName(cell) && (VERIFYING_VALIDATORS.has(cell) || namedValidator(cell, type) !== undefined);
}

function requiredBy(cell: string): boolean | undefined {
  const word = describe(cell).toLowerCase();
  if (/^(?:yes|true|required|y|x)$/.test(word) || /^[✅✓✔]/u.test(cell)) return true;
  return /^(?:no|false|optional|n)$/.test(word) || /^[❌✗✘]/u.test(cell) ? false : undefined;
}
