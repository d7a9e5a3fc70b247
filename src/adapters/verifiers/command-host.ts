import { delimiter, dirname } from "node:path";

/** What the host says of commands. */
export interface CommandHost {
  /** The real path of the project. */
  readonly root: string;
  /** Absolute paths by the names that gates may use. */
  readonly commands: ReadonlyMap<string, string>;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly maxOutputBytes: number;
  /** All that a command gets from the environment. */
  environmentFor(executable: string): Record<string, string>;
  /** A text in which the project's place on this machine doesn't stand. */
  withoutRoot(text: string): string;
}

/** What the host may say of commands. */
export interface CommandHostOptions {
  readonly commands: ReadonlyMap<string, string>;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly maxOutputBytes: number;
  withoutRoot(text: string): string;
}

/** `root` is a real path. */
export function commandHost(root: string, options: CommandHostOptions): CommandHost {
  const { env } = options;
  return {
    ...options,
    root,
    environmentFor: (executable) => ({ PATH: minimalPath(executable), ...env }),
  };
}

/** The executable's own folder, for those that are scripts of a neighbour (`npm` and `node`), and the system's. */
function minimalPath(executable: string): string {
  const system = process.platform === "win32" ? [] : ["/usr/bin", "/bin"];
  return [...new Set([dirname(executable), ...system])].join(delimiter);
}
