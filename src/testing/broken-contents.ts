import { isPhasegateError } from "../errors.js";
import type { ContentProvider } from "../ports/content-provider.js";

/** The ways in which {@link brokenContent} breaks a provider. */
export const BROKEN_CONTENTS = [
  "any-revision",
  "empty-texts",
  "hidden-errors",
  "listed-twice",
  "restless-revisions",
  "swallowed-error",
] as const;
/** One of them. */
export type BrokenContent = (typeof BROKEN_CONTENTS)[number];

type Replace = (inner: ContentProvider) => Partial<ContentProvider>;

const BREAKS: Readonly<Record<BrokenContent, Replace>> = {
  "any-revision": (inner) => ({ definition: (type) => inner.definition(type) }),
  "empty-texts": (inner) => ({
    text: (type, part) =>
      inner.text(type, part).catch(() => ({ text: "", revision: "0".repeat(12), sources: [], tokens: 0 })),
  }),
  "hidden-errors": (inner) => ({
    list: async () => (await inner.list()).map((listing) => ({ ...listing, diagnostics: [] })),
  }),
  "listed-twice": (inner) => ({ list: async () => [...(await inner.list()), ...(await inner.list())] }),
  "restless-revisions": (inner) => {
    let count = 0;
    return {
      text: async (type, part) => {
        count += 1;
        return { ...(await inner.text(type, part)), revision: String(count).padStart(12, "0") };
      },
    };
  },
  "swallowed-error": (inner) => ({
    definition: async (type, revision) => {
      try {
        return await inner.definition(type, revision);
      } catch (error) {
        if (isPhasegateError(error, "DEFINITION_INVALID")) return undefined;
        throw error;
      }
    },
  }),
};

/**
 * A sound provider with one fault, to see that a suite finds it:
 *
 * - `any-revision`: has a definition for revisions that there are not;
 * - `empty-texts`: has an empty text where there is none;
 * - `hidden-errors`: lists broken workflows without what is wrong with them (found where one is broken);
 * - `listed-twice`: lists each workflow twice;
 * - `restless-revisions`: gives the same text another revision each time;
 * - `swallowed-error`: takes a broken workflow for none (found where one is broken).
 */
export function brokenContent(kind: BrokenContent, inner: ContentProvider): ContentProvider {
  return {
    list: () => inner.list(),
    definition: (type, revision) => inner.definition(type, revision),
    text: (type, part) => inner.text(type, part),
    ...BREAKS[kind](inner),
  };
}
