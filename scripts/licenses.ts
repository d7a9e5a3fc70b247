import { globSync, readFileSync } from "node:fs";
import type { Metafile } from "esbuild";

/** Returns the licenses of the packages in a bundle, which ask for their texts: each text once, below those it is of. */
export function licensesOf({ outputs }: Metafile): string {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const paths = inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []));
  const packages = new Set(paths.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []));
  const holders = new Map<string, string>();
  for (const name of [...packages].sort()) {
    const [file] = globSync(`node_modules/${name}/{LICENSE,LICENCE,license}*`);
    if (file === undefined) throw new Error(`${name} has no license`);
    const [holder = "", text = ""] = readFileSync(file, "utf8").split(/(?=Permission is hereby granted)/);
    const license = text.replace(/\s+/g, " ").trim();
    holders.set(license, `${holders.get(license) ?? ""}${name}: ${holder.replace(/\s+/g, " ").trim()}\n`);
  }
  return [...holders].map(([license, of]) => `${of}\n${license}\n`).join("\n");
}
