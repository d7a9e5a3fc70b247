/** One session: what it is, where it stands, what it waits for; phased ones with their phases as a timeline. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { BrokenDetail, PhasedDetail, PhaseLine, SessionDetail, ShownDetail } from "../../read/model.js";
import type { LiveMessage } from "../wire.js";
import { Actions } from "./actions.js";
import { WaitingNow } from "./answer.js";
import { onMessage, useData } from "./api.js";
import { Attempts } from "./attempts.js";
import { Picture } from "./graph.js";
import { Audit, Log } from "./records.js";
import { Recorded, Routed } from "./routed.js";
import { go, href, hrefWith, place } from "./router.js";
import { Ago, counted, duration, Line, Long, line, State, Time } from "./text.js";
import { Tree } from "./tree.js";
import { announce, Copy, Heading, Loading, Tabs } from "./view.js";

export function Session({ id }: { readonly id: string }) {
  const isAbout = (message: LiveMessage) =>
    message.type === "reset" || (message.type === "session" && message.session.sessionId === id);
  const isGone = useSignal(false);
  useEffect(
    () =>
      onMessage((message) => {
        isGone.value ||= message.type === "gone" && message.sessionId === id;
      }),
    [id, isGone],
  );
  const session = useData<SessionDetail>(`sessions/${encodeURIComponent(id)}`, isAbout);
  const { data } = session;
  const summary = data?.kind === "broken" ? undefined : data?.summary;
  const now =
    summary &&
    `${summary.status}, ${String(summary.current)}${summary.waitsFor ? `, waits for ${summary.waitsFor.join(", ")}` : ""}`;
  useEffect(() => {
    if (now !== undefined) announce(line(now));
  }, [now]);
  return (
    <>
      <Heading title={summary === undefined || summary.target === "" ? id : summary.target} />
      <Loading of={session} what="the session">
        {(detail) => (
          <>
            {isGone.value && (
              <p class="notice notice-bad" role="alert">
                This session is gone, or can’t be shown any more. What you see is how it was.
              </p>
            )}
            {detail.kind === "broken" ? <Broken detail={detail} /> : <Shown detail={detail} onDone={session.reload} />}
          </>
        )}
      </Loading>
    </>
  );
}

/** A session that can't be shown: why, and the audit, which tells where its log is damaged. */
function Broken({ detail: { sessionId, code, message } }: { readonly detail: BrokenDetail }) {
  return (
    <>
      <div class="notice notice-bad">
        <p>
          This session can’t be shown: <code>{code}</code>
        </p>
        <Long text={message} />
      </div>
      <h2>Audit</h2>
      <Audit id={sessionId} version={0} />
    </>
  );
}

function Shown({ detail, onDone }: { readonly detail: ShownDetail; readonly onDone: () => void }) {
  const awaiting = detail.kind === "recorded" ? undefined : detail.awaiting;
  /** The request that a link leads to. */
  const wanted = place.value.query.get("answer");
  const answered = () => {
    go(hrefWith({ answer: undefined }), { replace: true });
    onDone();
  };
  return (
    <>
      {wanted !== null && awaiting?.request !== wanted && (
        <p class="notice" role="status">
          The request that this link leads to does not wait any more.
          {awaiting === undefined ? " Nothing else waits here." : " Another one waits now."}
        </p>
      )}
      <Facts detail={detail} />
      <Actions detail={detail} onDone={onDone} />
      {detail.unapproved !== undefined && (
        <p class="notice notice-bad">
          A gate was passed with an approval that this host does not accept: {line(detail.unapproved, 1000)}
        </p>
      )}
      {detail.kind === "routed" && detail.reason !== undefined && <p class="notice">{line(detail.reason, 1000)}</p>}
      {detail.kind === "phased" &&
        detail.notices.map((text) => (
          <p class="notice" key={text}>
            {line(text, 1000)}
          </p>
        ))}
      {awaiting !== undefined && (
        <WaitingNow
          waiting={awaiting}
          isWanted={awaiting.request === wanted}
          onDone={answered}
          key={awaiting.request}
        />
      )}
      {detail.kind === "phased" && <Phased detail={detail} />}
      {detail.kind === "routed" && <Routed detail={detail} />}
      {detail.kind === "recorded" && <Recorded detail={detail} />}
    </>
  );
}

function Fact({ term, children }: { readonly term: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Facts({ detail }: { readonly detail: ShownDetail }) {
  const { summary, version, hash } = detail;
  const { sessionId, workflowType, owner, team, status, createdAt, updatedAt, completedAt } = summary;
  const agent = detail.kind === "recorded" ? detail.agent : undefined;
  return (
    <dl class="facts">
      <Fact term="Status">
        <State of={status} />
      </Fact>
      <Fact term="Workflow">
        {detail.kind === "recorded" ? (
          <Line text={workflowType} />
        ) : (
          <a href={href(["workflows", workflowType])}>
            <Line text={detail.kind === "phased" ? detail.workflowName : workflowType} max={100} />
          </a>
        )}
      </Fact>
      {agent !== undefined && (
        <Fact term="Agent">
          <Line text={agent} max={100} />
        </Fact>
      )}
      {owner !== undefined && (
        <Fact term="Owner">
          <Line text={team === undefined ? owner : `${owner}, ${team}`} max={100} />
        </Fact>
      )}
      <Fact term="Started">
        <Time at={createdAt} />
      </Fact>
      <Fact term={completedAt === undefined ? "Last change" : "Completed"}>
        {completedAt === undefined ? <Ago at={updatedAt} suffix=" ago" /> : <Time at={completedAt} />}
      </Fact>
      <Fact term="Version">
        {version}
        {hash !== undefined && (
          <>
            {" "}
            <code title={hash}>{hash.slice(0, 10)}</code>
          </>
        )}
      </Fact>
      <Fact term="Id">
        <code>{sessionId}</code> <Copy text={sessionId} label="Copy" />
      </Fact>
    </dl>
  );
}

function Phased({ detail }: { readonly detail: PhasedDetail }) {
  const { summary, version, phases, drawing, options, plan, awaiting, verifying, replays } = detail;
  const { sessionId: id } = summary;
  const names = new Map(phases.map(({ number, name }) => [number, name]));
  return (
    <div class="columns">
      <section aria-labelledby="phases">
        <h2 id="phases">Phases</h2>
        <Timeline phases={phases} isVerifying={verifying !== undefined} />
        {plan !== undefined && <Plan plan={plan} />}
        {Object.keys(options).length > 0 && (
          <>
            <h2>Options</h2>
            <Tree value={options} />
          </>
        )}
      </section>
      <div>
        <Tabs
          label="Parts of the session"
          tabs={{
            Attempts: (
              <Attempts id={id} version={version} names={names} waitingPhase={awaiting?.phase} verifying={verifying} />
            ),
            Log: <Log id={id} version={version} replays={replays} />,
            Audit: <Audit id={id} version={version} />,
            Graph: <Picture drawing={drawing} label="Phases, and how far the session is" />,
          }}
        />
      </div>
    </div>
  );
}

/** So many phases are shown whole; of more, those around the one that the session is at. */
const WHOLE = 16;
const [BEFORE, AFTER] = [3, 8];

function Timeline({ phases, isVerifying }: { readonly phases: readonly PhaseLine[]; readonly isVerifying: boolean }) {
  const at = phases.findIndex(({ state }) => NOW.has(state));
  const middle = at === -1 ? phases.length - 1 : at;
  const isLong = phases.length > WHOLE;
  const first = isLong ? Math.max(0, Math.min(middle - BEFORE, phases.length - BEFORE - AFTER)) : 0;
  const end = isLong ? Math.max(middle + AFTER, BEFORE + AFTER) : phases.length;
  return (
    <>
      <Folded phases={phases.slice(0, first)} word="before" />
      <ol class="timeline" start={first + 1}>
        {phases.slice(first, end).map((phase) => (
          <Phase phase={phase} isVerifying={isVerifying && NOW.has(phase.state)} key={phase.number} />
        ))}
      </ol>
      <Folded phases={phases.slice(end)} word="ahead" />
    </>
  );
}

function Folded({ phases, word }: { readonly phases: readonly PhaseLine[]; readonly word: string }) {
  if (phases.length === 0) return null;
  return (
    <details class="folded">
      <summary>
        {counted(phases.length, "phase")} {word}
      </summary>
      <ol class="timeline">
        {phases.map((phase) => (
          <Phase phase={phase} key={phase.number} />
        ))}
      </ol>
    </details>
  );
}

/** The states of the phase that a session is at. */
const NOW: ReadonlySet<PhaseLine["state"]> = new Set(["working", "refused", "waiting", "paused", "failed"]);

function Phase({ phase, isVerifying = false }: { readonly phase: PhaseLine; readonly isVerifying?: boolean }) {
  const { number, name, state, waived, tasks, attempts, startedAt, completedAt } = phase;
  const isNow = NOW.has(state);
  const shown = isVerifying ? "verifying" : state;
  const spent =
    startedAt !== undefined && completedAt !== undefined ? Date.parse(completedAt) - Date.parse(startedAt) : undefined;
  const done = tasks.filter(({ state }) => state === "done").length;
  return (
    <li class={`phase phase-${shown}`} aria-current={isNow ? "step" : undefined}>
      <p class="phase-name">
        {number}. <Line text={name} max={120} />
      </p>
      <p class="quiet">
        <State of={shown} />
        {waived && ", with a waiver"}
        {attempts > 0 && `, ${counted(attempts, "attempt")}`}
        {spent !== undefined && `, ${duration(spent / 1000)}`}
        {isNow && startedAt !== undefined && (
          <>
            , for <Ago at={startedAt} />
          </>
        )}
      </p>
      {tasks.length > 0 && (
        <details open={isNow && tasks.length <= 20}>
          <summary>
            {done} of {counted(tasks.length, "task")} noted as done
          </summary>
          <ul class="tasks">
            {tasks.map(({ number, name, state }) => (
              <li key={number} class={`task-${state}`}>
                <span aria-hidden="true">
                  {{ done: "✓", given_up: "–", skipped: "–", waived: "–", dropped: "–", open: "○" }[state]}
                </span>
                {(state === "done" || state === "open") && <span class="unseen">{state}: </span>}
                <Line text={name} />
                {state === "given_up" && <span class="quiet"> given up</span>}
                {state === "skipped" && <span class="quiet"> left out</span>}
                {(state === "waived" || state === "dropped") && <span class="quiet"> {state}</span>}
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

function Plan({ plan: { path, changed, unreadable } }: { readonly plan: NonNullable<PhasedDetail["plan"]> }) {
  return (
    <>
      <h2>Plan</h2>
      <p>
        <Line text={path} code />
      </p>
      {unreadable !== undefined && (
        <div class="notice notice-bad">
          It can’t be read: <Long text={unreadable} />
        </div>
      )}
      {changed !== undefined && (
        <div class="notice">
          It has changed since the session took it over: <Long text={changed} />
        </div>
      )}
      {unreadable === undefined && changed === undefined && <p class="quiet">The plan is as the session knows it.</p>}
    </>
  );
}
