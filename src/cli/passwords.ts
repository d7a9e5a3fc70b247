/** What stands between `user:` and the last `@` of an address; a password may hold an `@` that nobody has encoded. */
const IN_ADDRESS = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s"'<>]*@/gi;
/** As a parameter: of an address, or in a connection string. */
const AS_PARAMETER = /\b((?:ssl)?password=)[^\s&'"]*/gi;

/** A text from anywhere without the passwords of addresses in it: whatever is printed or logged goes through this. */
export function withoutPasswords(text: string): string {
  return text.replace(IN_ADDRESS, "$1:***@").replace(AS_PARAMETER, "$1***");
}
