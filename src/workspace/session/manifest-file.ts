import { PhasegateError } from "../../errors.js";
import { sha256 } from "../../walls/replace-file.js";
import type { Wall } from "../../walls/wall.js";
import { MANIFEST, type Manifest, manifestSchema, manifestText } from "./manifest.js";
import { brokenManifest } from "./session-refusals.js";

/** The largest manifest, in bytes: some twenty thousand outputs. */
const MANIFEST_BYTES = 8 * 1024 * 1024;
/** How often a change is made anew when another process was first. */
const TRIES_MAX = 50;

/** Reads a session's manifest. Throws `FILE_NOT_FOUND`, and `INVALID_INPUT` for one that is broken. */
export async function readManifest(wall: Wall, id: string): Promise<Manifest> {
  return (await readHashed(wall, id)).manifest;
}

/** Writes the first manifest of a session. */
export async function writeManifest(wall: Wall, manifest: Manifest): Promise<void> {
  await wall.save(pathOf(manifest.session_id), { text: manifestText(manifest), maxBytes: MANIFEST_BYTES });
}

/**
 * Changes a manifest: on the text that it is made of, or again on the one that another process has put there meanwhile. So
 * nothing is lost where two processes write one session.
 */
export async function changeManifest(
  wall: Wall,
  id: string,
  change: (manifest: Manifest) => Manifest,
): Promise<Manifest> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const { manifest, hash } = await readHashed(wall, id);
    const next = change(manifest);
    const replacement = { text: manifestText(next), hash, maxBytes: MANIFEST_BYTES };
    if (await wall.replace(pathOf(id), replacement)) return next;
  }
  throw new PhasegateError("CONFLICT", `the manifest of the session ${id} is written by too many at once`, {
    remedy: "Try again in a moment.",
    details: { sessionId: id },
  });
}

async function readHashed(wall: Wall, id: string) {
  const { bytes } = await wall.readBytes(pathOf(id), { maxBytes: MANIFEST_BYTES });
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
