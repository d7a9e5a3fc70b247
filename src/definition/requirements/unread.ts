/** What a text may ask for in places that aren't looked at. */
import type { RootContent } from "mdast";
import { lookedAt, type Section } from "../markdown/markdown-blocks.js";
import { type Finding, unclear } from "./requirement.js";
import { isTooLong, type NumberedLine } from "./sentences.js";

const ASKING = /\bmust provide\b|\brequired\s*:|\[[ xX]\]\s/i;

/** Warnings of requirements in HTML, in code by indentation, and in texts that are too long or nested too deeply. */
export function unreadFindings(text: string, sections: readonly Section[]): Finding[] {
  const end = lookedAt(text);
  const found = unreadBlocks(sections, text);
  if (!ASKING.test(text.slice(end))) return found;
  const line = text.slice(0, end).split(/\r\n?|\n/).length;
  const why =
    end === 0
      ? "lists and quotations are nested too deeply here, or there are too many lines"
      : "the text is longer than what is looked at";
  return [
    ...found,
    unclear({ line, column: 1 }, `${why}: what it asks for isn't read`, "Write a gate file for this phase."),
  ];
}

/** A warning where a paragraph or an item asks, and is too long to be read. */
export function longFindings(lines: readonly NumberedLine[]): Finding[] {
  const [first] = lines;
  if (first === undefined || !isTooLong(lines) || !lines.some(({ text }) => ASKING.test(text))) return [];
  return [
    unclear(
      first,
      "this is too long to be read for what it asks",
      "Break it up: one requirement in each item of a list.",
    ),
  ];
}

function unreadBlocks(sections: readonly Section[], text: string): Finding[] {
  return sections.flatMap(({ blocks }) => blocks.flatMap((block) => unreadBlock(block, text)));
}

function unreadBlock(block: RootContent, text: string): Finding[] {
  const { start } = block.position ?? {};
  if (start === undefined) return [];
  if (
    block.type === "html" &&
    /<(?:li|td|input)\b|\bmust provide\b|\brequired\s*:/i.test(block.value.replace(/<!--[\s\S]*?(?:-->|$)/g, ""))
  ) {
    return [unclear(start, "HTML is not read: what it asks for doesn't count", "Write it as Markdown.")];
  }
  const isFenced = block.type === "code" && /^\s*(?:`{3}|~{3})/.test(text.slice(start.offset, (start.offset ?? 0) + 8));
  if (block.type === "code" && !isFenced && ASKING.test(block.value)) {
    const message = "this is indented by four, so Markdown takes it for code, and it isn't read";
    return [unclear(start, message, "Indent it by less, if it asks for something.")];
  }
  return "children" in block ? block.children.flatMap((child) => unreadBlock(child, text)) : [];
}
