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
export const SECTION_TITLES: Readonly<Record<InstructionSection, string>> = {
  control: "You are in control",
  load: "Load",
  follow: "Follow",
  steps: "Steps",
  outputs: "Sessions and outputs",
  variables: "Variables",
  errors: "When a call fails",
  workflows: "Workflows",
};
