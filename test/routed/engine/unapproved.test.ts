import { MemoryStorage } from "phasegate";
import { createApproverKeys, signApproval } from "phasegate/approval";
import { createHttpApi } from "phasegate/http";
import { createRoutedTools, type RoutedEngineOptions } from "phasegate/routed";
import { describe, expect, it } from "vitest";
import { ROUTES } from "../../../src/http/routes.js";
import { RoutedEngine } from "../../../src/routed/engine.js";
import { RoutedSession } from "../../../src/routed/session.js";
import { ALL_CALLS } from "../../../src/tools/routed/calls.js";
import { DEPTH_GATE, gardenWith } from "../../support/gated-garden.js";
import { methodsOf, said, valuesIn } from "../../support/said.js";
import { routed, Script } from "./garden.js";

const WORKFLOWS = gardenWith({ ...DEPTH_GATE, approval: { prompt: "Deep enough?", approvers: ["ann"] } });
const dug = { report: { status: "success", details: { depth: 20 } }, idempotencyKey: "dug" };
const KEY = "k";

/** Creates an engine with a new key for Ann. */
async function withAnn(options: Partial<RoutedEngineOptions>) {
  const { publicKey, privateKey } = await createApproverKeys();
  const made = routed(new Script("Sow", "FINISH"), { workflows: WORKFLOWS, approvers: { ann: publicKey }, ...options });
  const approve = async (id: string) => {
    const question = (await made.engine.session(id).state()).awaiting;
    if (question === undefined) throw new Error("nobody is waited for");
    const signature = await signApproval(question, { decision: "approve", by: "ann", privateKey });
    const word = { by: "ann", evidenceHash: question.evidenceHash, signature, idempotencyKey: KEY };
    return { word, view: await made.engine.session(id).approve(word) };
  };
  return { ...made, approve };
}

/** Creates an instance that was approved with a forged key; the forger's engine continues it up to the given point. */
async function forged(upTo: "approved" | "finished" = "finished") {
  const storage = new MemoryStorage();
  const host = await withAnn({ storage });
  const forger = await withAnn({ storage });
  const { sessionId: id } = await host.engine.start({ workflow: "GARDEN" });
  await host.engine.session(id).advance(dug);
  const commits = host.engine.watch();
  const { word } = await forger.approve(id);
  if (upTo === "finished") {
    await forger.engine.session(id).advance(dug);
    await forger.engine.session(id).advance({ report: { status: "success" } });
    expect(await forger.engine.session(id).state()).toMatchObject({ status: "completed" });
  }
  return { storage, host, forger, id, commits, word };
}
type Forged = Awaited<ReturnType<typeof forged>>;

/** Returns the parts of an answer that claim that the instance is completed or its gate was passed. */
function claimsIn(answer: unknown): string[] {
  return [...valuesIn(answer)].flatMap(({ path, key, value, owner }) => {
    const isNoClaim = "distrust" in owner || path.includes(".structure.");
    const isClaim =
      value === "completed" || value === "completed" || value === "FINISH" || value === "Sow" || value === "decided";
    const isApproved = key === "type" && value === "approved";
    const isTime = /^completed_?at$/i.test(key) && value !== null;
    const isText = typeof value === "string" && /approved by|Workflow complete|is COMPLETED/.test(value);
    return !isNoClaim && (isClaim || isApproved || isTime || isText) ? [`${path}: ${JSON.stringify(value)}`] : [];
  });
}

it("an instance that a forged approval let pass asks the person again if its client resumes with the same details", async () => {
  const { host, id } = await forged("approved");
  const back = { ...details, report: dug.report };
  const asked = await host.engine.session(id).resume({ ...back, idempotencyKey: "back" });
  expect(asked).toMatchObject({ currentStep: "Dig", awaiting: { evidence: { depth: 20 } } });
  expect(asked.unapproved).toBeUndefined();
});

const expectNotApproved = async (answer: unknown) => expect(claimsIn(await said(answer))).toEqual([]);

type Reader = (made: Forged) => readonly unknown[];
const NO_READER = "reads no instance";
const details = { report: { status: "success" }, assumedStep: "Dig" };

const ENGINE: Record<string, Reader | typeof NO_READER> = {
  on: NO_READER,
  listWorkflows: NO_READER,
  start: ({ host }) => [host.engine.start({ workflow: "GARDEN" })],
  listSessions: ({ host }) => [host.engine.listSessions(), host.engine.listSessions({ status: ["completed"] })],
  as: NO_READER,
  watch: ({ host, commits }) => [host.engine.start({ workflow: "GARDEN" }).then(() => commits.next())],
  metrics: ({ host }) => [host.engine.metrics()],
  reportError: NO_READER,
  close: NO_READER,
  session: NO_READER,
};

const SESSION: Record<string, Reader> = {
  advance: ({ host, id }) => [
    host.engine.session(id).advance(dug),
    host.engine.session(id).advance({ report: { status: "success" } }),
  ],
  resume: ({ host, id }) => [
    host.engine.session(id).resume(details),
    host.engine.session(id).resume({ ...dug, ...details }),
  ],
  state: ({ host, id }) => [host.engine.session(id).state()],
  history: ({ host, id }) => [host.engine.session(id).history()],
  step: ({ host, id }) => [host.engine.session(id).step()],
  suspend: ({ host, id }) => [host.engine.session(id).suspend()],
  cancel: ({ host, id }) => [host.engine.session(id).cancel()],
  retry: ({ host, id }) => [host.engine.session(id).retry()],
  release: ({ host, id }) => [host.engine.session(id).release({ by: "ann" })],
  approve: ({ host, id, word }) => [host.engine.session(id).approve(word)],
  deny: ({ host, id, word }) => [host.engine.session(id).deny({ ...word, note: "no" })],
  assign: ({ host, id }) => [host.engine.session(id).assign({ name: "ann" }, { by: "host" })],
  delete: ({ host, id }) => [host.engine.session(id).delete()],
  audit: ({ host, id }) => [host.engine.session(id).audit()],
};

const REQUESTS: Record<(typeof ALL_CALLS)[number], Record<string, unknown>> = {
  list: {},
  start: { workflow_name: "GARDEN" },
  advance: { report: { status: "success" } },
  resume: { report: { status: "success" }, assumed_current_step_name: "Dig" },
  status: {},
  suspend: {},
  cancel: {},
  retry: {},
  history: {},
};

it("an unapproved instance is covered for every method of the engine", () => {
  expect(Object.keys(ENGINE).sort()).toEqual(methodsOf(RoutedEngine));
  expect(Object.keys(SESSION).sort()).toEqual(methodsOf(RoutedSession));
});

describe.each(["finished", "approved"] as const)("an instance that a forged approval let pass (%s)", (upTo) => {
  const readers = Object.entries({ ...ENGINE, ...SESSION }).flatMap(([name, read]) =>
    typeof read === "string" ? [] : [[name, read] as const],
  );
  it.each(readers)("is not shown as approved by %s", async (_, read) => {
    const made = await forged(upTo);
    for (const answer of await Promise.all(read(made).map(said))) expect(claimsIn(answer)).toEqual([]);
  });

  it.each(ALL_CALLS)("is not shown as approved by the tool of %s, nor over HTTP", async (call) => {
    const { host, id } = await forged(upTo);
    const about: { instance_id?: string } = call === "list" || call === "start" ? {} : { instance_id: id };
    const request = { ...about, ...REQUESTS[call] };
    const tool = createRoutedTools(host.engine).find(({ calls }) => calls.includes(call));
    await expectNotApproved((await tool?.dispatch(request))?.body);
    const route = ROUTES.find((one) => one.call === call);
    const isGet = route?.method === "GET";
    const query = isGet ? `?${new URLSearchParams({ ...about })}` : "";
    const init = {
      method: route?.method ?? "",
      headers: { "content-type": "application/json" },
      ...(isGet ? {} : { body: JSON.stringify(request) }),
    };
    const answer = await createHttpApi(host.engine)(new Request(`http://localhost${route?.path}${query}`, init));
    const text = await answer.text();
    expect(text).not.toBe("");
    await expectNotApproved(JSON.parse(text));
  });
});
