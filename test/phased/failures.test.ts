import { type EngineNotifications, MemoryContent, MemoryStorage, PhasegateError } from "phasegate";
import pino from "pino";
import { describe, expect, it } from "vitest";
import { logPhased } from "../../src/cli/log.js";
import { routed, Script } from "../routed/engine/garden.js";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { built } from "../support/workflows.js";

/** A storage all of whose methods fail while `fails` is set. */
class Failing extends MemoryStorage {
  fails = false;

  #refuse() {
    if (!this.fails) return;
    throw new PhasegateError("STORAGE_FAILED", "the disk is full", {
      remedy: "Make room.",
      details: { operation: "any" },
    });
  }

  override async read(...args: Parameters<MemoryStorage["read"]>) {
    this.#refuse();
    return super.read(...args);
  }

  override async append(...args: Parameters<MemoryStorage["append"]>) {
    this.#refuse();
    return super.append(...args);
  }

  override async list(...args: Parameters<MemoryStorage["list"]>) {
    this.#refuse();
    return super.list(...args);
  }
}

const failed = (operation: string) => ({ operation, error: { code: "STORAGE_FAILED" } });

it("a list that fails does not hide that there is no session", async () => {
  const storage = new MemoryStorage();
  storage.list = async () => {
    throw new TypeError("a plain error of an adapter");
  };
  const { engine } = makeEngine({ storage });
  const heard: EngineNotifications["internalError"][] = [];
  engine.on("internalError", (payload) => void heard.push(payload));
  expect((await failure(engine.session("nobody").state())).code).toBe("SESSION_NOT_FOUND");
  expect(heard).toMatchObject([{ operation: "list sessions", error: expect.any(TypeError) }]);
});

describe("a failure of the storage", () => {
  it("is reported to the host and to the caller, for every call", async () => {
    const storage = new Failing();
    const { engine } = makeEngine({ storage });
    const id = await startTwoPhases(engine);
    const heard: EngineNotifications["internalError"][] = [];
    engine.on("internalError", (payload) => void heard.push(payload));
    storage.fails = true;
    const calls = {
      getState: () => engine.session(id).state(),
      completePhase: () => engine.session(id).completePhase(1, built),
      listSessions: () => engine.listSessions(),
      start: () => startTwoPhases(engine, "src/b.ts"),
      approvals: () => engine.approvals(),
      cleanup: () => engine.cleanup(),
      audit: () => engine.session(id).delete(),
    };
    for (const call of Object.values(calls)) expect((await failure(call())).code).toBe("STORAGE_FAILED");
    const operations = Object.keys(calls).map((name) => (name === "audit" ? "deleteSession" : name));
    expect(heard).toMatchObject(operations.map(failed));
  });

  it("is reported even if the call continues without the failed part", async () => {
    class Unlisted extends MemoryStorage {
      override async list(): Promise<never> {
        throw new PhasegateError("STORAGE_FAILED", "no list", { remedy: "Wait.", details: { operation: "list" } });
      }
    }
    const { engine } = makeEngine({ storage: new Unlisted() });
    const heard: unknown[] = [];
    engine.on("internalError", (payload) => void heard.push(payload));
    expect((await failure(engine.session("nobody_at_all").state())).code).toBe("SESSION_NOT_FOUND");
    expect(heard).toMatchObject([failed("list sessions")]);
  });

  it("is reported by a routed engine too, watches included", async () => {
    const storage = new Failing();
    const { engine } = routed(new Script("Sow"), { storage });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    const heard: unknown[] = [];
    engine.on("internalError", (payload) => void heard.push(payload));
    storage.fails = true;
    expect((await failure(engine.session(sessionId).state())).code).toBe("STORAGE_FAILED");
    expect((await failure(engine.listSessions())).code).toBe("STORAGE_FAILED");
    class Unwatched extends MemoryStorage {
      override watch(): AsyncIterableIterator<never> {
        const next = async () => {
          throw new PhasegateError("STORAGE_FAILED", "gone", { remedy: "Wait.", details: { operation: "watch" } });
        };
        return { next, [Symbol.asyncIterator]: () => this.watch() };
      }
    }
    const other = routed(new Script(), { storage: new Unwatched() }).engine;
    other.on("internalError", (payload) => void heard.push(payload));
    expect((await failure(other.watch().next())).code).toBe("STORAGE_FAILED");
    expect(heard).toMatchObject(["status", "listInstances", "watch"].map(failed));
  });

  it("is written to the log of a server", async () => {
    const lines: string[] = [];
    const storage = new Failing();
    const { engine } = makeEngine({ storage });
    logPhased(engine, pino({ level: "info" }, { write: (line: string) => void lines.push(line) }));
    storage.fails = true;
    await failure(engine.session("nobody_at_all").state());
    expect(JSON.parse(lines.at(-1) ?? "{}")).toMatchObject({
      ...{ level: 50, msg: "internalError", operation: "getState", err: { message: "the disk is full" } },
    });
  });
});

describe("other failures", () => {
  it("are reported to the host: too many concurrent calls, a missing text, a newer format", async () => {
    const heard: string[] = [];
    const hear = ({ error }: EngineNotifications["internalError"]) => {
      if (error instanceof PhasegateError) heard.push(error.code);
    };
    const busy = makeEngine({ limits: { maxConcurrent: 1 } }).engine;
    busy.on("internalError", hear);
    await Promise.allSettled([busy.listSessions(), busy.listSessions()]);
    const storage = new MemoryStorage();
    const id = await startTwoPhases(makeEngine({ storage }).engine);
    const { engine } = makeEngine({ storage, content: new MemoryContent({ workflows: [] }) });
    engine.on("internalError", hear);
    await failure(engine.session(id).phase());
    class Newer extends MemoryStorage {
      override async read(...args: Parameters<MemoryStorage["read"]>) {
        const commit = await super.read(...args);
        return commit && { ...commit, schema: 99 };
      }
    }
    const newer = new Newer();
    const late = makeEngine({ storage: newer }).engine;
    late.on("internalError", hear);
    await failure(late.session(await startTwoPhases(makeEngine({ storage: newer }).engine)).state());
    expect(heard).toEqual(expect.arrayContaining(["BUSY", "CONTENT_UNAVAILABLE", "FORMAT_TOO_NEW"]));
  });

  it("of one session hide no question of another: a newer format", async () => {
    class Newer extends MemoryStorage {
      newer = "";
      override async read(...args: Parameters<MemoryStorage["read"]>) {
        const commit = await super.read(...args);
        return commit && (args[0] === this.newer ? { ...commit, schema: 99 } : commit);
      }
    }
    const storage = new Newer();
    const { engine: first } = makeEngine({ storage });
    const waits = await startTwoPhases(first, "src/b.ts");
    await first.session(waits).requestWaiver(1, { fields: ["tests_pass"], reason: "there are none" });
    storage.newer = await startTwoPhases(first);
    const { engine } = makeEngine({ storage });
    const heard: unknown[] = [];
    engine.on("internalError", ({ operation, error }) => void heard.push([operation, error]));
    expect(await engine.waivers()).toMatchObject([{ sessionId: waits }]);
    expect(await engine.approvals()).toEqual([]);
    expect(heard).toMatchObject([
      ["listWaivers", { code: "FORMAT_TOO_NEW" }],
      ["listApprovals", { code: "FORMAT_TOO_NEW" }],
    ]);
  });

  it("are not reported to the host if the caller made the mistake", async () => {
    const { engine } = makeEngine();
    const id = await startTwoPhases(engine);
    const heard: unknown[] = [];
    engine.on("internalError", (payload) => void heard.push(payload));
    await failure(engine.session("nobody_at_all").state());
    await failure(engine.session(id).phase(2));
    await failure(engine.session(id).resume());
    expect(heard).toEqual([]);
  });
});
