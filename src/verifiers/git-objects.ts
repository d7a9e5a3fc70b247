/**
 * Reads commits, tags and folders out of a repository, each with the content that its id stands for. Git itself believes the
 * name of an object's file, and the index of a pack: an agent can write both.
 */
import { createHash } from "node:crypto";
import { CheckFailed } from "./define-verifier.js";
import { output, type WorkTree } from "./git-repository.js";

/** An object whose content is that of its id. */
interface GitObject {
  readonly id: string;
  readonly type: string;
  readonly bytes: Buffer;
}

/** Maximum number of objects that are read at once; commits and folders have a few hundred bytes each. */
const AT_ONCE = 10_000;

/** Returns the objects of these names, in their order; undefined for a name that has none. Throws `CheckFailed`. */
export async function objectsAt(tree: WorkTree, names: readonly string[]): Promise<(GitObject | undefined)[]> {
  const found: (GitObject | undefined)[] = [];
  for (let start = 0; start < names.length; start += AT_ONCE) {
    const asked = names.slice(start, start + AT_ONCE);
    const stdout = await output(tree, ["cat-file", "--batch"], { input: `${asked.join("\n")}\n` });
    for (let at = 0; at < stdout.length; ) {
      const end = stdout.indexOf(10, at);
      const [id = "", type = "", size] = stdout.toString("latin1", at, end).split(" ");
      at = end + 1;
      if (size === undefined) {
        found.push(undefined);
        continue;
      }
      const bytes = stdout.subarray(at, at + Number(size));
      at += Number(size) + 1;
      if (objectHash(id, type, bytes.length).update(bytes).digest("hex") !== id) {
        throw new CheckFailed(`the object ${id} of the git repository has other content than its id says`);
      }
      found.push({ id, type, bytes });
    }
  }
  return found;
}

/** Returns the hash of an object to which its bytes are added, by the algorithm of an id of this length. */
export function objectHash(id: string, type: string, size: number) {
  return createHash(id.length === 64 ? "sha256" : "sha1").update(`${type} ${size}\0`);
}

/** The first lines of a commit or a tag, which name other objects. */
function named(object: GitObject, key: "tree" | "parent" | "object"): string[] {
  const text = object.bytes.toString("latin1");
  const head = text.slice(0, text.indexOf("\n\n") + 1);
  return [...head.matchAll(/^(tree|parent|object) ([0-9a-f]+)$/gm)].flatMap(([, found, id = ""]) =>
    found === key ? [id] : [],
  );
}

/** Maximum number of tags that lead to one another. */
const TAGS_MAX = 10;

/** Returns the id of the commit that a name of an object is, or that its tag leads to; undefined if there is none. */
export async function commitAt(tree: WorkTree, name: string): Promise<string | undefined> {
  let [object] = await objectsAt(tree, [name]);
  for (let tags = 0; object?.type === "tag" && tags < TAGS_MAX; tags += 1) {
    [object] = await objectsAt(tree, named(object, "object").slice(0, 1));
  }
  return object?.type === "commit" ? object.id : undefined;
}

/** Throws `CheckFailed` if a commit, or one of its folders, has other content than its id says. */
export async function requireIntactTree(tree: WorkTree, commit: string): Promise<void> {
  const [object] = await objectsAt(tree, [commit]);
  const roots = object === undefined ? [] : named(object, "tree");
  const listing = await output(tree, ["ls-tree", "-r", "-d", "-z", commit]);
  const below = [...listing.toString("latin1").matchAll(/(?:^|\0)040000 tree ([0-9a-f]+)\t/g)];
  await objectsAt(tree, [...new Set([...roots, ...below.map(([, id = ""]) => id)])]);
}

/**
 * Throws `CheckFailed` unless the parents of the commits lead from one commit to another. Only those between both are read.
 */
export async function requireAncestor(tree: WorkTree, ancestor: string, commit: string): Promise<void> {
  const listed = await output(tree, ["rev-list", commit, `^${ancestor}`]);
  const ids = listed.toString("latin1").split("\n").filter(Boolean);
  const parents = new Map<string, readonly string[]>();
  for (const object of await objectsAt(tree, [...new Set([...ids, commit])])) {
    if (object !== undefined) parents.set(object.id, named(object, "parent"));
  }
  const reached = new Set([commit]);
  // Those that are added here are visited, too.
  for (const id of reached) for (const parent of parents.get(id) ?? []) reached.add(parent);
  if (!reached.has(ancestor)) throw new CheckFailed(`${ancestor} is not a commit before ${commit}`);
}
