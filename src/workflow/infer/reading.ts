/** What is known where a part of a text is read. */
export interface Reading {
  /** The whole text. */
  readonly text: string;
  /** Whether the part stands below a gate's heading. */
  readonly inGate: boolean;
  /** What a sentence right before a list or table says of it. */
  readonly asked?: "required" | "optional" | "not";
  /** Whether it is inside of a checkbox's item, as an explanation of it. */
  readonly underBox?: boolean;
  /** Names of validators that the gate defines itself. */
  readonly defined: ReadonlySet<string>;
}
