/** The keys of the page, and what shows them. None is taken while somebody writes, or while a dialog is open. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { go, href } from "./router.js";
import { moveRow } from "./rows.js";
import { Terms } from "./view.js";

const KEYS: readonly (readonly [key: string, what: string])[] = [
  ["/ or Ctrl+K", "Search the sessions, or the inbox"],
  ["j, k", "Next session, session before"],
  ["Enter", "Open the session"],
  ["?", "Show these keys"],
];

/** True until the search field has the focus that a key has asked for. */
export const isSearchWanted = signal(false);

function search(): void {
  const field = document.getElementById("search");
  // At once: what is typed next belongs into it.
  if (field instanceof HTMLInputElement) field.select();
  else {
    go(href(["sessions"]));
    isSearchWanted.value = true;
  }
}

/** Returns true where a key is a letter of a text, or means something of its own. */
function isWriting(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, dialog") !== null;
}

/** Listens to the keys. */
export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, target } = event;
      const isOpen = document.querySelector("dialog[open]") !== null;
      const isSearch = key === "k" && (ctrlKey || metaKey) && !altKey;
      if (isOpen || (!isSearch && (ctrlKey || metaKey || altKey || isWriting(target)))) return;
      if (isSearch || key === "/") search();
      else if (key === "?") dialog.current?.showModal();
      else if (!(key === "j" && moveRow(1)) && !(key === "k" && moveRow(-1))) return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="keys">
      <h2 id="keys">Keys</h2>
      <Terms class="keys" items={KEYS.map(([key, what]) => [key, what])} />
      <div class="buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
