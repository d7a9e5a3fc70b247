/** What the steps of a linear run hand on, the same for everybody: prose of so many characters, another one each time. */
import { readFile } from "node:fs/promises";

const PAGES = [
  "README.md",
  "ARCHITECTURE.md",
  "docs/gates.md",
  "docs/verifiers.md",
  "docs/workflows.md",
  "docs/hosts.md",
];

async function prose() {
  const texts = await Promise.all(PAGES.map((page) => readFile(new URL(`../${page}`, import.meta.url), "utf8")));
  // One byte a character, however it is stored.
  return texts.join("\n").replace(/[^\n -~]/g, "-");
}

/** So many texts of so many characters, no two of them the same. */
export async function linearStates(count, characters) {
  const text = await prose();
  const apart = Math.floor((text.length - characters) / count);
  if (apart < 1) throw new Error(`there are only ${text.length} characters of prose`);
  return Array.from({ length: count }, (_, index) => text.slice(index * apart, index * apart + characters));
}

/** A run, so many times at once. */
export function allAtOnce(run, runs) {
  return () => Promise.all(Array.from({ length: runs }, run));
}
