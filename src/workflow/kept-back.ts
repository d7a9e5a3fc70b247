/**
 * What agents never see of a folder that they may read, in whatever way: through a workspace, as an include, as a text of a
 * workflow, or by a search. All readers ask here, so that there is one list.
 */

/** Where a telling part begins that is a whole word: `prod.secrets.yaml`, `my_id_rsa`, but not `grid_rsa`. */
const START = "(?<![a-z0-9])";

/** What ends a name's telling part: `x.pem.md` and `server.key~` are copies of keys, `x.keyboard` isn't. */
const END = "(?:bak|backup|old|orig|save|swp|tmp|copy)?(?![a-z])";

/** Files that hold keys and secrets, by names that are in lower case. */
const SECRETS: readonly RegExp[] = [
  new RegExp(`${START}id_(?:rsa|dsa|ecdsa|ed25519)`),
  new RegExp(String.raw`\.(?:pem|key|p8|p12|pfx|pkcs12|ppk|pvk|jks|keystore|keytab|kdbx|asc|gpg|pgp)${END}`),
  new RegExp(String.raw`\.(?:env|npmrc|netrc|pgpass|pypirc|htpasswd|git-credentials|dockercfg)${END}`),
  new RegExp(String.raw`(?:^|[.#~])(?:credentials|secrets?)\.(?:json|ya?ml|toml|ini|txt|env)${END}`),
  /^_netrc/,
  /^\.(?:git|ssh|aws|azure|gnupg|docker|kube)$/,
];
/** These are secrets where nothing more is said of them, but also what somebody calls a folder of texts on them. */
const WORDS = /^(?:[#~]*|.*\.)(?:credentials|secrets?)(?:[~#]|\.(?:bak|backup|old|orig|save|swp|tmp|copy))*$/;

const SECRET = "keys and secrets are kept back";

/**
 * Why nobody gets to see a path, or to write it, though it lies inside of its root: dot-files (`.env`, `.git`, `.ssh`), keys
 * and secrets, and copies of them, as any name in it. Undefined for all others.
 */
export function keptBack(path: string): string | undefined {
  const names = path === "." ? [] : path.split("/");
  if (names.some((name) => name.startsWith("."))) return "names that begin with '.' are kept back";
  return names.some((name) => isSecret(name, [...SECRETS, WORDS])) ? SECRET : undefined;
}

/**
 * Why nobody gets to see a path as a key or a secret, where somebody trusted has said what lies there: in folders of workflows
 * and guides, and of plans. Names may begin with a dot there, as Kubernetes links to `..data` and specifications lie
 * in `.kiro`, and a folder or a workflow may be called `secrets`.
 */
export function secretIn(path: string): string | undefined {
  return path.split("/").some((name) => isSecret(name, SECRETS)) ? SECRET : undefined;
}

function isSecret(name: string, secrets: readonly RegExp[]): boolean {
  // As file systems may fold it.
  const plain = name.normalize("NFKC").toLowerCase();
  return secrets.some((secret) => secret.test(plain));
}
