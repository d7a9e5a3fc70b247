/** What every view knows: who may look, what the inspector can do, what is said to screen readers. */
import { signal } from "@preact/signals";
import type { About } from "../wire.js";

/** Whether the server answers this browser: unknown until the first answer. */
export const login = signal<"unknown" | "done" | "needed">("unknown");

/** What the inspector can do; the same as long as the page is open. */
export const about = signal<About>({ kinds: [], actions: [], approvers: [], unsigned: false, title: "" });

/** The number of requests that wait for a person. */
export const waitingCount = signal<number | undefined>(undefined);

/** What a screen reader says next. */
export const announcement = signal("");

/** Has a screen reader say something, without moving the focus. */
export function announce(text: string): void {
  announcement.value = text;
}

/** The time, every 20 seconds: for ages. */
export const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 20_000);
