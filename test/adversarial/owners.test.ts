/** Attempts of one actor on the sessions of another one. */
import type { Authorize, StorageAdapter } from "phasegate";
import type { Commit } from "phasegate/storage";
import { describe, expect, it } from "vitest";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";

const ANN = { name: "ann", team: "red" };
const BOB = { name: "bob" };

function shared(options: Parameters<typeof makeEngine>[0] = {}) {
  const made = makeEngine(options);
  return { ...made, ann: made.engine.as(ANN), bob: made.engine.as(BOB) };
}

describe("a rule of the host's own", () => {
  it("refuses with anything but true, such as a promise", async () => {
    const { engine, ann } = shared();
    const id = await startTwoPhases(ann);
    const later = (async () => false) as unknown as Authorize;
    const reported: unknown[] = [];
    engine.on("internalError", ({ error }) => reported.push(error));
    const mallory = engine.as({ name: "mallory" }, later);
    expect((await failure(mallory.getState(id))).code).toBe("SESSION_NOT_FOUND");
    expect((await mallory.listSessions()).items).toEqual([]);
    expect((await failure(mallory.pause(id))).code).toBe("SESSION_NOT_FOUND");
    expect(reported.length).toBeGreaterThan(0);
  });

  it("refuses where it throws, and the host learns why", async () => {
    const { engine, ann, bob } = shared();
    const [red, plain] = [await startTwoPhases(ann), await startTwoPhases(bob, "src/b.ts")];
    const reported: unknown[] = [];
    engine.on("internalError", ({ error }) => reported.push(error));
    // It forgets that a session may have no team.
    const careless: Authorize = ({ session }) =>
      session === undefined ? false : session.team?.at(0) === "r" || boom();
    const boom = () => {
      throw new TypeError("no team");
    };
    const team = engine.as({ name: "rudi" }, careless);
    expect((await failure(team.getState(plain))).code).toBe("SESSION_NOT_FOUND");
    expect((await team.listSessions()).items.map(({ sessionId }) => sessionId)).toEqual([red]);
    expect(reported[0]).toMatchObject({ message: "no team" });
  });
});

/** A storage whose watch gives commits that were changed on the way. */
function changing(storage: StorageAdapter, change: (commit: Commit) => Commit): StorageAdapter {
  const watch = storage.watch?.bind(storage);
  async function* changed(...given: Parameters<NonNullable<typeof watch>>) {
    for await (const commit of watch?.(...given) ?? []) yield change(commit);
  }
  return Object.assign(storage, { watch: changed });
}

describe("somebody else's session", () => {
  it("does not end a watch when it is damaged, and is not named by it", async () => {
    const storage = changing(makeEngine().storage, (commit) =>
      commit.summary.owner === "ann" ? { ...commit, body: `${commit.body} ` } : commit,
    );
    const { ann, bob } = shared({ storage });
    const seen = bob.watch()[Symbol.asyncIterator]();
    const first = seen.next();
    await startTwoPhases(ann);
    const own = await startTwoPhases(bob, "src/b.ts");
    expect((await first).value?.sessionId).toBe(own);
    await seen.return?.();
  });
});
