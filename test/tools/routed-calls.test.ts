import { expect, it } from "vitest";
import { ALL_CALLS, CALL_TEXTS, describe as describeCall } from "../../src/tools/routed/calls.js";
import type { RoutedCall } from "../../src/tools/routed/requests.js";

const described = (call: RoutedCall, chosen: Partial<Record<RoutedCall, string>>) =>
  describeCall(call, new Map(ALL_CALLS.map((other) => [other, chosen[other] ?? CALL_TEXTS[other].name])));

it("descriptions name each call as the host does, also by the usual name of another one", () => {
  const text = CALL_TEXTS.start.description;
  expect(described("start", {})).toBe(text);
  expect(described("start", { advance: "report" })).toBe(text.replace("advance_workflow", "report"));
  const swapped = { advance: "resume_workflow", resume: "advance_workflow" };
  expect(described("start", swapped)).toBe(text.replace("advance_workflow", "resume_workflow"));
});
