/** One session: what it is, where it stands, what it waits for; phased ones with their phases as a timeline. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { BrokenDetail, PhasedDetail, PhaseLine, SessionDetail, ShownDetail } from "../../read/model.js";
import { whyText } from "../../read/why-text.js";
import type { LiveMessage } from "../wire.js";
import { Actions } from "./actions.js";
import { onMessage, useData } from "./api.js";
import { Attempts, WaiverWords } from "./attempts.js";
import { useWorkflowNames } from "./filters.js";
import { Picture } from "./graph.js";
import { Audit, Hash, Log } from "./records.js";
import { Recorded, Routed } from "./routed.js";
import { go, href, hrefWith, place } from "./router.js";
import { TimeStrip } from "./strip.js";
import { Ago, counted, duration, Line, Long, line, State, Time, toneOf, unchanged } from "./text.js";
import { Tree } from "./tree.js";
import { announce, Copy, Heading, List, Loading, Notice, Tabs, Terms } from "./view.js";
import { WaitingNow } from "./waiting.js";

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
  const now = data === undefined || data.kind === "broken" ? undefined : whyText(data.why);
  useEffect(() => {
    if (now !== undefined) announce(line(now));
  }, [now]);
  return (
    <>
      <Heading title={(summary && nameOf(summary)) || id} />
      <Loading of={session} what="the session">
        {(detail) => (
          <>
            {isGone.value && (
              <Notice tone="bad" role="alert">
                This session is gone, or can’t be shown any more. You see how it was.
              </Notice>
            )}
            {detail.kind === "broken" ? <Broken detail={detail} /> : <Shown detail={detail} onDone={session.reload} />}
          </>
        )}
      </Loading>
    </>
  );
}

/** Returns the target, or, without one, the name of the workflow and the end of the id, which tells sessions apart. */
function nameOf({ target, workflowName, workflowType, sessionId }: ShownDetail["summary"]): string {
  return target || `${workflowName ?? workflowType} ${sessionId.split(/[_-]/).at(-1)}`;
}

/** A session that can't be shown: why, and the audit, which tells where its log is damaged. */
function Broken({ detail: { sessionId, code, message } }: { readonly detail: BrokenDetail }) {
  return (
    <>
      <Notice tone="bad">
        <p>
          This session can’t be shown: <code>{code}</code>
        </p>
        <Long text={message} />
      </Notice>
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
  const reason = detail.kind === "routed" && detail.reason !== detail.why.reason ? detail.reason : undefined;
  const notices = detail.kind === "phased" ? detail.notices : [reason ?? ""];
  const still = unchanged(detail.summary, true);
  return (
    <>
      {wanted !== null && awaiting?.request !== wanted && (
        <Notice role="status">
          The request that this link leads to does not wait any more.
          {awaiting === undefined ? " Nothing else waits here." : " Another one waits now."}
        </Notice>
      )}
      <div class="why">
        <p class={`standing is-${detail.why.standing} ${still === undefined ? "" : "is-stuck"}`}>
          {line(whyText(detail.why, still), 600)}
        </p>
        <Actions detail={detail} onDone={onDone} />
      </div>
      {detail.kind === "phased" && <TimeStrip detail={detail} />}
      <Facts detail={detail} />
      {detail.unapproved !== undefined && (
        <Notice tone="bad">
          A gate was passed with an approval that this host does not accept: {line(detail.unapproved, 1000)}
        </Notice>
      )}
      {notices.filter(Boolean).map((text) => (
        <Notice key={text}>{line(text, 1000)}</Notice>
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

function Facts({ detail }: { readonly detail: ShownDetail }) {
  const { kind, summary, version, hash } = detail;
  const { sessionId, workflowType, owner, team, createdAt, updatedAt, completedAt } = summary;
  const agent = kind === "recorded" ? detail.agent : undefined;
  const workflow = <Line text={kind === "phased" ? detail.workflowName : workflowType} max={100} />;
  return (
    <Terms
      class="facts"
      items={[
        ["Workflow", kind === "recorded" ? workflow : <a href={href(["workflows", workflowType])}>{workflow}</a>],
        [
          "Child of",
          kind === "phased" && detail.parent && (
            <a key="parent" href={href(["sessions", detail.parent.sessionId])}>
              <Line text={detail.parent.sessionId} code max={80} />, phase {detail.parent.phase}
            </a>
          ),
        ],
        ["Agent", agent && <Line text={agent} max={100} />],
        ["Owner", owner && <Line text={team === undefined ? owner : `${owner}, ${team}`} max={100} />],
        ["Started", <Time key="started" at={createdAt} />],
        completedAt === undefined
          ? ["Last change", <Ago key="changed" at={updatedAt} suffix=" ago" />]
          : ["Completed", <Time key="completed" at={completedAt} />],
        ["Version", [version, " ", hash && <Hash key="hash" hash={hash} />]],
        ["Id", [<code key="id">{sessionId}</code>, " ", <Copy key="copy" text={sessionId} label="Copy" />]],
      ]}
    />
  );
}

function Phased({ detail }: { readonly detail: PhasedDetail }) {
  const { summary, version, phases, drawing, options, children, plan, awaiting, verifying, replays } = detail;
  const { sessionId: id } = summary;
  return (
    <div class="columns">
      <section aria-labelledby="phases">
        <h2 id="phases">Phases</h2>
        <Timeline phases={phases} isVerifying={verifying !== undefined} />
        {children !== undefined && <Children of={children} />}
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
          tabs={{
            Attempts: (
              <Attempts
                id={id}
                version={version}
                phases={phases}
                waitingPhase={awaiting?.phase}
                verifying={verifying}
              />
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

/** The sessions that the current phase waits for, and those that are still to be started. */
function Children({ of }: { readonly of: NonNullable<PhasedDetail["children"]> }) {
  const { workflowType, children, fault } = of;
  const names = useWorkflowNames();
  return (
    <>
      <h2>
        Sessions on <Line text={names.get(workflowType) ?? workflowType} max={80} />
      </h2>
      {fault !== undefined && <Notice tone="bad">{line(fault, 1000)}</Notice>}
      <List items={children} class="tasks" what="session">
        {({ target, sessionId, status, phase, total }) => (
          <>
            <State of={status === "not_started" ? "ahead" : status === "damaged" ? "failed" : status} />{" "}
            {sessionId === undefined ? (
              <Line text={target} max={80} />
            ) : (
              <a href={href(["sessions", sessionId])}>
                <Line text={target} max={80} />
              </a>
            )}
            {status === "active" && ` phase ${phase} of ${total}`}
          </>
        )}
      </List>
    </>
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
  const list = (some: readonly PhaseLine[]) => (
    <ol class="timeline" start={some[0]?.number}>
      {some.map((phase) => (
        <Phase phase={phase} isVerifying={isVerifying && NOW.has(phase.state)} key={phase.number} />
      ))}
    </ol>
  );
  const folded = (some: readonly PhaseLine[], word: string) =>
    some.length > 0 && (
      <details class="folded">
        <summary>
          {counted(some.length, "phase")} {word}
        </summary>
        {list(some)}
      </details>
    );
  return (
    <>
      {folded(phases.slice(0, first), "before")}
      {list(phases.slice(first, end))}
      {folded(phases.slice(end), "ahead")}
    </>
  );
}

/** The states of the phase that a session is at. */
const NOW: ReadonlySet<PhaseLine["state"]> = new Set(["working", "refused", "waiting", "paused", "failed"]);

/** The sign before a task, and the word behind it; without one, the state is for those alone who can't see the sign. */
const TASKS: Readonly<Record<PhaseLine["tasks"][number]["state"], readonly [sign: string, word?: string]>> = {
  done: ["✓"],
  open: ["○"],
  given_up: ["–", "given up"],
  skipped: ["–", "left out"],
  waived: ["–", "waived"],
  dropped: ["–", "dropped"],
};

function Phase({ phase, isVerifying }: { readonly phase: PhaseLine; readonly isVerifying: boolean }) {
  const { number, name, state, waivers, tasks, attempts, startedAt, completedAt } = phase;
  const isNow = NOW.has(state);
  const shown = isVerifying ? "verifying" : state;
  const spent =
    startedAt !== undefined && completedAt !== undefined ? Date.parse(completedAt) - Date.parse(startedAt) : undefined;
  const done = tasks.filter(({ state }) => state === "done").length;
  return (
    <li class={`phase phase-${shown} ${toneOf(shown)}`} aria-current={isNow ? "step" : undefined}>
      <p class="phase-name">
        {number}. <Line text={name} max={120} />
      </p>
      <p class="quiet">
        <State of={shown} />
        {attempts > 0 && `, ${counted(attempts, "attempt")}`}
        {spent !== undefined && `, ${duration(spent / 1000)}`}
        {isNow && startedAt !== undefined && [", for ", <Ago key="for" at={startedAt} />]}
      </p>
      {waivers.map(({ fields, by, at, reason, note }) => (
        <div class="quiet" key={fields.join()}>
          <Line text={fields.join(", ")} code max={200} /> waived
          <Line before=" by " text={by} max={80} />
          {at !== undefined && [", ", <Time key="at" at={at} />]}
          <WaiverWords by={by} reason={reason} note={note} />
        </div>
      ))}
      {tasks.length > 0 && (
        <details open={isNow && tasks.length <= 20}>
          <summary>
            {done} of {counted(tasks.length, "task")} noted as done
          </summary>
          <List items={tasks} class="tasks" what="task" first={1000}>
            {({ name, state }) => {
              const [sign, word] = TASKS[state];
              return (
                <>
                  <span aria-hidden="true" class={state === "done" ? "tone-good" : ""}>
                    {sign}
                  </span>
                  {word === undefined && <span class="unseen">{state}: </span>}
                  <Line text={name} /> <span class="quiet">{word}</span>
                </>
              );
            }}
          </List>
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
        <Notice tone="bad">
          It can’t be read: <Long text={unreadable} />
        </Notice>
      )}
      {changed !== undefined && (
        <Notice>
          It has changed since the session took it over: <Long text={changed} />
        </Notice>
      )}
      {unreadable === undefined && changed === undefined && <p class="quiet">The plan is as the session knows it.</p>}
    </>
  );
}
