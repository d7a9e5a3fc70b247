import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { withoutFolders } from "../../src/sandbox/refusals.js";

const ROOT = "/home/andr\u00e9 o'brien/a%20b (1)&c/proj";

describe("withoutFolders", () => {
  const hide = withoutFolders([ROOT]);
  const nfd = ROOT.normalize("NFD");
  const json = (text: string) => JSON.stringify(text).slice(1, -1);
  const ascii = (text: string) =>
    json(text).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const octal = (text: string) =>
    [...Buffer.from(text)].map((byte) => (byte < 128 ? String.fromCharCode(byte) : `\\${byte.toString(8)}`)).join("");

  it.each<[string, (path: string) => string]>([
    ["as it is", (path) => path],
    ["as a URI", (path) => pathToFileURL(path).href],
    ["as a URI with small letters", (path) => pathToFileURL(path).href.replace(/%../g, (code) => code.toLowerCase())],
    ["as a URI with one slash", (path) => pathToFileURL(path).href.replace("file://", "file:")],
    ["as a URI with a host", (path) => pathToFileURL(path).href.replace("file://", "file://localhost")],
    ["encoded", (path) => encodeURI(path)],
    ["encoded with its slashes", (path) => encodeURIComponent(path)],
    ["encoded twice", (path) => encodeURIComponent(encodeURIComponent(path))],
    ["in JSON", json],
    ["in JSON with its slashes escaped", (path) => json(path).replaceAll("/", "\\/")],
    ["in JSON in JSON", (path) => json(json(path).replaceAll("/", "\\/"))],
    ["in JSON without other letters than those of ASCII", ascii],
    ["for a shell", (path) => path.replace(/[^\w/]/g, (char) => (char < "\u0080" ? `\\${char}` : char))],
    ["as git quotes it", octal],
    ["with backslashes", (path) => path.replaceAll("/", "\\")],
    ["with double backslashes", (path) => path.replaceAll("/", "\\\\")],
    ["with double slashes", (path) => path.replaceAll("/", "//")],
    ["in XML", (path) => path.replaceAll("&", "&amp;").replaceAll("'", "&apos;").replaceAll("\u00e9", "&#233;")],
    ["in capitals", (path) => path.toUpperCase()],
    ["without letters that an encoding lacks", (path) => path.replace(/[^ -~]/gu, "?")],
    ["in an encoding that was misread", (path) => path.replaceAll("\u00e9", "\ufffd")],
  ])("removes a path that is written %s", (_, write) => {
    for (const root of [ROOT, nfd]) {
      const text = `at (${write(`${root}/x.js`)}:1:2) in ${write(root)}, ${write(root)}`;
      const hidden = hide(text).replaceAll("%25", "%");
      expect(hidden.toLowerCase(), text).toMatch(/^at \(x(?:\.|\\\.)js:1:2\) in \., \.$/);
    }
  });

  it("removes several folders, the longest first, and paths behind links of macOS", () => {
    const several = withoutFolders(["/tmp/a", "/tmp/a/b", "/private/var/x"]);
    expect(several("/tmp/a/b/c /tmp/a/c /private/tmp/a/c /var/x/y /private/var/x/y")).toBe("c c c y y");
  });

  it("removes folders on Windows, with any case of the drive", () => {
    const windows = withoutFolders(["C:\\Users\\Andr\u00e9 B\\p"]);
    for (const [text, shown] of [
      ["C:\\Users\\Andr\u00e9 B\\p\\src\\x", "src\\x"],
      ["c:\\users\\Andr\u00e9 B\\p", "."],
      ["c:/Users/Andr\u00e9 B/p/x", "x"],
      ["file:///c:/Users/Andr%C3%A9%20B/p/x", "x"],
      ["file:///C%3A/Users/Andr%C3%A9%20B/p/x", "x"],
      ["/c/Users/Andr\u00e9 B/p/x", "x"],
      ['"C:\\\\Users\\\\Andr\u00e9 B\\\\p\\\\x"', '"x"'],
      ["\\\\?\\C:\\Users\\Andr\u00e9 B\\p\\x", "x"],
      ["D:\\Users", "D:\\Users"],
    ] as const) {
      expect(windows(text)).toBe(shown);
    }
  });

  it("removes folders whose names have other special characters", () => {
    const name = '/home/<a> "b"/\u{1f339}';
    const hidden = withoutFolders([name]);
    const bytes = [...Buffer.from("\u{1f339}")];
    for (const written of [
      "/home/&lt;a&gt; &quot;b&quot;/\u{1f339}",
      '/home/<a> "b"/\\u{1f339}',
      '/home/<a> "b"/\\ud83c\\udf39',
      `/home/<a> "b"/${bytes.map((byte) => `\\x${byte.toString(16)}`).join("")}`,
      '/home/\\074a\\076\\040"b"/\u{1f339}',
      '/home/<a> "b"/????',
    ]) {
      expect(hidden(`at ${written}/x.js`), written).toBe("at x.js");
    }
  });

  it("knows the folders of macOS by both names, and leaves others of that name", () => {
    for (const folder of ["/tmp", "/private/tmp"]) {
      expect(withoutFolders([folder])("/private/tmp/x /tmp/x")).toBe("x x");
    }
    expect(withoutFolders(["/a/private/tmp"])("/a/private/tmp/x")).toBe("x");
  });

  it("knows a whole drive, and no folder without a name", () => {
    expect(withoutFolders(["C:"])("C:\\x")).toBe("x");
    expect(withoutFolders(["/a/c:"])("/a/c:/x")).toBe("x");
    expect(withoutFolders(["", "/app"])(`${process.cwd()}/x /app/y`)).toBe(`${process.cwd()}/x y`);
  });

  it("keeps other texts unchanged", () => {
    for (const text of ["", "/home/other", "see file:///etc/hosts", "100%", "\\\\\\", "\u00e9"])
      expect(hide(text)).toBe(text);
    // A question mark stands for a letter that an encoding lacks, and each has those of ASCII.
    expect(hide(ROOT.replaceAll("'", "?"))).toBe(ROOT.replaceAll("'", "?"));
    expect(withoutFolders(["/app"])("at src/app/x, /app/y, (/app)")).toBe("at src/app/x, y, (.)");
    expect(withoutFolders(["/"])("/a/b")).toBe("/a/b");
    expect(withoutFolders([])("/a/b")).toBe("/a/b");
  });

  it("needs linear time for texts that are made to be slow", () => {
    const long = 2 ** 20;
    for (const part of ["\\", "/", "file:///", "%25", "?", "\\u002f", "file:%2f"]) {
      expect(hide(part.repeat(long / part.length))).toHaveLength(Math.floor(long / part.length) * part.length);
    }
  });
});
