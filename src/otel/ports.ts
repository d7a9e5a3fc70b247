/** Storages, verifiers and deciders that are measured. They do what the originals do, and have all that these have. */
import { SpanKind } from "@opentelemetry/api";
import type { StepDecider } from "../ports/step-decider.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import type { Verifier } from "../ports/verifier.js";
import type { DecisionRequest } from "../routed/decision/request.js";
import { cut, type Instruments } from "./metrics.js";
import { type Ended, type Spans, safely, type Work } from "./spans.js";

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
    const value: unknown = Reflect.get(storage, name);
    // Sessions are counted no longer, also if the storage has nothing to close.
    const method = name === "close" && value === undefined ? async () => {} : value;
    if (typeof method !== "function") return value;
    const known = methods.get(name) ?? measuredMethod(name, (...given) => method.apply(storage, given));
    methods.set(name, known);
    return known;
  });

  function measuredMethod(name: PropertyKey, call: (...given: unknown[]) => unknown): typeof call {
    if (name === "close") {
      return () => {
        safely(onClose);
        return call();
      };
    }
    const operation = String(name);
    if (STREAMS.has(name)) return (...given) => measuredStream(() => call(...given), operation, given[0], measuring);
    if (!CALLS.has(name)) return call;
    return (...given) =>
      measuring.spans.run(
        storageWork(operation, given[0], measuring),
        async () => call(...given),
        (end) => storageEnd(operation, end, measuring),
      );
  }
}

/** Returns an object whose members `member` returns; its prototype is the original, which may be frozen. */
function withMembers<T extends object>(original: T, member: (name: PropertyKey) => unknown): T {
  const shell: T = Object.create(original);
  return new Proxy(shell, { get: (_, name) => member(name) });
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

function storageEnd(operation: string, { error, seconds }: Ended<unknown>, { instruments }: Measuring) {
  instruments.record("storage", seconds, { "phasegate.storage.operation": operation, "error.type": error });
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
    const end = safely(() => storageEnd(operation, { error, seconds }, measuring)) ?? { error };
    if (opened !== undefined) safely(() => measuring.spans.close(opened.open, end));
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
  const measured = <T>(
    operation: "verify" | "snapshot",
    { id, workflowType, phase }: Session,
    run: () => Promise<T>,
    outcomeOf: (result: T) => string,
  ): Promise<T> => {
    const attributes = {
      "phasegate.verifier": cut(name),
      "phasegate.workflow": cut(workflowType),
      "phasegate.phase": String(phase),
    };
    const work = { name: `${operation} ${cut(name)}`, kind: SpanKind.INTERNAL, sessionId: id, attributes };
    return spans.run(work, run, ({ error, seconds, result }) => {
      const outcome = { "phasegate.outcome": result === undefined ? "crashed" : outcomeOf(result.value) };
      instruments.record("verifiers", seconds, { "phasegate.verifier": name, ...outcome, "error.type": error });
      return { error, attributes: outcome };
    });
  };
  const verify: Verifier["verify"] = (request, options) =>
    measured("verify", request.session, () => verifier.verify(request, options), outcomeOf);
  const take = verifier.snapshot?.bind(verifier);
  const snapshot: Verifier["snapshot"] =
    take &&
    ((request) =>
      measured(
        "snapshot",
        request.session,
        () => take(request),
        () => "recorded",
      ));
  return withMembers(verifier, (name) => {
    if (name === "verify") return verify;
    if (name === "snapshot") return snapshot;
    const value: unknown = Reflect.get(verifier, name);
    return typeof value === "function" ? value.bind(verifier) : value;
  });
}

type Session = Pick<Parameters<Verifier["verify"]>[0]["session"], "id" | "workflowType" | "phase">;

// A host's verifier may return anything.
function outcomeOf(result: unknown): "passed" | "failed" {
  return typeof result === "object" && result !== null && "ok" in result && result.ok === true ? "passed" : "failed";
}

export function measuredDecider(decider: StepDecider, { spans, instruments }: Measuring): StepDecider {
  return {
    decide: (request, options) =>
      spans.run(
        deciderWork(request),
        () => decider.decide(request, options),
        ({ error, seconds, result }) => {
          instruments.record("deciders", seconds, {
            "phasegate.workflow": request.workflow.name,
            "error.type": error,
          });
          const { model, inputTokens, outputTokens } = result?.value.usage ?? {};
          const attributes = {
            "gen_ai.response.model": typeof model === "string" ? cut(model) : undefined,
            "gen_ai.usage.input_tokens": typeof inputTokens === "number" ? inputTokens : undefined,
            "gen_ai.usage.output_tokens": typeof outputTokens === "number" ? outputTokens : undefined,
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
      "phasegate.phase": currentStep && cut(currentStep),
      // The first answer could not be used.
      "phasegate.asked_again": problem !== undefined,
    },
  };
}
