import type { RoutedCall } from "../tool/routed/requests.js";

/** One thing that can be asked over HTTP. */
export interface Route {
  readonly call: RoutedCall;
  readonly method: "GET" | "POST";
  /** Below the base path. */
  readonly path: string;
  readonly summary: string;
  /** Beside 200: every status that it may answer with. */
  readonly refusals: readonly number[];
}

const ALWAYS = [400, 401, 414, 500, 503];
const ON_INSTANCE = [...ALWAYS, 404];
const WRITING = [...ON_INSTANCE, 409, 413, 415, 422];
const DECIDING = [...WRITING, 502];

/** Seed 003, section 7, and the rest in its style. */
export const ROUTES: readonly Route[] = [
  { call: "list", method: "GET", path: "/workflows/list", summary: "List the workflows", refusals: ALWAYS },
  { call: "start", method: "POST", path: "/workflows/start", summary: "Start an instance", refusals: DECIDING },
  {
    call: "advance",
    method: "POST",
    path: "/workflows/advance",
    summary: "Report on the current step, and get the next one",
    refusals: DECIDING,
  },
  {
    call: "resume",
    method: "POST",
    path: "/workflows/resume",
    summary: "Come back to an instance, and say where you think you are",
    refusals: DECIDING,
  },
  {
    call: "status",
    method: "GET",
    path: "/workflows/status",
    summary: "Look where an instance stands",
    refusals: ON_INSTANCE,
  },
  {
    call: "suspend",
    method: "POST",
    path: "/workflows/suspend",
    summary: "Set an instance aside; resume takes it up",
    refusals: WRITING,
  },
  {
    call: "cancel",
    method: "POST",
    path: "/workflows/cancel",
    summary: "End an instance for good",
    refusals: WRITING,
  },
  {
    call: "retry",
    method: "POST",
    path: "/workflows/retry",
    summary: "Take a failed instance up again",
    refusals: DECIDING,
  },
  {
    call: "history",
    method: "GET",
    path: "/workflows/history",
    summary: "Read what has happened, oldest first",
    refusals: ON_INSTANCE,
  },
];

/** Where the OpenAPI document is, below the base path. */
export const OPENAPI_PATH = "/openapi.json";
