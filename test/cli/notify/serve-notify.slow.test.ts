/** The command in a process of its own tells people of phased and routed sessions; its receivers are real servers. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { answerOf } from "../../mcp/connect-in-memory.js";
import { temporaryFolder } from "../../sandbox/temporary-folder.js";
import { askingFiles } from "../../support/approvals.js";
import { writeFiles } from "../../support/write-files.js";
import { GARDENS } from "../routed-folders.js";
import { connectToBin } from "../serve-client.js";
import { SMALL } from "../workflow-folders.js";
import { type Answering, isSigned, receiverServer, SECRET, status } from "./receiving.js";

const GATE = `---
gate:
  evidence_schema:
    depth: {type: integer, required: true}
  approval: {prompt: "Deep enough?", approvers: [ann]}
---
`;

async function serving(...answers: readonly Answering[]) {
  const root = await temporaryFolder();
  const [phased, routed, state, file] = ["phased", "routed", "state", "told"].map((name) => join(root, name));
  if (phased === undefined || routed === undefined || state === undefined || file === undefined)
    throw new Error("four");
  await writeFiles(join(phased, "asking"), askingFiles);
  await writeFiles(phased, SMALL);
  await writeFiles(routed, { ...GARDENS, "GARDEN/steps/dig.md": `${GATE}${GARDENS["GARDEN/steps/dig.md"]}` });
  const script = join(root, "tell.mjs");
  await writeFile(
    script,
    'import { appendFileSync } from "node:fs"; for await (const text of process.stdin) appendFileSync(process.argv[2], text);',
  );
  const [program, chat] = [await receiverServer(...answers), await receiverServer()];
  const flags = ["--workflows", phased, "--routed", routed, "--decider", "linear", "--state", state];
  const server = await connectToBin(
    [...flags, "--max-attempts", "1", "--notify-command", `${process.execPath} ${script} ${file}`],
    { PHASEGATE_NOTIFY: `${program.url}/hook ${chat.url}#slack`, PHASEGATE_NOTIFY_SECRET: SECRET },
  );
  const told = async () =>
    (await readFile(file, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  return { ...server, state, program, chat, told };
}

it("an address, a chat and a program are told of what waits and of what has failed", async () => {
  const { client, ask, program, chat, told } = await serving(status(500), status(200));
  const asking = await ask({ action: "start", workflow_type: "asking", target_file: "a.ts" });
  await ask({ action: "complete_phase", session_id: asking.session_id, phase: 1, evidence: { tests_pass: true } });
  const small = await ask({ action: "start", workflow_type: "small", target_file: "b.ts" });
  await ask({ action: "complete_phase", session_id: small.session_id, phase: 1, evidence: { tests_pass: false } });
  const call = async (name: string, input: Record<string, unknown>) =>
    answerOf(await client.callTool({ name, arguments: input }));
  const garden = await call("start_workflow", { workflow_name: "GARDEN" });
  const report = { step_id: "Dig", status: "success", details: { depth: 3 } };
  await call("advance_workflow", { instance_id: garden.instance_id, report });
  const expected = [
    { type: "approval.requested", data: { kind: "phased", sessionId: asking.session_id, phaseName: "Phase 1" } },
    { type: "session.failed", data: { kind: "phased", sessionId: small.session_id, phase: 1 } },
    { type: "approval.requested", data: { kind: "routed", sessionId: garden.instance_id, phaseName: "Dig" } },
  ];
  // The first one comes twice: the first answer was a 500.
  await expect.poll(() => program.received.length, { timeout: 20_000 }).toBe(4);
  const [first, ...later] = program.bodies();
  expect(later).toMatchObject(expected);
  expect(first).toEqual(later[0]);
  expect(await Promise.all(program.received.map((one) => isSigned(one)))).toEqual([true, true, true, true]);
  await expect.poll(() => chat.bodies()).toMatchObject(later.map((one) => ({ text: Object(one).text })));
  await expect.poll(async () => told().catch(() => []), { timeout: 20_000 }).toEqual(later);
});

it("a server that ends while nobody listens ends in time, and logs what nobody was told", async () => {
  const { client, ask, program, log } = await serving(() => {});
  const { session_id } = await ask({ action: "start", workflow_type: "asking", target_file: "a.ts" });
  await ask({ action: "complete_phase", session_id, phase: 1, evidence: { tests_pass: true } });
  await expect.poll(() => program.received.length).toBe(1);
  const begun = performance.now();
  await client.close();
  expect(performance.now() - begun).toBeLessThan(8000);
  const receiver = new URL(program.url).host;
  expect(log.find(({ msg }) => msg === "not told")).toMatchObject({
    ...{ level: "warn", receiver, type: "approval.requested", sessionId: session_id, reason: "the server ends" },
  });
});
