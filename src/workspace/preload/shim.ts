/** Skills that only point elsewhere: kept under an old name, or made for a client that wants a file of its own. */

/** How long a skill may be that is taken for a pointer, in characters: the longest known ones say much about overrides. */
const SHIM_MAX = 4000;
/** So short that whatever it names is all that it is. */
const BARE_MAX = 700;
const FORWARDS =
  /\b(?:forwards?|forwarding|redirects?|delegates?|consolidated|merged|renamed|moved)\s+(?:\w+\s+)?(?:in)?to\s+[`'"]?((?:\{[\w-]+\}\/)?[\w./-]*[\w-])/gi;
const FOLLOWS = /\b(?:invoke|follow|load|read|execute|run|use)\b/gi;
const PATH = /@?(?:\{[\w-]+\}|(?<![\w./-])\.{1,2})\/[\w./-]+\.(?:md|xml|ya?ml)/gi;
const QUOTED = /\b(?:invoke|use|run|load)\s+(?:the\s+)?(?:skill\s+)?[`'"]([\w-]+)[`'"]/gi;
/** What every workflow names beside itself. */
const ENGINE = /\/tasks\/workflow\.(?:xml|md)$/;

/**
 * What a skill that has neither steps nor a workflow of its own leads to: paths and names of skills, the likeliest first.
 * Empty for a skill that does something itself.
 */
export function shimTargets(name: string, description: string, body: string): readonly string[] {
  const text = body.trim();
  if (text.length > SHIM_MAX) return [];
  const forwarded = matches(FORWARDS, `${description}\n${text}`);
  const followed = text.length <= BARE_MAX || forwarded.length > 0 ? followedPaths(text) : [];
  const quoted = text.length <= BARE_MAX || forwarded.length > 0 ? matches(QUOTED, text) : [];
  const targets = [...forwarded, ...followed, ...quoted].map((target) => target.replace(/^@/, ""));
  return [...new Set(targets)].filter((target) => target !== name && !ENGINE.test(target) && /[\w-]/.test(target));
}

/** The paths that a line leads to: each behind a word of its own. */
function followedPaths(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const paths: string[] = [];
    const verbs = [...line.matchAll(FOLLOWS)].map(({ index }) => index);
    let verb = verbs.shift();
    for (const { 0: path, index } of line.matchAll(PATH)) {
      if (verb === undefined || verb > index) continue;
      paths.push(path);
      while (verb !== undefined && verb < index + path.length) verb = verbs.shift();
    }
    return paths;
  });
}

function matches(pattern: RegExp, text: string): string[] {
  return [...text.matchAll(pattern)].flatMap(({ 1: target }) => (target === undefined ? [] : [target]));
}
