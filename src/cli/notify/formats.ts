/** The body that each kind of receiver takes. Agents' words in it are text alone: no link, no mention, no markup. */
import type { Message } from "./messages.js";

export type Format = "json" | "slack" | "mattermost" | "discord" | "teams";

/** The whole message, as programs read it. */
export function jsonOf(message: Message): object {
  const { type, id, timestamp, data } = message;
  return { type, id, timestamp, text: withLink(message.text, message), data };
}

export const BODIES: Readonly<Record<Format, (message: Message) => object>> = {
  json: jsonOf,
  slack: (message) => ({ text: withLink(inSlack(message.text), message), mrkdwn: false }),
  mattermost: (message) => ({ text: withLink(inMarkdown(message.text), message) }),
  discord: (message) => ({ content: withLink(inMarkdown(message.text), message), allowed_mentions: { parse: [] } }),
  teams: (message) => ({
    type: "message",
    attachments: [
      { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content: cardOf(message) },
    ],
  }),
};

/** An adaptive card. Its runs of text know no Markdown, unlike its blocks of text. */
function cardOf({ text, data: { link } }: Message): object {
  return {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [{ type: "RichTextBlock", inlines: [{ type: "TextRun", text }] }],
    actions: link === undefined ? [] : [{ type: "Action.OpenUrl", title: "Open", url: link }],
  };
}

function withLink(text: string, { data: { link } }: Message): string {
  return link === undefined ? text : `${text} ${link}`;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** The characters with which links and mentions begin and end in Slack. */
function inSlack(text: string): string {
  return withoutLinks(text.replace(/[&<>]/g, (character) => ENTITIES[character] ?? ""));
}

/** Chats turn an address into a link. A blank of no width within the address prevents that. */
function withoutLinks(text: string): string {
  return text.replaceAll("://", ":\u200b//").replace(/\bwww\./gi, "$&\u200b");
}

/** A line can't begin a heading or a list. No escape keeps Mattermost from a mention, but a blank of no width does. */
function inMarkdown(text: string): string {
  return withoutLinks(text.replace(/[\\`*_[\]<>~|]/g, "\\$&").replaceAll("@", "@\u200b"));
}
