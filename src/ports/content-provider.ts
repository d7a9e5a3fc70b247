import type { Diagnostic } from "../workflow/diagnostic.js";
import type { RoutedDefinition } from "../workflow/routed-definition.js";
import type { WorkflowDefinition } from "../workflow/structure.js";
/** A workflow as a list shows it: one that can be started, or a broken one with what is wrong. */
export type WorkflowListing =
  | {
      readonly status: "ready";
      readonly type: string;
      readonly definition: WorkflowDefinition;
      /** Warnings. */
      readonly diagnostics: readonly Diagnostic[];
    }
  | {
      readonly status: "broken";
      readonly type: string;
      /** At least one error. */
      readonly diagnostics: readonly Diagnostic[];
    };

/** A text of a phase that has its own: the phase's, or that of one of its tasks. */
export interface PhasePart {
  readonly phase: number;
  readonly task?: number;
}

/** A template, which the texts of phases out of a plan, or of their tasks, are made from. */
export interface TemplatePart {
  readonly template: "phase" | "task";
}

/** Which text of a workflow. */
export type ContentPart = PhasePart | TemplatePart;

/** A text that is shown to an agent. */
export interface Content {
  readonly text: string;
  /** A digest of the text; another text has another one. */
  readonly revision: string;
  /** Where it was found: paths relative to the workflow's folder, or the provider's own words. */
  readonly sources: readonly string[];
  /** About how many tokens it is: characters / 4. */
  readonly tokens: number;
}

/** Where definitions and their texts come from. */
export interface ContentProvider {
  /**
   * The types of all workflows, for a provider whose definitions may fail one by one: where it is there, an engine lists by
   * it and by `definition`, each under a deadline of its own, so that one that hangs or throws is broken alone. Without it the
   * engine takes the whole of `list`, and one that hangs there keeps back all.
   */
  types?(): Promise<readonly string[]>;
  /** All workflows, by type: valid ones, and broken ones with their diagnostics. */
  list(): Promise<readonly WorkflowListing[]>;
  /**
   * A definition: the newest, or the one of that revision where the provider still has it.
   * Undefined if there is none; throws `DEFINITION_INVALID` if it is broken.
   */
  definition(type: string, revision?: string): Promise<WorkflowDefinition | undefined>;
  /** A text as it is now. Throws `CONTENT_UNAVAILABLE` if it can't be had; for a template, `TEMPLATE`. */
  text(type: string, part: ContentPart): Promise<Content>;
}

/** A text and where it lies, relative to its root, with `/` as separator. */
export interface SourceText {
  readonly path: string;
  readonly text: string;
}

/** Named texts below one root: what definitions of every kind are built from. */
export interface TextSource {
  /** The paths of all texts below a folder (`""`: the root), sorted. Empty if there is none. */
  list(folder: string): Promise<readonly string[]>;
  /** A text; undefined if there is none. */
  read(path: string): Promise<string | undefined>;
}

/** The text of a plan as it is now. */
export interface PlanText {
  /** Where it lies, relative to the project root: the file that was found, where a folder was asked for. */
  readonly path: string;
  readonly text: string;
  /** Names this state of the text: another text has another one. */
  readonly hash: string;
}

/** Where plans come from, and where ticks are written back. */
export interface PlanSource {
  /**
   * The plan at a path relative to the project root: a file, or a folder with a `tasks.md`. Undefined if
   * there is none; throws `PATH_REFUSED` for a path that leads out, and `PLAN_PARSE` for what is over the
   * size limit or no text.
   */
  read(path: string): Promise<PlanText | undefined>;
  /**
   * Puts another text in the place of the one with this hash, whole or not at all. False, and nothing is
   * changed, if the text isn't that one any more.
   */
  replace(path: string, hash: string, text: string): Promise<boolean>;
}

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

/** Reads sources of one kind as plans; the plans that come with the library are read through it too. */
export type { SourceParser, TickRequest } from "../plan/source-parser.js";
