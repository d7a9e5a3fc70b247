/**
 * The `manifest.json` of a session, which agents never write. A change is compare-and-swap, so that two processes in
 * one session lose none of each other's entries.
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

const manifestSchema = z.object({
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
export function withOutput(outputs: readonly ManifestOutput[], added: ManifestOutput): ManifestOutput[] {
  const isKnown = outputs.some(({ path }) => path === added.path);
  return isKnown ? outputs.map((before) => (before.path === added.path ? added : before)) : [...outputs, added];
}

/** `found` was in the folder when the manifest was `before`. Newer entries of another process stay. */
export function reopened(now: Manifest, before: Manifest, found: readonly ManifestOutput[], at: string): Manifest {
  const known = new Set(before.outputs.map((output) => JSON.stringify(output)));
  const since = now.outputs.filter((output) => !known.has(JSON.stringify(output)));
  const outputs = [...found.filter(({ path }) => !since.some((output) => output.path === path)), ...since];
  // By time, as they were added: a folder is listed by name.
  outputs.sort((a, b) => (a.saved_at < b.saved_at ? -1 : Number(a.saved_at > b.saved_at)));
  return { ...now, status: "active", outputs, updated_at: at, completed_at: undefined };
}

/** The largest manifest, in bytes: about 20,000 outputs. */
const MANIFEST_BYTES = 8 * 1024 * 1024;
/** Attempts to change a manifest while other processes change it. */
const TRIES_MAX = 50;

/** Reads a session's manifest, and the hash of its file. Throws `FILE_NOT_FOUND`, and `INVALID_INPUT` if it is not valid. */
export async function readManifest(sandbox: Sandbox, id: string) {
  const { bytes } = await sandbox.readBytes(pathOf(id), { maxBytes: MANIFEST_BYTES });
  try {
    const manifest = manifestSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
    return { manifest, hash: sha256(bytes) };
  } catch (cause) {
    throw new PhasegateError("INVALID_INPUT", `the manifest of the session ${id} is not valid`, {
      remedy: "Call create_session without session_id for a new session, and tell the operator of this server.",
      details: { field: MANIFEST, expected: "a manifest as the workspace writes it" },
      cause,
    });
  }
}

export async function writeManifest(sandbox: Sandbox, manifest: Manifest): Promise<void> {
  await sandbox.save(pathOf(manifest.session_id), { text: textOf(manifest), maxBytes: MANIFEST_BYTES });
}

/** Changes a manifest. If another process was faster, the change is applied again to the new manifest. */
export async function changeManifest(
  sandbox: Sandbox,
  id: string,
  change: (manifest: Manifest) => Manifest,
): Promise<Manifest> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const { manifest, hash } = await readManifest(sandbox, id);
    const next = change(manifest);
    const isWritten = await sandbox.replace(pathOf(id), { text: textOf(next), hash, maxBytes: MANIFEST_BYTES });
    if (isWritten) return next;
  }
  throw new PhasegateError("CONFLICT", `too many processes write the manifest of the session ${id}`, {
    remedy: "Try again in a moment.",
    details: { sessionId: id },
  });
}

function textOf(manifest: Manifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

function pathOf(id: string): string {
  return `${id}/${MANIFEST}`;
}
