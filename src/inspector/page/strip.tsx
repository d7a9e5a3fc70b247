/** The time that a phased session has taken: its phases as bars, with refusals as ticks, and waits hatched. */
import type { PhasedDetail, PhaseLine, Times } from "../../read/model.js";
import { useData } from "./api.js";
import { duration, Line, line, toneOf } from "./text.js";

interface Span {
  readonly from: number;
  readonly to: number;
}

const WAITED = { approval: "for an approval", waiver: "for a waiver", paused: "paused" };

const NONE: Times = { refusals: [], waits: [] };

export function TimeStrip({ detail: { phases, summary } }: { readonly detail: PhasedDetail }) {
  const { sessionId } = summary;
  const { data: times = NONE } = useData<Times>(
    `sessions/${sessionId}/times`,
    (message) => message.type === "reset" || (message.type === "session" && message.session.sessionId === sessionId),
  );
  // Time goes on for a session that somebody may still go on with.
  const end = Date.parse(
    summary.completedAt ?? (summary.status === "failed" ? summary.updatedAt : new Date().toISOString()),
  );
  const bars = phases.flatMap((phase) => {
    const { startedAt, completedAt } = phase;
    if (startedAt === undefined) return [];
    const from = Date.parse(startedAt);
    return [{ phase, from, to: Math.max(from, completedAt === undefined ? end : Date.parse(completedAt)) }];
  });
  if (bars.length === 0) return null;
  const waits = times.waits.map((wait) => ({
    ...wait,
    from: Date.parse(wait.from),
    to: wait.to === undefined ? end : Date.parse(wait.to),
  }));
  const refusals = times.refusals.map((at) => Date.parse(at));
  return (
    <ol class="strip" aria-label="Time at each phase">
      {bars.map((bar) => (
        <Bar
          bar={bar}
          waits={waits.filter(({ from, to }) => from < bar.to && to > bar.from)}
          refusals={refusals.filter((at) => at >= bar.from && at <= bar.to)}
          width={`min(2.5rem, ${90 / bars.length}%)`}
          key={bar.phase.number}
        />
      ))}
    </ol>
  );
}

interface BarProps {
  readonly bar: Span & { readonly phase: PhaseLine };
  readonly waits: readonly (Span & { readonly for: keyof typeof WAITED })[];
  readonly refusals: readonly number[];
  /** The width that a bar has at least. */
  readonly width: string;
}

function Bar({ bar: { phase, from, to }, waits, refusals, width }: BarProps) {
  const length = Math.max(1, to - from);
  const percent = (at: number) => `${(100 * (Math.min(to, Math.max(from, at)) - from)) / length}%`;
  const took = duration((to - from) / 1000);
  const waited = waits.map((wait) => `${duration((wait.to - wait.from) / 1000)} ${WAITED[wait.for]}`);
  const name = `${phase.number} ${line(phase.name, 80)}`;
  const more = [refusals.length === 0 ? [] : `refused ${refusals.length} ×`, waited].flat();
  return (
    <li style={{ flexGrow: length, minWidth: width }} title={[`${name}: ${took}`, ...more].join(", ")}>
      <span class={`${toneOf(phase.state)} strip-bar`} aria-hidden="true">
        {waits.map((wait) => (
          <i
            class="wait"
            key={`${wait.for} ${wait.from}`}
            style={{ left: percent(wait.from), right: `calc(100% - ${percent(wait.to)})` }}
          />
        ))}
        {refusals.map((at) => (
          <i class="refusal" key={at} style={{ left: percent(at) }} />
        ))}
      </span>
      <span class="strip-name">
        <span>
          {phase.number} <Line text={phase.name} max={80} />
        </span>{" "}
        <span class="quiet">{took}</span>
        <span class="unseen"> {more.join(", ")}</span>
      </span>
    </li>
  );
}
