import { expect, it } from "vitest";
import { type Manifest, reopened } from "../../src/workspace/session/manifest.js";

const at = "2026-01-02T03:04:05.000Z";
const output = (path: string, sha256 = "a", saved_at = at) => ({ path, bytes: 1, sha256, saved_at });
const manifestOf = (...outputs: Manifest["outputs"]): Manifest => ({
  session_id: "2026-01-02-030405",
  status: "completed",
  outputs,
  created_at: at,
  updated_at: at,
  completed_at: at,
});

it("the manifest of a reopened session lists its outputs in the order of saving", () => {
  const [first, last] = [output("z"), output("a", "a", "2026-01-02T03:04:06.000Z")];
  const before = manifestOf(first, last);
  expect(reopened(before, before, [last, first], at).outputs).toEqual([first, last]);
});

it("the manifest of a reopened session lists the files that were found, and those saved since", () => {
  const before = manifestOf(output("gone"), output("kept"), output("changed"));
  const now = manifestOf(output("gone"), output("kept"), output("changed", "b"), output("new"));
  const next = reopened(now, before, [output("kept"), output("changed"), output("left")], at);
  expect(next.completed_at).toBeUndefined();
  expect(next).toMatchObject({ status: "active" });
  expect(next.outputs).toEqual([output("kept"), output("left"), output("changed", "b"), output("new")]);
});
