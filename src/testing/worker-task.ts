/** What a child process of the contract is told to do, as JSON on its command line. */
export type WorkerTask =
  /** Appends to the sessions in turn, so many times; says `<id> <version> <hash>` of each acknowledged commit. */
  | { readonly kind: "append"; readonly ids: readonly string[]; readonly count: number }
  /** Lives through a session for each key, through an engine; says `<id> <step>` of each answer. */
  | { readonly kind: "live"; readonly keys: readonly string[] };

/** All that a child is handed. */
export interface WorkerOrder {
  /** The URL of the module that opens the storage. */
  readonly module: string;
  readonly options: unknown;
  readonly task: WorkerTask;
}
