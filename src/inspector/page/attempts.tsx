/** The attempts of a phased session, newest first. Evidence and differences are read when an attempt is opened. */
import type { AttemptDetail, AttemptLine, AttemptList } from "../../read/model.js";
import { useData } from "./api.js";
import { Notes, Problems, Verifications } from "./findings.js";
import { usePages } from "./records.js";
import { counted, duration, Line, Long, State, Time } from "./text.js";
import { Differences, Tree } from "./tree.js";
import { Empty, Fold, Loading, Part } from "./view.js";

interface Context {
  readonly names: ReadonlyMap<number, string>;
  /** The phase whose attempt waits for a person. */
  readonly waitingPhase: number | undefined;
  /** The checks of the gate that run now. */
  readonly verifying: readonly string[] | undefined;
}

export function Attempts({ id, version, ...context }: Context & { readonly id: string; readonly version: number }) {
  const { items, ...pages } = usePages<AttemptLine, AttemptList>(
    `sessions/${id}/attempts`,
    version,
    ({ index }) => index,
  );
  if (pages.isEmpty) return <Empty>There are no attempts.</Empty>;
  // One on which nothing was submitted yet has nothing to show.
  const first = items.find(({ status, phase }) => status !== "active" || phase === context.waitingPhase);
  return (
    <>
      <ol class="attempts" aria-label="Attempts, newest first">
        {items.map((attempt) => (
          <li key={attempt.index}>
            <Attempt id={id} version={version} attempt={attempt} isFirst={attempt === first} {...context} />
          </li>
        ))}
      </ol>
      {pages.more}
    </>
  );
}

/** The state of an attempt, and its word. */
function stateOf(
  { status, problems, verification, notes }: AttemptLine,
  isWaiting: boolean,
  verifying: readonly string[] | undefined,
): readonly [string, string] {
  if (status === "active" && verifying !== undefined) return ["verifying", "verifying"];
  if (status === "active" && isWaiting) return ["waiting", "waiting"];
  if (status === "completed") return ["passed", "passed"];
  if (status === "failed") {
    const isDenied = notes?.some(({ event }) => event === "denied") === true && verification === undefined;
    return isDenied ? ["denied", "denied"] : ["refused", "refused"];
  }
  if (status === "active") return problems === undefined ? ["working", "working"] : ["refused", "refused"];
  return [status, status];
}

interface AttemptProps extends Context {
  readonly id: string;
  readonly version: number;
  readonly attempt: AttemptLine;
  readonly isFirst: boolean;
}

function Attempt({ id, version, attempt, names, waitingPhase, verifying, isFirst }: AttemptProps) {
  const { phase, startedAt, durationSeconds, problems = [] } = attempt;
  const [state, word] = stateOf(attempt, attempt.phase === waitingPhase, verifying);
  const summary = () => (
    <>
      <State of={state} word={word} />
      <span>
        Phase {phase} <Line text={names.get(phase) ?? ""} max={80} />
        <span class="quiet"> attempt {attempt.attempt}</span>
        {state === "verifying" && (
          <span class="quiet">
            , runs <Line text={verifying?.join(", ") ?? ""} max={200} />
          </span>
        )}
        {problems.length > 0 && <span class="quiet">, {counted(problems.length, "problem")}</span>}
      </span>
      <span class="quiet right">
        <Time at={startedAt} />
        {durationSeconds !== undefined && `, ${duration(durationSeconds)}`}
      </span>
    </>
  );
  return (
    <Fold class="attempt" isFirst={isFirst} summary={summary}>
      {() => <Body id={id} version={version} attempt={attempt} />}
    </Fold>
  );
}

function Body({ id, version, attempt }: Pick<AttemptProps, "id" | "version" | "attempt">) {
  const { index, problems = [], verification = [], notes = [], waived = [], proofs = [], reason, by } = attempt;
  // One that has ended does not change any more.
  const path = `sessions/${id}/attempts/${index}${attempt.status === "active" ? `?version=${version}` : ""}`;
  const detail = useData<AttemptDetail>(path, () => false);
  return (
    <div class="parts">
      {reason !== undefined && (
        <Part
          title={
            <>
              Reason
              {by !== undefined && (
                <>
                  {" "}
                  given by <Line text={by} max={80} />
                </>
              )}
            </>
          }
        >
          <Long text={reason} />
        </Part>
      )}
      <Problems items={problems} title="Problems" />
      <Verifications items={verification} title="What verifiers saw" />
      <Notes items={notes} title="Notes" />
      {waived.length > 0 && (
        <Part title="Waived">
          <ul>
            {waived.map(({ fields, reason, by, authenticated, version }) => (
              <li key={version}>
                <Line text={fields.join(", ")} code /> by <Line text={by} max={80} />
                {authenticated ? ", signed" : ", not signed"}: <Long text={reason} />
              </li>
            ))}
          </ul>
        </Part>
      )}
      {proofs.length > 0 && (
        <Part title="Proofs">
          <ul>
            {proofs.map(({ field, proof }) => (
              <li key={field}>
                <Line text={field} code />: <Line text={proof} />
              </li>
            ))}
          </ul>
        </Part>
      )}
      <Loading of={detail} what="the evidence">
        {({ evidence, differences, artifact }) => (
          <>
            {differences !== undefined && (
              <Part title="Changed since the attempt before">
                <Differences items={differences} since="the attempt before" />
              </Part>
            )}
            <Part title="Evidence">
              {evidence === undefined ? <p class="quiet">Nothing was submitted.</p> : <Tree value={evidence} />}
            </Part>
            {artifact !== undefined && (
              <Part title="Artifact: what later phases get, as the gate’s schema has made it">
                <Tree value={artifact} />
              </Part>
            )}
          </>
        )}
      </Loading>
    </div>
  );
}
