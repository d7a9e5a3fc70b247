import { createEngine, type EngineOptions, MemoryContent, MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import { askingFiles, makeAsking } from "../../support/approvals.js";

/** Returns the files of the workflow with one more phase in front, or with the first one gone. */
function changed(phases: readonly (readonly [name: string, from: number | undefined])[]): Record<string, string> {
  const about = {
    ...{ workflow_type: "asking", name: "Asking", description: "Asks people", version: "2.0.0" },
    phases: phases.map(([phase_name], index) => ({ phase_number: index + 1, phase_name })),
  };
  const texts = phases.flatMap(([, from], index): [string, string][] => {
    const to = `phases/${index + 1}`;
    const gate = from === undefined ? undefined : askingFiles[`phases/${from}/gate-definition.yaml`];
    const text: [string, string] = [`${to}/phase.md`, "# A phase\n\nWork.\n"];
    return gate === undefined ? [text] : [text, [`${to}/gate-definition.yaml`, gate]];
  });
  return { "metadata.json": JSON.stringify(about), ...Object.fromEntries(texts) };
}

const FRONT = changed([
  ["Survey", undefined],
  ["Phase 1", 1],
  ["Phase 2", 2],
  ["Phase 3", undefined],
]);
const WITHOUT = changed([
  ["Phase 2", 2],
  ["Phase 3", undefined],
]);

/** Returns hosts of one storage, and a session that has passed its first phase with Ann's approval. */
async function approved() {
  const storage = new MemoryStorage();
  const made = await makeAsking({ storage });
  const { engine, keys, waiting, signed } = made;
  const { sessionId } = await waiting();
  await engine.session(sessionId).approve(await signed(sessionId));
  const on = (files: Readonly<Record<string, string>>, approvers: EngineOptions["approvers"]) =>
    createEngine({ storage, approvers, content: new MemoryContent({ sources: { asking: files } }) });
  return { ...made, on, sessionId, others: { ann: keys.eve.publicKey, bob: keys.bob.publicKey } };
}

describe("an approval in a session that was moved", () => {
  it("counts for its phase under the new number, and is named by it where it does not count", async () => {
    const { on, approvers, others, sessionId } = await approved();
    const session = on(FRONT, approvers).session(sessionId);
    await session.migrate({ by: "ops", accept: { Survey: "known" } });
    expect(await session.state()).toMatchObject({ currentPhase: 3, completedPhases: [2] });
    expect((await session.audit()).approvals.at(-1)).toMatchObject({ phase: 2, position: 1, by: "ann" });
    const other = on(FRONT, others).session(sessionId);
    expect((await other.state()).unapproved).toMatchObject({ phase: 2, position: 1, distrust: "signature" });
    await other.rollback(2);
    expect(await other.state()).toMatchObject({ currentPhase: 2, completedPhases: [] });
  });

  it("is still refused by a host that does not accept it, when its phase is gone", async () => {
    const { on, approvers, others, sessionId } = await approved();
    await on(WITHOUT, approvers)
      .session(sessionId)
      .migrate({ by: "ops", accept: { "Phase 1": "not needed" } });
    expect((await on(WITHOUT, approvers).session(sessionId).state()).unapproved).toBeUndefined();
    const other = on(WITHOUT, others).session(sessionId);
    expect((await other.state()).unapproved).toMatchObject({ by: "ann", distrust: "signature" });
    await expect(other.phase()).rejects.toMatchObject({ code: "APPROVAL_REFUSED" });
  });

  it("must be given again if its phase is done again", async () => {
    const { on, approvers, others, sessionId } = await approved();
    await on(FRONT, approvers).session(sessionId).migrate({ by: "ops" });
    const other = on(FRONT, others).session(sessionId);
    expect(await other.state()).toMatchObject({ currentPhase: 1, completedPhases: [] });
    expect((await other.state()).unapproved).toBeUndefined();
    await other.completePhase(1, {});
    expect(await other.completePhase(2, { tests_pass: true })).toMatchObject({ passed: false, awaiting: { phase: 2 } });
  });
});
