import { createRequire } from "node:module";
/** The version of this package, by its own name: the path to its package.json differs from build to build. */
export function packageVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)("phasegate/package.json");
  const found = typeof manifest === "object" && manifest !== null && "version" in manifest ? manifest.version : "";
  return String(found);
}
