/**
 * The sources of workflows, of the texts of their phases, and of plans. `content/` has implementations for files and memory.
 */
import type { Diagnostic } from "../workflow/diagnostic.js";
import type { RoutedDefinition } from "../workflow/routed-definition.js";
import type { WorkflowDefinition } from "../workflow/structure.js";
import type { Workflow } from "../workflow/workflow-input.js";

/** Reads sources of one kind as plans; the plans that come with the library are read through it too. */
export type { SourceParser, TickRequest } from "../plan/plan.js";

/** A workflow in a list: one that can be started, or a broken one with its errors. */
export type WorkflowListing =
  | {
      readonly status: "ready";
      readonly type: string;
      readonly definition: WorkflowDefinition;
      /** Warnings. */
      readonly diagnostics: readonly Diagnostic[];
      /** The verifiers that its gates need and the engine lacks, so that it can't be started. An engine sets it. */
      readonly missingVerifiers?: readonly string[] | undefined;
      /** The workflows that its phases are and the engine lacks, so that it can't be started. An engine sets it. */
      readonly missingWorkflows?: readonly string[] | undefined;
    }
  | {
      readonly status: "broken";
      readonly type: string;
      /** At least one error. */
      readonly diagnostics: readonly Diagnostic[];
    };

/** Selects a text of a workflow. */
export type ContentPart =
  | {
      /** The number of the phase. */
      readonly phase: number;
      /** The number of its task; without it, the text is the phase's own. */
      readonly task?: number;
    }
  | {
      /** The template for phases that come from a plan, or the one for their tasks. */
      readonly template: "phase" | "task";
    };

export type TemplatePart = Extract<ContentPart, { readonly template: string }>;

/** A text that is shown to an agent. */
export interface Content {
  /** The Markdown. */
  readonly text: string;
  /** A digest of the text: different texts have different revisions. */
  readonly revision: string;
  /** Where the text was found: paths relative to the workflow's folder, or names of the provider's choice. */
  readonly sources: readonly string[];
  /** The approximate number of tokens: characters / 4. */
  readonly tokens: number;
}

/** A file of a workflow's folder, beside its definition and its texts. */
export interface WorkflowDocument {
  /** Its path, relative to the workflow's folder, as the folder spells it. */
  readonly path: string;
  /** Its other paths, if links lead to it. It can be read only where each of them can. */
  readonly aliases?: readonly string[];
  /**
   * Returns its text as it is now.
   * @throws {PhasegateError} `FILE_NOT_FOUND` when it was removed.
   * @throws {PhasegateError} `INVALID_INPUT` when it is not a text.
   * @throws {PhasegateError} `TOO_LARGE` when it is over the provider's limit.
   */
  read(): Promise<Content>;
}

/** Provides workflow definitions and their texts. */
export interface ContentProvider {
  /**
   * Returns the types of all workflows. For a provider whose definitions may fail one by one: an engine then lists by
   * `types` and `definition`, each with its own deadline, so that a definition that hangs or throws affects only
   * itself. Without this method the engine calls `list`, which one hanging definition can block.
   */
  types?(): Promise<readonly string[]>;
  /** Returns all workflows by type: valid ones, and broken ones with their diagnostics. */
  list(): Promise<readonly WorkflowListing[]>;
  /**
   * Returns a definition: the newest, or the given revision if the provider still has it. Undefined if there is none.
   * @throws {PhasegateError} `DEFINITION_INVALID` when the definition is broken.
   */
  definition(type: string, revision?: string): Promise<WorkflowDefinition | undefined>;
  /**
   * Returns a text: that of the given revision if the provider keeps several and still has it, else as it is now.
   * @throws {PhasegateError} `CONTENT_UNAVAILABLE` when the text can't be read.
   * @throws {PhasegateError} `TEMPLATE` when a template can't be read.
   */
  text(type: string, part: ContentPart, revision?: string): Promise<Content>;
  /**
   * Returns all files of a workflow, each path once; none for an unknown workflow. Texts of phases, gates and
   * metadata.json may be among them: the engine decides which of the files a session may read. A provider without
   * this method has no documents.
   */
  documents?(type: string): Promise<readonly WorkflowDocument[]>;
  /**
   * Returns the same provider with other workflows that its own may extend: `combineContent` gives those of all its sources.
   * Without this method they are as the provider itself finds them.
   */
  within?(bases: BaseWorkflows): ContentProvider;
}

/** The workflows that those of a provider may extend. */
export interface BaseWorkflows {
  /** The types of the workflows whose reading has led here: none of them can be extended. */
  readonly trail: readonly string[];
  /** Where they are looked for, in words. */
  readonly place: string;
  /** Returns their types. */
  types(): Promise<readonly string[]>;
  /** Returns the provider of a workflow for another one that extends it; undefined if there is none. */
  source(type: string, by: string): Promise<ContentProvider | undefined>;
  /**
   * Returns a workflow for another one that extends it; undefined if there is none.
   * @throws {PhasegateError} `DEFINITION_INVALID` when it is broken.
   */
  find(type: string, by: string): Promise<Workflow | undefined>;
}

/** Named texts below one root, from which definitions are built. */
export interface TextSource {
  /** Returns the paths of all texts below a folder (`""`: the root), sorted. Empty if there are none. */
  list(folder: string): Promise<readonly string[]>;
  /** Returns a text; undefined if there is none. */
  read(path: string): Promise<string | undefined>;
}

/** The text of a plan as it is now. */
export interface PlanText {
  /** Relative to the project root. If a folder was requested, the path of the file that was found in it. */
  readonly path: string;
  /** The text of the plan. */
  readonly text: string;
  /** Identifies this version of the text. */
  readonly hash: string;
}

/** Reads plans, and writes ticks back. */
export interface PlanSource {
  /**
   * Returns the plan at a path relative to the project root: a file, or a folder with a `tasks.md`.
   * Undefined if there is none.
   * @throws {PhasegateError} `PATH_REFUSED` when the path leads out of the root.
   * @throws {PhasegateError} `PLAN_PARSE` when the file is over the size limit or not text.
   */
  read(path: string): Promise<PlanText | undefined>;
  /**
   * Replaces the text with this hash by another one, atomically. Returns false and changes nothing if the
   * current text has another hash.
   */
  replace(path: string, hash: string, text: string): Promise<boolean>;
}

/** A routed workflow in a list: one that can be started, or a broken one with its errors. */
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

/** Provides routed workflows. */
export interface RoutedSource {
  /** Returns all routed workflows by name. Rejects if their location can't be read. */
  list(): Promise<readonly RoutedListing[]>;
  /**
   * Returns one as it is now; undefined if there is none.
   * @throws {PhasegateError} `DEFINITION_INVALID` when the definition is broken.
   */
  definition(name: string): Promise<RoutedDefinition | undefined>;
}

/** A text with its path relative to its root, separated by `/`. */
export interface SourceText {
  readonly path: string;
  readonly text: string;
}
