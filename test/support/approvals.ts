import { type EngineOptions, MemoryContent } from "phasegate";
import { type ApprovalQuestion, createApproverKeys, signApproval } from "phasegate/approval";
import { makeEngine } from "./make-engine.js";

const GATE = (approvers: string) => `checkpoint: {strict: true, allow_override: true}
evidence_schema:
  tests_pass: {type: boolean, required: true, description: "all of them"}
approval: {prompt: "Is the plan good enough to build?"${approvers}}
`;

/** Three phases: Ann or Bob must approve the first, any approver the second; the last requires no approval. */
export const askingFiles: Readonly<Record<string, string>> = {
  "metadata.json": JSON.stringify({
    workflow_type: "asking",
    name: "Asking",
    description: "Asks people",
    version: "1.0.0",
    phases: [1, 2, 3].map((phase_number) => ({ phase_number, phase_name: `Phase ${phase_number}` })),
  }),
  "phases/1/phase.md": "# Phase 1\n\nPlan.\n",
  "phases/1/gate-definition.yaml": GATE(", approvers: [ann, bob]"),
  "phases/2/phase.md": "# Phase 2\n\nBuild.\n",
  "phases/2/gate-definition.yaml": GATE(""),
  "phases/3/phase.md": "# Phase 3\n\nShip.\n",
};

/** Returns keys of four people; the host knows the first three, but not Eve. */
export async function people() {
  const [ann, bob, cat, eve] = await Promise.all([1, 2, 3, 4].map(() => createApproverKeys()));
  if (ann === undefined || bob === undefined || cat === undefined || eve === undefined) throw new Error("no keys");
  return { ann, bob, cat, eve };
}

/** Creates an engine that knows Ann, Bob and Cat, with helpers for tests. */
export async function makeAsking(options: Partial<EngineOptions> = {}) {
  const keys = await people();
  const approvers = { ann: keys.ann.publicKey, bob: keys.bob.publicKey, cat: keys.cat.publicKey };
  const content = new MemoryContent({ sources: { asking: askingFiles } });
  const made = makeEngine({ content, approvers, ...options });
  const { engine } = made;
  const evidence = { tests_pass: true };
  const start = async () => (await engine.start({ workflowType: "asking", target: "src/a.ts" })).sessionId;
  const submit = (sessionId: string, phase = 1, more = {}) =>
    engine.session(sessionId).completePhase(phase, { ...evidence, ...more });
  /** Creates a session that waits for Ann or Bob, and returns its question. */
  const waiting = async () => {
    const sessionId = await start();
    await submit(sessionId);
    return { sessionId, question: await question(sessionId) };
  };
  const question = async (sessionId: string) => {
    const found = await engine.session(sessionId).approval();
    if (found === undefined) throw new Error("nothing waits");
    return found;
  };
  /** Returns a signed decision, by default Ann's approval of the waiting evidence. */
  const signed = async (sessionId: string, word: Word = {}) => {
    const { by = "ann", note, decision = "approve", privateKey = keys.ann.privateKey, about, at } = word;
    const asked = about ?? (await question(sessionId));
    const noted = note === undefined ? {} : { note };
    const signature = await signApproval(asked, {
      ...{ decision, by, ...noted, privateKey },
      ...(at === undefined ? {} : { signedAt: at }),
    });
    return { by, ...noted, evidenceHash: asked.evidenceHash, signature };
  };
  return { ...made, keys, approvers, evidence, start, submit, waiting, question, signed };
}

interface Word {
  readonly by?: string;
  readonly note?: string;
  readonly decision?: "approve" | "deny";
  readonly privateKey?: string;
  readonly at?: string;
  readonly about?: ApprovalQuestion;
}
