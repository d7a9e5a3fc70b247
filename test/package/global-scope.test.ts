import { createEngine, MemoryContent, MemoryStorage } from "phasegate";
import { LinearDecider } from "phasegate/ai";
import { createHttpApi } from "phasegate/http";
import { createHostCheck, createQuotas, createTokenLogin } from "phasegate/login";
import { createHealth, createMcpHttpHandler } from "phasegate/mcp-http";
import { createRoutedEngine } from "phasegate/routed";
import { afterEach, expect, it, vi } from "vitest";
import { GATED } from "../support/gated-garden.js";
import { twoPhases } from "../support/workflows.js";

afterEach(() => void vi.restoreAllMocks());

it("what a host makes while its module is loaded needs nothing that a Worker of Cloudflare forbids there", () => {
  const forbidden = () => {
    throw new Error("Disallowed operation called within global scope");
  };
  const spies = [
    vi.spyOn(crypto, "randomUUID"),
    vi.spyOn(crypto, "getRandomValues"),
    vi.spyOn(Math, "random"),
    vi.spyOn(globalThis, "fetch"),
    vi.spyOn(globalThis, "setTimeout"),
    vi.spyOn(globalThis, "setInterval"),
  ].map((spy) => spy.mockImplementation(forbidden));
  const storage = new MemoryStorage();
  const engine = createEngine({ storage, content: new MemoryContent({ workflows: [twoPhases] }) });
  const routed = createRoutedEngine({ storage, workflows: GATED, decider: new LinearDecider() });
  const login = createTokenLogin({ read: () => "" });
  const made = [
    ...[createHttpApi(engine, { login }), createHttpApi(routed), createHealth({ storage }), createHostCheck()],
    ...[createMcpHttpHandler({ register: () => undefined, login }), createQuotas({})],
  ];
  expect(made).toHaveLength(6);
  for (const spy of spies) expect(spy).not.toHaveBeenCalled();
});
