/**
 * Spans around work. The work runs exactly once and the caller gets its outcome, even if a span fails. A span has the
 * session's id if its work was about one session alone, and then a link to the span of the session's first commit.
 */
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  createTraceState,
  diag,
  isSpanContextValid,
  type Span,
  type SpanContext,
  type SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { type ErrorCode, isPhasegateError } from "../errors.js";
import { RecentMap } from "../workflow/cache.js";
import { cut } from "./metrics.js";

export interface Work {
  /** The span's name: of few values. */
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly sessionId?: string | undefined;
  /** The span of the client that asked for it. */
  readonly remote?: SpanContext | undefined;
}

export interface End {
  /** The type of the error, if it failed. */
  readonly error?: string | undefined;
  readonly attributes?: Attributes | undefined;
  readonly sessionId?: string | undefined;
}

interface Open {
  readonly span: Span;
  /** The sessions that it was about: two stand for many. */
  readonly sessions: Set<string>;
  readonly parent: Open | undefined;
}

const OPEN = createContextKey("phasegate.work");

/** The number of sessions whose first commit is remembered. */
const FIRSTS_KEPT = 10_000;

export class Spans {
  readonly #tracer: Tracer;
  readonly #firsts = new RecentMap<string, SpanContext>(FIRSTS_KEPT);

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  /** Runs work once in a span of its own. `onEnd` records it, and returns what the span gets at its end. */
  async run<T>(work: Work, run: () => Promise<T>, onEnd: (end: Ended<T>) => End | undefined): Promise<T> {
    const begun = performance.now();
    const opened = safely(() => this.open(work));
    let running: Promise<T> | undefined;
    const begin = async () => run();
    safely(() =>
      context.with(opened?.context ?? context.active(), () => {
        running = begin();
      }),
    );
    const end = (outcome: Pick<Ended<T>, "result" | "error">) => {
      const seconds = (performance.now() - begun) / 1000;
      const known = safely(() => onEnd({ ...outcome, seconds }));
      if (opened !== undefined) safely(() => this.close(opened.open, { error: outcome.error, ...known }));
    };
    try {
      const value = await (running ?? begin());
      end({ result: { value } });
      return value;
    } catch (error) {
      end({ error: errorType(error) });
      throw error;
    }
  }

  open({ name, kind, attributes, sessionId, remote }: Work): { readonly open: Open; readonly context: Context } {
    const active = context.active();
    const around = trace.getSpanContext(active);
    const from = remote === undefined ? active : trace.setSpanContext(active, remote);
    // The span of the transport is not the parent then, but must be found.
    const links = remote === undefined || around === undefined ? [] : [{ context: around }];
    const span = this.#tracer.startSpan(name, { kind, attributes, links }, from);
    const parent = openIn(active);
    const open: Open = { span, sessions: new Set(), parent };
    if (sessionId !== undefined) touch(open, sessionId);
    return { open, context: trace.setSpan(from, span).setValue(OPEN, open) };
  }

  close({ span, sessions }: Open, { error, attributes, sessionId }: End): void {
    if (sessionId !== undefined) sessions.add(sessionId);
    const [only, ...others] = sessions;
    if (only !== undefined && others.length === 0) {
      span.setAttribute("phasegate.session.id", cut(only));
      const first = this.#firsts.get(only);
      if (first !== undefined && first.spanId !== span.spanContext().spanId) span.addLink({ context: first });
    }
    if (attributes !== undefined) span.setAttributes(attributes);
    if (error !== undefined) span.setAttribute("error.type", error).setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  /** Notes that the work under way is about a session; `first` if it has just made the session's first commit. */
  about(sessionId: string, first = false): void {
    const open = openIn(context.active());
    if (open === undefined) return;
    touch(open, sessionId);
    if (first) this.#firsts.set(sessionId, open.span.spanContext());
  }
}

/** The end of work: with a result, or with the type of an error. */
export interface Ended<T> {
  readonly result?: { readonly value: T };
  readonly error?: string;
  readonly seconds: number;
}

function openIn(active: Context): Open | undefined {
  const value = active.getValue(OPEN);
  return isOpen(value) ? value : undefined;
}

function isOpen(value: unknown): value is Open {
  return typeof value === "object" && value !== null && "span" in value && "sessions" in value;
}

function touch(open: Open, sessionId: string): void {
  for (let one: Open | undefined = open; one !== undefined; one = one.parent) {
    if (one.sessions.size < 2) one.sessions.add(sessionId);
  }
}

/** Returns the code with which a caller learns of an error. */
function errorType(error: unknown): ErrorCode {
  return isPhasegateError(error) ? error.code : "INTERNAL";
}

/** Runs what must not fail a call, such as a call of the SDK; its failure goes to OpenTelemetry's own log. */
export function safely<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    reportFailure(error);
    return undefined;
  }
}

export function reportFailure(error: unknown): void {
  try {
    diag.error("phasegate: telemetry failed", error);
  } catch {
    // A host's logger that throws has nobody left to tell.
  }
}

/** A W3C traceparent of any version that has the fields of the first one. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/;
/** The longest `tracestate`, as W3C recommends, in characters. */
const TRACESTATE_MAX = 512;

/** Reads the client's span from the data of its request. MCP uses W3C's names, independently of the host's propagator. */
export function remoteSpan(meta: Readonly<Record<string, unknown>> | undefined): SpanContext | undefined {
  const { traceparent, tracestate } = meta ?? {};
  if (typeof traceparent !== "string") return undefined;
  const [, traceId = "", spanId = "", flags = ""] = TRACEPARENT.exec(traceparent.trim()) ?? [];
  const traceState =
    typeof tracestate === "string" && tracestate.length <= TRACESTATE_MAX ? createTraceState(tracestate) : undefined;
  const traceFlags = Number.parseInt(flags, 16) & 1;
  const remote: SpanContext = { traceId, spanId, traceFlags, isRemote: true, traceState };
  return isSpanContextValid(remote) ? remote : undefined;
}
