import { MemoryContent } from "phasegate";
import { describe, expect, it } from "vitest";
import { makeEngine } from "../support/make-engine.js";
import { connectInMemory } from "./connect-in-memory.js";

const LONG = Array.from({ length: 400 }, (_, line) => `Line ${line} of the guide.`).join("\n");

const files = {
  "metadata.json": JSON.stringify({
    ...{ workflow_type: "guided", name: "Guided", description: "With documents", version: "1.0.0" },
    phases: [1, 2].map((phase_number) => ({ phase_number, phase_name: `Phase ${phase_number}` })),
  }),
  "phases/1/phase.md": "# Phase 1\n\nRead `core/guide.md` and `core/short.md`.\n",
  "phases/2/phase.md": "# Phase 2\n\nRead `core/short.md`.\n",
  "core/guide.md": LONG,
  "core/short.md": "# Short\n",
};

async function guided() {
  const { engine } = makeEngine({ content: new MemoryContent({ sources: { guided: files } }) });
  const { sessionId } = await engine.start({ workflowType: "guided", target: "a" });
  const { client } = await connectInMemory(engine, { maxTokens: 1000 });
  const read = async (uri: string) => {
    const { contents } = await client.readResource({ uri });
    const [first] = contents;
    return first !== undefined && "text" in first ? first.text : "";
  };
  return { client, sessionId, read };
}

describe("documents as resources", () => {
  it("are read as they are, long ones in pages, each of which names the next", async () => {
    const { sessionId, read } = await guided();
    expect(await read(`phasegate://document/${sessionId}/core/short.md`)).toBe("# Short\n");
    let uri: string | undefined = `phasegate://document/${sessionId}/core/guide.md`;
    let whole = "";
    let pages = 0;
    while (uri !== undefined) {
      const text: string = await read(uri);
      const [all, next] = /\n\n\[more: (\S+)\]$/.exec(text) ?? [""];
      whole += all === "" ? text : text.slice(0, -all.length);
      uri = next;
      pages += 1;
    }
    expect(whole).toBe(LONG);
    expect(pages).toBeGreaterThan(2);
  });

  it("of a phase ahead, of no session, and with a path that leads out do not exist", async () => {
    const { sessionId, read } = await guided();
    for (const path of [
      `${sessionId}/phases/2/phase.md`,
      `${sessionId}/core/none.md`,
      `${sessionId}/../../etc/passwd`,
      "guided_20200101_000000/core/short.md",
    ]) {
      await expect(read(`phasegate://document/${path}`)).rejects.toThrow(/not found/i);
    }
  });

  it("are completed by the names in the text of the current phase", async () => {
    const { client, sessionId } = await guided();
    const ref = { type: "ref/resource", uri: "phasegate://document/{id}/{+path}" } as const;
    const paths = async (value: string, id?: string) => {
      const context = id === undefined ? {} : { context: { arguments: { id } } };
      return (await client.complete({ ref, argument: { name: "path", value }, ...context })).completion.values;
    };
    expect(await paths("core/", sessionId)).toEqual(["core/guide.md", "core/short.md"]);
    expect(await paths("core/s", sessionId)).toEqual(["core/short.md"]);
    expect(await paths("core/", "guided_20200101_000000")).toEqual([]);
    expect(await paths("core/")).toEqual([]);
  });
});
