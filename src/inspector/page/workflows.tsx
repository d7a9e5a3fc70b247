/** The workflows that there are, and one of them: phases, gates, documents, and the drawing. */
import type { DiagnosticText, WorkflowDetail, WorkflowLine, WorkflowList, WorkflowView } from "../wire.js";
import { useData } from "./api.js";
import { Gate } from "./gate.js";
import { Picture } from "./graph.js";
import { href } from "./router.js";
import { counted, Line, Long, line, number, State } from "./text.js";
import { Copy, Empty, Heading, List, Loading, Notice } from "./view.js";

export function Workflows() {
  const workflows = useData<WorkflowList>("workflows");
  const { data } = workflows;
  return (
    <>
      <Heading title="Workflows" count={data && number(data.items.length)} />
      <Loading of={workflows} what="the workflows">
        {({ items }) =>
          items.length === 0 ? (
            <Empty>There are no workflows.</Empty>
          ) : (
            <List items={worstFirst(items)} class="rows workflows" what="workflow" first={1000}>
              {(item) => <Listed item={item} />}
            </List>
          )
        }
      </Loading>
    </>
  );
}

/** The broken ones come first, then those with warnings. */
function worstFirst(items: readonly WorkflowLine[]): readonly WorkflowLine[] {
  const rank = (item: WorkflowLine) => (item.status === "broken" ? 0 : item.warnings > 0 ? 1 : 2);
  return items.toSorted((one, other) => rank(one) - rank(other));
}

function Listed({ item }: { readonly item: WorkflowLine }) {
  const url = href(["workflows", item.type]);
  if (item.status === "broken") {
    const count = (severity: DiagnosticText["severity"]) =>
      item.diagnostics.filter((one) => one.severity === severity).length;
    const [errors, warnings] = [count("error"), count("warning")];
    return (
      <p>
        <a href={url}>
          <Line text={item.type} code max={120} />
        </a>{" "}
        <State of="broken" word={counted(errors, "error")} />
        {warnings > 0 && `, ${counted(warnings, "warning")}`}
      </p>
    );
  }
  const { type, name, kind, steps, warnings, description } = item;
  return (
    <p title={line(description)}>
      <a href={url}>
        <Line text={name} max={120} />
      </a>{" "}
      {warnings > 0 ? <State of="warning" word={counted(warnings, "warning")} /> : <State of="ok" />}{" "}
      <span class="quiet">
        <Line text={type} code max={120} /> {kind}, {counted(steps, kind === "routed" ? "step" : "phase")}
        <Line before=": " text={description || undefined} max={160} />
      </span>
    </p>
  );
}

/** What is wrong with a workflow, errors first. */
function Diagnostics({ items }: { readonly items: readonly DiagnosticText[] }) {
  return (
    <List
      items={items.toSorted((one, other) => Number(one.severity !== "error") - Number(other.severity !== "error"))}
      class="diagnostics"
      what="problem"
      first={1000}
    >
      {({ severity, code, message, hint, place, frame }) => (
        <>
          <p>
            <State of={severity === "error" ? "failed" : "warning"} word={severity} /> {line(message, 1000)}
            {hint !== undefined && <span class="quiet"> {line(hint, 1000)}</span>}
          </p>
          <p class="quiet">
            <Line text={place} code /> {code}
          </p>
          {frame !== undefined && <Long text={frame} code />}
        </>
      )}
    </List>
  );
}

export function Workflow({ type }: { readonly type: string }) {
  const workflow = useData<WorkflowView>(`workflows/${encodeURIComponent(type)}`);
  const { data } = workflow;
  return (
    <>
      <Heading title={data?.status === "ready" ? data.name : type} />
      <Loading of={workflow} what="the workflow">
        {(view) =>
          view.status === "ready" ? (
            <Ready workflow={view} />
          ) : (
            <>
              <p>
                <State of="broken" /> No session can start on it until this is mended.
              </p>
              <Diagnostics items={view.diagnostics} />
            </>
          )
        }
      </Loading>
    </>
  );
}

function Ready({ workflow }: { readonly workflow: WorkflowDetail }) {
  const { kind, type, description, version, older, drawing, mermaid, svg, diagnostics, phases, planned } = workflow;
  return (
    <>
      <p class="quiet">
        <Line text={type} code max={120} /> {kind}, version <Line text={version} max={60} />.{" "}
        <a href={href(["sessions"], { workflow: type })}>Its sessions</a>
      </p>
      {older !== undefined && older.count > 0 && (
        <Notice>
          {older.more ? "At least " : ""}
          {counted(older.count, "session")} on an older revision: each keeps the definition that it was started on.{" "}
          <code>phasegate migrate --workflow {type}</code> moves them.
        </Notice>
      )}
      {description !== "" && <Long text={description} />}
      <Diagnostics items={diagnostics} />
      <div class="columns columns-right">
        <section aria-labelledby="phases">
          <h2 id="phases">{kind === "routed" ? "Steps" : "Phases"}</h2>
          <List items={phases} class="definitions" label="In order" what="phase" first={1000}>
            {(phase) => <Definition phase={phase} />}
          </List>
          {planned !== undefined && <Planned planned={planned} />}
        </section>
        <section aria-labelledby="graph">
          <h2 id="graph">Graph</h2>
          <Picture drawing={drawing} label="What may follow what" />
          <div class="buttons">
            <Copy text={mermaid} label="Copy as Mermaid" />
            <Copy text={svg} label="Copy SVG" />
          </div>
        </section>
      </div>
    </>
  );
}

function Planned({
  planned: { option, templates, gate },
}: {
  readonly planned: NonNullable<WorkflowDetail["planned"]>;
}) {
  return (
    <>
      <h3 class="phase-name">Phases from a plan</h3>
      <p class="quiet">
        Each session takes them from its plan: the option <code>{line(option, 80)}</code>, or the target. Each gate asks
        for the phase’s tasks and the items of its validation gate.
      </p>
      <Gate lines={gate} />
      <Names items={templates} what="document" />
    </>
  );
}

function Definition({ phase }: { readonly phase: WorkflowDetail["phases"][number] }) {
  const { number, name, tasks, gate, documents } = phase;
  return (
    <>
      <h3 class="phase-name">
        {number}. <Line text={name} max={120} />
      </h3>
      <Gate lines={gate} />
      <Names items={tasks} what="task" />
      <Names items={documents} what="document" />
    </>
  );
}

function Names({ items, what }: { readonly items: readonly string[]; readonly what: "task" | "document" }) {
  if (items.length === 0) return null;
  return (
    <details>
      <summary>{counted(items.length, what)}</summary>
      <List items={items} class="tasks" what={what} first={1000}>
        {(text) => <Line text={text} code={what === "document"} />}
      </List>
    </details>
  );
}
