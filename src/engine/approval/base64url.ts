/** Bytes as base64url, without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replace(/[+]/g, "-").replace(/[/]/g, "_").replaceAll("=", "");
}

/** The bytes of a base64url text. Throws what `atob` throws for another one. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
