/** Two texts of different lengths: a file that equals one of them is complete. */
export const VERSIONS: readonly string[] = ["a".repeat(50_000), "b".repeat(70_000)];
