/** Stands for the test runner of docs/storage/own.md: keeps the cases, for a test that runs some of them. */
export const collected = new Map<string, () => Promise<unknown>>();

export function it(name: string, run: () => Promise<unknown>): void {
  collected.set(name, run);
}
