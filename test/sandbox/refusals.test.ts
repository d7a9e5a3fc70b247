import { expect, it } from "vitest";
import {
  claimBlocked,
  fileFailure,
  isMissing,
  notFound,
  notText,
  pathRefused,
  severalNames,
  tooLarge,
  unreadable,
  unwritable,
} from "../../src/sandbox/refusals.js";

const full = Object.assign(new Error("no space left on /home/ann"), { code: "ENOSPC" });

it.each([
  [pathRefused("a", "it is a link"), 'the path "a" is refused: it is a link', { reason: "it is a link" }],
  [notFound("a"), 'there is no "a"', { file: "a" }],
  [tooLarge("a", 20, 10), '"a" is larger than 10 bytes', { file: "a", bytes: 20, limit: 10 }],
  [notText("a"), '"a" is not UTF-8 text', { field: "a", expected: "UTF-8 text" }],
  [unreadable("a", full), '"a" can\'t be read (ENOSPC)', { operation: "read", cause: "ENOSPC" }],
  [unwritable("a", new Error("?")), '"a" can\'t be replaced (unknown)', { operation: "replace", cause: "unknown" }],
  [
    severalNames("a"),
    '"a" can\'t be replaced: it has several names (hard links)',
    { operation: "replace", cause: "it has several names (hard links)" },
  ],
  [
    claimBlocked("a.claim", "it is a folder"),
    'the file can\'t be replaced: "a.claim" next to it blocks the write: it is a folder',
    { operation: "replace", cause: '"a.claim" next to it blocks the write: it is a folder' },
  ],
])("%s", (error, message, details) => {
  expect(error.message).toBe(message);
  expect(error.details).toEqual(details);
  expect(error.remedy).not.toBe("");
});

it("a path is missing if its name or a folder above it is", () => {
  const withCode = (code: string) => Object.assign(new Error(code), { code });
  expect(["ENOENT", "ENOTDIR", "EACCES"].map((code) => isMissing(withCode(code)))).toEqual([true, true, false]);
});

it("a file that has gone is not found, and any other failure is what the caller makes of it", () => {
  const gone = Object.assign(new Error("/secret/a"), { code: "ENOENT" });
  expect(fileFailure("a", gone, unreadable).code).toBe("FILE_NOT_FOUND");
  const full = Object.assign(new Error("/secret/a"), { code: "ENOSPC" });
  expect(fileFailure("a", full, unwritable)).toMatchObject({ code: "STORAGE_FAILED", details: { cause: "ENOSPC" } });
});
