import type { ObjectSchema } from "../tool-schema.js";
import type { RoutedCall } from "./requests.js";
import type { RoutedCallOptions } from "./routed-face.js";

/** An answer of a tool. */
export interface RoutedToolAnswer {
  readonly isError: boolean;
  readonly body: { readonly [key: string]: unknown };
}

/** A tool that can be registered with anything that takes a name, schemas and a function. */
export interface RoutedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** What may be asked through it. */
  readonly calls: readonly RoutedCall[];
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
  /** Carries out a call. Never throws and never rejects: whatever is wrong is an answer. */
  dispatch(input: unknown, options?: RoutedCallOptions): Promise<RoutedToolAnswer>;
}
