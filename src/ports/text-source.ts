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
