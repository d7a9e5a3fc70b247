import { expect, it } from "vitest";
import { BODIES } from "../../../src/cli/notify/formats.js";
import { aMessage } from "./receiving.js";

const LINK = "https://gates.example.com/inspector/sessions/s_1?answer=abc";

const asked = aMessage({
  text: "Waiver of a_b asked: <!channel> @everyone [Approve](https://evil.example) <https://evil.example|here> **now**",
  data: { kind: "phased", sessionId: "s_1", link: LINK },
});

it("a program gets the members of Standard Webhooks, with an id and a line for people", () => {
  const message = aMessage({ data: { kind: "phased", sessionId: "s_1", phase: 2, link: LINK } });
  expect(BODIES.json(message)).toEqual({
    ...{ type: "session.failed", id: "msg_1", timestamp: "2026-03-04T05:06:07.000Z", text: `Session failed ${LINK}` },
    data: { kind: "phased", sessionId: "s_1", phase: 2, link: LINK },
  });
});

it("in Slack an agent's words are no link and no mention", () => {
  const text = `Waiver of a_b asked: &lt;!channel&gt; @everyone [Approve](https:\u200b//evil.example) &lt;https:\u200b//evil.example|here&gt; **now** ${LINK}`;
  expect(BODIES.slack(asked)).toEqual({ text, mrkdwn: false });
});

it("in Mattermost and Discord an agent's words are no link, no mention and no markup", () => {
  const text = `Waiver of a\\_b asked: \\<!channel\\> @\u200beveryone \\[Approve\\](https:\u200b//evil.example) \\<https:\u200b//evil.example\\|here\\> \\*\\*now\\*\\* ${LINK}`;
  expect(BODIES.mattermost(asked)).toEqual({ text });
  expect(BODIES.discord(asked)).toEqual({ content: text, allowed_mentions: { parse: [] } });
});

it("in Teams it is an adaptive card, whose words have no markup, and the link a button", () => {
  expect(BODIES.teams(asked)).toMatchObject({
    type: "message",
    attachments: [
      {
        contentType: "application/vnd.microsoft.card.adaptive",
        content: {
          type: "AdaptiveCard",
          body: [{ type: "RichTextBlock", inlines: [{ type: "TextRun", text: asked.text }] }],
          actions: [{ type: "Action.OpenUrl", url: LINK }],
        },
      },
    ],
  });
  expect(BODIES.teams(aMessage())).toMatchObject({ attachments: [{ content: { actions: [] } }] });
});
