/** What stands between `user:` and the last `@` of an address; a password may hold an `@` that nobody has encoded. */
const USER = /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:/i;
/** As a parameter: of an address, or in a connection string. */
const AS_PARAMETER = /\b((?:ssl)?password=)[^\s&'"]*/gi;

/** A text from anywhere without the passwords of addresses in it: whatever is printed or logged goes through this. */
export function withoutPasswords(text: string): string {
  return text.replace(/[^\s"'<>]+/g, withoutPassword).replace(AS_PARAMETER, "$1***");
}

function withoutPassword(word: string): string {
  const host = word.lastIndexOf("@");
  const user = host === -1 ? null : USER.exec(word);
  const start = user === null ? word.length : user.index + user[0].length;
  return start > host ? word : `${word.slice(0, start)}***${word.slice(host)}`;
}
