/**
 * People who log in with a token of the server that several share. The page takes the token once; then a cookie stands for it.
 * The token itself is asked about with every request, so that a revoked one ends the login.
 */
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Actor } from "../ports/actor.js";
import type { Login } from "../ports/login.js";
import { hostOf, LOCAL_NAMES } from "./requests.js";

/** Whom a login lets in. */
export type InspectorLogin = Pick<Login, "authenticate">;

/** Somebody who has logged in. */
export interface Person {
  readonly actor: Actor;
  /** What the header of a change must be; missing for a client that sends its token itself. */
  readonly writeKey?: string;
}

interface Opened {
  readonly token: string;
  readonly writeKey: string;
}

/** The logins that are remembered; the one that was made longest ago is forgotten first. */
const LOGINS_MAX = 1000;

/** Knows who has logged in. In memory: after a restart, people log in again. */
export class Logins {
  readonly #login: InspectorLogin;
  /** Cookies know no ports: two servers on one machine need two names. */
  readonly #name = `phasegate-${secret(4)}`;
  readonly #opened = new Map<string, Opened>();

  constructor(login: InspectorLogin) {
    this.#login = login;
  }

  /** Returns who sends a request; undefined if nobody has logged in, or the answer of the login if it can't tell. */
  async personOf(request: Request): Promise<Person | Response | undefined> {
    const { headers } = request;
    const given = headers.get("authorization");
    if (given !== null) return this.#ask(request.url, given);
    const cookie = cookieOf(request, this.#name);
    const opened = cookie === undefined ? undefined : this.#opened.get(cookie);
    if (cookie === undefined || opened === undefined) return undefined;
    const person = await this.#ask(request.url, `Bearer ${opened.token}`);
    if (person === undefined) this.#opened.delete(cookie);
    return person === undefined || person instanceof Response ? person : { ...person, writeKey: opened.writeKey };
  }

  /** Logs in with a token. Returns the cookie, and the key for changes; undefined if the token does not count. */
  async open(
    request: Request,
    token: string,
    path: string,
  ): Promise<{ readonly cookie: string; readonly writeKey: string } | Response | undefined> {
    if (!/^[\x21-\x7e]+$/.test(token)) return undefined;
    const person = await this.#ask(request.url, `Bearer ${token}`);
    if (person === undefined || person instanceof Response) return person;
    const [value, writeKey] = [secret(32), secret(32)];
    this.#opened.set(value, { token, writeKey });
    for (const oldest of this.#opened.keys()) {
      if (this.#opened.size <= LOGINS_MAX) break;
      this.#opened.delete(oldest);
    }
    const tls = isPlain(request) ? "" : "; Secure";
    const cookie = `${this.#name}=${value}; Path=${path}; HttpOnly; SameSite=Strict${tls}`;
    return { cookie, writeKey };
  }

  async #ask(url: string, authorization: string): Promise<Person | Response | undefined> {
    const answer = await this.#login.authenticate(new Request(url, { headers: { authorization } }));
    if (!(answer instanceof Response)) return { actor: answer };
    return answer.status === 401 ? undefined : answer;
  }
}

/** Returns true for a page without TLS: the browser would not keep a cookie that is for TLS alone. */
function isPlain(request: Request): boolean {
  const origin = request.headers.get("origin");
  return origin === null ? LOCAL_NAMES.includes(hostOf(request).name) : origin.startsWith("http:");
}

/** Returns the value of a cookie of a request. */
export function cookieOf(request: Request, name: string): string | undefined {
  const cookies = (request.headers.get("cookie") ?? "").split(";").map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1);
}

function secret(bytes: number): string {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(bytes)));
}
