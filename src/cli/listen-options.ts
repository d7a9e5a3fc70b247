/** The options of `serve --listen`, by which MCP is served over HTTP, and which of them must be given together. */
import { InvalidArgumentError, Option } from "commander";
import type { QuotaLimits } from "../login/quotas.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { age, notEmpty, repeated } from "./options.js";

/** Where a server listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The options of `serve --listen` as given. */
export interface ListenOptions {
  /** Missing if MCP is served on stdio. */
  readonly listen?: Address;
  readonly tokens?: string;
  readonly oauthIssuer?: string;
  readonly oauthResource?: string;
  readonly hostName?: readonly string[];
  readonly allowOrigin?: readonly string[];
  /** In milliseconds. */
  readonly grace?: number;
  readonly quota?: Quota;
  /** The port of the inspector; true if it is served at /inspector, behind the same login. */
  readonly inspector?: number | true;
}

/** How much each actor may use. */
export type Quota = QuotaLimits;

/** Returns the options, in the order in which the help lists them. */
export function listenOptions(): Option[] {
  return [
    new Option("--listen <host:port>", "serve MCP over HTTP at /mcp, instead of on stdio: 127.0.0.1:8080")
      .env("PHASEGATE_LISTEN")
      .argParser(address),
    new Option("--tokens <file>", "file of the clients' tokens; see `phasegate tokens`")
      .env("PHASEGATE_TOKENS")
      .argParser(notEmpty),
    new Option("--oauth-issuer <url>", "OAuth issuer whose tokens are accepted")
      .env("PHASEGATE_OAUTH_ISSUER")
      .argParser(url),
    new Option("--oauth-resource <url>", "URL of this server's /mcp, for which these tokens must be issued")
      .env("PHASEGATE_OAUTH_RESOURCE")
      .argParser(url),
    new Option(
      "--host-name <name...>",
      "names that the server is called by, apart from those of this machine",
    ).argParser(repeated),
    new Option(
      "--allow-origin <name...>",
      "host names of web pages that may call, apart from this machine's",
    ).argParser(repeated),
    new Option("--grace <time>", "time for calls under way when the server ends, such as 10s")
      .argParser(age)
      .default(10_000, "10s"),
    new Option("--quota <limits>", "limits of each actor, such as calls=600,bytes=100000000,sessions=20,verifiers=4")
      .env("PHASEGATE_QUOTA")
      .argParser(quotaOf),
  ];
}

const QUOTA = "Write some of calls=N, bytes=N, sessions=N, verifiers=N, joined by commas; N is a whole number above 0.";

/** Reads the limits: calls a minute, bytes an hour, sessions that are not ended, verifiers at once. */
function quotaOf(value: string): Quota {
  const given = new Map(value.split(",").map((part): [string, number] => [part.split("=")[0] ?? "", limitIn(part)]));
  const { calls, bytes, sessions, verifiers, ...unknown } = Object.fromEntries(given);
  if (Object.keys(unknown).length > 0) throw new InvalidArgumentError(QUOTA);
  return {
    ...(calls && { callsPerMinute: calls }),
    ...(bytes && { bytesPerHour: bytes }),
    ...(sessions && { sessions }),
    ...(verifiers && { verifiersAtOnce: verifiers }),
  };
}

function limitIn(part: string): number {
  const digits = /^[a-z]+=([1-9]\d{0,14})$/.exec(part)?.[1];
  if (digits !== undefined) return Number(digits);
  throw new InvalidArgumentError(QUOTA);
}

/** Reads `HOST:PORT`, with IPv6 addresses in brackets. */
function address(value: string): Address {
  const [, ipv6, name, digits] = /^(?:\[([0-9a-f:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/i.exec(value) ?? [];
  const [host, port] = [ipv6 ?? name, Number(digits)];
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new InvalidArgumentError("Write HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080; port 0 is any free one.");
}

function url(value: string): string {
  if (URL.canParse(value) && /^https?:/.test(value)) return value;
  throw new InvalidArgumentError("Write a URL, such as https://login.example.");
}

/** Checks for a host that only this machine can reach. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Throws if options are missing or have no effect. A variable may be set for other servers than this one. */
export function requireComplete(
  given: ListenOptions & { readonly http?: number },
  sourceOf: (option: string) => string | undefined,
): void {
  const { listen, tokens, oauthIssuer, oauthResource, quota, inspector, http } = given;
  const hasLogin = tokens !== undefined || oauthIssuer !== undefined;
  if (inspector === true && (listen === undefined || !hasLogin)) {
    throw usage(
      "--inspector without a port needs --listen and a login",
      "Give a port: --inspector 0 takes any free one.",
    );
  }
  if (listen === undefined) {
    const without = listenOptions().filter((option) => sourceOf(option.attributeName()) === "cli");
    if (without.length === 0) return;
    const flags = without.map(({ long }) => long).join(", ");
    throw usage(`without --listen there is no use for ${flags}`, `Give --listen HOST:PORT, or leave out ${flags}.`);
  }
  if (http !== undefined) throw usage("--listen and --http exclude each other", "Serve them from two processes.");
  if ((oauthIssuer === undefined) !== (oauthResource === undefined)) {
    throw usage("--oauth-issuer and --oauth-resource belong together", "Give both.");
  }
  if (!hasLogin && (quota?.sessions ?? quota?.verifiersAtOnce) !== undefined) {
    throw usage(
      "without a login the sessions have no owners to count them for",
      "Give --tokens, or leave these quotas out.",
    );
  }
  if (!hasLogin && !isLoopback(listen.host)) {
    throw usage(
      `without a login only this machine may reach the server, and ${listen.host} is more`,
      "Listen on 127.0.0.1, or give --tokens, or --oauth-issuer and --oauth-resource.",
    );
  }
}

function usage(message: string, hint: string): CommandFailure {
  return new CommandFailure(message, EXIT.usage, hint);
}
