/** Finds the commands that check a project, in the files of its build tools. Pure: the texts of these files go in. */
import { parse as parseToml } from "smol-toml";
import { isJsonObject } from "../workflow/json.js";

/** Files that are read to find commands. */
export const CHECK_FILES = ["package.json", "pyproject.toml", "Cargo.toml", "go.mod", "Makefile"] as const;
/** Files whose existence says which program runs the scripts. */
export const LOCK_FILES = [
  "pnpm-lock.yaml",
  "yarn.lock",
  "bun.lock",
  "bun.lockb",
  "package-lock.json",
  "uv.lock",
  "poetry.lock",
] as const;

/** The texts of files, by path; of a lockfile, any text. Missing if there is no such file. */
export type CheckFacts = Readonly<Record<string, string | undefined>>;

/** A command that checks the project, and the file that says so. */
export interface FoundCheck {
  readonly command: string;
  readonly from: string;
}

/** Returns the commands that were found; the first is the best guess. */
export function findChecks(facts: CheckFacts): FoundCheck[] {
  const found: readonly (readonly [string, string | undefined])[] = [
    ["package.json", fromPackage(facts)],
    ["pyproject.toml", fromPyproject(facts)],
    ["Cargo.toml", facts["Cargo.toml"] === undefined ? undefined : "cargo test"],
    ["go.mod", facts["go.mod"] === undefined ? undefined : "go test ./..."],
    ["Makefile", fromMakefile(facts)],
  ];
  return found.flatMap(([from, command]) => (command === undefined ? [] : [{ command, from }]));
}

/** The program that installs the packages of a project of Node, and runs its scripts. */
export type PackageManager = "npm" | "pnpm" | "yarn" | "bun";

/** Returns the package manager of a project: the one that package.json names, else the one that made the lockfile. */
export function packageManagerOf(facts: CheckFacts): PackageManager {
  const named = packageJson(facts)?.packageManager;
  const [name = ""] = typeof named === "string" ? named.split("@") : [];
  if (name === "pnpm" || name === "yarn" || name === "bun" || name === "npm") return name;
  if (facts["pnpm-lock.yaml"] !== undefined) return "pnpm";
  if (facts["yarn.lock"] !== undefined) return "yarn";
  return facts["bun.lock"] === undefined && facts["bun.lockb"] === undefined ? "npm" : "bun";
}

/** Returns package.json as an object; undefined if there is none that can be read. */
export function packageJson(facts: CheckFacts): Readonly<Record<string, unknown>> | undefined {
  const text = facts["package.json"];
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // Its own tools will say so. Here it only means that no command is found in it.
    return undefined;
  }
}

/** Variables without which a program does not find its packages or its cache. They hold no secrets. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  cargo: ["HOME", "CARGO_HOME", "RUSTUP_HOME"],
  go: ["HOME", "GOPATH", "GOCACHE", "GOMODCACHE"],
  uv: ["HOME"],
  poetry: ["HOME"],
  pnpm: ["HOME"],
  yarn: ["HOME"],
  bun: ["HOME"],
  make: ["HOME"],
};

/** Returns the names of the environment variables that a command needs. */
export function variablesFor(command: string): readonly string[] {
  const [executable = ""] = splitCommand(command) ?? [];
  return Object.hasOwn(NEEDED, executable) ? (NEEDED[executable] ?? []) : [];
}

/** Splits a command into its words: at blanks outside of quotation marks. Undefined if there are none, or it needs a shell. */
export function splitCommand(command: string): string[] | undefined {
  const words = command.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const plain = command.replaceAll(/"[^"]*"|'[^']*'/g, "");
  if (words.length === 0 || /["'|&;<>$`(){}*?\\]/.test(plain)) return undefined;
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

function fromPackage(facts: CheckFacts): string | undefined {
  const scripts = packageJson(facts)?.scripts;
  const test = isJsonObject(scripts) ? scripts.test : undefined;
  // `npm init` writes a script that always fails.
  if (typeof test !== "string" || test.trim() === "" || test.includes("no test specified")) return undefined;
  const manager = packageManagerOf(facts);
  return manager === "bun" ? "bun run test" : `${manager} test`;
}

function fromPyproject(facts: CheckFacts): string | undefined {
  const text = facts["pyproject.toml"];
  if (text === undefined || !usesPytest(text)) return undefined;
  if (facts["uv.lock"] !== undefined) return "uv run pytest";
  if (facts["poetry.lock"] !== undefined) return "poetry run pytest";
  return "python3 -m pytest";
}

function usesPytest(text: string): boolean {
  try {
    return JSON.stringify(parseToml(text)).includes("pytest");
  } catch {
    return false;
  }
}

function fromMakefile(facts: CheckFacts): string | undefined {
  const lines = facts.Makefile?.split("\n") ?? [];
  const target = ["test", "check"].find((name) =>
    lines.some((line) => /^[\w-]+\s*:(?!=)/.test(line) && line.split(":")[0]?.trim() === name),
  );
  return target === undefined ? undefined : `make ${target}`;
}
