import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
/** Beside the repository, or beside the folder of a worktree. */
const PLACE =
  ["../shared/corpus", "../../shared/corpus"].find((place) => existsSync(join(REPOSITORY, place))) ??
  "../shared/corpus";

/** The folder of the corpus, which is no part of the repository. */
export const CORPUS = join(REPOSITORY, PLACE);

/** The eight plans of praxis-os, with the counts of a human reader. */
export const PRAXIS_PLANS = [
  "dynamic-session",
  "evidence-validation",
  "gamification",
  "mcp-modular",
  "persona",
  "playwright",
  "rag-content",
  "thread-safety",
] as const;

export const OPENSPEC_PLANS = [
  "2025-08-19-add-change-commands",
  "2025-08-19-improve-validate-error-messages",
  "2025-09-29-remove-diff-command",
  "2025-10-14-add-windsurf-workflows",
  "2025-10-22-add-crush-support",
  "2025-12-28-add-instruction-loader",
  "2026-01-06-opsx-archive-command",
  "2026-02-17-add-verify-skill",
  "2026-05-06-workspace-open-agent-context",
] as const;

/** Every real plan, by its path below the corpus. */
export const ALL_PLANS = [
  ...PRAXIS_PLANS.map((name) => `praxis-os/tasks/${name}/tasks.md`),
  ...OPENSPEC_PLANS.map((name) => `openspec/${name}/tasks.md`),
  "spec-kit/tasks-template.md",
];

/** Returns the text of a file of the corpus. */
export function corpusText(path: string): string {
  return readFileSync(join(REPOSITORY, PLACE, path), "utf8");
}

/**
 * Reason why tests on real plans are skipped; empty if they run. It is part of their names and, since the
 * reporter shows no names of skipped tests, of the output.
 */
export function skipReason(): string {
  const missing = [...ALL_PLANS, "praxis-os/tasks/expected.json"].find(
    (path) => !existsSync(join(REPOSITORY, PLACE, path)),
  );
  if (missing === undefined) return "";
  const reason = `skipped: ${PLACE}/${missing} is not there, which is no part of the repository`;
  console.warn(reason);
  return ` (${reason})`;
}
