import { INSTRUCTION_SECTIONS, type InstructionSection, SECTION_TITLES } from "./sections.js";

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
