/** The options of `serve --listen`, by which MCP is served over HTTP, and which of them must be given together. */
import { InvalidArgumentError, Option } from "commander";
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
}

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
  ];
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

/** Throws if options are missing or have no effect. */
export function requireComplete(given: ListenOptions & { readonly http?: number }): void {
  const { listen, tokens, oauthIssuer, oauthResource, hostName, allowOrigin, http } = given;
  const hasLogin = tokens !== undefined || oauthIssuer !== undefined;
  if (listen === undefined) {
    if (!hasLogin && oauthResource === undefined && hostName === undefined && allowOrigin === undefined) return;
    throw usage("these options need --listen", "Give --listen HOST:PORT, or leave out the login, hosts and origins.");
  }
  if (http !== undefined) throw usage("--listen and --http exclude each other", "Serve them from two processes.");
  if ((oauthIssuer === undefined) !== (oauthResource === undefined)) {
    throw usage("--oauth-issuer and --oauth-resource belong together", "Give both.");
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
