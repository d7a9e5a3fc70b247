import { expect, it } from "vitest";
import { commitChain, makeCommit, nextCommit } from "../../src/testing/contract.js";

it("makes first commits, and says what was asked for", () => {
  expect(makeCommit()).toMatchObject({ version: 1, previousHash: "", sessionId: "session_1" });
  const commit = makeCommit({ sessionId: "other", body: "b", summary: { target: "t" } });
  expect(commit).toMatchObject({ body: "b", summary: { sessionId: "other", target: "t", status: "active" } });
  expect(() => makeCommit({ sessionId: "Not valid" })).toThrow("session_id");
});

it("chains commits by their hashes", () => {
  const chain = commitChain(3);
  expect(chain.map((commit) => commit.version)).toEqual([1, 2, 3]);
  expect(chain[2]?.previousHash).toBe(chain[1]?.hash);
  expect(new Set(chain.map((commit) => commit.hash)).size).toBe(3);
  expect(commitChain(0)).toHaveLength(1);
});

it("counts a session as active since the version that made it so", () => {
  const first = makeCommit();
  const paused = nextCommit(first, { summary: { status: "paused" } });
  const resumed = nextCommit(paused, { summary: { status: "active" } });
  const later = nextCommit(resumed, { at: "2026-03-01T00:00:00.000Z" });
  expect([first, paused, resumed, later].map((commit) => commit.summary.activeSince)).toEqual([1, 1, 3, 3]);
  expect(later.summary.updatedAt).toBe("2026-03-01T00:00:00.000Z");
});
