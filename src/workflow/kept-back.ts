/**
 * The files that agents never see, even in a folder that they may read: dot-files, keys and secrets. Workspaces,
 * includes, workflow texts and searches all use this list.
 */

/** Start of a name's telling part as a whole word: `prod.secrets.yaml`, `my_id_rsa`, but not `grid_rsa`. */
const START = "(?<![a-z0-9])";

/** End of a name's telling part: `x.pem.md` and `server.key~` are copies of keys, `x.keyboard` is not. */
const END = "(?:bak|backup|old|orig|save|swp|tmp|copy)?(?![a-z])";

/** Names of files that hold keys and secrets, in lower case. */
const SECRETS: readonly RegExp[] = [
  new RegExp(`${START}id_(?:rsa|dsa|ecdsa|ed25519)`),
  new RegExp(String.raw`\.(?:pem|key|p8|p12|pfx|pkcs12|ppk|pvk|jks|keystore|keytab|kdbx|asc|gpg|pgp)${END}`),
  new RegExp(String.raw`\.(?:env|npmrc|netrc|pgpass|pypirc|htpasswd|git-credentials|dockercfg)${END}`),
  new RegExp(String.raw`(?:^|[.#~])(?:credentials|secrets?)\.(?:json|ya?ml|toml|ini|txt|env)${END}`),
  /^_netrc/,
  /^\.(?:git|ssh|aws|azure|gnupg|docker|kube)$/,
];
/** Names that mean secrets alone, but also name folders of texts about secrets. */
const WORDS = /^(?:[#~]*|.*\.)(?:credentials|secrets?)(?:[~#]|\.(?:bak|backup|old|orig|save|swp|tmp|copy))*$/;

const SECRET = "keys and secrets are kept back";

/**
 * Returns why a path may be neither read nor written although it is inside its root: a name in it is a dot-file
 * (`.env`, `.git`, `.ssh`), a key or a secret, or a copy of one. Undefined for all other paths.
 */
export function keptBack(path: string): string | undefined {
  const names = path === "." ? [] : path.split("/");
  if (names.some((name) => name.startsWith("."))) return "names that begin with '.' are kept back";
  return names.some((name) => isSecret(name, [...SECRETS, WORDS])) ? SECRET : undefined;
}

/**
 * Returns why a path may not be read, in folders that the host has named itself: workflows, guides and plans. Only keys
 * and secrets are refused there. Names may begin with a dot, because Kubernetes links to `..data` and Kiro keeps
 * specifications in `.kiro`, and a folder or workflow may be called `secrets`.
 */
export function secretIn(path: string): string | undefined {
  return path.split("/").some((name) => isSecret(name, SECRETS)) ? SECRET : undefined;
}

function isSecret(name: string, secrets: readonly RegExp[]): boolean {
  // File systems may fold case and Unicode forms.
  const plain = name.normalize("NFKC").toLowerCase();
  return secrets.some((secret) => secret.test(plain));
}
