const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}-\d{6}$/;

/** Whether a name may be that of a session's folder: a UUID in lower case, or `YYYY-MM-DD-HHMMSS`. */
export function isSessionFolder(name: string): boolean {
  return UUID.test(name) || TIMESTAMP.test(name);
}

/** A session's id made of a time (UTC): `YYYY-MM-DD-HHMMSS`. */
export function sessionIdAt(milliseconds: number): string {
  const [date = "", time = ""] = new Date(milliseconds).toISOString().split("T");
  return `${date}-${time.slice(0, 8).replaceAll(":", "")}`;
}
