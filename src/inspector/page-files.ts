/** The files of the built page. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";

const TYPES: Readonly<Record<string, string>> = {
  "page.js": "text/javascript; charset=utf-8",
  "page.css": "text/css; charset=utf-8",
  "plots.js": "text/javascript; charset=utf-8",
  "icon.svg": "image/svg+xml",
};

interface PageFile {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** In the package the page lies next to this code; where that is run from the sources, in the build. */
const FOLDERS = [new URL("./page/", import.meta.url), new URL("../../dist/page/", import.meta.url)];
const FOLDER = FOLDERS.find((folder) => existsSync(new URL("page.js", folder)));

/** Returns a file of the page; for every other path without a dot the page itself, which finds its view by the URL. */
export async function pageFile(path: string, base: string): Promise<PageFile | undefined> {
  const name = path === "" || !path.includes(".") ? "index.html" : path;
  if (name === "index.html") {
    const html = (await textOf(name)).replaceAll('"./', `"${base}/`);
    return { body: html, headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" } };
  }
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
  if (type === undefined) return undefined;
  return { body: await textOf(name), headers: { "content-type": type, "cache-control": "no-cache" } };
}

function textOf(name: string): Promise<string> {
  if (FOLDER === undefined) throw new Error("the page is not built: run `npm run build`");
  return readFile(new URL(name, FOLDER), "utf8");
}
