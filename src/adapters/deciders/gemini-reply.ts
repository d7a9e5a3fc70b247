import type { GenerateContentResponse } from "@google/genai";
import type { ModelReply } from "./model-client.js";
import { RequestFailure } from "./request-failure.js";

/** Why Gemini ends an answer that it would rather not give. */
const BLOCKED: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "MODEL_ARMOR",
]);

/** Takes what counts out of Gemini's answer. Throws a `RequestFailure` where it was blocked. */
export function readGeminiResponse(response: GenerateContentResponse): ModelReply {
  const { promptFeedback, candidates, usageMetadata, modelVersion } = response;
  const [candidate] = candidates ?? [];
  const blocked = promptFeedback?.blockReason ?? blockedBy(candidate?.finishReason);
  // Not response.text: it writes warnings to the console, which over stdio is somebody's protocol.
  const parts = candidate?.content?.parts ?? [];
  const text = parts.map(({ text: part, thought }) => (thought ? "" : (part ?? ""))).join("");
  if (blocked !== undefined)
    throw new RequestFailure("safety", { code: blocked, ...(text === "" ? {} : { says: text }) });
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount } = usageMetadata ?? {};
  return {
    text,
    model: modelVersion,
    inputTokens: promptTokenCount,
    // Thoughts are paid for as output.
    outputTokens: added(candidatesTokenCount, thoughtsTokenCount),
  };
}

function blockedBy(finishReason: string | undefined): string | undefined {
  return finishReason !== undefined && BLOCKED.has(finishReason) ? finishReason : undefined;
}

function added(...counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}
