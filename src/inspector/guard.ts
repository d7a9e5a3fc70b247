/**
 * Who may talk to the inspector: checks of every request before anything is answered, and the headers of every answer.
 * A web page anywhere can send requests to this machine, and can give its own name this machine's address (DNS rebinding),
 * so Host and Origin are checked first; then the login.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { PhasegateError } from "../errors.js";
import type { Actor } from "../ports/actor.js";
import { askLogin, isResponse, type Login, loginCheck } from "../ports/login.js";
import { callable, checkOptions, group, optionally } from "../workflow/host-options.js";
import { hostOf, LOCAL_NAMES, refused } from "./requests.js";
import type { ApiError } from "./wire.js";

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
   * as the actor: its roles decide what it may see, answer and do. `createTokenLogin` of `phasegate/login` makes one.
   */
  | { readonly login: InspectorLogin };

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

/** Ends a request with an answer: one of the inspector, or one of the host. */
export class Refused extends Error {
  readonly response: Response;

  constructor(response: Response) {
    super(`refused with ${response.status}`);
    this.response = response;
  }
}

export function refusal(status: number, code: string, message: string, remedy?: string): Refused {
  const error = { code, message, remedy };
  return new Refused(Response.json({ error } satisfies ApiError, { status, headers: { "cache-control": "no-store" } }));
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
  checkOrigin(request: Request): void {
    const { host, name } = hostOf(request);
    if (!this.#hosts.includes(name) && !this.#hosts.includes(host)) {
      const remedy = `Use one of: ${this.#hosts.join(", ")}. The option hosts sets them; a proxy must pass on the header Host.`;
      throw refusal(403, "HOST_REFUSED", "The inspector is not served under this name.", remedy);
    }
    const origin = request.headers.get("origin");
    const site = request.headers.get("sec-fetch-site") ?? "none";
    const isNavigation = request.method === "GET" && request.headers.get("sec-fetch-mode") === "navigate";
    const isElsewhere = site !== "same-origin" && site !== "none" && !isNavigation;
    const from = origin !== null && URL.canParse(origin) ? new URL(origin).host.toLowerCase() : undefined;
    if (isElsewhere || (origin !== null && from !== host))
      throw refusal(
        403,
        "ORIGIN_REFUSED",
        "Requests of other web pages are refused.",
        "Behind a proxy, let it pass on the header Host as the browser has sent it.",
      );
  }

  /** Refuses a request with a body that a form, or a page elsewhere, may have sent. */
  checkPost({ headers }: Request): void {
    if (headers.get(KEY_HEADER) === null) {
      const remedy = `Send the header ${KEY_HEADER}.`;
      throw refusal(403, "HEADER_MISSING", "Only the page itself may change something.", remedy);
    }
    if (!/^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? ""))
      throw refusal(415, "NOT_JSON", "The body must be JSON.", "Send application/json.");
  }

  /** Returns who sends a request, where people have logins of their own. Refuses that of somebody who has not logged in. */
  async admit(request: Request): Promise<Actor | undefined> {
    if (this.#logins !== undefined) {
      const actor = await this.#logins.actorOf(request);
      if (actor === undefined) throw notLoggedIn("Enter your token for this server.");
      return actor;
    }
    const isAdmitted =
      "authorize" in this.#access
        ? await this.#access.authorize(request)
        : this.#pass !== undefined && hasPass(request, this.#pass);
    if (isResponse(isAdmitted)) throw new Refused(isAdmitted);
    if (isAdmitted !== true) throw notLoggedIn("Open the URL that the inspector has printed.");
    return undefined;
  }

  /** Returns what somebody gets who knows the token; undefined for anybody else. */
  async loginBy(request: Request, token: string, path: string): Promise<LoggedIn | undefined> {
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
  return isEqual(cookieOf(request, name), value) && isEqual(request.headers.get(KEY_HEADER) ?? "", key);
}

/** Returns the one way in that is defined. Without this check, whoever writes `{}` would let everybody in. */
function accessOf(access: InspectorAccess): InspectorAccess {
  const { token, authorize, login }: { token?: unknown; authorize?: unknown; login?: unknown } = access;
  const ways = Object.entries({ token, authorize, login }).filter(([, way]) => way !== undefined);
  if (ways.length !== 1)
    throw notOneWay(
      Object.keys(access),
      ways.map(([name]) => name),
    );
  if (token !== undefined && (typeof token !== "string" || token.length < TOKEN_MIN)) {
    const why =
      typeof token === "string"
        ? `it has ${token.length} characters, and ${TOKEN_MIN} or more are needed`
        : "it is no text";
    throw refused("access.token", why, `${TOKEN_MIN} characters or more`, MAKE_TOKEN);
  }
  const checks = { access: group("a way in", { authorize: optionally(callable), login: optionally(loginCheck) }) };
  checkOptions("createInspector", { access: { authorize, login } }, checks);
  if ("token" in access && token !== undefined) return { token: access.token };
  if ("authorize" in access && authorize !== undefined) return { authorize: access.authorize };
  return "login" in access ? { login: access.login } : access;
}

const MAKE_TOKEN = "Make it of 32 random bytes, such as with: openssl rand -base64 32";

/** The remedy for a way in that is given and undefined. */
const UNDEFINED_WAYS: Readonly<Record<string, string>> = {
  token:
    "Set the environment variable that it is read from, such as PHASEGATE_INSPECTOR_TOKEN, to 32 random bytes (openssl rand -base64 32). Only `phasegate inspect` makes a token by itself: it prints it at the end of its address.",
  authorize: "Give the function that decides about a request.",
  login: "Give a login, such as createTokenLogin of phasegate/login makes it.",
};

/** Returns the error for an access that has no way in, or several; `named` are those that it names, `ways` those that are defined. */
function notOneWay(named: readonly string[], ways: readonly string[]): PhasegateError<"INVALID_INPUT"> {
  const expected = "{ token }, { authorize } or { login }";
  if (ways.length > 1) {
    const why = `it names more than one way in: ${ways.join(", ")}`;
    return refused("access", why, expected, "Leave all but one out.");
  }
  for (const [name, remedy] of Object.entries(UNDEFINED_WAYS))
    if (named.includes(name)) return refused(`access.${name}`, "it is undefined", expected, remedy);
  return refused("access", "it names no way in", expected, `Say who may use the inspector: ${expected}.`);
}

function notLoggedIn(remedy: string): Refused {
  return refusal(401, "LOGIN_REQUIRED", "You are not logged in.", remedy);
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
class Logins {
  readonly #login: InspectorLogin;
  /** Cookies know no ports: two servers on one machine need two names. */
  readonly #name = `phasegate-${secret(4)}`;
  readonly #opened = new Map<string, Opened>();

  constructor(login: InspectorLogin) {
    this.#login = login;
  }

  /** Returns who sends a request; undefined if nobody has logged in. */
  async actorOf(request: Request): Promise<Actor | undefined> {
    const given = request.headers.get("authorization");
    if (given !== null) return this.#ask(request.url, given);
    const cookie = cookieOf(request, this.#name);
    const opened = this.#opened.get(cookie);
    if (opened === undefined || !hasPass(request, opened.pass)) return undefined;
    const actor = await this.#ask(request.url, `Bearer ${opened.token}`);
    if (actor === undefined) this.#opened.delete(cookie);
    return actor;
  }

  /** Logs in with a token; undefined if the token does not count. */
  async open(request: Request, token: string, path: string): Promise<LoggedIn | undefined> {
    if (!/^[\x21-\x7e]+$/.test(token)) return undefined;
    const actor = await this.#ask(request.url, `Bearer ${token}`);
    if (actor === undefined) return undefined;
    const pass = { name: this.#name, value: secret(32), key: secret(32) };
    this.#opened.set(pass.value, { actor: actor.name, token, pass });
    this.#forget([...this.#opened].filter(([, one]) => one.actor === actor.name).slice(0, -LOGINS_OF_ACTOR_MAX));
    this.#forget([...this.#opened].slice(0, -LOGINS_MAX));
    return loggedIn(pass, path, isPlain(request) ? "" : "; Secure");
  }

  #forget(logins: readonly (readonly [cookie: string, Opened])[]): void {
    for (const [cookie] of logins) this.#opened.delete(cookie);
  }

  async #ask(url: string, authorization: string): Promise<Actor | undefined> {
    const answer = await askLogin(this.#login, new Request(url, { headers: { authorization } }));
    if (!isResponse(answer)) return answer;
    if (answer.status === 401) return undefined;
    throw new Refused(answer);
  }
}

/** Returns true for a page without TLS: the browser would not keep a cookie that is for TLS alone. */
function isPlain(request: Request): boolean {
  const origin = request.headers.get("origin");
  return origin === null ? LOCAL_NAMES.includes(hostOf(request).name) : origin.startsWith("http:");
}

function cookieOf(request: Request, name: string): string {
  const cookies = (request.headers.get("cookie") ?? "").split(";").map((cookie) => cookie.trim());
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
}

function secret(bytes: number): string {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(bytes)));
}
