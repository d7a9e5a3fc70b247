/** Names of keys and of files with secrets, in lower case. */
const SECRETS: readonly RegExp[] = [
  /^id_(rsa|dsa|ecdsa|ed25519)/,
  /\.(pem|key|p8|p12|pfx|pkcs12|ppk|jks|keystore|kdbx|asc|gpg)$/,
  /^(credentials|secrets?)(\.(json|ya?ml|toml|ini|txt|env))?$/,
  /\.env$/,
];

/**
 * Why nobody gets to see a path of a workspace, or to write it, though it lies inside: dot-files (`.env`, `.git`, `.ssh`)
 * and keys, as any name in it. Undefined for all others.
 */
export function withheld(path: string): string | undefined {
  if (path === ".") return undefined;
  const names = path.split("/").map((name) => name.toLowerCase());
  if (names.some((name) => name.startsWith("."))) return "names that begin with '.' are kept back";
  return names.some((name) => SECRETS.some((secret) => secret.test(name)))
    ? "keys and secrets are kept back"
    : undefined;
}
