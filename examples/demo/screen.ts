/** What the demo prints: colours on a terminal, plain text elsewhere. */
import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];
/** An answer of the tool. */
export type Answer = Record<string, unknown>;

/** Longer lines are cut; a recording wants them whole. */
const WIDTH = Number(process.env.DEMO_WIDTH ?? 104);

/** A text in colours, where standard output has some. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** The heading of a step, with what it is to show. */
export function step(title: string, explanation: string): void {
  console.log(`\n${styled("bold", title)}\n${styled("gray", explanation)}`);
}

/** Something that happens outside of the protocol. */
export function event(text: string): void {
  console.log(`  ${styled("yellow", "*")} ${clipped(text)}`);
}

/** A call as the agent makes it, on one line. */
export function showCall({ action, session_id: _, ...rest }: Answer): void {
  const values = Object.entries(rest).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  console.log(`  ${styled("cyan", "agent →")} ${styled("bold", String(action))} ${clipped(values.join(", "))}`);
}

/** What an agent reads first in an answer: whether it worked, what is wrong, and what to call next. */
export function showAnswer(answer: Answer): void {
  const refused = answer.status === "error";
  const word = refused ? styled("red", "refused") : styled("green", "accepted");
  console.log(`  ${styled("cyan", "tool  ←")} ${word} ${clipped(headline(answer))}`);
  for (const line of [...texts(answer.validation_errors), ...texts(answer.remediation)]) {
    console.log(`            ${clipped(line)}`);
  }
}

/** What a command that a gate has run wrote, as far as it is of interest. */
export function showOutput({ verification }: Answer, interest: RegExp): void {
  const results: Answer[] = Array.isArray(verification) ? verification : [];
  const lines = results.flatMap(({ output }) => texts(output)).filter((line) => interest.test(line));
  for (const line of lines) console.log(`            ${styled("gray", clipped(`| ${line}`))}`);
}

/** The fields of an answer, one a line. */
export function showFields(answer: Answer): void {
  for (const [name, value] of Object.entries(answer)) {
    console.log(
      `  ${styled("gray", name.padEnd(16))} ${clipped(typeof value === "string" ? value : JSON.stringify(value))}`,
    );
  }
}

/** A line of a session's history, with the first of its problems. */
export function showAttempt({ phase, attempt, status, problems }: Answer): void {
  const [first = "", ...more] = texts(problems);
  const word = styled(status === "completed" ? "green" : "red", String(status).padEnd(9));
  const rest = more.length === 0 ? "" : ` (and ${more.length} more)`;
  console.log(`  phase ${phase}  attempt ${attempt}  ${word}  ${clipped(first + rest)}`.trimEnd());
}

function headline(answer: Answer): string {
  if (answer.status === "error") return String(answer.error);
  if (answer.workflow_complete === true) return "the workflow is complete";
  const next = answer.next_phase;
  if (typeof next === "object" && next !== null && "title" in next) return `next phase: ${next.title}`;
  return `session ${answer.session_id}`;
}

/** A list of texts, or one text, as a list. */
function texts(value: unknown): string[] {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map(String);
}

function clipped(text: string): string {
  return text.length <= WIDTH ? text : `${text.slice(0, WIDTH - 1)}…`;
}
