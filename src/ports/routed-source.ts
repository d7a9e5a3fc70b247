import type { Diagnostic } from "../workflow/diagnostic.js";
import type { RoutedDefinition } from "../workflow/routed-definition.js";

/** A routed workflow as a list shows it: one that can be started, or a broken one with what is wrong. */
export type RoutedListing =
  | {
      readonly status: "ready";
      readonly name: string;
      readonly definition: RoutedDefinition;
      /** Warnings. */
      readonly diagnostics: readonly Diagnostic[];
    }
  | {
      readonly status: "broken";
      readonly name: string;
      /** At least one error. */
      readonly diagnostics: readonly Diagnostic[];
    };

/** Where routed workflows come from. */
export interface RoutedSource {
  /** All of them by name. Throws where the place that they lie in can't be read. */
  list(): Promise<readonly RoutedListing[]>;
  /** One as it is now; undefined if there is none. Throws `DEFINITION_INVALID` if it is broken. */
  definition(name: string): Promise<RoutedDefinition | undefined>;
}
