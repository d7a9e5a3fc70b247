import { describe, expect, it } from "vitest";
import { findAgain } from "../../../src/phased/state/find-again.js";

/** Returns parts as a text writes them, such as `1A 2B`: a number, then a name. */
const parts = (text: string) =>
  text.split(" ").map((part) => ({ number: Number.parseInt(part, 10), name: part.slice(1) }));
/** Returns where the parts of a text are in the other one, in their order; `-` for those that are not found. */
function places(before: string, now: string): string {
  const [was, is] = [parts(before), parts(now)];
  const found = was.map((part) => findAgain(part, was, is));
  return found.map((part) => (part === undefined ? "-" : `${part.number}${part.name}`)).join(" ");
}

describe("a part of another revision", () => {
  it.each([
    ["is found by its name, where nothing has changed", "1A 2B 3C", "1A 2B 3C", "1A 2B 3C"],
    ["is found by its name under another number", "1A 2B 3C", "1N 2B 3C 4A", "4A 2B 3C"],
    ["is found by its name, not by a number that another one has now", "1A 2B", "1B 2A", "2A 1B"],
    ["is gone if others are gone with it", "1A 2B 3C", "1C", "- - 1C"],
    ["is gone if another one is new", "1A 2B", "1A 2X 3Y", "1A -"],
    ["of a name that others share is found in their order", "1A 2B 3A", "2A 4A 5B", "2A 5B 4A"],
    ["of a name that fewer share now is not told apart", "1A 2B 3A", "1A 2B 3C", "- 2B -"],
    ["of a name that more share now is not told apart", "1A 2B", "1A 2B 3A", "- 2B"],
    ["is found by its number if it has a new name alone", "1A 2B 3C", "1A 2X 3C", "1A 2X 3C"],
    ["is found by its number if all have new names", "1A 2B", "1X 2Y", "1X 2Y"],
    ["with a new name is not found if another one moved there", "1A 2B 3C", "1B 2X 3C", "- 1B 3C"],
    ["with a new name is not found if another number is new", "1A 2B 3C", "1X 2Y 4C", "- - 4C"],
    ["with a new name is not found if another one is gone", "1A 2B", "1X", "- -"],
  ])("%s", (_, before, now, found) => {
    expect(places(before, now)).toBe(found);
  });
});
