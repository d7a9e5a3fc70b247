/** Requirements out of words: a name, and what is said of it. */
import { TYPE_WORDS } from "../field-types.js";
import { RESERVED } from "../names.js";
import { nearest } from "../nearest.js";
import { comparisonsIn, typeCompared } from "./comparisons.js";
import { type Finding, type Place, type Requirement, unclear } from "./requirement.js";
import { bracketed, type FoundType, typeFromWords, typeNamed } from "./type-words.js";
import { isKnownValidator, isNamedValidator, proseValidators, validatorHint } from "./validator-words.js";

/** A name and the words about it. */
export interface Valued {
  readonly name: string;
  readonly words: string;
  readonly optional: boolean;
  readonly description: string;
  readonly from: Requirement["from"];
}

/** A value that words ask for; its type and validators are guesses. */
export function valued(
  { name, words, optional, description, from }: Valued,
  place: Place,
  defined: ReadonlySet<string>,
) {
  if (RESERVED.has(name)) return [unclear(place, `no field may be called ${name}`, "Give it another name.")];
  const spoken = words.replaceAll("_", " ");
  const found = typeFor(spoken, name);
  const type = found?.type ?? "string";
  const named = validatorsNamed(words, defined);
  const prose = proseValidators(named.rest.replaceAll("_", " "), type);
  const requirement: Requirement = {
    field: { name, type, required: !optional, ...(description === "" ? {} : { description }) },
    validators: [...new Set([...named.names, ...prose.validators])],
    from,
    certainty: "guess",
    typed: typeFromWords(spoken, name) !== undefined,
    named: true,
    ...place,
  };
  const findings: Finding[] = [requirement];
  for (const said of prose.unknown) {
    const message = `"${said}" can't be read as a rule for ${name}, which is taken for a field of type ${type}`;
    findings.push(
      unclear(place, message, "Name its type, as in (integer, at least 3), or write a table with a Validator."),
    );
  }
  return [...findings, ...misspelt(words, name, place, defined)];
}

/** The type that words speak of, or that what they compare with has. */
export function typeFor(words: string, name: string): FoundType | undefined {
  const found = typeFromWords(words, name);
  if (found !== undefined) return found;
  const compared = typeCompared(comparisonsIn(words));
  return compared === undefined ? undefined : { type: compared, sure: false };
}

/** Validators that words name: `greater_than_0`. */
function validatorsNamed(words: string, defined: ReadonlySet<string>) {
  const names: string[] = [];
  const rest = words.replace(/(?<![\w/.\\-])[A-Za-z]\w*_\w+/g, (word) => {
    if (!isNamedValidator(word, defined)) return word;
    names.push(word);
    return " ";
  });
  return { names, rest };
}

/** Words in brackets that are nearly types or validators: `(integr, greater_then_0)`. */
function misspelt(words: string, name: string, place: Place, defined: ReadonlySet<string>): Finding[] {
  return bracketed(words).flatMap((part): Finding[] => {
    if (!/^[A-Za-z]\w*$/.test(part) || part === name || typeNamed(part) !== undefined) return [];
    if (isKnownValidator(part, defined)) return [];
    const type = part.length < 5 ? undefined : nearest(part, TYPE_WORDS.keys());
    if (type !== undefined && !part.includes("_")) {
      const hint = `Did you mean ${type}?`;
      return [
        {
          ...unclear(place, `there is no type "${part}", so it says nothing of ${name}`, hint),
          code: "FIELD_TYPE_UNKNOWN",
        },
      ];
    }
    if (!part.includes("_")) return [];
    const message = `there is no validator "${part}", so it says nothing of ${name}`;
    return [{ ...unclear(place, message, validatorHint(part, defined)), code: "VALIDATOR_UNKNOWN" }];
  });
}
