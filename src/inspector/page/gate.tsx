/** A gate as sentences: in its author's words where there are some. */
import type { ComponentChildren } from "preact";
import type { JsonObject } from "../../read/model.js";
import type { FieldType, GateLine, RuleDefinition, VerifyDefinition } from "../wire.js";
import { href } from "./router.js";
import { Line } from "./text.js";
import { Tree } from "./tree.js";
import { List } from "./view.js";

export function Gate({ lines }: { readonly lines: readonly GateLine[] }) {
  return (
    <List items={lines} class="gate" what="requirement" first={1000}>
      {(line) => <Sentence of={line} />}
    </List>
  );
}

const TEXT_MAX = 1000;

function Sentence({ of }: { readonly of: GateLine }) {
  switch (of.what) {
    case "open":
      return <>Any evidence passes.</>;
    case "schema":
      return <>The evidence must pass a schema in code.</>;
    case "lenient":
      return <>A broken rule only warns.</>;
    case "field":
      return <Field of={of} />;
    case "task":
      return (
        <>
          The task <Line text={of.id} code /> is done{of.optional && ", if it is done at all: it is optional"}.
        </>
      );
    case "item":
      return <Line text={of.text} max={TEXT_MAX} />;
    case "rule":
      return <Rule of={of.rule} />;
    case "check":
      return <Check of={of.check} />;
    case "workflow":
      return <Child of={of.child} />;
    case "approval":
      return (
        <Said text={of.approval.prompt}>
          {of.approval.approvers === undefined ? (
            "Any approver answers."
          ) : (
            <>
              Answered by <Line text={of.approval.approvers.join(" or ")} />.
            </>
          )}
        </Said>
      );
  }
}

/** What the author says, and then the page's own words; those alone where the author says nothing. */
function Said({ text, children }: { readonly text: string | undefined; readonly children: ComponentChildren }) {
  return (
    <p>
      <Line text={text || undefined} max={TEXT_MAX} /> <span class={text ? "quiet" : undefined}>{children}</span>
    </p>
  );
}

const TYPES: Readonly<Record<FieldType, string>> = {
  boolean: "true or false",
  integer: "a whole number",
  number: "a number",
  string: "a text",
  object: "an object",
  list: "a list",
  any: "any value",
};

function Field({ of }: { readonly of: Extract<GateLine, { what: "field" }> }) {
  const { name, description, type, required, rules, checks } = of;
  return (
    <>
      <Said text={description}>
        <Line text={name} code />: {type === "boolean" && required ? "must be true" : TYPES[type]}
        {!required && ", optional"}
      </Said>
      {rules.length + checks.length > 0 && (
        <ul>
          {rules.map((rule, index) => (
            <li key={index}>
              <Rule of={rule} />
            </li>
          ))}
          {checks.map((check, index) => (
            <li key={index}>
              <Check of={check} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Rule({ of: { source, message, params } }: { readonly of: RuleDefinition }) {
  return (
    <>
      <Said text={message}>
        Rule: <Line text={source} code max={TEXT_MAX} />
      </Said>
      <Parameters of={params} />
    </>
  );
}

function Check({ of: { verifier, description, params } }: { readonly of: VerifyDefinition }) {
  return (
    <>
      <Said text={description}>
        Checked by <Line text={verifier} code />
      </Said>
      <Parameters of={params} />
    </>
  );
}

function Child({
  of: { type, for_each: each, ...params },
}: {
  readonly of: Extract<GateLine, { what: "workflow" }>["child"];
}) {
  return (
    <>
      <p>
        The workflow{" "}
        <a href={href(["workflows", type])}>
          <Line text={type} max={120} />
        </a>{" "}
        is completed
        {each !== undefined && (
          <>
            , once for each item of <Line text={each} code max={TEXT_MAX} />
          </>
        )}
        .
      </p>
      <Parameters of={params} />
    </>
  );
}

function Parameters({ of = {} }: { readonly of: JsonObject | undefined }) {
  if (Object.keys(of).length === 0) return null;
  return (
    <details>
      <summary>Parameters</summary>
      <Tree value={of} />
    </details>
  );
}
