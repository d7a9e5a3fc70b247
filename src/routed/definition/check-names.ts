import type { Report } from "../../definition/folder/report.js";
import { RESERVED, shown } from "../../definition/names.js";
import { FINISH } from "../../definition/routed-definition.js";
import { plainName } from "./match-name.js";
import type { IndexEntry } from "./read-index.js";

const NAME_MAX = 120;

/** Reports names that can't tell one step from another, or from the end. */
export function checkNames(entries: readonly IndexEntry[], report: Report): void {
  const before = new Map<string, IndexEntry>();
  for (const entry of entries) {
    const { name, place } = entry;
    const plain = plainName(name);
    if (plain === "" || name.length > NAME_MAX || RESERVED.has(name)) {
      const hint = `Give it a name of letters or digits, at most ${NAME_MAX} characters.`;
      report.error("STEP_NAME_INVALID", place, `a step can't be called ${shown(name)}`, hint);
    } else if (name.toUpperCase() === FINISH) {
      const hint = `${FINISH} is how a decider says that the work is done. Call the step "Wrap Up", for one.`;
      report.error("STEP_NAME_INVALID", place, `a step can't be called ${shown(name)}`, hint);
    }
    const other = before.get(plain);
    if (other === undefined) before.set(plain, entry);
    else reportDuplicate(entry, other, report);
  }
}

function reportDuplicate({ name, place }: IndexEntry, other: IndexEntry, report: Report): void {
  const where = other.place.line === undefined ? "" : ` (line ${other.place.line})`;
  if (name === other.name) {
    const hint = "Name each step once: a workflow may come back to it as often as it likes.";
    report.error("STEP_DUPLICATE", place, `there is a step ${shown(name)} already${where}`, hint);
    return;
  }
  const hint = "Give them names that nobody mistakes for one another.";
  const message = `${shown(name)} and ${shown(other.name)}${where} differ by case and signs alone`;
  report.error("STEP_DUPLICATE", place, message, hint);
}
