import type { DecisionPrompt } from "../../decision/build-decision-prompt.js";
import type { DeciderAnswer, DecisionRequest } from "../../decision/decision-request.js";
import type { DeciderExchange } from "./exchange.js";
import type { ModelClient, ModelReply } from "./model-client.js";
import type { ModelSettings } from "./model-settings.js";
import { redactor, redactShapes } from "./redact.js";
import type { RequestFailure } from "./request-failure.js";

/** What one request came to: an answer, or a failure with what came all the same. */
export type Attempt =
  | { readonly reply: ModelReply; readonly answer: DeciderAnswer }
  | { readonly reply?: ModelReply; readonly failure: RequestFailure };

interface Exchanged {
  readonly client: ModelClient;
  readonly request: DecisionRequest;
  readonly prompt: DecisionPrompt;
  readonly made: Attempt;
  readonly number: number;
  readonly milliseconds: number;
}

/** Tells the hook of a request, where there is one. */
export function tellExchange({ onExchange, secrets }: ModelSettings, exchanged: Exchanged): void {
  if (onExchange === undefined) return;
  const known = redactor(secrets);
  const exchange = exchangeOf(exchanged, (text) => redactShapes(known(text)));
  try {
    Promise.resolve(onExchange(exchange)).catch(warn);
  } catch (error) {
    warn(error);
  }
}

function exchangeOf(
  { client, request, prompt, made, number, milliseconds }: Exchanged,
  clean: (text: string) => string,
): DeciderExchange {
  const { reply } = made;
  const failure = "failure" in made ? made.failure : undefined;
  const response = reply?.text ?? failure?.facts.says;
  const status = failure?.facts.status;
  return {
    decider: client.name,
    ...(reply?.model === undefined ? {} : { model: reply.model }),
    instanceId: request.instanceId,
    workflow: request.workflow.name,
    operation: request.operation,
    attempt: number,
    request: { system: clean(prompt.system), user: clean(prompt.user) },
    ...(response === undefined ? {} : { response: clean(response) }),
    ...(failure === undefined
      ? {}
      : { failure: { reason: failure.reason, ...(status === undefined ? {} : { status }) } }),
    ...(reply?.inputTokens === undefined ? {} : { inputTokens: reply.inputTokens }),
    ...(reply?.outputTokens === undefined ? {} : { outputTokens: reply.outputTokens }),
    milliseconds,
  };
}

function warn(error: unknown): void {
  // Not what it says: a hook handles prompts. Where there is no process there is nobody to tell.
  const name = error instanceof Error ? error.name : typeof error;
  globalThis.process?.emitWarning?.(`an onExchange hook failed (${name})`, "PhasegateWarning");
}
