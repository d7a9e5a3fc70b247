import { expect, it } from "vitest";
import type { PhaseAttempt } from "../../src/phased/state/history.js";
import { type AttemptWord, attemptWord } from "../../src/read/attempt-words.js";
import type { PhaseLine } from "../../src/read/model.js";

const waiver = { fields: ["coverage"], by: "ann", reason: "no tool", version: 4, authenticated: true };
const denial = { at: "2026-03-04T05:06:07.000Z", event: "denied", by: "ann", note: "no" } as const;
const check = { verifier: "files", ok: true, message: "there", at: denial.at };

it.each<[attempt: Partial<PhaseAttempt>, phase: PhaseLine["state"], word: AttemptWord]>([
  [{ status: "completed" }, "done", "passed"],
  [{ status: "completed", waived: [waiver] }, "done", "waived"],
  [{ status: "failed" }, "refused", "refused"],
  [{ status: "failed" }, "failed", "refused"],
  [{ status: "failed", notes: [denial] }, "refused", "denied"],
  [{ status: "failed", notes: [denial], verification: [check] }, "refused", "refused"],
  [{ status: "active" }, "working", "working"],
  [{ status: "active" }, "refused", "next"],
  [{ status: "active" }, "waiting", "waiting"],
  [{ status: "active" }, "paused", "paused"],
  [{ status: "rolled_back" }, "working", "rolled back"],
  [{ status: "skipped" }, "skipped", "skipped"],
  [{ status: "overridden" }, "overridden", "overridden"],
])("an attempt %j at a phase that is %s is %s", (attempt, phase, word) => {
  const whole = { phase: 1, attempt: 1, startedAt: denial.at, status: "active", ...attempt } as const;
  expect(attemptWord(whole, phase)).toBe(word);
});

it("an attempt whose checks run is verifying", () => {
  const attempt = { phase: 1, attempt: 2, startedAt: denial.at, status: "active" } as const;
  expect(attemptWord(attempt, "refused", true)).toBe("verifying");
});
