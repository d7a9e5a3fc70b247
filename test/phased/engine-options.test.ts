import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { LinearDecider } from "phasegate/ai";
import { createRoutedEngine, defineRoutedWorkflow, routedWorkflows } from "phasegate/routed";
import { expect, it } from "vitest";
import { makeWorkspace } from "../workspace/make-workspace.js";

const workflow = defineWorkflow({
  ...{ type: "one", revision: "1", name: "One", description: "One phase" },
  phases: [{ number: 1, name: "Do", content: "# Do" }],
});
const steps = [{ name: "A", guidance: "Begin.", instructions: "Do A." }] as const;
const [storage, content] = [new MemoryStorage(), new MemoryContent({ workflows: [workflow] })];
const routed = {
  storage,
  workflows: routedWorkflows(defineRoutedWorkflow({ name: "W", goal: "All done.", steps })),
  decider: new LinearDecider(),
};

/** What a host in plain JavaScript may write, and the answer. */
const PHASED: readonly (readonly [options: unknown, message: string, remedy?: string])[] = [
  [undefined, "createEngine: the options must be an object, not undefined"],
  [[storage, content], "createEngine: the options must be an object, not a list"],
  [{ content }, "createEngine: storage is missing", "Give a storage, such as new MemoryStorage()."],
  [{ storage }, "createEngine: content is missing"],
  [
    { storage: Promise.resolve(storage), content },
    "createEngine: storage is a promise",
    "Write await before what makes it.",
  ],
  [{ storage, content: workflow }, "createEngine: content must be a provider of workflows"],
  [{ storage, content: [workflow] }, "createEngine: content must be a provider of workflows"],
  [{ storage, content, hashkey: "x".repeat(32) }, 'createEngine has no option "hashkey"', "Did you mean hashKey?"],
  [{ storage, content, aprovers: {} }, 'createEngine has no option "aprovers"', "Did you mean approvers?"],
  [{ storage, content, port: 1 }, 'createEngine has no option "port"', "Its options are storage, "],
  [
    { storage, content, limits: { maxAttempt: 2 } },
    'createEngine has no option "limits.maxAttempt"',
    "Did you mean maxAttempts?",
  ],
  [
    { storage, content, limits: { maxAttempts: true } },
    "createEngine: limits.maxAttempts must be a number of 1 or more",
  ],
  [
    { storage, content, limits: { maxAttempts: "3" } },
    "createEngine: limits.maxAttempts must be a number of 1 or more",
  ],
  [{ storage, content, limits: { maxAttempts: Number.NaN } }, "createEngine: limits.maxAttempts must be a number"],
  [{ storage, content, quotas: { sessions: 1 } }, "createEngine: quotas must be what createQuotas() returns"],
  [{ storage, content, hashKey: "" }, "createEngine: hashKey must be a key"],
  [{ storage, content, hashKey: 5 }, "createEngine: hashKey must be a key"],
  [{ storage, content, clock: () => 0 }, "createEngine: clock must be a clock"],
  [{ storage, content, targets: Promise.resolve({}) }, "createEngine: targets is a promise"],
  [{ storage, content, approvers: Promise.resolve({}) }, "createEngine: approvers is a promise"],
  [{ storage, content, allowUnsignedApprovals: "no" }, "createEngine: allowUnsignedApprovals must be true or false"],
];

it.each(PHASED.map(([options, message, remedy = ""]) => ({ options, message, remedy })))(
  "createEngine says what is wrong: $message",
  ({ options, message, remedy }) => {
    const error = expect.objectContaining({
      code: "INVALID_INPUT",
      message: expect.stringContaining(message),
      remedy: expect.stringContaining(remedy),
    });
    expect(() => createEngine(options as never)).toThrow(error);
  },
);

const ROUTED: readonly (readonly [options: unknown, message: string])[] = [
  [{ ...routed, workflows: [steps] }, "createRoutedEngine: workflows must be a source of workflows"],
  [{ ...routed, decider: undefined }, "createRoutedEngine: decider is missing"],
  [{ ...routed, decider: LinearDecider }, "createRoutedEngine: decider must be a decider"],
  [{ ...routed, firstStep: "frist" }, "createRoutedEngine: firstStep must be first or decider"],
  [{ ...routed, historyShown: 101 }, "createRoutedEngine: historyShown must be a whole number from 0 to 100"],
  [{ ...routed, content }, 'createRoutedEngine has no option "content"'],
  [{ ...routed, limits: { maxReportByte: 1 } }, 'createRoutedEngine has no option "limits.maxReportByte"'],
];

it.each(ROUTED)("createRoutedEngine says what is wrong with %j: %s", (options, message) => {
  expect(() => createRoutedEngine(options as never)).toThrow(message);
});

it("no engine and no workspace listens to a notification that there is not", async () => {
  const phased = createEngine({ storage, content });
  const { workspace } = await makeWorkspace();
  const listeners: readonly { on(name: string, listener: () => void): unknown }[] = [
    phased as never,
    phased.as({ name: "ann" }) as never,
    createRoutedEngine(routed) as never,
    workspace as never,
  ];
  for (const source of listeners) {
    const wrong = (name: string) => {
      const error = expect.objectContaining({
        code: "INVALID_INPUT",
        message: `there is no notification ${JSON.stringify(name)}`,
        remedy:
          name === "internalerror" ? "Did you mean internalError?" : expect.stringMatching(/^There are .*security/),
        details: { field: "name" },
      });
      expect(() => source.on(name, () => {}), name).toThrow(error);
    };
    for (const name of ["internalerror", "toString", ""]) wrong(name);
    expect(() => source.on("security", () => {})).not.toThrow();
  }
});

it("options that are undefined count as missing ones", async () => {
  const engine = createEngine({ storage, content, limits: undefined, clock: undefined, claims: undefined } as never);
  expect(await engine.listWorkflows()).toHaveLength(1);
});
