/** Who is told, from the options and the environment of `serve`. What is wrong with them is said at the start. */
import { isSecureUrl } from "../../login/request.js";
import { usage } from "../exit-codes.js";
import type { Environment } from "../products.js";
import type { GivenOptions } from "../serve-options.js";
import { commandReceiver } from "./command-receiver.js";
import { BODIES, type Format } from "./formats.js";
import type { Receiver } from "./outbox.js";
import { webhook } from "./webhook.js";

export type NotifyOptions = Pick<GivenOptions, "notify" | "notifyCommand">;

/** The servers of chats. Those of Power Automate also have other flows, for which #json is given. */
const CHATS: readonly (readonly [RegExp, Format])[] = [
  [/^hooks\.slack(?:-gov)?\.com$/, "slack"],
  [/^(?:\w+\.)?discord(?:app)?\.com$/, "discord"],
  [/\.(?:webhook\.office|logic\.azure|api\.powerplatform)\.com$/, "teams"],
];

/** Returns the receivers. Throws for an address, a secret or a command that can't be used. */
export async function openReceivers(
  { notify = [], notifyCommand }: NotifyOptions,
  env: Environment,
): Promise<Receiver[]> {
  const keys = keysIn(env[SECRET] ?? "");
  const addresses = notify.map((text, index) => webhookAt(text, `address ${index + 1} of --notify`, keys));
  return notifyCommand === undefined ? addresses : [...addresses, await commandReceiver(notifyCommand)];
}

/** Messages name the server of an address alone: with its path, whoever reads the log could post to a chat. */
function webhookAt(text: string, which: string, keys: readonly Uint8Array[]): Receiver {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw usage(`${which} is not a URL`, "Write one as https://example.com/hooks/1, several with blanks between them.");
  }
  const { host, hostname, username, password } = url;
  if (username !== "" || password !== "") {
    throw usage(`${which}, at ${host}, has a user name or a password`, "Leave them out: requests are signed.");
  }
  if (!isSecureUrl(url)) {
    const hint = "Use https:, or http: for 127.0.0.1 and localhost; or give --notify-command a program that sends it.";
    throw usage(`${which} would be sent to ${host} without TLS`, hint);
  }
  const format = formatOf(url.hash.slice(1), hostname);
  if (format === undefined) {
    const hint = `Write one of ${Object.keys(BODIES)
      .map((one) => `#${one}`)
      .join(", ")}, or nothing for json.`;
    // It may be a secret: it is not repeated.
    throw usage(`${which}, at ${host}, ends with # and no format`, hint);
  }
  if (format !== "json") return webhook({ url, format, keys: [] });
  if (keys.length > 0) return webhook({ url, format, keys });
  throw usage(`${SECRET} is not set, with which requests to ${host} are signed`, HOW);
}

function formatOf(given: string, hostname: string): Format | undefined {
  if (given === "") return CHATS.find(([name]) => name.test(hostname))?.[1] ?? "json";
  return isFormat(given) ? given : undefined;
}

function isFormat(name: string): name is Format {
  return Object.hasOwn(BODIES, name);
}

const SECRET = "PHASEGATE_NOTIFY_SECRET";
const HOW = `Set it to whsec_ and 24 to 64 random bytes in base64, such as: echo "whsec_$(openssl rand -base64 32)"`;

/** Reads the secrets. There are two while receivers change from one to the other. */
function keysIn(secrets: string): Uint8Array[] {
  const words = secrets.split(/\s+/).filter((word) => word !== "");
  return words.map((word) => {
    const [, text = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(word) ?? [];
    const key = Buffer.from(text, "base64");
    if (key.length >= 24 && key.length <= 64) return key;
    throw usage(`${SECRET} is not a secret of Standard Webhooks`, HOW);
  });
}
