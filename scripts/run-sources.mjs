/**
 * Lets Node run TypeScript on the sources: `phasegate/x` is `src/x.ts`, and what imports `x.js` gets `x.ts`. With
 * PHASEGATE_DEFECT, the defect of that name (test/sim/defects.ts) is planted in what is loaded.
 */
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { DEFECTS, plant } from "../test/sim/defects.ts";

const SOURCES = new URL("../src/", import.meta.url);

const wanted = process.env.PHASEGATE_DEFECT;
const defect = DEFECTS.find(({ name }) => name === wanted);
if (wanted !== undefined && defect === undefined) throw new Error(`there is no defect ${wanted}`);

registerHooks({
  resolve(specifier, context, next) {
    const entry = /^phasegate(?:\/(\w+))?$/.exec(specifier);
    if (entry !== null) return next(new URL(`${entry[1] ?? "index"}.ts`, SOURCES).href, context);
    if (specifier.startsWith(".") && specifier.endsWith(".js") && context.parentURL?.endsWith(".ts")) {
      const source = new URL(specifier.replace(/js$/, "ts"), context.parentURL);
      if (existsSync(fileURLToPath(source))) return next(source.href, context);
    }
    return next(specifier, context);
  },
  load(url, context, next) {
    const loaded = next(url, context);
    if (defect === undefined || url !== new URL(defect.file, SOURCES).href) return loaded;
    return { ...loaded, source: plant(String(loaded.source), defect) };
  },
});
