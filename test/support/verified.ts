import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EngineOptions, MemoryContent } from "phasegate";
import { createVerifiers } from "phasegate/verify";
import { makeEngine } from "./make-engine.js";

/** Returns the files of a workflow, with a gate file for each phase. */
export function gatedFiles(type: string, gates: readonly string[]): Record<string, string> {
  const phases = gates.map((_, index) => ({ phase_number: index + 1, phase_name: `Phase ${index + 1}` }));
  const metadata = { workflow_type: type, name: "Verified", description: "Looks", version: "1.0.0", phases };
  return {
    "metadata.json": JSON.stringify(metadata),
    ...Object.fromEntries(gates.map((_, index) => [`phases/${index + 1}/phase.md`, `# Phase ${index + 1}\n\nWork.\n`])),
    ...Object.fromEntries(gates.map((gate, index) => [`phases/${index + 1}/gate-definition.yaml`, gate])),
  };
}

/** Creates an engine in memory on a workflow `verified` with these gates, and starts a session. */
export async function startVerified(gates: readonly string[], options: Partial<EngineOptions> = {}) {
  const content = new MemoryContent({ sources: { verified: gatedFiles("verified", gates) } });
  const made = makeEngine({ content, ...options });
  const { sessionId } = await made.engine.start({ workflowType: "verified", target: "src/a.ts" });
  const submit = (evidence: Record<string, unknown>, phase = 1) =>
    made.engine.session(sessionId).completePhase(phase, evidence);
  return { ...made, content, sessionId, submit };
}

/** Creates a project folder with the built-in verifiers for it; `node` is an allowed command. */
export async function makeProject() {
  const root = await mkdtemp(join(tmpdir(), "phasegate-verified-"));
  const verifiers = await createVerifiers({ projectRoot: root, commands: { node: process.execPath } });
  const write = (path: string, text: string) => writeFile(join(root, path), text);
  return { root, verifiers, write };
}
