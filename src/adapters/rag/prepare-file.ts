import { createHash } from "node:crypto";
import { FILE_MAX, withoutMark } from "../../definition/folder/workflow-files.js";
import type { PreparedFile } from "./chunk-index.js";
import { chunkMarkdown } from "./chunk-markdown.js";
import type { FilePlace } from "./file-places.js";
import { type FrontMatter, readFrontMatter } from "./front-matter.js";
import type { FileRecord } from "./index-format.js";
import { sectionTags } from "./section-tags.js";
import { SETTLED, type SourceFile } from "./source-files.js";

/** What is to be done with a file: nothing but to note that it was touched, or to put it in anew. */
export type FileChange = { readonly touched: string } | { readonly prepared: PreparedFile };

/** A file as one of the texts that it is. */
export interface SourcePart {
  readonly key: string;
  readonly file: SourceFile;
  readonly place: FilePlace;
}

/** The texts that a file is, each with a key of its own. */
export function partsOf(file: SourceFile): readonly SourcePart[] {
  return file.places.map((place, index) => ({ key: index === 0 ? file.path : `${file.path}?${index}`, file, place }));
}

/**
 * What has changed of a file since its record was made; undefined if nothing has. It is read only if its
 * signature is another one, and cut only if its text is. Throws as the wall does.
 */
export async function changeOf(
  { key, file, place }: SourcePart,
  known: FileRecord | undefined,
  maxTokens: number,
): Promise<FileChange | undefined> {
  const moved = known === undefined || JSON.stringify(known.place) !== JSON.stringify(place);
  if (!moved && known.signature === file.signature.key) return undefined;
  const readAt = Date.now();
  const { text, signature } = await file.wall.read(file.path, { maxBytes: FILE_MAX });
  // What was changed just before it was read may change again within what its times tell apart.
  const settled = signature.changedAt < readAt - SETTLED ? signature.key : "";
  const hash = createHash("sha256").update(text).digest("base64url");
  if (!moved && known.hash === hash) return known.signature === settled ? undefined : { touched: settled };
  const plain = withoutMark(text);
  const front = await readFrontMatter(plain);
  const chunks = chunkMarkdown(plain, { maxTokens, frontLines: front.lines });
  return {
    prepared: {
      key,
      record: {
        path: file.path,
        signature: settled,
        hash,
        place: { ...place, tags: [...place.tags] },
        chunks: chunks.map(({ headings, inner, lines }) => ({
          ...wholePlace(place, front, [...headings, ...inner]),
          headings: [...headings],
          lines: [...lines],
        })),
      },
      texts: chunks.map(({ text: part }) => part),
      inner: chunks.map(({ inner }) => inner),
    },
  };
}

/** What place, front matter and headings say together. Where a file lies goes before what it says of itself. */
function wholePlace(place: FilePlace, front: FrontMatter, headings: readonly string[]) {
  const workflow = place.workflow ?? front.workflow;
  const { phase, task } = place.phase === undefined ? front : place;
  return {
    ...(workflow === undefined ? {} : { workflow }),
    ...(phase === undefined ? {} : { phase }),
    ...(task === undefined ? {} : { task }),
    tags: [...new Set([...place.tags, ...front.tags, ...sectionTags(headings)])],
  };
}
