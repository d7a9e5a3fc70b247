/** Servers that end and begin again, or of which there are several, and clients of both SDKs that notice nothing of it. */
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Answer } from "../mcp/connect-in-memory.js";
import { connectSdk, type Fetch, SDKS, textAnswer } from "../mcp/sdk-clients.js";
import { writeFiles } from "../support/write-files.js";
import { makeWorkspace } from "../workspace/make-workspace.js";
import { listening, project, START } from "./listening.js";

/** A project whose gate passes at once. */
async function quickProject() {
  const root = await project();
  await writeFiles(root, { go: "" });
  return root;
}

/** Ends a server, and begins another one at its address. */
async function again(root: string, { child, closed, url }: Awaited<ReturnType<typeof listening>>, ...flags: string[]) {
  child.kill("SIGKILL");
  await closed;
  await listening(root, ...flags, "--listen", new URL(url).host);
}

it.each(["SIGKILL", "SIGTERM"] as const)(
  "clients go on between two calls, after a server that ends by %s",
  async (signal) => {
    const root = await quickProject();
    const first = await listening(root, "--grace", "0s");
    const clients = await Promise.all(
      SDKS.map(async (sdk) => {
        const { client, ask } = await connectSdk(sdk, first.url);
        const { session_id } = await ask(START);
        return { sdk, client, ask, session_id };
      }),
    );
    first.child.kill(signal);
    await first.closed;
    await again(root, first);
    for (const { sdk, client, ask, session_id } of clients) {
      const read = await client.readResource({ uri: `phasegate://session/${session_id}` });
      expect(JSON.stringify(read), sdk).toContain("slow");
      const complete = { action: "complete_phase", session_id, phase: 1, evidence: { summary: "done" } };
      expect(await ask(complete), sdk).toMatchObject({ workflow_complete: true });
    }
  },
);

it.each([[["--stateless"]], [[]]])(
  "two servers of one state share a client's calls, with the flags %j",
  async (flags) => {
    const root = await quickProject();
    const [one, other] = await Promise.all([listening(root, ...flags), listening(root, ...flags)]);
    for (const sdk of SDKS) {
      let requests = 0;
      const balanced: Fetch = (_, init) => {
        requests += 1;
        return fetch(requests % 2 === 0 ? one.url : other.url, init);
      };
      const { client, ask } = await connectSdk(sdk, one.url, { fetch: balanced });
      await client.listTools();
      const { session_id } = await ask(START);
      await client.ping();
      const complete = { action: "complete_phase", session_id, phase: 1, evidence: { summary: "done" } };
      expect(await ask(complete), sdk).toMatchObject({ workflow_complete: true });
    }
  },
);

it("clients of one actor whose server has begun again write to their own sessions of a workspace alone", async () => {
  const root = await project();
  const { bundle, base } = await makeWorkspace();
  const flags = ["--bundle", bundle, "--output", join(base, "made")];
  const first = await listening(root, ...flags);
  const agentOf = async () => {
    const { client } = await connectSdk("@modelcontextprotocol/sdk", first.url);
    return async (name: string, input: Answer): Promise<Answer> => {
      return textAnswer(await client.callTool({ name, arguments: input }));
    };
  };
  const [ann, bob] = [await agentOf(), await agentOf()];
  const { session_id } = await ann("create_session", { workflow: "intake" });
  await again(root, first, ...flags);
  const save = (content: string) => ({ path: `${session_id}/a.md`, content });
  // What a connection has remembered is gone with it: its client continues its session.
  expect(await ann("save_output", save("of ann"))).toMatchObject({ success: false });
  expect(await ann("create_session", { session_id, reopen: true })).toMatchObject({ opened: "reopened" });
  expect(await ann("save_output", save("of ann"))).toMatchObject({ success: true });
  expect(await bob("save_output", save("of bob"))).toMatchObject({ success: false });
  expect(await ann("complete_session", { session_id })).toMatchObject({ success: true });
});
