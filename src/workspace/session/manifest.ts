/**
 * The `manifest.json` of a session: its format, its changes, and its file. Only the workspace writes it, never an
 * agent. A change is compare-and-swap, so that two processes in one session lose none of each other's entries.
 */
import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import { sha256 } from "../../sandbox/replace.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { sessionInputsSchema } from "./machine.js";

/** The name of a manifest in its session's folder. */
export const MANIFEST = "manifest.json";

const outputSchema = z.object({
  /** Its path, relative to the session's folder. */
  path: z.string(),
  /** Its size in bytes. */
  bytes: z.int().nonnegative(),
  /** SHA-256 of its bytes, in hexadecimal. */
  sha256: z.string(),
  /** When it was saved. */
  saved_at: z.string(),
});
/** A saved file of a session. */
export type ManifestOutput = z.infer<typeof outputSchema>;

/** Checks a manifest. */
export const manifestSchema = z.object({
  /** The session's id, which is the name of its folder. */
  session_id: z.string(),
  /** The status of the session. */
  status: z.enum(["active", "completed", "failed"]),
  /** The name of the workflow, if the agent gave it. */
  workflow: z.string().optional(),
  /** The name of the agent, if it gave it. */
  agent: z.string().optional(),
  /** What the user gave, by name. */
  inputs: sessionInputsSchema.optional(),
  /** Who owns the session, if it has an owner. */
  owner: z.string().optional(),
  /** The team of the owner, if they have one. */
  team: z.string().optional(),
  /** The step that was given last, by skill. */
  steps: z.record(z.string(), z.string()).optional(),
  /** The saved files, in the order in which they were first saved. */
  outputs: z.array(outputSchema),
  /** What was made, or why it failed; given at the end. */
  summary: z.string().optional(),
  /** When the session was created. */
  created_at: z.string(),
  /** When the manifest was last changed. */
  updated_at: z.string(),
  /** When the session was completed. */
  completed_at: z.string().optional(),
});
/**
 * A session's manifest: its status, what it was created with, its saved files, and the current step of each skill.
 * Times are ISO 8601, UTC.
 */
export type Manifest = z.infer<typeof manifestSchema>;

/** Adds a saved file. A file that was there before keeps its place in the list. */
export function withOutput(manifest: Manifest, output: ManifestOutput): Manifest {
  const known = manifest.outputs.some(({ path }) => path === output.path);
  const outputs = known
    ? manifest.outputs.map((before) => (before.path === output.path ? output : before))
    : [...manifest.outputs, output];
  return { ...manifest, outputs, updated_at: output.saved_at };
}

/** Sets the current step of a skill. */
export function withStep(manifest: Manifest, skill: string, step: string, at: string): Manifest {
  return { ...manifest, steps: { ...manifest.steps, [skill]: step }, updated_at: at };
}

/** Ends a session. */
export function withEnd(manifest: Manifest, status: "completed" | "failed", at: string, summary?: string): Manifest {
  return {
    ...manifest,
    status,
    ...(summary === undefined ? {} : { summary }),
    updated_at: at,
    completed_at: at,
  };
}

/** The files found in a session's folder, and the manifest that they were compared with. */
interface OutputsFound {
  readonly before: Manifest;
  readonly found: readonly ManifestOutput[];
}

/**
 * Reopens a session with the files that exist in its folder. Entries that another process has added since the folder
 * was read are newer, and stay.
 */
export function reopened(manifest: Manifest, { before, found }: OutputsFound, at: string): Manifest {
  const { completed_at: _, ...rest } = manifest;
  const known = new Set(before.outputs.map((output) => JSON.stringify(output)));
  const since = manifest.outputs.filter((output) => !known.has(JSON.stringify(output)));
  const outputs = found.filter(({ path }) => !since.some((output) => output.path === path));
  // By time, as they were added: a folder is listed by name.
  const sorted = [...outputs, ...since].sort((a, b) =>
    a.saved_at < b.saved_at ? -1 : Number(a.saved_at > b.saved_at),
  );
  return { ...rest, status: "active", outputs: sorted, updated_at: at };
}

function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/** The largest manifest, in bytes: about 20,000 outputs. */
const MANIFEST_BYTES = 8 * 1024 * 1024;
/** Attempts to change a manifest while other processes change it. */
const TRIES_MAX = 50;

/** Reads a session's manifest. Throws `FILE_NOT_FOUND`, and `INVALID_INPUT` if it is not valid. */
export async function readManifest(sandbox: Sandbox, id: string): Promise<Manifest> {
  return (await readHashed(sandbox, id)).manifest;
}

/** Writes the first manifest of a session. */
export async function writeManifest(sandbox: Sandbox, manifest: Manifest): Promise<void> {
  await sandbox.save(pathOf(manifest.session_id), { text: manifestText(manifest), maxBytes: MANIFEST_BYTES });
}

/** Changes a manifest. If another process was faster, the change is applied again to the new manifest. */
export async function changeManifest(
  sandbox: Sandbox,
  id: string,
  change: (manifest: Manifest) => Manifest,
): Promise<Manifest> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const { manifest, hash } = await readHashed(sandbox, id);
    const next = change(manifest);
    const replacement = { text: manifestText(next), hash, maxBytes: MANIFEST_BYTES };
    if (await sandbox.replace(pathOf(id), replacement)) return next;
  }
  throw new PhasegateError("CONFLICT", `too many processes write the manifest of the session ${id}`, {
    remedy: "Try again in a moment.",
    details: { sessionId: id },
  });
}

async function readHashed(sandbox: Sandbox, id: string) {
  const { bytes } = await sandbox.readBytes(pathOf(id), { maxBytes: MANIFEST_BYTES });
  try {
    const manifest = manifestSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
    return { manifest, hash: sha256(bytes) };
  } catch (cause) {
    const error = brokenManifest(id);
    error.cause = cause;
    throw error;
  }
}

function pathOf(id: string): string {
  return `${id}/${MANIFEST}`;
}

/** Builds the error for a manifest that the workspace cannot have written. */
function brokenManifest(id: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `the manifest of the session ${id} is not valid`, {
    remedy: "Call create_session without session_id for a new session, and tell the operator of this server.",
    details: { field: "manifest.json", expected: "a manifest as the workspace writes it" },
  });
}
