/**
 * The built-in verifiers as far as a definition is read by what they are: a gate is read without its host, and so without
 * its verifiers. `verifiers/create-verifiers.ts` makes them.
 */

/** The name of a built-in verifier. */
export type VerifierName =
  | "file_exists"
  | "directory_exists"
  | "file_matches"
  | "file_contains"
  | "markdown_headings"
  | "json_value"
  | "line_exists"
  | "plan_parses"
  | "changed_since_phase_start"
  | "unchanged_since_phase_start"
  | "git_clean"
  | "git_clean_since_phase_start"
  | "git_changed_since_phase_start"
  | "git_commit_exists"
  | "git_tag_exists"
  | "git_changes"
  | "command"
  | "fails_without"
  | "tasks_shown"
  | "tests_kept"
  | "http_ok";

/** What is known of a verifier without its host. */
interface AboutVerifier {
  /** A plausible value of a field that it checks; missing if there is none that fits many gates. */
  readonly value?: string;
  /** The parameter that it checks in place of the value. */
  readonly insteadOfValue?: string;
  /** True if it compares with a snapshot, and takes the parameter `since`. */
  readonly since?: true;
}

const ABOUT: Readonly<Record<VerifierName, AboutVerifier>> = {
  file_exists: { value: "docs/report.md", insteadOfValue: "path" },
  directory_exists: { value: "docs", insteadOfValue: "path" },
  file_matches: { value: "docs/report.md", insteadOfValue: "path" },
  file_contains: { value: "docs/report.md", insteadOfValue: "path" },
  markdown_headings: { value: "docs/report.md", insteadOfValue: "path" },
  json_value: { value: "reports/result.json", insteadOfValue: "path" },
  line_exists: { value: "src/main.ts:12" },
  plan_parses: { value: "specs/tasks.md", insteadOfValue: "path" },
  changed_since_phase_start: { since: true },
  unchanged_since_phase_start: { since: true },
  git_clean: {},
  git_clean_since_phase_start: { since: true },
  git_changed_since_phase_start: { since: true },
  git_commit_exists: { value: "0123abc", insteadOfValue: "commit" },
  git_tag_exists: { value: "v1.0.0", insteadOfValue: "tag" },
  git_changes: { since: true },
  command: {},
  fails_without: { value: "src/main.ts", insteadOfValue: "files", since: true },
  tasks_shown: { since: true },
  tests_kept: { since: true },
  http_ok: { value: "https://example.org/", insteadOfValue: "url" },
};

/** Returns what is known of a verifier; undefined if it is the host's own. */
export function aboutVerifier(name: string): AboutVerifier | undefined {
  return isBuiltIn(name) ? ABOUT[name] : undefined;
}

function isBuiltIn(name: string): name is VerifierName {
  return Object.hasOwn(ABOUT, name);
}
