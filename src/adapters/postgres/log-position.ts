/**
 * How far a reader has come in commits that many transactions make at once, whose numbers don't come in the order in
 * which they are done. A position is a snapshot of the server's, as text (`xmin:xmax:those under way`): what is visible
 * now and wasn't in that snapshot is new, each commit once.
 */

/**
 * The snapshot, cut off behind the last commit that was seen. A number behind it may have been given to something that
 * left no trace on the disk; after a crash the server gives it out again, and this time it may be a commit's.
 */
export function positionAfter(snapshot: string, lastSeen: string): string {
  const [low = "", high = "", list = ""] = snapshot.split(":");
  const end = BigInt(lastSeen) + 1n;
  if (end >= BigInt(high)) return snapshot;
  const underWay = list.split(",").filter((number) => number !== "" && BigInt(number) < end);
  const begin = BigInt(low) < end ? low : end;
  return `${begin}:${end}:${underWay.join(",")}`;
}
