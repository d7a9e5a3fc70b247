/** Two texts of different lengths: of a file that is one of them whole, nothing is torn. */
export const VERSIONS: readonly string[] = ["a".repeat(50_000), "b".repeat(70_000)];
