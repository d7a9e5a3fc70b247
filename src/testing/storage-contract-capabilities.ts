import assert from "node:assert/strict";
import { NotTried } from "./contract-case.js";
import { makeCommit } from "./make-commit.js";
import type { StageCheck } from "./storage-stage.js";

/** What an adapter says of itself. */
export const capabilityChecks: readonly StageCheck[] = [
  [
    "capabilities: are of the port's kinds",
    async ({ storage }) => {
      const { durability, multiProcess, maxCommitBytes, remote = false } = storage.capabilities;
      assert.ok(["memory", "process", "power"].includes(durability), `durability is no ${durability}`);
      assert.equal(typeof multiProcess, "boolean");
      assert.equal(typeof remote, "boolean");
      assert.ok(
        Number.isSafeInteger(maxCommitBytes) && maxCommitBytes >= 1024,
        "maxCommitBytes is too small or no size",
      );
    },
  ],
  [
    "capabilities: what is more durable than memory is there after a restart",
    async (stage) => {
      const { durability } = stage.storage.capabilities;
      if (durability === "memory") throw new NotTried("the adapter keeps nothing");
      assert.ok(stage.canReopen, `durability is ${durability}, and the options have no \`reopen\` to show it`);
      const commit = makeCommit();
      await stage.storage.append(commit);
      assert.deepEqual(await (await stage.reopen()).read(commit.sessionId), commit);
    },
  ],
  [
    "capabilities: a restarted adapter says the same",
    async (stage) => {
      const before = { ...stage.storage.capabilities };
      assert.deepEqual({ ...(await stage.reopen()).capabilities }, before);
    },
  ],
];
