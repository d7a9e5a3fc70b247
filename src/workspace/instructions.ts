/** The part of a system prompt that explains workflows. Every turn carries it along, so its size is limited. */

/** The options of {@link workflowInstructions}. */
export interface InstructionsContext {
  /** The workflows, as `workspace.workflows()` returns them. As many are listed as fit. Default: none. */
  readonly workflows?: readonly { readonly name: string; readonly description?: string }[];
  /** The variables of paths, such as `workspace.variables`. Default: the bundle, core and output root. */
  readonly variables?: readonly string[];
  /** Texts in place of sections; `false` leaves one out. Default: {@link INSTRUCTION_SECTIONS}. */
  readonly sections?: Readonly<Partial<Record<InstructionSection, string | false>>>;
}

/** The sections in their order, with their headings. */
const SECTIONS: readonly (readonly [name: InstructionSection, title: string])[] = [
  ["control", "You are in control"],
  ["load", "Load"],
  ["follow", "Follow"],
  ["steps", "Steps"],
  ["outputs", "Sessions and outputs"],
  ["variables", "Variables"],
  ["errors", "When a call fails"],
  ["workflows", "Workflows"],
];
/** The longest instructions, in characters: 900 tokens. */
const CHARACTERS_MAX = 3600;
const DESCRIPTION_MAX = 120;
const USUAL = ["bundle-root", "core-root", "output-root"];
/**
 * Returns the part of a system prompt that tells a model how to run workflows with the tools of a workspace, as
 * Markdown. It has less than 900 tokens (characters / 4), unless the host's own sections are longer.
 */
export function workflowInstructions(context: InstructionsContext = {}): string {
  const { sections = {}, workflows = [], variables = USUAL } = context;
  const written = SECTIONS.flatMap(([name, title]) => {
    const text = sections[name] ?? (name === "workflows" ? false : INSTRUCTION_SECTIONS[name]);
    return text === false
      ? []
      : [
          section(
            title,
            text.replace("{roots}", () => listed(variables)),
          ),
        ];
  });
  const text = ["## Running workflows", ...written].join("\n\n");
  if (sections.workflows !== undefined || workflows.length === 0) return text;
  const names = workflowList(workflows, CHARACTERS_MAX - text.length - section("Workflows", "").length - 4);
  return names === "" ? text : `${text}\n\n${section("Workflows", names)}`;
}

/** The texts of the sections, by name. `{roots}` is replaced by the variables. */
export const INSTRUCTION_SECTIONS = {
  control: `You lead the workflow: you read and save every file with a call, and the user sees it. Nothing happens without your calls.`,
  load: `1. Call preload_workflow with the workflow's name, first and once. Its files are complete: don't read them again. If it returns a cursor, get the rest before you begin.
2. Read missing and warnings. If the workflow can't be followed without a missing file, tell the user.
3. Use read_file for files that the instructions name later, and list_files to see a folder. Read a file when you need it, not before.`,
  follow: `Do all steps of the instructions in exact order. Skip none, and start none early. Where they ask the user, ask and wait for the answer. The text of the engine ({core-root}/tasks/workflow.md), if it was loaded, explains their tags. Tags in comments and in code are examples.`,
  steps: `If the workflow has steps in files, you have only the current one. Do all of it, then call next_step. If the step has a gate, submit what it asks for as evidence: what was really done and found. A gate that isn't passed tells you what is missing; don't guess. Never read a step's file ahead.`,
  outputs: `1. Call create_session before the first save_output. It returns the session's id. To continue an earlier session, call it with session_id and reopen: true, before anything else.
2. Paths of outputs begin with that id: <session-id>/notes.md. You can't write anywhere else, and the manifest is written for you.
3. Save where the instructions say so, for example at every template-output. Saving again replaces the file.
4. At the end call complete_session, and tell the user what was saved where.`,
  variables: `Paths begin with {roots}, or are relative to the file that names them. {config_source}:key and the workflow's own names are already replaced in its workflow.yaml. Names that are still in braces, such as {date} or {user_name}, and {{names}} in templates are for you to fill in: from the configuration, from the user, or today's date. Never save a name in braces.`,
  errors: `A call that fails returns error and remedy: do what the remedy says. Don't repeat the same call, and don't make up a file's content. If the remedy doesn't help, tell the user what you tried.`,
} as const;

/** The name of a section. */
export type InstructionSection = keyof typeof INSTRUCTION_SECTIONS | "workflows";

function section(title: string, text: string): string {
  return `### ${title}\n${text.trim()}`;
}

/** Lists as many workflows as fit into `maxChars`, one per line, and the number of the others. */
function workflowList(workflows: NonNullable<InstructionsContext["workflows"]>, maxChars: number): string {
  const lines: string[] = [];
  let used = 0;
  for (const [index, { name, description }] of workflows.entries()) {
    const line = description === undefined ? `- ${name}` : `- ${name}: ${shortened(description)}`;
    const more = `- and ${workflows.length - index} more: list_files shows them`;
    used += line.length + 1;
    if (used + (index === workflows.length - 1 ? 0 : more.length + 1) > maxChars) {
      return used - line.length + more.length > maxChars ? lines.join("\n") : [...lines, more].join("\n");
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
