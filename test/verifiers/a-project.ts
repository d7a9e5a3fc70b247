import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JsonObject, JsonValue } from "phasegate";
import { createVerifiers, type VerifierName, type VerifiersOptions, type VerifyResult } from "phasegate/verify";
import { expect } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
/** The arguments of a verifier. */
export interface Ask {
  readonly value?: JsonValue;
  readonly evidence?: JsonObject;
  readonly snapshot?: JsonValue;
  readonly snapshotTakenAt?: string;
  readonly earlierSnapshots?: readonly JsonValue[];
  readonly signal?: AbortSignal;
}

const session = { id: "release_a_1", workflowType: "release", target: "src/a.ts", phase: 1 };

/** Creates a project with files, and its verifiers. */
export async function aProject(
  files: Readonly<Record<string, string>> = {},
  options: Omit<VerifiersOptions, "projectRoot"> = {},
) {
  const base = await temporaryFolder();
  const root = join(base, "project");
  await mkdir(root);
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  const verifiers = await createVerifiers({ ...options, projectRoot: root });
  const verify = async (
    name: VerifierName,
    params: JsonObject,
    {
      value,
      evidence = {},
      snapshot,
      snapshotTakenAt,
      earlierSnapshots,
      signal = new AbortController().signal,
    }: Ask = {},
  ): Promise<VerifyResult> => {
    const result = await verifiers[name].verify(
      {
        params,
        evidence,
        session,
        ...(value === undefined ? {} : { value }),
        ...(snapshot === undefined ? {} : { snapshot }),
        ...(snapshotTakenAt === undefined ? {} : { snapshotTakenAt }),
        ...(earlierSnapshots === undefined ? {} : { earlierSnapshots }),
      },
      { signal },
    );
    // No message for agents contains the path of the project.
    expect(JSON.stringify(result)).not.toContain(base);
    return result;
  };
  const snapshot = async (name: VerifierName, params: JsonObject): Promise<JsonValue | undefined> =>
    verifiers[name].snapshot?.({ params, session });
  const check = async (name: VerifierName, params: JsonObject) => verifiers[name].check?.(params);
  return { base, root, write, verifiers, verify, snapshot, check };
}

/** Expects a refusal, and returns its message. */
export function refused(result: VerifyResult): string {
  expect(result).toMatchObject({ ok: false });
  return result.message;
}
