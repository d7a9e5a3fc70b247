import type { GivenStep } from "../steps/give-step.js";
import type { MissingFile, PreloadedFile } from "./parts.js";

/** What is asked of `preloadWorkflow`. */
export interface PreloadRequest {
  /** The workflow's name, or the path of its folder or first file. */
  readonly workflow: string;
  /** Where the page before ended. */
  readonly cursor?: string;
  /** Gives files that the connection was given already once more. */
  readonly reload?: boolean;
}

/** The steps of a skill: the index of all, and none of the texts ahead. */
export interface PreloadedSteps {
  /** The step that is at hand: its text is among the files. Missing where there are several to begin with. */
  readonly current?: Omit<GivenStep, "content">;
  /** Where several steps can be the first. */
  readonly choices?: readonly string[];
  readonly index: readonly { readonly step: string; readonly title: string }[];
}

/** A workflow, loaded. */
export interface PreloadedWorkflow {
  /** The name of its folder. */
  readonly workflow: string;
  /** `classic`: a workflow.yaml that names its files. `skill`: a SKILL.md or workflow.md, often with steps. */
  readonly shape: "classic" | "skill";
  /** Whole files, those of this page. */
  readonly files: readonly PreloadedFile[];
  /** The paths of all files that were loaded, those of other pages too. */
  readonly filesLoaded: readonly string[];
  readonly missing: readonly MissingFile[];
  readonly warnings: readonly string[];
  /** For the model: what it has now, and what to do. */
  readonly message: string;
  readonly steps?: PreloadedSteps;
  /** Missing on the last page. */
  readonly cursor?: string;
}
