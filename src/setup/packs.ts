/**
 * Packs: packages of npm that bring workflows and verifiers. What a package says of itself in its package.json, and what the
 * record of init keeps of it: what the user has seen, and granted. Pure; read-pack.ts reads the files.
 */
import * as z from "zod";
import { gateSchema } from "../workflow/gate-definition.js";
import { isPlainPath } from "../workflow/names.js";

/** A path in a package as package.json may have it: `./verifiers.mjs`, `workflows/`. It never leads out. */
const insideSchema = z
  .string()
  .transform((path) => path.replace(/^\.\//, "").replace(/\/$/, ""))
  .refine((path) => isPlainPath(path) && path !== "." && !path.split("/").includes("node_modules"), {
    error: "it must be a path inside of the package, such as ./workflows",
  });

/** The field `phasegate` of a package.json. */
const packFieldSchema = z
  .strictObject({
    /** The folder with a folder for each phased workflow. */
    workflows: insideSchema.optional(),
    /** The module with the verifiers: `export const verifiers = { name: verifier }`, or the same by default. */
    verifiers: insideSchema.optional(),
  })
  .refine(({ workflows, verifiers }) => (workflows ?? verifiers) !== undefined, {
    error: 'it must have "workflows", "verifiers" or both',
  });
export type PackField = z.output<typeof packFieldSchema>;

/** The name of a package: it can't lead to another folder than its own, and is no option of a package manager. */
const nameSchema = z
  .string()
  .max(214)
  .regex(/^(?:@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*$/i, "it is no name of a package")
  .refine((name) => name !== "node_modules", "it is no name of a package");

/** A version, and not a place or another package, which a package manager would take as well. */
const versionSchema = z.string().regex(/^\d+\.\d+\.\d+(?:[-+][\w.+-]*)?$/, "it is no version, such as 1.0.0");

/** What counts of the package.json of a pack. */
export const packManifestSchema = z.object({ name: nameSchema, version: versionSchema, phasegate: packFieldSchema });

const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);

/** A gate of a pack, with what else lets a session pass its phase. */
const packGateSchema = z.object({
  workflow: z.string(),
  /** Such as `phase 2`. */
  where: z.string(),
  gate: gateSchema,
  /** How its phase is skipped: by the host, or by a rule over the session's options. Never if missing. */
  skips: z.array(z.string()).optional(),
});
export type PackGate = z.output<typeof packGateSchema>;

/** A pack as the user has confirmed it. */
export const pinnedPackSchema = z.object({
  name: nameSchema,
  version: versionSchema,
  /** True if `add` has installed it, so that `remove` takes it out of package.json, too. */
  installed: z.literal(true).optional(),
  /** The digest of all files that count. */
  hash: digestSchema,
  /** The digest of its code; missing if it has none. */
  code: digestSchema.optional(),
  /** The commands and the servers that the user has granted to its gates. */
  commands: z.array(z.string().min(1)),
  hosts: z.array(z.string().min(1)),
  /** Its gates, so that an update can be compared with them. */
  gates: z.array(packGateSchema),
});
export type PinnedPack = z.output<typeof pinnedPackSchema>;
