/** Workers of Cloudflare, bundled from TypeScript and run in the real runtime, workerd. */
import { join } from "node:path";
import { build } from "esbuild";
import { Miniflare } from "miniflare";

export interface WorkerOptions {
  /** The class of its Durable Objects, which it has as `OBJECTS`. */
  readonly className: string;
  /** The folder of their databases. Default: they end with the runtime. */
  readonly folder?: string | undefined;
  /** What else it has in its environment. */
  readonly bindings?: Readonly<Record<string, string>>;
  /** True if it imports `node:` modules. */
  readonly isNode?: boolean;
}

export interface RunningWorker {
  readonly url: URL;
  /** Ends the runtime; a second time, it does nothing. */
  stop(): Promise<void>;
}

/** Returns a source of this folder with all that it imports. */
export async function bundled(source: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, source)],
    bundle: true,
    format: "esm",
    target: "es2022",
    conditions: ["workerd", "worker", "import"],
    external: ["node:*"],
    write: false,
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}

/** Starts a bundle. */
export async function startWorker(
  script: string,
  { className, folder, bindings = {}, isNode = false }: WorkerOptions,
): Promise<RunningWorker> {
  const workerd = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.mjs", contents: script }],
    compatibilityDate: "2026-06-11",
    compatibilityFlags: isNode ? ["nodejs_compat"] : [],
    bindings,
    durableObjects: { OBJECTS: { className, useSQLite: true } },
    ...(folder === undefined ? {} : { durableObjectsPersist: folder }),
  });
  const url = await workerd.ready;
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= workerd.dispose();
    return stopped;
  };
  return { url, stop };
}
