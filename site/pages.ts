/**
 * The pages of the site: which files of the repository they are, where each is found, and what links between them become.
 * docs/README.md is the one list of pages; the sidebar and llms.txt are made from it.
 */
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

const REPOSITORY = "https://github.com/OWNER/phasegate/blob/main/";
const INDEX = "docs/README.md";
/** Pages that are not in docs/, and those that have another name on the site, by their files. */
const RENAMED: Readonly<Record<string, string>> = {
  "site/home.md": "index.md",
  "README.md": "overview.md",
  "ARCHITECTURE.md": "architecture.md",
  "CHANGELOG.md": "changelog.md",
  [INDEX]: "contents.md",
};

/** A page as docs/README.md lists it. */
export interface Entry {
  /** Its file, from the root of the repository. */
  readonly file: string;
  /** Its first heading. */
  readonly title: string;
  /** What docs/README.md says about it, in Markdown; `""` if it says nothing. */
  readonly about: string;
  /** The other pages of its folder, if it stands for all of them. */
  readonly below: readonly Entry[];
}

/** Pages under one heading of docs/README.md. */
export interface Section {
  readonly title: string;
  readonly pages: readonly Entry[];
}

/** Returns the files that are pages, from the root of the repository. */
export function pageFiles(): readonly string[] {
  files ??= findPages();
  return files;
}

/** Each link asks for them. */
let files: readonly string[] | undefined;

function findPages(): readonly string[] {
  const docs = globSync("docs/**/*.md", { cwd: ROOT }).map((file) => file.replaceAll("\\", "/"));
  // The list of entry points that typedoc writes: docs/README.md has the same list.
  const pages = docs.filter((file) => file !== "docs/api/README.md").sort();
  return [...Object.keys(RENAMED).filter((file) => file !== INDEX), ...pages];
}

/** Returns the folders and files of the repository's root that have no pages, as patterns for VitePress. */
export function excluded(): string[] {
  const inRoot = readdirSync(ROOT, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return ["docs", "site"].includes(entry.name) ? [] : [`${entry.name}/**`];
    return entry.name.endsWith(".md") && !Object.hasOwn(RENAMED, entry.name) ? [entry.name] : [];
  });
  return [...inRoot, "site/dist/**", "docs/api/README.md"];
}

/** Returns where on the site a file's page is: `hosts.md` for docs/hosts.md. A folder's README.md is its first page. */
export function placeOf(file: string): string {
  return RENAMED[file] ?? file.replace(/^docs\//, "").replace(/(?<=\/)README\.md$/, "index.md");
}

/** Returns the address of a file's page from the site's root: `/hosts.html`. */
export function addressOf(file: string): string {
  return `/${placeOf(file)
    .replace(/(^|\/)index\.md$/, "$1")
    .replace(/\.md$/, ".html")}`;
}

/**
 * Returns what a link in a file of the repository is on the site: the address of a page, or that of the file on GitHub.
 * Links that the repository's files do not lead to are returned as they are.
 */
export function siteLink(from: string, href: string): string {
  const own = href.startsWith(REPOSITORY) ? `/${href.slice(REPOSITORY.length)}` : href;
  if (own.startsWith("#") || /^[a-z]+:/i.test(own)) return href;
  const [path = "", fragment] = own.split("#");
  const file = path.startsWith("/") ? path.slice(1) : posix.join(posix.dirname(from), path);
  const isPage = pageFiles().includes(file);
  if (!isPage && !existsSync(join(ROOT, file))) throw new Error(`${from}: the link ${href} leads to no file`);
  const address = isPage ? addressOf(file) : REPOSITORY + file;
  return fragment === undefined ? address : `${address}#${fragment}`;
}

/** Returns the fragment that GitHub gives a heading, so that links work there and here. */
export function fragmentOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

/** The page of an entry point. The pages of its names are reached from it. */
const ENTRY_POINT = /^docs\/api\/[^/]+\/README\.md$/;

/** Returns the pages that docs/README.md lists, by its headings; those of the entry points are in "Reference". */
export function sections(): Section[] {
  const [, ...parts] = readFileSync(join(ROOT, INDEX), "utf8").split(/^## /m);
  return parts.map((part) => {
    const title = part.slice(0, part.indexOf("\n"));
    const generated = pageFiles().filter((file) => title === "Reference" && ENTRY_POINT.test(file));
    return { title, pages: [...listedIn(part), ...generated.map(entryOf)] };
  });
}

/** An item of a list, or a row of a table, that begins with a link to a page. */
const ITEM = /^(?:- |\| )\[[^\]]*\]\((?<link>[^)#]+\.md)\)(?: \| |:\s+)?(?<about>[^|\n]*)/gm;

function listedIn(part: string): Entry[] {
  return [...part.matchAll(ITEM)].map(({ groups: { link = "", about = "" } = {} }) => {
    const file = posix.join(posix.dirname(INDEX), link);
    // The README.md of a folder stands for all its pages.
    const folder = /^docs\/.+\/README\.md$/.test(file) ? posix.dirname(file) : undefined;
    const others = pageFiles().filter((other) => other !== file && posix.dirname(other) === folder);
    return { file, title: titleOf(file), about: about.trim(), below: others.map(entryOf) };
  });
}

/** Returns a page that docs/README.md does not describe itself. */
function entryOf(file: string): Entry {
  return { file, title: titleOf(file), about: "", below: [] };
}

function titleOf(file: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(ROOT, file), "utf8")) ?? [];
  if (title === undefined) throw new Error(`${file} has no heading`);
  return title.replaceAll("`", "").replaceAll("\\", "");
}
