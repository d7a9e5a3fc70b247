/** Requests to the server, and the data of a view, read again when something about it changes. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ApiError, LiveMessage } from "../wire.js";
import { onMessage } from "./live.js";
import { base } from "./router.js";
import { login } from "./state.js";

/** An answer other than 2xx, or none at all. */
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

/** Reads from the API; `path` is below `api/`. */
export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return request<T>(path, signal === undefined ? {} : { signal });
}

/** Sends a change to the API. */
export function post<T>(path: string, body: object): Promise<T> {
  const headers = { "content-type": "application/json", "x-phasegate": "1" };
  return request<T>(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function request<T>(path: string, options: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`${base}api/${path}`, { ...options, credentials: "same-origin" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    const remedy = "Check that the inspector is running.";
    throw new Failure(0, { code: "UNREACHABLE", message: "The server does not answer.", remedy });
  }
  if (response.status === 401) login.value = "needed";
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  if (!isJson)
    throw new Failure(response.status, { code: "NOT_JSON", message: `The server answers ${response.status}.` });
  if (response.ok) return response.json();
  const { error }: ApiError = await response.json();
  throw new Failure(response.status, error);
}

/** The data of a view: what was read last, or why it can't be read. */
export interface Loaded<T> {
  readonly data: T | undefined;
  readonly error: Failure | undefined;
  readonly isLoading: boolean;
  reload(): void;
}

/** Changes that follow each other within this time are one, in milliseconds. */
const GATHER_MS = 150;

/**
 * Reads a path of the API, and reads it again when a message is about it. What was read stays until there is something newer;
 * another path begins with nothing.
 */
export function useData<T>(path: string, isAbout: (message: LiveMessage) => boolean = isReset): Loaded<T> {
  const state = useSignal<{ path: string; data?: T; error?: Failure; isLoading: boolean }>({ path, isLoading: true });
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
      const { data: old } = state.peek();
      const kept = state.peek().path === path && old !== undefined ? { data: old } : {};
      state.value = { path, ...kept, isLoading: true };
      try {
        const data = await get<T>(path, end.signal);
        state.value = { path, data, isLoading: false };
      } catch (error) {
        if (!end.signal.aborted) state.value = { path, ...kept, error: asFailure(error), isLoading: false };
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
  const { data, error, isLoading } = state.value.path === path ? state.value : { isLoading: true };
  return { data, error, isLoading, reload: () => reload.current() };
}

/** Returns true if everything is to be read anew. */
function isReset({ type }: LiveMessage): boolean {
  return type === "reset";
}

/** Returns an error as one of the API; a defect of the page itself is one too. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure(0, { code: "PAGE_FAILED", message: error instanceof Error ? error.message : String(error) });
}
