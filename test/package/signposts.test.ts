import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { fromMarkdown } from "mdast-util-from-markdown";
import { toString as textOf } from "mdast-util-to-string";
import { describe, expect, it } from "vitest";
import { addressOf, fragmentOf, pageFiles, sections, siteLink } from "../../site/pages.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const REPOSITORY = "https://github.com/OWNER/phasegate/blob/main/";
// The pages of docs/api are typedoc's, and only there once it has run.
const PAGES = ["CONTRIBUTING.md", ...pageFiles().filter((page) => !page.startsWith("docs/api/"))];

type Node = ReturnType<typeof fromMarkdown> | ReturnType<typeof fromMarkdown>["children"][number];

/** Returns a node with all nodes in it. */
function nodesIn(node: Node): Node[] {
  return "children" in node ? [node, ...node.children.flatMap((child) => nodesIn(child))] : [node];
}

const nodesOf = (text: string) => nodesIn(fromMarkdown(text));

const fragments = new Map<string, string[]>();

/** Returns the fragments that GitHub gives the headings of a page. */
function fragmentsOf(page: string): string[] {
  const known = fragments.get(page);
  if (known !== undefined) return known;
  const headings = nodesOf(read(page)).filter(({ type }) => type === "heading");
  const found = headings.map((heading) => fragmentOf(textOf(heading)));
  fragments.set(page, found);
  return found;
}

/** Returns the link in a page that leads to nothing as `page: url`. */
function brokenLink(page: string, url: string): string[] {
  const own = url.replace(REPOSITORY, "/");
  if (/^[a-z]+:/.test(own)) return [];
  const [path = "", fragment] = own.split("#");
  const file = path === "" ? page : path.startsWith("/") ? path.slice(1) : posix.join(dirname(page), path);
  const isFound = existsSync(join(ROOT, file)) && (fragment === undefined || fragmentsOf(file).includes(fragment));
  return isFound ? [] : [`${page}: ${url}`];
}

/** Returns the source files that a text names, as paths or by their names. */
const filesNamedIn = (text: string) => text.match(/[\w.-]+(?:\/[\w.-]+)*\.ts\b/g) ?? [];

describe("signposts", () => {
  it("are links that lead to a file or a heading", () => {
    const links = PAGES.flatMap((page) =>
      nodesOf(read(page)).flatMap((node) => (node.type === "link" ? [[page, node.url] as const] : [])),
    );
    expect(links.length).toBeGreaterThan(200);
    expect(links.flatMap(([page, url]) => brokenLink(page, url))).toEqual([]);
  });

  it("are in docs/README.md for every page, which the site's sidebar is made from", () => {
    const listed = sections().flatMap(({ pages }) => pages.flatMap((page) => [page, ...page.below]));
    expect(sections().map(({ title }) => title)).toEqual(["Start", "Guides", "Reference", "Design"]);
    // The first two lead to the others.
    const [home, readme, ...others] = pageFiles().filter(
      // The page of an entry point lists those of its names.
      (page) => page !== "docs/README.md" && !/^docs\/api\/[^/]+\/.+\//.test(page),
    );
    expect([home, readme]).toEqual(["site/home.md", "README.md"]);
    expect(listed.map(({ file }) => file).sort()).toEqual(others.sort());
    const starters = sections().flatMap(({ pages }) => pages.filter(({ below }) => below.length > 0));
    expect(starters.map(({ title }) => title)).toEqual(["Starters"]);
  });

  it("lead to a page of the site, or to a file on GitHub", () => {
    expect(addressOf("site/home.md")).toBe("/");
    expect(addressOf("README.md")).toBe("/overview.html");
    expect(addressOf("docs/api/index/README.md")).toBe("/api/index/");
    expect(addressOf("docs/starters/README.md")).toBe("/starters/");
    expect(addressOf("docs/README.md")).toBe("/contents.html");
    expect(siteLink("docs/hosts.md", "running.md#limits")).toBe("/running.html#limits");
    expect(siteLink("docs/design/log.md", "../../ARCHITECTURE.md")).toBe("/architecture.html");
    expect(siteLink("README.md", `${REPOSITORY}docs/gates.md`)).toBe("/gates.html");
    expect(siteLink("docs/hosts.md", "../examples/mcp-host.ts")).toBe(`${REPOSITORY}examples/mcp-host.ts`);
    expect(siteLink("docs/hosts.md", "#imports")).toBe("#imports");
    expect(siteLink("docs/hosts.md", "https://example.org/a.md")).toBe("https://example.org/a.md");
    expect(() => siteLink("docs/hosts.md", "gone.md")).toThrow("docs/hosts.md: the link gone.md leads to no file");
  });

  it("are files that ARCHITECTURE.md names, and that exist", () => {
    const named = filesNamedIn(read("ARCHITECTURE.md")).filter((path) => path.includes("/"));
    expect(named.length).toBeGreaterThan(10);
    const isFound = (path: string) => ["src", "."].some((folder) => existsSync(join(ROOT, folder, path)));
    expect(named.filter((path) => !isFound(path))).toEqual([]);
  });

  it("are files that the comment of a folder's entry file names, and that exist", () => {
    const sources = globSync("src/**/*.ts", { cwd: ROOT }).map((file) => file.replaceAll("\\", "/"));
    const entries = sources.flatMap((file) => {
      const [comment = ""] = /^\/\*\*.*?\*\//s.exec(read(file)) ?? [];
      return comment.includes("entry file of") ? [{ file, comment }] : [];
    });
    expect(entries.length).toBeGreaterThan(25);
    const missing = entries.flatMap(({ file, comment }) => {
      const near = sources.filter((source) => source.startsWith(`${dirname(file)}/`)).map((source) => basename(source));
      const isFound = (name: string) =>
        near.includes(basename(name)) || sources.includes(`src/${name.replace(/^(\.\.\/)+/, "")}`);
      return filesNamedIn(comment)
        .filter((name) => !isFound(name))
        .map((name) => `${file}: ${name}`);
    });
    expect(missing).toEqual([]);
  });
});
