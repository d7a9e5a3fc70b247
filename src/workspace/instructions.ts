/** What the instructions are written for. */
export interface InstructionsContext {
  /** The workflows that there are, such as `workspace.workflows()` gives. As many are named as there is room for. */
  readonly workflows?: readonly { readonly name: string; readonly description?: string }[];
  /** The variables that paths may begin with, such as `workspace.variables`. Those of every workspace if not given. */
  readonly variables?: readonly string[];
  /** Sections in the host's own words, or left out (`false`). */
  readonly sections?: Readonly<Partial<Record<InstructionSection, string | false>>>;
}

/** What the instructions may take, in characters: 900 tokens. */
const CHARACTERS_MAX = 3600;
/** How much of a description is worth its tokens. */
const DESCRIPTION_MAX = 120;
const USUAL = ["bundle-root", "core-root", "output-root"];
const ORDER: readonly InstructionSection[] = [
  "control",
  "load",
  "follow",
  "steps",
  "outputs",
  "variables",
  "errors",
  "workflows",
];

/**
 * The part of a system prompt that tells a model how workflows are run with the tools of a workspace, as Markdown: under 900
 * tokens (characters / 4), unless the host's own sections are longer. Sections can be dropped or replaced by name.
 */
export function workflowInstructions(context: InstructionsContext = {}): string {
  const { sections = {}, workflows = [], variables = USUAL } = context;
  const written = ORDER.flatMap((name) => {
    const own = sections[name];
    if (own === false || (name === "workflows" && own === undefined)) return [];
    const text = own ?? (name === "workflows" ? "" : INSTRUCTION_SECTIONS[name]);
    return [
      section(
        name,
        text.replace("{roots}", () => listed(variables)),
      ),
    ];
  });
  const text = ["## Running workflows", ...written].join("\n\n");
  if (sections.workflows !== undefined || workflows.length === 0) return text;
  const names = workflowList(workflows, CHARACTERS_MAX - text.length - section("workflows", "").length - 4);
  return names === "" ? text : `${text}\n\n${section("workflows", names)}`;
}

function section(name: InstructionSection, text: string): string {
  return `### ${SECTION_TITLES[name]}\n${text.trim()}`;
}

/** As many as there is room for, one a line; the rest by number. */
function workflowList(workflows: NonNullable<InstructionsContext["workflows"]>, room: number): string {
  const lines: string[] = [];
  let used = 0;
  for (const [index, { name, description }] of workflows.entries()) {
    const line = description === undefined ? `- ${name}` : `- ${name}: ${shortened(description)}`;
    const more = `- and ${workflows.length - index} more: list_files shows them`;
    used += line.length + 1;
    if (used + (index === workflows.length - 1 ? 0 : more.length + 1) > room) {
      return used - line.length + more.length > room ? lines.join("\n") : [...lines, more].join("\n");
    }
    lines.push(line);
  }
  return lines.join("\n");
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= DESCRIPTION_MAX ? line : `${line.slice(0, DESCRIPTION_MAX - 1).trimEnd()}…`;
}

function listed(variables: readonly string[]): string {
  const names = variables.map((name) => `{${name}}`);
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

/** The sections of the instructions, in their order. What they say is in few words: every turn carries them along. */
export const INSTRUCTION_SECTIONS = {
  control: `You lead the workflow: every file that is read or saved is a call of yours, and the user sees it. Nothing happens behind your back.`,
  load: `1. Call preload_workflow with the workflow's name, first and once. Its files come whole: don't read them again. Where it gives a cursor, get the rest before you begin.
2. Read missing and warnings. If the workflow can't be followed without a missing file, tell the user.
3. read_file is for what the instructions name later on, list_files for what lies in a folder. Read what you need when you need it, and not before.`,
  follow: `Do all steps of the instructions in exact order. Skip none, and do none that lies ahead. Where they ask the user, ask and wait for the answer. The text of the engine ({core-root}/tasks/workflow.md), where it was loaded, says what their tags mean. Tags in comments and in code are examples.`,
  steps: `Where the workflow has steps in files, you have the current one alone. Do it whole, then call next_step. If the step has a gate, hand in what it asks for as evidence: what was really done and found. A gate that isn't passed says what is missing; don't guess. Never read a step's file ahead.`,
  outputs: `1. Call create_session before the first save_output. It gives the session's id; to go on with an earlier session, call it with session_id and reopen: true, before anything else.
2. Paths of outputs begin with that id: <session-id>/notes.md. Nothing else can be written, and the manifest is kept for you.
3. Save where the instructions say so, at every template-output for example. Saving again replaces the file.
4. At the end call complete_session, and tell the user what was saved where.`,
  variables: `Paths begin with {roots}, or lie beside the file that names them. {config_source}:key and the workflow's own names are already put into its workflow.yaml. Names that still stand in braces, such as {date} or {user_name}, and {{names}} in templates are yours to fill in: from the configuration, from the user, or today's date. Never save a name in braces.`,
  errors: `A call that fails says error and remedy: do what the remedy says. Don't repeat the same call, and don't make up a file's content. If the remedy doesn't help, tell the user what you tried.`,
} as const;

/** The name of a section. */
export type InstructionSection = keyof typeof INSTRUCTION_SECTIONS | "workflows";

/** What each section is headed by. */
const SECTION_TITLES: Readonly<Record<InstructionSection, string>> = {
  control: "You are in control",
  load: "Load",
  follow: "Follow",
  steps: "Steps",
  outputs: "Sessions and outputs",
  variables: "Variables",
  errors: "When a call fails",
  workflows: "Workflows",
};
