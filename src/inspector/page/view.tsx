/** What all views have in common: heading, states of loading and failure, lists, tables, tabs, buttons that copy. */
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { about, asFailure, type Failure, type Loaded } from "./api.js";
import { go, hrefWith, place } from "./router.js";
import { ends, Long, line, Some } from "./text.js";

/** What a screen reader says next. */
export const announcement = signal("");

export function announce(text: string): void {
  announcement.value = text;
}

/** Something that a person has started: whether it runs or is done, and why it has failed. */
export function useTask() {
  const state = useSignal<{ readonly isBusy?: boolean; readonly isDone?: boolean; readonly error?: Failure }>({});
  const run = async (task: () => Promise<void>) => {
    state.value = { isBusy: true };
    try {
      await task();
      state.value = { isDone: true };
    } catch (error) {
      state.value = { error: asFailure(error) };
    }
  };
  const reset = () => {
    state.value = {};
  };
  return { ...state.value, run, reset };
}

export interface Children {
  readonly children: ComponentChildren;
}

interface FormProps extends Children {
  readonly class?: string;
  readonly onSubmit: (data: FormData) => void;
}

/** A form that the page itself sends. */
export function Form({ class: name, onSubmit, children }: FormProps) {
  return (
    <form
      class={name}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(new FormData(event.currentTarget));
      }}
    >
      {children}
    </form>
  );
}

let shownPath = location.pathname;

/** The heading of a view. It gets the focus when the view was opened from another one. */
export function Heading({ title, count }: { readonly title: string; readonly count?: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const text = ends(title);
  const { pathname } = location;
  useEffect(() => {
    document.title = [text, line(about.value.title)].filter(Boolean).join(" – ");
  }, [text, about.value.title]);
  useEffect(() => {
    if (shownPath !== pathname) heading.current?.focus({ preventScroll: true });
    shownPath = pathname;
  }, [pathname]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      <bdi>{text}</bdi> {count !== undefined && <span class="count">{count}</span>}
    </h1>
  );
}

export function Part({ title, children }: Children & { readonly title: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

interface ListProps<T> {
  readonly items: readonly T[];
  /** The title of the part that the list is; it stands alone without one. */
  readonly title?: string;
  readonly class?: string;
  readonly label?: string;
  /** What an item is, for the button that shows more. */
  readonly what: string;
  readonly first?: number;
  /** Identifies an item of a list that changes. */
  readonly keyOf?: (item: T) => string | number;
  readonly children: (item: T, index: number) => ComponentChildren;
}

/** A list of which a long one is cut; nothing if it is empty. */
export function List<T>({ items, title, class: name, label, what, first, keyOf, children }: ListProps<T>) {
  if (items.length === 0) return null;
  // An order that means something is said in the label.
  const Tag = label === undefined ? "ul" : "ol";
  const list = (
    <Tag class={name} aria-label={label}>
      <Some items={items} what={what} first={first}>
        {(item, index) => <li key={keyOf?.(item) ?? index}>{children(item, index)}</li>}
      </Some>
    </Tag>
  );
  return title === undefined ? list : <Part title={title}>{list}</Part>;
}

/** What somebody has said, with its lines; nothing if nothing was said. */
export function Quote({ text, children }: { readonly text?: string; readonly children?: ComponentChildren }) {
  if (text === undefined) return null;
  return (
    <blockquote>
      <Long text={text} />
      {children}
    </blockquote>
  );
}

export function Notice({
  tone = "warn",
  role,
  children,
}: Children & { readonly tone?: "good" | "warn" | "bad"; readonly role?: "alert" | "status" }) {
  return (
    <div class={`notice tone-${tone}`} role={role}>
      {children}
    </div>
  );
}

/** Terms with what they are; those without anything are left out. */
export function Terms({
  class: name,
  items,
}: {
  readonly class: string;
  readonly items: readonly (readonly [string, ComponentChildren])[];
}) {
  return (
    <dl class={name}>
      {items.map(([term, content], index) =>
        content === undefined || content === false ? null : (
          <div key={index}>
            <dt>{term}</dt>
            <dd>{content}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

interface TableProps {
  readonly class?: string;
  readonly label?: string;
  readonly columns: readonly string[];
  /** Each with its key and its cells; the first one names the row. */
  readonly rows: readonly (readonly [string | number, readonly ComponentChildren[]])[];
}

export function Table({ class: name, label, columns, rows }: TableProps) {
  return (
    <table class={name} aria-label={label}>
      <Columns names={columns} />
      <tbody>
        {rows.map(([key, [head, ...cells]]) => (
          <tr key={key}>
            <th scope="row">{head}</th>
            {cells.map((cell, index) => (
              <td key={index}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Columns({ names }: { readonly names: readonly string[] }) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th scope="col" key={name}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

export function Waiting({ children }: Children) {
  return (
    <p class="loading" role="status">
      {children}
    </p>
  );
}

interface LoadingProps<T> {
  readonly of: Loaded<T>;
  readonly what: string;
  readonly children: (data: T) => ComponentChildren;
}

/** Shows data once it is there; before that, that it is read, or why it can't be. A failure later stands above the data. */
export function Loading<T>({ of: { data, error, reload }, what, children }: LoadingProps<T>) {
  return (
    <>
      <Failed error={error} reload={reload} />
      {data !== undefined && children(data)}
      {data === undefined && error === undefined && <Waiting>Reading {what}…</Waiting>}
    </>
  );
}

interface FoldProps {
  readonly class?: string;
  /** True if it is open at first. */
  readonly isFirst: boolean;
  /** Once this is true, it is open and has the focus. */
  readonly hasFocus?: boolean;
  readonly summary: (isOpen: boolean) => ComponentChildren;
  readonly children: () => ComponentChildren;
}

/** Something that is opened with a click. Closed content is not in the document. */
export function Fold({ class: name, isFirst, hasFocus = false, summary, children }: FoldProps) {
  const isOpen = useSignal(isFirst);
  const head = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!hasFocus) return;
    isOpen.value = true;
    head.current?.focus();
  }, [hasFocus]);
  return (
    <details
      class={name}
      open={isOpen.value}
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
      }}
    >
      <summary ref={head}>{summary(isOpen.value)}</summary>
      {isOpen.value && children()}
    </details>
  );
}

export function Failed({ error, reload }: { readonly error?: Failure; readonly reload?: () => void }) {
  if (error === undefined) return null;
  return (
    <Notice tone="bad" role="alert">
      <p>{line(error.message, 1000)}</p>
      {error.remedy !== undefined && <p>{line(error.remedy, 1000)}</p>}
      {reload !== undefined && (
        <button type="button" onClick={reload}>
          Try again
        </button>
      )}
    </Notice>
  );
}

export function Empty({ children }: Children) {
  return <div class="empty">{children}</div>;
}

/** The parts of a session; the chosen one stands in the query as `tab`. Arrow keys move between them. */
export function Tabs({ tabs }: { readonly tabs: Readonly<Record<string, ComponentChildren>> }) {
  const names = Object.keys(tabs);
  const wanted = place.value.query.get("tab")?.toLowerCase();
  const chosen = names.find((name) => name.toLowerCase() === wanted) ?? names[0] ?? "";
  const list = useRef<HTMLDivElement>(null);
  const choose = (name: string) => {
    go(hrefWith({ tab: name === names[0] ? undefined : name.toLowerCase() }), { replace: true });
    list.current?.querySelector<HTMLElement>(`#tab-${name}`)?.focus();
  };
  const onKeyDown = ({ key }: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    const at = names.indexOf(chosen);
    const next =
      key === "Home" ? names[0] : key === "End" ? names.at(-1) : step && names.at((at + step) % names.length);
    if (typeof next === "string") choose(next);
  };
  return (
    <>
      <div role="tablist" class="tabs" aria-label="Parts of the session" ref={list}>
        {names.map((name) => (
          <button
            type="button"
            role="tab"
            key={name}
            id={`tab-${name}`}
            aria-selected={name === chosen}
            aria-controls="tab-panel"
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => choose(name)}
            onKeyDown={onKeyDown}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${chosen}`} key={chosen}>
        {tabs[chosen]}
      </div>
    </>
  );
}

export function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const said = useSignal(label);
  const copy = async () => {
    const isDone = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    said.value = isDone ? "Copied" : "The browser does not allow copying";
    announce(said.value);
    setTimeout(() => {
      said.value = label;
    }, 3000);
  };
  return (
    <button type="button" onClick={copy}>
      {said.value}
    </button>
  );
}
