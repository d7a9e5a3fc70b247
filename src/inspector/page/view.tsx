/** What all views have in common: heading, states of loading and failure, tabs, buttons that copy. */
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { about, type Loaded } from "./api.js";
import { go, hrefWith, place } from "./router.js";
import { line } from "./text.js";

/** What a screen reader says next. */
export const announcement = signal("");

export function announce(text: string): void {
  announcement.value = text;
}

let shownPath = location.pathname;

/** The heading of a view. It gets the focus when the view was opened from another one. */
export function Heading({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const text = line(title, 120);
  const { pathname } = location;
  useEffect(() => {
    document.title = [text, about.value.title]
      .filter(Boolean)
      .map((part) => line(part))
      .join(" – ");
  }, [text, about.value.title]);
  useEffect(() => {
    if (shownPath !== pathname) heading.current?.focus({ preventScroll: true });
    shownPath = pathname;
  }, [pathname]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children ?? <bdi>{text}</bdi>}
    </h1>
  );
}

export function Part({ title, children }: { readonly title: ComponentChildren; readonly children: ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

/** Shows data once it is there; before that, that it is read, or why it can't be. A failure later stands above the data. */
export function Loading<T>({
  of: { data, error, reload },
  what,
  children,
}: {
  readonly of: Loaded<T>;
  readonly what: string;
  readonly children: (data: T) => ComponentChildren;
}) {
  return (
    <>
      {error !== undefined && <Failed error={error} reload={reload} />}
      {data !== undefined && children(data)}
      {data === undefined && error === undefined && (
        <p class="loading" role="status">
          Reading {what}…
        </p>
      )}
    </>
  );
}

/** Something that is opened with a click. What is closed is not in the document. */
export function Fold({
  isFirst,
  summary,
  children,
  ...rest
}: {
  readonly class?: string;
  /** True if it is open at first. */
  readonly isFirst: boolean;
  readonly summary: (isOpen: boolean) => ComponentChildren;
  readonly children: () => ComponentChildren;
}) {
  const isOpen = useSignal(isFirst);
  return (
    <details
      {...rest}
      open={isOpen.value}
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
      }}
    >
      <summary>{summary(isOpen.value)}</summary>
      {isOpen.value && children()}
    </details>
  );
}

/** The head of a table. */
export function Columns({ names }: { readonly names: readonly string[] }) {
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

export function Failed({
  error,
  reload,
}: {
  readonly error: Error & { readonly remedy?: string | undefined };
  readonly reload?: () => void;
}) {
  return (
    <div class="notice notice-bad" role="alert">
      <p>{line(error.message, 1000)}</p>
      {error.remedy !== undefined && <p>{line(error.remedy, 1000)}</p>}
      {reload !== undefined && (
        <button type="button" onClick={reload}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

/** Tabs; the chosen one stands in the query as `tab`. Arrow keys move between them. */
export function Tabs({
  tabs,
  label,
}: {
  readonly tabs: Readonly<Record<string, ComponentChildren>>;
  readonly label: string;
}) {
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
      <div role="tablist" class="tabs" aria-label={label} ref={list}>
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
  const said = useSignal<string | undefined>(undefined);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = "Copied";
    } catch {
      said.value = "The browser does not allow copying";
    }
    announce(said.value);
    setTimeout(() => {
      said.value = undefined;
    }, 3000);
  };
  return (
    <button type="button" onClick={copy}>
      {said.value ?? label}
    </button>
  );
}
