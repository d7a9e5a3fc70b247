/** The workflows that there are, and one of them: phases, gates, documents, and the drawing. */
import type { DiagnosticText, GateLine, WorkflowDetail, WorkflowList, WorkflowView } from "../wire.js";
import { useData } from "./api.js";
import { Picture } from "./graph.js";
import { href } from "./router.js";
import { counted, Line, Long, line, number, State } from "./text.js";
import { Copy, Empty, Heading, Loading } from "./view.js";

export function Workflows() {
  const workflows = useData<WorkflowList>("workflows");
  return (
    <>
      <Heading title="Workflows">
        Workflows <span class="count">{workflows.data !== undefined && number(workflows.data.items.length)}</span>
      </Heading>
      <Loading of={workflows} what="the workflows">
        {({ items }) =>
          items.length === 0 ? (
            <Empty>
              <p>There are no workflows.</p>
            </Empty>
          ) : (
            <ul class="workflows">
              {items.map((item) => (
                <li key={`${item.kind} ${item.type}`}>
                  {item.status === "ready" ? (
                    <>
                      <p>
                        <a href={href(["workflows", item.type])}>
                          <Line text={item.name} max={120} />
                        </a>{" "}
                        <span class="quiet">
                          <Line text={item.type} code max={120} /> {item.kind},{" "}
                          {counted(item.steps, item.kind === "routed" ? "step" : "phase")}
                        </span>{" "}
                        {item.warnings > 0 && <State of="warning" word={counted(item.warnings, "warning")} />}
                      </p>
                      {item.description !== "" && (
                        <p class="quiet">
                          <Line text={item.description} />
                        </p>
                      )}
                    </>
                  ) : (
                    <>
                      <p>
                        <a href={href(["workflows", item.type])}>
                          <Line text={item.type} code max={120} />
                        </a>{" "}
                        <State of="broken" />
                      </p>
                      <Diagnostics items={item.diagnostics} />
                    </>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loading>
    </>
  );
}

function Diagnostics({ items }: { readonly items: readonly DiagnosticText[] }) {
  return (
    <ul class="diagnostics">
      {items.map(({ severity, code, message, hint, place, frame }) => (
        <li key={`${place} ${code} ${message}`}>
          <p>
            <State of={severity === "error" ? "failed" : "warning"} word={severity} /> {line(message, 1000)}
            {hint !== undefined && <span class="quiet"> {line(hint, 1000)}</span>}
          </p>
          <p class="quiet">
            <Line text={place} code /> {code}
          </p>
          {frame !== undefined && <Long text={frame} code />}
        </li>
      ))}
    </ul>
  );
}

export function Workflow({ type }: { readonly type: string }) {
  const path = `workflows/${encodeURIComponent(type)}`;
  const workflow = useData<WorkflowView>(path);
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
  const { kind, type, description, version, drawing, mermaid, svg, diagnostics, phases } = workflow;
  return (
    <>
      <p class="quiet">
        <Line text={type} code max={120} /> {kind}, version <Line text={version} max={60} />.{" "}
        <a href={href(["sessions"], { workflow: type })}>Its sessions</a>
      </p>
      {description !== "" && <Long text={description} />}
      {diagnostics.length > 0 && <Diagnostics items={diagnostics} />}
      <div class="columns columns-right">
        <section aria-labelledby="phases">
          <h2 id="phases">{kind === "routed" ? "Steps" : "Phases"}</h2>
          <ol class="definitions">
            {phases.map((phase) => (
              <Definition phase={phase} key={phase.number} />
            ))}
          </ol>
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

const WORDS: Readonly<Record<GateLine["what"], string>> = {
  field: "field",
  rule: "rule",
  check: "check",
  approval: "approval",
  open: "open",
};

function Definition({
  phase: { number, name, tasks, gate, documents },
}: {
  readonly phase: WorkflowDetail["phases"][number];
}) {
  return (
    <li>
      <h3 class="phase-name">
        {number}. <Line text={name} max={120} />
      </h3>
      {gate.length > 0 && (
        <dl class="gate">
          {gate.map(({ what, name, text }, index) => (
            <div key={index}>
              <dt>{WORDS[what]}</dt>
              <dd>
                {name !== "" && <Line text={name} code />} {text !== "" && <Line text={text} max={1000} />}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {tasks.length > 0 && (
        <details>
          <summary>{counted(tasks.length, "task")}</summary>
          <ul class="tasks">
            {tasks.map((task, index) => (
              <li key={index}>
                <Line text={task} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {documents.length > 0 && (
        <details>
          <summary>{counted(documents.length, "document")}</summary>
          <ul class="tasks">
            {documents.map((path) => (
              <li key={path}>
                <Line text={path} code />
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}
