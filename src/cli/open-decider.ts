import type { OnExchange } from "../adapters/deciders/exchange.js";
import { GeminiDecider } from "../adapters/deciders/gemini-decider.js";
import { LinearDecider } from "../adapters/deciders/linear-decider.js";
import { SamplingDecider, type SamplingServer } from "../adapters/deciders/sampling-decider.js";
import type { StepDecider } from "../ports/step-decider.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import type { DeciderName, Environment, RoutedOptions } from "./routed-options.js";

/** What a decider may need of its surroundings. */
export interface DeciderSurroundings {
  readonly env: Environment;
  /** The server whose client is asked; undefined while there is none. */
  readonly server: () => SamplingServer | undefined;
  readonly onExchange?: OnExchange;
}

/** Makes the decider that was asked for, and says which one it is. Throws where it can't work here. */
export function openDecider(
  options: RoutedOptions,
  { env, server, onExchange }: DeciderSurroundings,
): { readonly name: DeciderName; readonly decider: StepDecider } {
  const name = deciderName(options, env);
  const told = onExchange === undefined ? {} : { onExchange };
  switch (name) {
    case "linear":
      return { name, decider: new LinearDecider() };
    case "gemini":
      return { name, decider: GeminiDecider.fromEnv(env, told) };
    case "sampling":
      if (options.http !== undefined) throw noClient();
      return { name, decider: new SamplingDecider({ server, ...told }) };
  }
}

function deciderName({ decider }: RoutedOptions, env: Environment): DeciderName {
  if (decider !== undefined) return decider;
  if (env.USE_STUB_AI_CLIENT?.trim().toLowerCase() === "true") return "linear";
  return env.GEMINI_API_KEY?.trim() ? "gemini" : "sampling";
}

function noClient(): CommandFailure {
  const hint = "Set GEMINI_API_KEY, or give --decider linear.";
  return new CommandFailure("over HTTP there is no client whose model could be asked", EXIT.usage, hint);
}
