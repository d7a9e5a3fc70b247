/** JSON as a tree, and what changed between two submissions. */
import { useSignal } from "@preact/signals";
import type { Difference, JsonValue } from "../../read/model.js";
import { counted, Line, Long, line, number, Some, visible } from "./text.js";
import { Fold } from "./view.js";

/** Members of an object this deep are shown when it is opened. */
const OPEN_DEPTH = 2;
/** Objects with more members are closed at first. */
const OPEN_MEMBERS = 40;

export function Tree({ value }: { readonly value: JsonValue }) {
  if (typeof value !== "object" || value === null) return <Scalar value={value} />;
  const members = Object.entries(value);
  if (members.length === 0) return <p class="quiet">Nothing: an empty {Array.isArray(value) ? "list" : "object"}.</p>;
  return <Members members={members} depth={0} />;
}

function Members({
  members,
  depth,
}: {
  readonly members: readonly (readonly [string, JsonValue])[];
  readonly depth: number;
}) {
  return (
    <ul class="tree">
      <Some items={members} what="member">
        {([name, value]) => (
          <li key={name}>
            <Member name={name} value={value} depth={depth} />
          </li>
        )}
      </Some>
    </ul>
  );
}

function Member({ name, value, depth }: { readonly name: string; readonly value: JsonValue; readonly depth: number }) {
  const label = <span class="key">{line(name, 100)}</span>;
  if (typeof value !== "object" || value === null) {
    return (
      <>
        {label} <Scalar value={value} />
      </>
    );
  }
  const members = Object.entries(value);
  const count = counted(members.length, Array.isArray(value) ? "item" : "member");
  if (members.length === 0) {
    return (
      <>
        {label} <span class="quiet">{Array.isArray(value) ? "empty list" : "empty"}</span>
      </>
    );
  }
  return (
    <Fold
      isFirst={depth < OPEN_DEPTH && members.length <= OPEN_MEMBERS}
      summary={() => (
        <>
          {label} <span class="quiet">{count}</span>
        </>
      )}
    >
      {() => <Members members={members} depth={depth + 1} />}
    </Fold>
  );
}

function Scalar({ value }: { readonly value: string | number | boolean | null }) {
  if (typeof value !== "string") return <code class="scalar">{String(value)}</code>;
  if (value === "") return <span class="quiet">empty text</span>;
  return value.length <= 100 && !value.includes("\n") ? <Line text={value} /> : <Long text={value} />;
}

/** What is not as it was, value by value. */
export function Differences({ items, since }: { readonly items: readonly Difference[]; readonly since: string }) {
  if (items.length === 0) return <p class="quiet">Nothing has changed since {since}.</p>;
  return (
    <ul class="differences">
      <Some items={items} what="difference">
        {(item, index) => (
          <li key={index}>
            <span class="key">
              <Line text={item.path} />
            </span>
            {item.lines === undefined ? <Values {...item} /> : <Lines lines={item.lines} />}
          </li>
        )}
      </Some>
    </ul>
  );
}

function Values({ before, after }: Difference) {
  return (
    <>
      {before !== undefined && (
        <del>
          <span class="unseen">was </span>
          <Long text={before} />
        </del>
      )}
      {after !== undefined && (
        <ins>
          <span class="unseen">is </span>
          <Long text={after} />
        </ins>
      )}
    </>
  );
}

const LINES_FIRST = 200;
const LINE_MAX = 2000;

function Lines({ lines }: { readonly lines: readonly string[] }) {
  const shown = useSignal(LINES_FIRST);
  const left = lines.length - shown.value;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled with the keyboard */}
      <pre class="lines" tabIndex={0}>
        {lines.slice(0, shown.value).map((text, index) => {
          const part = text.length > LINE_MAX ? `${visible(text.slice(0, LINE_MAX))}…` : visible(text);
          if (text.startsWith("+")) return <ins key={index}>{part}</ins>;
          return text.startsWith("-") ? <del key={index}>{part}</del> : <span key={index}>{part}</span>;
        })}
      </pre>
      {left > 0 && (
        <button type="button" class="more" onClick={() => (shown.value += 2000)}>
          Show more ({number(left)} lines left)
        </button>
      )}
    </>
  );
}
