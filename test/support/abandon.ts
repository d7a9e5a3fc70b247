/** Leaves a call without an answer, as a process that ends does: its deadline may pass long after the test. */
export function abandon(call: Promise<unknown>): void {
  call.catch(() => {});
}
