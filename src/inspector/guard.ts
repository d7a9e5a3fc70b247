/**
 * Who may talk to the inspector: checks of every request before anything is answered, and the headers of every answer.
 * A web page anywhere can send requests to this machine, and can give its own name this machine's address (DNS rebinding),
 * so Host and Origin are checked first; then the login.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Actor } from "../ports/actor.js";
import { askLogin, isResponse, type Login, loginCheck } from "../ports/login.js";
import { callable, checkOptions, group, optionally } from "../workflow/host-options.js";
import { hostOf, invalid, LOCAL_NAMES } from "./requests.js";

/**
 * Decides about a request, for a host with a login of its own: `true`, `false` (401), or the answer to give. About the request
 * of an open stream of changes it is asked again, every 15 seconds; the stream ends unless the answer is `true`.
 */
export type AdmitRequest = (request: Request) => boolean | Response | Promise<boolean | Response>;

/** Who may use an inspector. */
export type InspectorAccess =
  /** Whoever knows this secret; at least 32 characters. The page's URL carries it once, after `#token=`. */
  | { readonly token: string }
  /** Whom the host lets in. */
  | { readonly authorize: AdmitRequest }
  /**
   * Whom this login lets in, by the header `Authorization`, or by a token that the page takes once. The engines are then used
   * as the actor: who may see what, answer and act is decided by roles. `createTokenLogin` of `phasegate/login` makes one.
   */
  | { readonly login: InspectorLogin };

export interface Admitted {
  readonly actor?: Actor;
  readonly refused?: never;
}

export interface Refused {
  readonly refused: Refusal | Response;
  readonly actor?: never;
}

/** Fewer characters could be guessed. */
const TOKEN_MIN = 32;

/**
 * The header with the key that the page got when it logged in. Forms can't send a header of their own, and a page elsewhere needs a
 * permission for it that is never given.
 */
const KEY_HEADER = "x-phasegate";

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy":
    "publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export interface Refusal {
  readonly status: 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 500;
  readonly code: string;
  readonly message: string;
  readonly remedy?: string | undefined;
}

export class Guard {
  readonly #hosts: readonly string[];
  readonly #access: InspectorAccess;
  readonly #logins: Logins | undefined;
  /** What a browser gets for the token. */
  readonly #pass: Pass | undefined;

  constructor(access: InspectorAccess, hosts: readonly string[] = LOCAL_NAMES) {
    this.#access = accessOf(access);
    this.#hosts = hosts.map((name) => name.toLowerCase());
    this.#logins = "login" in this.#access ? new Logins(this.#access.login) : undefined;
    if (!("token" in this.#access)) return;
    // Cookies know no ports: two inspectors on one machine need two names. The values are not made of the token: they end with
    // this inspector, and whoever gets them from a browser while it is down can do nothing with them in the next one.
    const name = `phasegate-${digestOf(`cookie ${this.#access.token}`).slice(0, 8)}`;
    this.#pass = { name, value: secret(32), key: secret(32) };
  }

  /** Refuses what comes from another page or under another name. Every request is checked, the page itself included. */
  sameOrigin(request: Request): Refusal | undefined {
    const { host, name } = hostOf(request);
    if (!this.#hosts.includes(name) && !this.#hosts.includes(host)) {
      const remedy = `Use one of: ${this.#hosts.join(", ")}.`;
      return { status: 403, code: "HOST_REFUSED", message: "The inspector is not served under this name.", remedy };
    }
    const origin = request.headers.get("origin");
    if (origin !== null && hostIn(origin) !== host) {
      return { status: 403, code: "ORIGIN_REFUSED", message: "Requests of other web pages are refused." };
    }
    const site = request.headers.get("sec-fetch-site");
    const isNavigation = request.method === "GET" && request.headers.get("sec-fetch-mode") === "navigate";
    if (site !== null && site !== "same-origin" && site !== "none" && !isNavigation) {
      return { status: 403, code: "ORIGIN_REFUSED", message: "Requests of other web pages are refused." };
    }
    return undefined;
  }

  /** Refuses a request with a body that a form, or a page elsewhere, may have sent. */
  post(request: Request): Refusal | undefined {
    if (request.headers.get(KEY_HEADER) === null) {
      const remedy = `Send the header ${KEY_HEADER}.`;
      return { status: 403, code: "HEADER_MISSING", message: "Only the page itself may change something.", remedy };
    }
    if (!/^application\/json\s*(?:;|$)/i.test(request.headers.get("content-type") ?? "")) {
      return { status: 415, code: "NOT_JSON", message: "The body must be JSON.", remedy: "Send application/json." };
    }
    return undefined;
  }

  /** Tells whose request it is, or refuses that of somebody who has not logged in. */
  async admit(request: Request): Promise<Admitted | Refused> {
    if (this.#logins !== undefined) {
      const person = await this.#logins.personOf(request);
      if (person === undefined) return { refused: { ...LOGIN, remedy: "Enter your token for this server." } };
      return isResponse(person) ? { refused: person } : person;
    }
    if ("authorize" in this.#access) {
      const allowed = await this.#access.authorize(request);
      return allowed === true ? {} : { refused: isResponse(allowed) ? allowed : LOGIN };
    }
    return this.#pass !== undefined && hasPass(request, this.#pass) ? {} : { refused: LOGIN };
  }

  /** Returns what somebody gets who knows the token; undefined for anybody else. */
  async loginBy(request: Request, token: string, path: string): Promise<LoggedIn | Response | undefined> {
    if (this.#logins !== undefined) return this.#logins.open(request, token, path);
    if (!("token" in this.#access) || this.#pass === undefined) return undefined;
    return isEqual(token, this.#access.token) ? loggedIn(this.#pass, path) : undefined;
  }
}

/**
 * What a browser gets when somebody logs in, and must send with each request. Cookies know no ports: a browser sends this one to
 * every server on this machine that its user visits, also to one that an agent has started. The key is kept by the page, which a
 * browser gives to this address alone.
 */
interface Pass {
  readonly name: string;
  readonly value: string;
  readonly key: string;
}

/** The header that sets the cookie, and the key. */
interface LoggedIn {
  readonly cookie: string;
  readonly key: string;
}

function loggedIn({ name, value, key }: Pass, path: string, more = ""): LoggedIn {
  return { cookie: `${name}=${value}; Path=${path}; HttpOnly; SameSite=Strict${more}`, key };
}

function hasPass(request: Request, { name, value, key }: Pass): boolean {
  return isEqual(cookieOf(request, name) ?? "", value) && isEqual(request.headers.get(KEY_HEADER) ?? "", key);
}

/** Returns the one way in that is defined. Without this check, whoever writes `{}` would let everybody in. */
function accessOf(access: InspectorAccess): InspectorAccess {
  const { token, authorize, login }: { token?: unknown; authorize?: unknown; login?: unknown } = access;
  const ways = Object.entries({ token, authorize, login }).filter(([, way]) => way !== undefined);
  if (ways.length !== 1)
    throw invalid("access", "{ token }, { authorize } or { login }", "Say who may use the inspector.");
  if (token !== undefined && !isLongText(token)) {
    throw invalid("access.token", `${TOKEN_MIN} characters or more`, "Make it of 32 random bytes.");
  }
  const checks = { access: group("a way in", { authorize: optionally(callable), login: optionally(loginCheck) }) };
  checkOptions("createInspector", { access: { authorize, login } }, checks);
  if ("token" in access && token !== undefined) return { token: access.token };
  if ("authorize" in access && authorize !== undefined) return { authorize: access.authorize };
  return "login" in access ? { login: access.login } : access;
}

function isLongText(token: unknown): boolean {
  return typeof token === "string" && token.length >= TOKEN_MIN;
}

const LOGIN: Refusal = {
  status: 401,
  code: "LOGIN_REQUIRED",
  message: "You are not logged in.",
  remedy: "Open the URL that the inspector has printed.",
};

function hostIn(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host.toLowerCase() : undefined;
}

/** Compares digests: how long it takes says nothing about the secret. */
function isEqual(one: string, other: string): boolean {
  return digestOf(one) === digestOf(other);
}

function digestOf(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** Whom a login lets in. */
export type InspectorLogin = Pick<Login, "authenticate">;

export interface Person {
  readonly actor: Actor;
}

interface Opened {
  readonly actor: string;
  readonly token: string;
  readonly pass: Pass;
}

/** The logins that are remembered; the one that was made longest ago is forgotten first. */
const LOGINS_MAX = 1000;
/** Those of one actor, whose logins must not end those of all others. */
const LOGINS_OF_ACTOR_MAX = 20;

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
    if (cookie === undefined || opened === undefined || !hasPass(request, opened.pass)) return undefined;
    const person = await this.#ask(request.url, `Bearer ${opened.token}`);
    if (person === undefined) this.#opened.delete(cookie);
    return person;
  }

  /** Logs in with a token; undefined if the token does not count. */
  async open(request: Request, token: string, path: string): Promise<LoggedIn | Response | undefined> {
    if (!/^[\x21-\x7e]+$/.test(token)) return undefined;
    const person = await this.#ask(request.url, `Bearer ${token}`);
    if (person === undefined || isResponse(person)) return person;
    const pass = { name: this.#name, value: secret(32), key: secret(32) };
    const actor = person.actor.name;
    this.#opened.set(pass.value, { actor, token, pass });
    this.#forget([...this.#opened].filter(([, opened]) => opened.actor === actor).slice(0, -LOGINS_OF_ACTOR_MAX));
    this.#forget([...this.#opened].slice(0, -LOGINS_MAX));
    return loggedIn(pass, path, isPlain(request) ? "" : "; Secure");
  }

  #forget(logins: readonly (readonly [cookie: string, Opened])[]): void {
    for (const [cookie] of logins) this.#opened.delete(cookie);
  }

  async #ask(url: string, authorization: string): Promise<Person | Response | undefined> {
    const answer = await askLogin(this.#login, new Request(url, { headers: { authorization } }));
    if (!isResponse(answer)) return { actor: answer };
    return answer.status === 401 ? undefined : answer;
  }
}

/** Returns true for a page without TLS: the browser would not keep a cookie that is for TLS alone. */
function isPlain(request: Request): boolean {
  const origin = request.headers.get("origin");
  return origin === null ? LOCAL_NAMES.includes(hostOf(request).name) : origin.startsWith("http:");
}

function cookieOf(request: Request, name: string): string | undefined {
  const cookies = (request.headers.get("cookie") ?? "").split(";").map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1);
}

function secret(bytes: number): string {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(bytes)));
}
