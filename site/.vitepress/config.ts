/** The documentation as a site: `npm run site` builds it into site/dist. */
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type DefaultTheme, defineConfig, type MarkdownOptions } from "vitepress";
import { flowchartHtml } from "../drawings.ts";
import { addressOf, type Entry, excluded, fragmentOf, pageFiles, placeOf, ROOT, sections, siteLink } from "../pages.ts";

const manifest: { readonly description: string } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const contents = sections();
/** The icon of the inspector's page. */
const ICON = `data:image/svg+xml,${encodeURIComponent(readFileSync(join(ROOT, "src/inspector/page/icon.svg"), "utf8").trim())}`;
/** Where README has its pictures from, so that npm shows them. */
const PICTURES = "https://raw.githubusercontent.com/OWNER/phasegate/main/docs/images/";

export default defineConfig({
  title: "phasegate",
  description: manifest.description,
  lang: "en",
  head: [["link", { rel: "icon", type: "image/svg+xml", href: ICON }]],
  srcDir: "..",
  outDir: "dist",
  srcExclude: excluded(),
  rewrites: Object.fromEntries(pageFiles().map((file) => [file, placeOf(file)])),
  ignoreDeadLinks: false,
  // It would load every page that the sidebar names.
  router: { prefetchLinks: false },
  // The search index has all pages in one file.
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  markdown: {
    anchor: { slugify: fragmentOf },
    config: (md) => {
      rewriteLinks(md);
      keepBraces(md);
      drawFlowcharts(md);
    },
  },
  themeConfig: {
    logo: ICON,
    // A name is mostly looked for because of what one does with it.
    search: {
      provider: "local",
      options: {
        miniSearch: { searchOptions: { boostDocument: (page: string) => (page.includes("/api/") ? 0.2 : 1) } },
      },
    },
    outline: [2, 3],
    nav: contents.map(({ title, pages: [first] }) => ({
      text: title,
      link: first === undefined ? "/" : addressOf(first.file),
    })),
    sidebar: contents.map(({ title, pages }) => ({
      text: title,
      collapsed: false,
      items: pages.map(sidebarItem),
    })),
    socialLinks: [{ icon: "github", link: "https://github.com/OWNER/phasegate" }],
  },
  buildEnd: ({ outDir }) => {
    writeFileSync(join(outDir, "llms.txt"), llmsIndex());
    writeFileSync(join(outDir, "llms-full.txt"), llmsFull());
  },
});

function sidebarItem({ file, title, below }: Entry): DefaultTheme.SidebarItem {
  const item = { text: title, link: addressOf(file) };
  return below.length === 0 ? item : { ...item, collapsed: true, items: below.map(sidebarItem) };
}

type MarkdownIt = Parameters<NonNullable<MarkdownOptions["config"]>>[0];

/** Makes links to files of the repository links to their pages, before VitePress checks them. */
function rewriteLinks(md: MarkdownIt): void {
  md.core.ruler.push("links-to-files", ({ tokens, env }) => {
    // The search index is made without links.
    if (typeof env.realPath !== "string") return;
    const from = relative(ROOT, env.realPath).replaceAll("\\", "/");
    for (const token of tokens.flatMap((one) => [one, ...(one.children ?? [])])) {
      // The site asks no other server: README's pictures are in the repository.
      if (token.type.startsWith("html_")) token.content = token.content.replaceAll(PICTURES, "./docs/images/");
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (href !== null) token.attrSet("href", siteLink(from, href));
    }
  });
}

/** Keeps Vue from reading two braces in a text or in code as an expression. */
function keepBraces(md: MarkdownIt): void {
  for (const name of ["text", "code_inline"] as const) {
    const render = md.renderer.rules[name];
    if (render === undefined) throw new Error(`markdown-it renders no ${name}`);
    md.renderer.rules[name] = (...given) => render(...given).replaceAll("{{", "&#123;&#123;");
  }
}

function drawFlowcharts(md: MarkdownIt): void {
  const code = md.renderer.rules.fence;
  if (code === undefined) throw new Error("markdown-it renders no fence");
  md.renderer.rules.fence = (...given) => {
    const [tokens, index] = given;
    const fence = tokens[index];
    return fence?.info.trim() === "mermaid" ? flowchartHtml(fence.content) : code(...given);
  };
}

function withBelow(page: Entry): readonly Entry[] {
  return [page, ...page.below];
}

/** The pages, for models: https://llmstxt.org. */
function llmsIndex(): string {
  const lines = contents.flatMap(({ title, pages }) => [
    `\n## ${title}\n`,
    ...pages
      .flatMap(withBelow)
      .map((page) => `- [${page.title}](${addressOf(page.file)})${page.about === "" ? "" : `: ${page.about}`}`),
  ]);
  return `# phasegate\n\n> ${manifest.description}\n${lines.join("\n")}\n`;
}

/** All pages but the generated reference, in reading order. */
function llmsFull(): string {
  const files = contents
    .flatMap(({ pages }) => pages.flatMap(withBelow).map(({ file }) => file))
    .filter((file) => !file.includes("/api/"));
  return ["README.md", ...files].map((file) => readFileSync(join(ROOT, file), "utf8").trim()).join("\n\n---\n\n");
}
