/** What a session's `manifest.json` says. The workspace keeps it: no agent can write it. Pure. */
import * as z from "zod";
import { PhasegateError } from "../../errors.js";
import { sha256 } from "../../sandbox/replace.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { sessionInputsSchema } from "./machine.js";
import { brokenManifest } from "./recorder.js";
/** The name of a manifest in its session's folder. */
export const MANIFEST = "manifest.json";

const outputSchema = z.object({
  /** Relative to the session's folder. */
  path: z.string(),
  bytes: z.int().nonnegative(),
  sha256: z.string(),
  saved_at: z.string(),
});

/** Checks a manifest that was read. */
const manifestSchema = z.object({
  session_id: z.string(),
  status: z.enum(["active", "completed", "failed"]),
  workflow: z.string().optional(),
  agent: z.string().optional(),
  inputs: sessionInputsSchema.optional(),
  /** Where it stands in skills with steps: the step that was given last, by skill. */
  steps: z.record(z.string(), z.string()).optional(),
  outputs: z.array(outputSchema),
  summary: z.string().optional(),
  created_at: z.string(),
  updated_at: z.string(),
  completed_at: z.string().optional(),
});

/** What is known of a session: whose it is, what it was begun with, what it has made, and where it stands. */
export type Manifest = z.infer<typeof manifestSchema>;
/** A file that a session has made. */
export type ManifestOutput = z.infer<typeof outputSchema>;

/** The manifest with a file that was saved; one that was there before keeps its place. */
export function withOutput(manifest: Manifest, output: ManifestOutput): Manifest {
  const known = manifest.outputs.some(({ path }) => path === output.path);
  const outputs = known
    ? manifest.outputs.map((before) => (before.path === output.path ? output : before))
    : [...manifest.outputs, output];
  return { ...manifest, outputs, updated_at: output.saved_at };
}

/** The manifest with the step of a skill that was given. */
export function withStep(manifest: Manifest, skill: string, step: string, at: string): Manifest {
  return { ...manifest, steps: { ...manifest.steps, [skill]: step }, updated_at: at };
}

/** The manifest of a session that is over. */
export function withEnd(manifest: Manifest, status: "completed" | "failed", at: string, summary?: string): Manifest {
  return {
    ...manifest,
    status,
    ...(summary === undefined ? {} : { summary }),
    updated_at: at,
    completed_at: at,
  };
}

/** What a look at a session's folder has found, and the manifest that it was compared with. */
interface OutputsFound {
  readonly before: Manifest;
  readonly found: readonly ManifestOutput[];
}

/**
 * The manifest of a session that is gone on with, with the files that really are there. What another process has noted since
 * the look is newer than the look.
 */
export function reopened(manifest: Manifest, { before, found }: OutputsFound, at: string): Manifest {
  const { completed_at: _, ...rest } = manifest;
  const known = new Set(before.outputs.map((output) => JSON.stringify(output)));
  const since = manifest.outputs.filter((output) => !known.has(JSON.stringify(output)));
  const outputs = found.filter(({ path }) => !since.some((output) => output.path === path));
  // In the order of saving, as they were noted: a folder has its own.
  const sorted = [...outputs, ...since].sort((a, b) => a.saved_at.localeCompare(b.saved_at));
  return { ...rest, status: "active", outputs: sorted, updated_at: at };
}

/** A manifest as it lies in its file. */
function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/** The largest manifest, in bytes: some twenty thousand outputs. */
const MANIFEST_BYTES = 8 * 1024 * 1024;
/** How often a change is made anew when another process was first. */
const TRIES_MAX = 50;

/** Reads a session's manifest. Throws `FILE_NOT_FOUND`, and `INVALID_INPUT` for one that is broken. */
export async function readManifest(sandbox: Sandbox, id: string): Promise<Manifest> {
  return (await readHashed(sandbox, id)).manifest;
}

/** Writes the first manifest of a session. */
export async function writeManifest(sandbox: Sandbox, manifest: Manifest): Promise<void> {
  await sandbox.save(pathOf(manifest.session_id), { text: manifestText(manifest), maxBytes: MANIFEST_BYTES });
}

/**
 * Changes a manifest: on the text that it is made of, or again on the one that another process has put there meanwhile. So
 * nothing is lost where two processes write one session.
 */
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
  throw new PhasegateError("CONFLICT", `the manifest of the session ${id} is written by too many at once`, {
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
