/**
 * Optional packages: a host installs those that it uses, in a version of its own. Nothing keeps an unfit version from being
 * installed, since that would also keep those from being installed who need no such package: so it is looked at when it is used.
 * Each is loaded by `import()` in a `try`, with its name as it is: bundlers leave out only then what is not installed.
 */
import { PhasegateError } from "../errors.js";

/** An optional package, and what is used of it. */
export interface OptionalPackage {
  readonly name: string;
  /** The versions that it is tested with, such as `5 or later`. */
  readonly versions: string;
  /** What needs it, as the subject of a sentence in the plural. */
  readonly users: string;
}

/** Throws if a package does not export what is used of it. */
export function requireExports(loaded: object, names: readonly string[]): void {
  const missing = names.filter((name) => !(name in loaded));
  if (missing.length > 0) throw new Error(`it has no ${missing.join(", ")}`);
}

/** Returns why a package can't be used, and what to do: it is not installed, or in a version that does not fit. */
export function whyUnusable({ name, versions, users }: OptionalPackage) {
  const found = installedVersion(name);
  const fault = found === undefined ? "it can't be loaded" : `version ${found} is installed, and can't be used`;
  return {
    message: `${users} need the package ${name}, ${versions}: ${fault}`,
    remedy: `Install it next to phasegate: npm install ${name}@latest`,
  };
}

/** Returns the error for a package that can't be used. */
export function unusablePackage(needed: OptionalPackage, cause: unknown): PhasegateError<"INTERNAL"> {
  const { message, remedy } = whyUnusable(needed);
  return new PhasegateError("INTERNAL", message, { remedy, details: { cause: needed.name }, cause });
}

/** Returns the version of an installed package, where the runtime can find its files, as Node does from 22.14 on. */
function installedVersion(name: string): string | undefined {
  try {
    const { findPackageJSON } = process.getBuiltinModule("node:module");
    const path = findPackageJSON(name, import.meta.url);
    if (path === undefined) return undefined;
    const manifest: { version?: unknown } = JSON.parse(process.getBuiltinModule("node:fs").readFileSync(path, "utf8"));
    return typeof manifest.version === "string" ? manifest.version : undefined;
  } catch {
    return undefined;
  }
}
