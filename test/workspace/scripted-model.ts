/**
 * A deterministic stand-in for a model that follows workflows: it uses only the texts that its calls return, and the
 * words of the user.
 */
import * as z from "zod";

/** Calls a tool, over any interface. */
export type CallTool = (name: string, input: Readonly<Record<string, unknown>>) => Promise<Record<string, unknown>>;

/** How the model gets its files: in one call, or one by one as they are named. */
export type Loading = "preload" | "one by one";

/** The texts that the model has read, by path. */
type Texts = ReadonlyMap<string, string>;

const filesSchema = z.array(z.object({ path: z.string(), content: z.string() }));
const SAID = {
  topic: "Harbour fees",
  date: "2026-01-02",
  decisions: "- Ada: fees rise in May\n- Grace: the list is printed anew",
  facts: "- Ships pay by length: the list of fees",
};

/** Runs a workflow from start to end; returns the session's id. */
export async function runWorkflow(workflow: string, call: CallTool, loading: Loading): Promise<string> {
  const texts = new Map<string, string>();
  const load = loading === "preload" ? () => preload(workflow, call, texts) : () => readOneByOne(workflow, call, texts);
  await load();
  const { session_id: session } = await done(call("create_session", { workflow }));
  const save = (path: string, content: string) => done(call("save_output", { path: `${session}/${path}`, content }));
  switch (workflow) {
    case "meeting-notes":
      await save("notes.md", filled(textOf(texts, "meeting-notes/template.md"), texts));
      break;
    case "feature-brief":
      await save("brief.md", brief(texts));
      await save("facts.md", filled(textOf(texts, "facts.md"), texts));
      break;
    default:
      await goThroughSteps(workflow, call, texts, loading);
      await save("report.md", report(texts));
  }
  await done(call("complete_session", {}));
  return String(session);
}

async function preload(workflow: string, call: CallTool, texts: Map<string, string>): Promise<void> {
  let cursor: unknown;
  do {
    const page = await done(call("preload_workflow", cursor === undefined ? { workflow } : { workflow, cursor }));
    for (const { path, content } of filesSchema.parse(page.files)) texts.set(path, content);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Loads files one by one: each file is a call, and names the next one. */
async function readOneByOne(workflow: string, call: CallTool, texts: Map<string, string>): Promise<void> {
  const bundle = "{bundle-root}";
  const isSkill = workflow === "release-check";
  const folder = `${bundle}/${isSkill ? "skills" : "workflows"}/${workflow}`;
  const wanted = isSkill
    ? ["SKILL.md", "workflow.md", "customize.toml"].map((name) => `${folder}/${name}`)
    : [`${folder}/workflow.yaml`, "{core-root}/tasks/workflow.md"];
  for (let path = wanted.shift(); path !== undefined; path = wanted.shift()) {
    if (texts.has(path)) continue;
    const { content } = await done(call("read_file", { path }));
    texts.set(path, String(content));
    wanted.push(...namedIn(path, String(content)));
  }
}

function namedIn(path: string, text: string): string[] {
  const folder = path.slice(0, path.lastIndexOf("/"));
  if (!/workflow\.yaml$|instructions\.md$|adv-elicit\.md$/.test(path)) return [];
  const beside = [...text.matchAll(/\.\/([\w-]+\.md)/g)].map(([, name = ""]) => `${folder}/${name}`);
  const below = [...text.matchAll(/"\{installed_path\}\/([\w.-]+)"/g)].map(([, name = ""]) => `${folder}/${name}`);
  const whole = [...text.matchAll(/"(\{bundle-root\}\/[\w./-]+\.yaml)"/g)].map(([, name = ""]) => name);
  const fenced = text.replace(/```xml\n(?!<workflow)[\s\S]*?```/g, "").replace(/<!--[\s\S]*?-->/g, "");
  const elicits = /<elicit-required/.test(fenced) ? ["{core-root}/tasks/adv-elicit.md"] : [];
  const checks = /<invoke-workflow/.test(text) ? ["{bundle-root}/workflows/check-facts/workflow.yaml"] : [];
  const methods = [...text.matchAll(/([\w-]+\.csv)/g)].map(([, name = ""]) => `${folder}/${name}`);
  return [...beside, ...below, ...whole, ...elicits, ...checks, ...(path.startsWith("{core") ? methods : [])];
}

/** After a preload the first step is loaded; evidence for a gate comes from its own example. */
async function goThroughSteps(workflow: string, call: CallTool, texts: Map<string, string>, loading: Loading) {
  let evidence: unknown;
  if (loading === "one by one") await done(call("next_step", { workflow }));
  for (;;) {
    const step = await done(call("next_step", evidence === undefined ? { workflow } : { workflow, evidence }));
    if (step.done === true) return;
    texts.set(String(step.path), String(step.content));
    evidence = /gate:/.test(String(step.content)) ? { tests_passed: true, version: "1.2.3" } : undefined;
  }
}

function brief(texts: Texts): string {
  const [, method] = textOf(texts, "adv-elicit-methods.csv").split("\n");
  const said = "Ships pay by length. Ada asked for it. It goes out in May.";
  return `# Brief\n\n${said}\n\nMethod: ${method?.replace(",", ", ")}\n`;
}

function report(texts: Texts): string {
  const [, tone] = /tone = "(\w+)"/.exec(textOf(texts, "customize.toml")) ?? [];
  const passed = textOf(texts, "step-03-report.md").includes("tests have passed") ? "All tests have passed." : "";
  return `# Release 1.2.3\n\n${passed} Tone: ${tone}.\n`;
}

function filled(template: string, texts: Texts): string {
  const [, user = "{user_name}"] = /user_name: (\w+)/.exec(texts.get("{bundle-root}/config.yaml") ?? "") ?? [];
  return template
    .replace("{user_name}", user)
    .replace("{date}", SAID.date)
    .replace(
      /\{\{(\w+)\}\}/g,
      (whole, name: string) => Object.entries(SAID).find(([key]) => key === name)?.[1] ?? whole,
    );
}

function textOf(texts: Texts, end: string): string {
  for (const [path, text] of texts) if (path.endsWith(end)) return text;
  throw new Error(`the model has not read ${end}; it has read ${[...texts.keys()].join(", ")}`);
}

async function done(calling: Promise<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const answer = await calling;
  if (answer.success !== true) throw new Error(`a call failed: ${JSON.stringify(answer)}`);
  return answer;
}
