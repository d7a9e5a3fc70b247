/**
 * A session in a few lines, inside of a client: its phases, what was refused, and the question that waits. It shows, and
 * changes nothing: a person answers where the answer is signed.
 */
import { signal } from "@preact/signals";
import { render } from "preact";
import type { SessionInShort } from "../../read/model.js";
import { type Client, connect, type ToolResult } from "./client.js";
import { counted, Line, Long, line, State } from "./text.js";

/** What is shown: a session, why a call was refused, or nothing, for an answer that is about no session. */
interface Shown {
  readonly session?: SessionInShort;
  readonly error?: string;
}

const shown = signal<Shown>({});
const client = signal<Client>({});
/** The session that the call is about: its answer need not name it again. */
const called = signal<unknown>(undefined);
/** What came of the last click. */
const said = signal("");

/** The fields of an answer of the tool that are used where the client does not pass on its `_meta`. */
interface Answer {
  readonly session_id?: string;
  readonly workflow_type?: string;
  readonly target_file?: string;
  readonly session_status?: string;
  readonly current_phase?: number;
  readonly phase?: number;
  readonly total_phases?: number;
  readonly title?: string;
  readonly phase_content?: { readonly title?: string };
  readonly workflow_complete?: true;
  readonly code?: string;
  readonly error?: string;
  readonly attempt?: number;
  readonly validation_errors?: readonly string[];
  readonly verifying?: { readonly phase: number };
  readonly approval?: { readonly phase: number; readonly prompt: string; readonly approvers?: readonly string[] };
  readonly waiver?: { readonly fields: readonly string[]; readonly reason: string };
}

/** A refusal is a text alone: a word, and its JSON. Any other text says nothing that is shown. */
function refusalIn(text = ""): object {
  if (!text.startsWith("Error: {")) return {};
  try {
    return JSON.parse(text.slice("Error: ".length));
  } catch {
    return {};
  }
}

function shownOf({ structuredContent, content = [], _meta }: ToolResult): Shown {
  const answer = (structuredContent ?? refusalIn(content[0]?.text)) as Answer;
  const session = _meta?.["phasegate/session"] as SessionInShort | undefined;
  const isRefusedCall = answer.error !== undefined && answer.code !== "GATE_FAILED";
  return { session: session ?? sessionIn(answer), error: isRefusedCall ? answer.error : undefined };
}

/** Returns what an answer itself says of a session. */
function sessionIn(answer: Answer): SessionInShort | undefined {
  const { session_id: sessionId = called.value, current_phase, phase, approval, waiver, verifying } = answer;
  const { validation_errors: problems } = answer;
  if (typeof sessionId !== "string") return undefined;
  const number = current_phase ?? approval?.phase ?? verifying?.phase ?? phase;
  const asked = approval
    ? { ...approval, what: "approval" as const, question: approval.prompt, fields: [] }
    : waiver && { what: "waiver" as const, phase: number ?? 0, question: waiver.reason, fields: waiver.fields };
  const state = verifying ? "verifying" : asked ? "waiting" : problems ? "refused" : "working";
  const name = answer.phase_content?.title ?? answer.title ?? "";
  const isComplete = answer.workflow_complete === true || answer.session_status === "completed";
  return {
    sessionId,
    workflow: answer.workflow_type ?? "",
    target: answer.target_file ?? "",
    status: isComplete ? "completed" : (answer.session_status ?? "active"),
    phases: number === undefined || isComplete ? [] : [{ number, name, state }],
    earlier: 0,
    ahead: 0,
    refused: problems && { phase: number ?? 0, attempt: answer.attempt ?? 1, problems, more: 0 },
    asked,
  };
}

function View() {
  const { session, error } = shown.value;
  if (session === undefined) return error === undefined ? null : <Refusal text={error} />;
  const { workflow, target, status, refused, asked, unapproved } = session;
  return (
    <main>
      <h1>
        <Line text={workflow || "Session"} max={80} /> <State of={asked ? "waiting" : status} />
      </h1>
      {target !== "" && (
        <p class="quiet">
          <Line text={target} max={120} code />
        </p>
      )}
      <Phases of={session} />
      {error !== undefined && <Refusal text={error} />}
      {unapproved !== undefined && <Refusal text={unapproved} />}
      {refused && <Refused of={refused} />}
      {asked && <Asked of={asked} sessionId={session.sessionId} />}
      <Foot sessionId={session.sessionId} />
    </main>
  );
}

function Refusal({ text }: { readonly text: string }) {
  return (
    <div class="notice tone-bad">
      <Long text={text} />
    </div>
  );
}

function Phases({ of: { phases, earlier, ahead } }: { readonly of: SessionInShort }) {
  return (
    <ol class="phases" aria-label="Phases">
      {earlier > 0 && <li class="quiet">{counted(earlier, "earlier phase")}</li>}
      {phases.map(({ number, name, state }) => (
        <li key={number}>
          <span class="quiet">{number}</span>
          <span class="name">
            <Line text={name} max={80} />
          </span>
          <State of={state} />
        </li>
      ))}
      {ahead > 0 && <li class="quiet">{counted(ahead, "phase")} ahead, locked</li>}
    </ol>
  );
}

function Refused({ of: { phase, attempt, problems, more } }: { readonly of: NonNullable<SessionInShort["refused"]> }) {
  return (
    <section class="notice tone-bad" aria-label="Refused">
      <h2>
        Refused: phase {phase}, attempt {attempt}
      </h2>
      <ul>
        {problems.map((problem, index) => (
          <li key={index}>
            <Long text={problem} />
          </li>
        ))}
        {more > 0 && <li class="quiet">and {counted(more, "problem")} more</li>}
      </ul>
    </section>
  );
}

interface AskedProps {
  readonly of: NonNullable<SessionInShort["asked"]>;
  readonly sessionId: string;
}

function Asked({ of: { what, phase, question, fields, approvers, link }, sessionId }: AskedProps) {
  const { openLink } = client.value;
  const isApproval = what === "approval";
  return (
    <section class="notice tone-warn" aria-label="Waits for a person">
      <h2>
        Phase {phase} waits for {isApproval ? "an approval" : "a waiver"}
        {approvers && <> by {line(approvers.join(" or "), 200)}</>}
      </h2>
      <blockquote class="question">
        <Long text={question || "May this go on?"} />
      </blockquote>
      {fields.length > 0 && (
        <p>
          To be waived: <Line text={fields.join(", ")} max={1000} code />
        </p>
      )}
      {link !== undefined && openLink !== undefined ? (
        <p>
          <button type="button" class="main" onClick={() => click(() => openLink(link))}>
            Open the request
          </button>{" "}
          <span class="quiet">The answer is given and signed there, not in this view.</span>
        </p>
      ) : (
        <>
          <p class="quiet">
            {link === undefined
              ? "Answer in the inspector, or sign at a terminal; STATE is the server's state, KEY the file of your key:"
              : "Answer on this page:"}
          </p>
          <pre class="text copied">
            {link ?? `phasegate ${isApproval ? "approve" : "waive"} ${line(sessionId, 128)} --state STATE --key KEY`}
          </pre>
        </>
      )}
    </section>
  );
}

function Foot({ sessionId }: { readonly sessionId: string }) {
  const { getState } = client.value;
  const refresh = async () => {
    if (getState !== undefined) shown.value = shownOf(await getState(sessionId));
  };
  return (
    <p class="foot">
      {getState !== undefined && (
        <button type="button" onClick={() => click(refresh)}>
          Refresh
        </button>
      )}
      <span class="quiet" role="status">
        {said.value}
      </span>
    </p>
  );
}

async function click(act: () => Promise<void>): Promise<void> {
  said.value = "…";
  try {
    await act();
    said.value = "";
  } catch (error) {
    said.value = line(error instanceof Error ? error.message : String(error));
  }
}

const root = document.getElementById("app");
if (root !== null) render(<View />, root);
client.value = await connect({
  onInput({ arguments: input }) {
    called.value = input?.session_id;
  },
  onResult(result) {
    shown.value = shownOf(result);
  },
  onCancelled() {
    shown.value = { error: "The call was cancelled." };
  },
});
