import type { Diagnostic } from "../../definition/diagnostic.js";

/** An agent of a bundle. */
export interface BundleAgent {
  readonly id: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** Its text, relative to the bundle's folder. */
  readonly file: string;
  /** Whether users begin with it; other agents are called by these. */
  readonly entryPoint: boolean;
}

/** A workflow of a bundle. */
export interface BundleWorkflow {
  readonly name: string;
  /** Its folder or first file, relative to the bundle's folder. */
  readonly path: string;
}

/** What a bundle.yaml says. */
export interface Bundle {
  /** `bundle`: several agents. `standalone`: one. */
  readonly type: "bundle" | "standalone";
  readonly name: string;
  readonly version?: string;
  readonly description?: string;
  readonly agents: readonly BundleAgent[];
  readonly workflows: readonly BundleWorkflow[];
  /** Folders and files with a meaning of their own: `workflows`, `templates`, `config`. Relative to the bundle's folder. */
  readonly resources: Readonly<Record<string, string>>;
  /** What it needs below the core root. */
  readonly coreDependencies: readonly string[];
}

/** A bundle that was read, or what is wrong with it. */
export interface ReadBundle {
  /** Missing where there is an error. */
  readonly bundle?: Bundle;
  /** By line. */
  readonly diagnostics: readonly Diagnostic[];
}
