import { createEngine, MemoryContent, MemoryStorage, type StorageAdapter } from "phasegate";
import { ScriptedDecider } from "phasegate/ai";
import { createInspector, type InspectorOptions } from "phasegate/inspector";
import { createRoutedEngine } from "phasegate/routed";
import { askingFiles } from "../support/approvals.js";
import { GATED } from "../support/gated-garden.js";
import { twoPhases } from "../support/workflows.js";

export const TOKEN = "0123456789abcdef0123456789abcdef";
export const ORIGIN = "http://127.0.0.1:7000";

/** An inspector over phased, routed and recorded sessions in one storage, and a browser that is logged in. */
export async function makeHouse(more: Partial<InspectorOptions> = {}, storage: StorageAdapter = new MemoryStorage()) {
  const content = new MemoryContent({ workflows: [twoPhases], sources: { asking: askingFiles } });
  const limits = { maxActiveSessions: Number.POSITIVE_INFINITY };
  const engine = createEngine({ storage, content, limits, allowUnsignedApprovals: true });
  const decider = new ScriptedDecider(Array.from({ length: 50 }, () => "Sow"));
  const routed = createRoutedEngine({ storage, workflows: GATED, decider, limits });
  const errors: unknown[] = [];
  const inspector = createInspector({
    engine,
    routed,
    recorded: { storage },
    access: { token: TOKEN },
    unsigned: true,
    onError: (error) => errors.push(error),
    ...more,
  });
  const send = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
    inspector.fetch(new Request(`${ORIGIN}/${path}`, init));
  const headers = { "content-type": "application/json", "x-phasegate": "1" };
  const login = await send("api/login", { method: "POST", headers, body: JSON.stringify({ token: TOKEN }) });
  const { key = "1" } = await login.json();
  const write = { ...headers, "x-phasegate": key };
  const cookie = (login.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const pass = { cookie, "x-phasegate": key };
  /** Reads an answer of the API as the page does. */
  const get = async <T>(path: string): Promise<T> => {
    const response = await send(`api/${path}`, { headers: pass });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return response.json();
  };
  const post = (path: string, body: object) =>
    send(`api/${path}`, { method: "POST", headers: { ...write, cookie }, body: JSON.stringify(body) });
  return { storage, engine, routed, inspector, errors, send, cookie, pass, write, get, post };
}
