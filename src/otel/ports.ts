/** Storages, verifiers and deciders that are measured. They do what the originals do, and have all that these have. */
import { SpanKind } from "@opentelemetry/api";
import type { StepDecider } from "../ports/step-decider.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import type { Verifier } from "../ports/verifier.js";
import type { DecisionRequest } from "../routed/decision/request.js";
import { cut, type Instruments } from "./metrics.js";
import { type Ended, type Spans, safely, type Work } from "./spans.js";

/** What measures. */
export interface Measuring {
  readonly spans: Spans;
  readonly instruments: Instruments;
}

/** Methods of a storage that answer once. `watch` goes on for as long as somebody listens, so it is not among them. */
const CALLS: ReadonlySet<PropertyKey> = new Set<keyof StorageAdapter>([
  ...(["read", "append", "begin", "makeDurable", "payload", "list", "countActive", "remove"] as const),
  ...(["changes", "hint", "size", "compact", "repair"] as const),
]);
/** Methods that answer bit by bit. */
const STREAMS: ReadonlySet<PropertyKey> = new Set<keyof StorageAdapter>(["log", "damaged"]);

/** Returns a storage whose calls are measured. `onClose` is called before it is closed. */
export function measuredStorage(storage: StorageAdapter, measuring: Measuring, onClose: () => void): StorageAdapter {
  const methods = new Map<PropertyKey, unknown>();
  return withMembers(storage, (name) => {
    const known = methods.get(name);
    if (known !== undefined) return known;
    const value: unknown = Reflect.get(storage, name);
    // Also of a storage that has nothing to close, the sessions are counted no longer.
    const member = name === "close" && value === undefined ? async () => {} : value;
    if (typeof member !== "function") return value;
    const method = measuredMethod(storage, name, member, measuring, onClose);
    methods.set(name, method);
    return method;
  });
}

/** Returns an object that has the members of another one, as `member` returns them. Also of a frozen one. */
function withMembers<T extends object>(original: T, member: (name: PropertyKey) => unknown): T {
  const shell: T = Object.create(original);
  return new Proxy(shell, { get: (_, name) => member(name) });
}

function measuredMethod(
  target: StorageAdapter,
  name: PropertyKey,
  method: CallableFunction,
  measuring: Measuring,
  onClose: () => void,
): (...given: unknown[]) => unknown {
  const call = (...given: unknown[]): unknown => Reflect.apply(method, target, given);
  if (name === "close") {
    return () => {
      safely(onClose);
      return call();
    };
  }
  const operation = String(name);
  if (STREAMS.has(name)) return (...given) => measuredStream(() => call(...given), operation, given[0], measuring);
  if (!CALLS.has(name)) return call;
  return (...given) => {
    const work = storageWork(operation, given[0], measuring);
    return measuring.spans.run(
      work,
      async () => call(...given),
      (end) => storageEnd(operation, end, measuring),
    );
  };
}

/** Returns the span of a call, and notes which session the work around it is about. */
function storageWork(operation: string, subject: unknown, { spans }: Measuring): Work {
  const sessionId = operation === "changes" ? undefined : sessionOf(subject);
  if (sessionId !== undefined) safely(() => spans.about(sessionId));
  const attributes = { "phasegate.storage.operation": operation };
  return { name: `storage ${operation}`, kind: SpanKind.INTERNAL, attributes, sessionId };
}

/** The first parameter of most methods is a session's id; of some a commit, or the commits of one session. */
function sessionOf(subject: unknown): string | undefined {
  if (typeof subject === "string") return subject;
  const [first] = Array.isArray(subject) ? subject : [subject];
  if (typeof first !== "object" || first === null || !("sessionId" in first)) return undefined;
  return typeof first.sessionId === "string" ? first.sessionId : undefined;
}

function storageEnd(operation: string, end: Ended<unknown>, { instruments }: Measuring) {
  const error = end.ok ? undefined : end.error;
  instruments.record("storage", end.seconds, { "phasegate.storage.operation": operation, "error.type": error });
  return { error };
}

/** Measures the time that the storage takes, without what its reader does between two items. */
async function* measuredStream(
  begin: () => unknown,
  operation: string,
  subject: unknown,
  measuring: Measuring,
): AsyncGenerator<unknown, void, undefined> {
  const opened = safely(() => measuring.spans.open(storageWork(operation, subject, measuring)));
  let seconds = 0;
  let error: string | undefined;
  try {
    const items = iterator(begin());
    let open = true;
    try {
      for (;;) {
        const begun = performance.now();
        const next = await items.next();
        seconds += (performance.now() - begun) / 1000;
        open = next.done !== true;
        if (next.done === true) return;
        yield next.value;
      }
    } catch (failure) {
      open = false;
      error = failure instanceof Error && "code" in failure ? String(failure.code) : "_OTHER";
      throw failure;
    } finally {
      if (open) await items.return?.();
    }
  } finally {
    const labels = { "phasegate.storage.operation": operation, "error.type": error };
    safely(() => measuring.instruments.record("storage", seconds, labels));
    if (opened !== undefined) safely(() => measuring.spans.close(opened.open, { error }));
  }
}

function iterator(stream: unknown): AsyncIterator<unknown> {
  if (typeof stream === "object" && stream !== null && isIterable(stream)) return stream[Symbol.asyncIterator]();
  throw new TypeError("the storage returned nothing that can be iterated");
}

function isIterable(value: object): value is AsyncIterable<unknown> {
  return Symbol.asyncIterator in value && typeof value[Symbol.asyncIterator] === "function";
}

/** Returns a verifier that is measured, as it is registered under `name`. */
export function measuredVerifier(verifier: Verifier, name: string, { spans, instruments }: Measuring): Verifier {
  const work = (operation: "verify" | "snapshot", { id, workflowType, phase }: Session): Work => ({
    name: `${operation} ${cut(name)}`,
    kind: SpanKind.INTERNAL,
    sessionId: id,
    attributes: {
      "phasegate.verifier": cut(name),
      "phasegate.workflow": cut(workflowType),
      "phasegate.phase": String(phase),
    },
  });
  const ended = (outcome: string, { ok, seconds, ...end }: Ended<unknown>) => {
    const error = "error" in end ? end.error : undefined;
    const labels = { "phasegate.verifier": name, "phasegate.outcome": outcome, "error.type": error };
    instruments.record("verifiers", seconds, labels);
    return { error, attributes: { "phasegate.outcome": outcome } };
  };
  const verify: Verifier["verify"] = (request, options) =>
    spans.run(
      work("verify", request.session),
      () => verifier.verify(request, options),
      (end) => ended(end.ok ? outcomeOf(end.result) : "crashed", end),
    );
  const take = verifier.snapshot?.bind(verifier);
  const snapshot: Verifier["snapshot"] =
    take &&
    ((request) =>
      spans.run(
        work("snapshot", request.session),
        () => take(request),
        (end) => ended(end.ok ? "recorded" : "crashed", end),
      ));
  return withMembers(verifier, (name) => {
    if (name === "verify") return verify;
    if (name === "snapshot") return snapshot;
    const value: unknown = Reflect.get(verifier, name);
    return typeof value === "function" ? value.bind(verifier) : value;
  });
}

/** The session of a request to a verifier. */
type Session = Pick<Parameters<Verifier["verify"]>[0]["session"], "id" | "workflowType" | "phase">;

/** A host's verifier may return anything. */
function outcomeOf(result: unknown): "passed" | "failed" {
  return typeof result === "object" && result !== null && "ok" in result && result.ok === true ? "passed" : "failed";
}

/** Returns a decider that is measured. */
export function measuredDecider(decider: StepDecider, { spans, instruments }: Measuring): StepDecider {
  return {
    decide: (request, options) =>
      spans.run(
        deciderWork(request),
        () => decider.decide(request, options),
        (end) => {
          const error = end.ok ? undefined : end.error;
          const labels = { "phasegate.workflow": request.workflow.name, "error.type": error };
          instruments.record("deciders", end.seconds, labels);
          const { model, inputTokens, outputTokens } = (end.ok ? end.result.usage : undefined) ?? {};
          const attributes = {
            ...(typeof model === "string" ? { "gen_ai.response.model": cut(model) } : {}),
            ...(typeof inputTokens === "number" ? { "gen_ai.usage.input_tokens": inputTokens } : {}),
            ...(typeof outputTokens === "number" ? { "gen_ai.usage.output_tokens": outputTokens } : {}),
          };
          return { error, attributes };
        },
      ),
  };
}

function deciderWork({ workflow, sessionId, currentStep, problem }: DecisionRequest): Work {
  return {
    name: "decide",
    kind: SpanKind.INTERNAL,
    sessionId,
    attributes: {
      "phasegate.workflow": cut(workflow.name),
      ...(currentStep === undefined ? {} : { "phasegate.phase": cut(currentStep) }),
      // The first answer could not be used.
      "phasegate.asked_again": problem !== undefined,
    },
  };
}
