import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { connectToServe } from "./serve-client.js";

/** The generations of the protocol, as the official client chooses them. */
const MODES = ["legacy", "auto"] as const;

it.each(MODES)("serve on stdio tells a client (%s) of another server's commits to a session", async (mode) => {
  const root = await temporaryFolder();
  await writeFiles(join(root, "workflows/small"), {
    "metadata.json": JSON.stringify({
      ...{ workflow_type: "small", name: "Small", description: "Two phases", version: "1.0.0" },
      phases: [1, 2].map((phase_number) => ({ phase_number, phase_name: `Phase ${phase_number}` })),
    }),
    "phases/1/phase.md": "# Phase 1\n",
    "phases/2/phase.md": "# Phase 2\n",
  });
  const flags = ["--workflows", join(root, "workflows"), "--state", join(root, "state")];
  const updated: string[] = [];
  const options = mode === "auto" ? { versionNegotiation: { mode: "auto" } as const } : {};
  const { client, ask } = await connectToServe(flags, {}, options, (made) =>
    made.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri)),
  );
  const other = await connectToServe(flags);
  const start = { action: "start", workflow_type: "small", target_file: "a" };
  const [{ session_id: id }, { session_id: unwatched }] = [await ask(start), await ask(start)];
  const uri = `phasegate://session/${String(id)}`;
  if (mode === "auto") await client.listen({ resourceSubscriptions: [uri] });
  else await client.subscribeResource({ uri });
  await other.ask({ action: "pause", session_id: unwatched });
  // A subscription of protocol 2026-07-28 is confirmed a moment before the server watches.
  for (let turn = 0; updated.length === 0 && turn < 40; turn += 1) {
    await other.ask({ action: turn % 2 === 0 ? "pause" : "resume", session_id: id });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(new Set(updated)).toEqual(new Set([uri]));
});
