/** JSON as a tree, and what changed between two submissions. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Difference, JsonValue } from "../../read/model.js";
import { counted, Line, Long, line, More, visible } from "./text.js";
import { Copy, Fold, List, Part } from "./view.js";

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

interface MembersProps {
  readonly members: readonly (readonly [string, JsonValue])[];
  readonly depth: number;
}

function Members({ members, depth }: MembersProps) {
  return (
    <List items={members} class="tree" what="member" keyOf={([name]) => name}>
      {([name, value]) => <Member name={name} value={value} depth={depth} />}
    </List>
  );
}

function Member({ name, value, depth }: { readonly name: string; readonly value: JsonValue; readonly depth: number }) {
  const label = <span class="key">{line(name, 100)}</span>;
  const labelled = (content: ComponentChildren) => (
    <>
      {label} {content}
    </>
  );
  if (typeof value !== "object" || value === null) return labelled(<Scalar value={value} />);
  const members = Object.entries(value);
  const isList = Array.isArray(value);
  if (members.length === 0) return labelled(<span class="quiet">{isList ? "empty list" : "empty"}</span>);
  const count = counted(members.length, isList ? "item" : "member");
  return (
    <Fold
      isFirst={depth < OPEN_DEPTH && members.length <= OPEN_MEMBERS}
      summary={() => labelled(<span class="quiet">{count}</span>)}
    >
      {() => <Members members={members} depth={depth + 1} />}
    </Fold>
  );
}

function Scalar({ value }: { readonly value: string | number | boolean | null }) {
  if (typeof value !== "string") return <code class="scalar">{String(value)}</code>;
  if (value === "") return <span class="quiet">empty text</span>;
  if (isCode(value)) return <Code text={value} />;
  return value.length <= 100 && !value.includes("\n") ? <Line text={value} /> : <Long text={value} />;
}

const CODE = /^(?:diff --git |@@ |--- |\+\+\+ |\t| {2,}\S|[)}\]])|[{;]$/;

/** Returns true for code or a difference, by how lines begin and end. Prose is easier to read in letters of other widths. */
function isCode(text: string): boolean {
  const lines = text.slice(0, LINE_MAX).split("\n");
  return lines.length > 2 && lines.some((line) => CODE.test(line));
}

const DIFFERENCE = /^(?:diff --git |@@ |--- )/m;

/** Code, with its lines; those of a difference are coloured. */
export function Code({ text }: { readonly text: string }) {
  return DIFFERENCE.test(text.slice(0, LINE_MAX)) ? (
    <Lines lines={text.split("\n")} />
  ) : (
    <div class="code">
      <Copy text={text} label="Copy" />
      <Long text={text} code />
    </div>
  );
}

/** The changed values, one by one; nothing where there is nothing to compare with. */
export function Differences({ items, since }: { readonly items?: readonly Difference[]; readonly since: string }) {
  if (items === undefined) return null;
  return (
    <Part title={`Changed since ${since}`}>
      {items.length === 0 && <p class="quiet">Nothing has changed since {since}.</p>}
      <List items={items} class="differences" what="difference">
        {({ path, lines, before, after }) => (
          <>
            <span class="key">
              <Line text={path} />
            </span>
            {lines !== undefined && <Lines lines={lines} />}
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
        )}
      </List>
    </Part>
  );
}

const LINES_FIRST = 20;
const LINE_MAX = 2000;

function Lines({ lines }: { readonly lines: readonly string[] }) {
  const shown = useSignal(LINES_FIRST);
  return (
    <div class="code">
      <Copy text={lines.join("\n")} label="Copy" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled with the keyboard */}
      <pre class="lines" tabIndex={0}>
        {lines.slice(0, shown.value).map((text, index) => {
          const Tag = text.startsWith("+") ? "ins" : text.startsWith("-") ? "del" : "span";
          return (
            <Tag key={index}>
              {visible(text.slice(0, LINE_MAX))}
              {text.length > LINE_MAX && "…"}
            </Tag>
          );
        })}
      </pre>
      <More shown={shown} all={lines.length} step={2000} what="line" />
    </div>
  );
}
