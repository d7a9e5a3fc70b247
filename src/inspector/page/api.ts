/**
 * The server: what it tells all views, requests to it, its stream of changes, and the data of a view, read again when
 * something about it changes.
 */
import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Inbox } from "../../read/model.js";
import type { About, ApiError, LiveMessage, LoginAnswer } from "../wire.js";
import { base } from "./router.js";

/** Whether the server answers this browser: unknown until the first answer. */
export const login = signal<"unknown" | "done" | "needed">("unknown");

/** What the inspector can do, and who may approve, as it was read last. */
export const about = signal<About>({ kinds: [], actions: [], approvers: [], unsigned: false, title: "" });

/** Reads that again. */
export async function readAbout(): Promise<void> {
  about.value = await get<About>("about");
}

/** Reads that again, and returns whether the server still lets this page in. */
export function isAllowed(): Promise<boolean> {
  return readAbout().then(
    () => true,
    () => false,
  );
}

/** The requests that wait for a person: their number, and the sessions that may have one. */
export const waiting = signal<{ readonly count: number; readonly ids: ReadonlySet<string> }>({
  count: 0,
  ids: new Set(),
});

export function noteInbox({ items }: Inbox): void {
  waiting.value = { count: items.length, ids: new Set(items.map(({ sessionId }) => sessionId)) };
}

/** Returns true for a change of the inbox. To read it costs the server a look at every active session. */
export function changesInbox(message: LiveMessage): boolean {
  if (message.type === "reset") return true;
  const { count, ids } = waiting.peek();
  if (message.type === "gone") return ids.has(message.sessionId);
  const { sessionId, waitsFor = [] } = message.session;
  if (ids.has(sessionId)) return true;
  if (!waitsFor.some((what) => what !== "host")) return false;
  // Before the inbox was read: an answer may come first.
  waiting.value = { count, ids: new Set([...ids, sessionId]) };
  return true;
}

export class Failure extends Error {
  readonly status: number;
  readonly code: string;
  readonly remedy: string | undefined;

  constructor(status: number, { code, message, remedy }: ApiError["error"]) {
    super(message);
    this.status = status;
    this.code = code;
    this.remedy = remedy;
  }
}

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return request<T>(path, { signal });
}

export function post<T>(path: string, body: object): Promise<T> {
  const headers = { "content-type": "application/json" };
  return request<T>(path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** Where the browser keeps the key: other servers on this machine get this one's cookies, but not this. */
const KEY = `phasegate ${base}`;

export async function logIn(token: string): Promise<void> {
  const { key } = await post<LoginAnswer>("login", { token });
  localStorage.setItem(KEY, key);
}

function send(path: string, options: RequestInit): Promise<Response> {
  const headers = { ...options.headers, "x-phasegate": localStorage.getItem(KEY) ?? "1" };
  return fetch(`${base}api/${path}`, { ...options, headers, credentials: "same-origin" });
}

async function request<T>(path: string, options: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await send(path, options);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    const remedy = "Check that the inspector is running.";
    throw new Failure(0, { code: "UNREACHABLE", message: "The server does not answer.", remedy });
  }
  if (response.status === 401 && path !== "login") login.value = "needed";
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  if (!isJson)
    throw new Failure(response.status, { code: "NOT_JSON", message: `The server answers ${response.status}.` });
  if (response.ok) return response.json();
  const { error }: ApiError = await response.json();
  throw new Failure(response.status, error);
}

/** Whether changes arrive. A stream that has ended is opened again, and names the last message that this page has got. */
export const connection = signal<"opening" | "open" | "lost">("opening");

/** The wait before a stream that has failed is opened again, in milliseconds. */
const AGAIN_MS = 2000;

const listeners = new Set<(message: LiveMessage) => void>();

/** Calls a function with every message. Returns a function that ends this. */
export function onMessage(listener: (message: LiveMessage) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(message: LiveMessage): void {
  for (const listener of listeners) listener(message);
}

/** Ends the stream, while there is one. */
let stream: AbortController | undefined;
/** The number of the last message. A stream that names it gets what was missed, or is told to read everything anew. */
let lastId: string | undefined;

/** A browser has six connections to a server for all of its tabs: those that nobody sees give theirs back after this time. */
const HIDDEN_MS = 5000;

const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** As long a view waits for the stream, in milliseconds: a storage may look at all of its sessions before it is watched. */
const OPEN_MS = 25;

/** True once views may have read something: what has changed since then is to be told, or read again. */
let isRead = false;

/**
 * Opens the stream, and keeps it open while somebody sees the page. Resolves when it is open, can't be opened, or takes long:
 * then everything is read again once it is open, so that nothing is missed.
 */
export async function openStream(): Promise<void> {
  let hiding: ReturnType<typeof setTimeout> | undefined;
  const isHidden = () => document.visibilityState === "hidden";
  const close = () => {
    stream?.abort();
    stream = undefined;
  };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (isHidden()) hiding = setTimeout(close, HIDDEN_MS);
    else if (stream === undefined) keepOpen();
  });
  // A page that the browser keeps for "back" would hold its connection, too.
  addEventListener("pagehide", close);
  addEventListener("pageshow", ({ persisted }) => persisted && stream === undefined && keepOpen());
  if (!isHidden()) await Promise.race([new Promise<void>((resolve) => keepOpen(resolve)), pause(OPEN_MS)]);
  isRead = true;
}

/** Opens the stream, again whenever it ends. `onFirst` is called when it is open, or can't be opened. */
async function keepOpen(onFirst?: () => void): Promise<void> {
  const own = new AbortController();
  stream = own;
  while (stream === own) {
    // The page shows that the stream is lost.
    await follow(own.signal, onFirst).catch(() => undefined);
    onFirst?.();
    if (stream !== own) return;
    connection.value = "lost";
    // The login may have ended meanwhile. Nobody may see the page any more, or another stream may have been opened.
    do {
      await pause(AGAIN_MS);
      // A page that asks for a login is loaded anew after it.
      if (login.peek() === "needed") return;
    } while (stream === own && !(await isAllowed()));
  }
}

/** Reads the stream to its end. It is read by `fetch`, since an `EventSource` can't send the key. */
async function follow(signal: AbortSignal, onOpen?: () => void): Promise<void> {
  const headers: Record<string, string> = lastId === undefined ? {} : { "last-event-id": lastId };
  const { ok, body } = await send("events", { headers, signal });
  if (!ok || body === null) return;
  connection.value = "open";
  if (isRead && lastId === undefined) tell({ type: "reset" });
  onOpen?.();
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const events = (rest + part.value).split("\n\n");
    rest = events.pop() ?? "";
    for (const line of events.flatMap((event) => event.split("\n"))) {
      if (line.startsWith("id: ")) lastId = line.slice(4);
      if (line.startsWith("data: ")) tell(JSON.parse(line.slice(6)));
    }
  }
}

/** The data of a view: what was read last, or why it can't be read. */
export interface Loaded<T> {
  readonly data?: T;
  readonly error?: Failure;
  readonly isLoading: boolean;
  reload(): void;
}

/** Changes that follow each other within this time are one, in milliseconds. */
const GATHER_MS = 150;

/** Reads a path of the API, and again when a message is about it. The old data stays until there is newer data. */
export function useData<T>(path: string, isAbout = ({ type }: LiveMessage) => type === "reset"): Loaded<T> {
  const state = useSignal<Omit<Loaded<T>, "reload"> & { readonly path: string }>({ path, isLoading: true });
  const reload = useRef(() => {});
  const about = useRef(isAbout);
  about.current = isAbout;
  useEffect(() => {
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isRunning = false;
    let isWanted = false;
    const read = async () => {
      if (isRunning) {
        isWanted = true;
        return;
      }
      isRunning = true;
      const before = state.peek();
      const kept = before.path === path ? before.data : undefined;
      state.value = { path, data: kept, isLoading: true };
      try {
        state.value = { path, data: await get<T>(path, end.signal), isLoading: false };
      } catch (error) {
        if (!end.signal.aborted) state.value = { path, data: kept, error: asFailure(error), isLoading: false };
      }
      isRunning = false;
      if (isWanted && !end.signal.aborted) {
        isWanted = false;
        read();
      }
    };
    reload.current = read;
    read();
    const stop = onMessage((message) => {
      if (!about.current(message)) return;
      // Not put off by the next message: they may never end.
      timer ??= setTimeout(() => {
        timer = undefined;
        read();
      }, GATHER_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
      end.abort();
    };
  }, [path, state]);
  const now = state.value.path === path ? state.value : { isLoading: true };
  return { ...now, reload: () => reload.current() };
}

/** Returns an error as one of the API; a defect of the page itself is one too. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure(0, { code: "PAGE_FAILED", message: error instanceof Error ? error.message : String(error) });
}
