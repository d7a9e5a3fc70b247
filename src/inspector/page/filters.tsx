/** The filters of a list, which stand in the URL: the search, and choices. */
import { useEffect, useRef } from "preact/hooks";
import type { WorkflowList } from "../wire.js";
import { useData } from "./api.js";
import { isSearchWanted } from "./keys.js";
import { go, hrefWith, place } from "./router.js";
import { line } from "./text.js";

/** Returns a function that makes what listens to a field: what is typed stands in the URL, under a name, when nothing follows. */
export function useTyping() {
  const typing = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(typing.current), []);
  return (name: string) => (event: { readonly currentTarget: HTMLInputElement }) => {
    const text = event.currentTarget.value;
    clearTimeout(typing.current);
    typing.current = setTimeout(() => go(hrefWith({ [name]: text }), { replace: true }), 200);
  };
}

/** The search field of a view, which a key goes to. */
export function Search({ placeholder }: { readonly placeholder: string }) {
  const type = useTyping();
  const field = useRef<HTMLInputElement>(null);
  const isWanted = isSearchWanted.value;
  useEffect(() => {
    if (!isWanted) return;
    isSearchWanted.value = false;
    field.current?.select();
  }, [isWanted]);
  return (
    <label class="grow">
      <span class="unseen">Search</span>
      <input
        type="search"
        id="search"
        ref={field}
        value={place.value.query.get("text") ?? ""}
        onInput={type("text")}
        placeholder={placeholder}
      />
    </label>
  );
}

interface SelectProps {
  readonly label: string;
  readonly options: readonly (readonly [string, string])[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A choice of one option, or any. Another value in the URL is one option more. */
export function Select({ label, options, value, onChange }: SelectProps) {
  const isOwn = value === "" || options.some(([option]) => option === value);
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">any</option>
        {!isOwn && <option value={value}>{line(value, 40)}</option>}
        {options.map(([option, text]) => (
          <option value={option} key={option}>
            {line(text, 40)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Returns the names of workflows by their types, once they are read; of a broken one its type. */
export function useWorkflowNames(): ReadonlyMap<string, string> {
  const { data } = useData<WorkflowList>("workflows");
  return new Map(data?.items.map((item) => [item.type, item.status === "ready" ? item.name : item.type]));
}

export function WorkflowSelect({ value, onChange }: Pick<SelectProps, "value" | "onChange">) {
  const options = [...useWorkflowNames()].sort(([, one], [, other]) => (one < other ? -1 : 1));
  return <Select label="Workflow" options={options} value={value} onChange={onChange} />;
}
