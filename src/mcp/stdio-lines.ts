import { Transform } from "node:stream";

const LINE_FEED = 10;

/**
 * Hands on whole lines. The SDK's buffer copies and searches all that it holds for each chunk of 64 KiB,
 * which for evidence of 10 MB takes a second; put together here, a message costs its length once. A line
 * over `maxBytes` is handed on as it is, for the SDK to refuse.
 */
export function createStdioLines(maxBytes: number): Transform {
  let parts: Buffer[] = [];
  let held = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const whole = held + chunk.length > maxBytes ? chunk.length : chunk.lastIndexOf(LINE_FEED) + 1;
      if (whole > 0) {
        this.push(Buffer.concat([...parts, chunk.subarray(0, whole)]));
        parts = [];
        held = 0;
      }
      parts.push(chunk.subarray(whole));
      held += chunk.length - whole;
      done();
    },
  });
}
