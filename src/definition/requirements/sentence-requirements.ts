/** "You must provide `function_count`, a number greater than 0." */
import { type AskedNames, namesIn } from "./asked-names.js";
import { type Asking, askingOf, isConditional } from "./asking-words.js";
import { partOf } from "./inline-marks.js";
import type { Reading } from "./reading.js";
import { type Finding, isFault, unclear } from "./requirement.js";
import { describe } from "./requirement-words.js";
import type { Sentence } from "./sentences.js";
import { valued } from "./valued.js";

const MARKED = "Put the name in code marks: You must provide `function_count`, a number greater than 0.";

/** What a sentence asks for. Nothing if it doesn't ask, or says that nothing is wanted. */
export function sentenceFindings(sentence: Sentence, reading: Reading): Finding[] {
  const asking = askingOf(sentence, reading.inGate);
  if (asking === undefined || asking.kind === "not" || asking.introduces) return [];
  const asked = namesIn(partOf(sentence, asking.from, asking.to), leadOf(sentence, asking), reading.defined);
  const findings = namedFindings(sentence, asked, reading, asking.kind === "optional");
  if (findings.length > 0 || asking.kind === "optional" || hasName(asked)) return findings;
  return [unclear(sentence, "this sentence asks for something, but no name of a field can be read in it", MARKED)];
}

/** What stands before the words that ask is about the first name, too; a label before them isn't. */
function leadOf({ plain }: Sentence, { from }: Asking): string {
  return plain
    .slice(0, from)
    .replace(/^[^:]*:\s*$/, "")
    .replace(/\b(?:must provide|required|optional|evidence)\b.*$/is, "");
}

function hasName({ names, isChoice }: AskedNames): boolean {
  return isChoice || names.length > 0;
}

/** The fields of names; `isOptional` says that a word before them makes all of them optional. */
export function namedFindings(
  sentence: Sentence,
  { names, passedOver, isChoice }: AskedNames,
  { defined }: Reading,
  isOptional: boolean,
  from: "sentence" | "checkbox" = "sentence",
): Finding[] {
  if (isChoice) {
    const which = names.map(({ name }) => name).join(", ");
    const hint = "Ask for all of them, or write a gate file with optional fields and a rule in cross_field_validation.";
    return [unclear(sentence, `one of ${which} would do, which a text can't ask for: none is read`, hint)];
  }
  const description = describe(sentence.plain.replace(/\s+/g, " "));
  const findings = names.flatMap(({ name, words, optional }) =>
    valued({ name, words, optional: optional || isOptional, description, from }, sentence, defined),
  );
  const hasField = findings.some((finding) => !isFault(finding));
  const others = passedOver.map((name) =>
    unclear(
      sentence,
      `${name} stands where no name is expected, and isn't read`,
      `If it is asked for, write it in a list: \`one\`, \`two\` and \`${name}\`.`,
    ),
  );
  const condition =
    hasField && !isOptional && isConditional(sentence)
      ? [
          unclear(
            sentence,
            "this is asked for under a condition, and read as always required",
            'Say "optional", or write a gate file with a rule in cross_field_validation.',
          ),
        ]
      : [];
  return [...findings, ...others, ...condition];
}
