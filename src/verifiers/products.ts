/** Files that tools write by themselves, as a run of tests does: no check asks for them, blames or compares them. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "../sandbox/refusals.js";

/** A name, or the end of one after `*`. A folder that may be something else is known by one of its marks in it. */
type Product = string | { readonly name: string; readonly marks: readonly string[] };

/** The table of products, by the tool that writes them. */
const PRODUCTS: Readonly<Record<string, readonly Product[]>> = {
  Python: ["__pycache__", "*.pyc", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".hypothesis"],
  "coverage.py": [".coverage", { name: "htmlcov", marks: ["status.json"] }],
  JavaScript: [".vite", ".vitest", ".turbo", ".parcel-cache", ".eslintcache", "*.tsbuildinfo"],
  Istanbul: [
    ".nyc_output",
    { name: "coverage", marks: ["lcov.info", "coverage-final.json", "coverage-summary.json", "clover.xml", "tmp"] },
  ],
  "Cargo, Maven": [
    { name: "target", marks: ["CACHEDIR.TAG", ".rustc_info.json", "maven-status", "surefire-reports", "test-classes"] },
  ],
  Gradle: [".gradle", { name: "build", marks: ["test-results"] }],
  RSpec: [".rspec_status"],
  phasegate: [".phasegate"],
};

const ALL = Object.values(PRODUCTS).flat();
const NAMES = new Set(ALL.filter((product) => typeof product === "string"));
const ENDS = [...NAMES].filter((name) => name.startsWith("*")).map((name) => name.slice(1));
const MARKS = new Map(ALL.flatMap((product) => (typeof product === "string" ? [] : [[product.name, product.marks]])));

/**
 * Checks whether a path is a product. A committed file is never one: the caller leaves it out. `list` returns
 * the names in a folder.
 */
export async function isProduct(path: string, list: (path: string) => Promise<readonly string[]>): Promise<boolean> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (NAMES.has(name) || ENDS.some((end) => name.endsWith(end))) return true;
  const marks = MARKS.get(name);
  if (marks === undefined) return false;
  const found = await list(path);
  return marks.some((mark) => found.includes(mark));
}

export function isProductIn(root: string, path: string): Promise<boolean> {
  return isProduct(path, (folder) => namesIn(join(root, folder)));
}

/** Returns the names in a folder; an empty list if it is not a folder, or can't be read. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Returns the paths that are not in a product. `committed` has each committed path, and each folder above one. */
export async function withoutProducts(
  root: string,
  paths: readonly string[],
  committed: ReadonlySet<string>,
): Promise<string[]> {
  const known = new Map<string, Promise<boolean>>();
  const isOne = (path: string): Promise<boolean> => {
    const answer = known.get(path) ?? isProductIn(root, path);
    known.set(path, answer);
    return answer;
  };
  const kept: string[] = [];
  for (const path of paths) {
    const names = path.split("/");
    const above = names.map((_, index) => names.slice(0, index + 1).join("/")).filter((each) => !committed.has(each));
    const found = await Promise.all(above.map(isOne));
    if (!found.includes(true)) kept.push(path);
  }
  return kept;
}
