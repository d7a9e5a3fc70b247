import { isWorkflowType } from "../../../definition/names.js";
import type { WorkflowDefinition } from "../../../definition/workflow-definition.js";
import { isPhasegateError } from "../../../errors.js";
import type { Content, ContentPart, ContentProvider, WorkflowListing } from "../../../ports/content-provider.js";
import { contentOf, contentUnavailable, definitionInvalid, fileOf, listingOf } from "../../content-answers.js";
import { type FoundFolder, type Reading, readWhole, WorkflowRoots } from "./workflow-roots.js";

/** Where workflows lie. */
export interface FileContentOptions {
  /**
   * Trusted folders; each folder directly below one that has a metadata.json is a workflow, and its
   * name is the workflow's type. Of two with the same type the one in the first root counts.
   */
  readonly roots: readonly string[];
}

/**
 * Workflows from folders. What is edited, added or deleted shows at the next call; what hasn't
 * changed is not read again. Roots that are not there (yet) are left out, unless none is.
 */
export class FileContent implements ContentProvider {
  private readonly roots: WorkflowRoots;

  constructor(options: FileContentOptions) {
    this.roots = new WorkflowRoots(options.roots);
  }

  async list(): Promise<readonly WorkflowListing[]> {
    return (await this.roots.all()).map(({ type, read }) => listingOf(type, read));
  }

  async definition(type: string, revision?: string): Promise<WorkflowDefinition | undefined> {
    const found = await this.find(type);
    if (found === undefined) return undefined;
    const { definition, diagnostics } = found.read;
    if (definition === undefined) throw definitionInvalid(type, diagnostics);
    return revision === undefined || definition.structure.revision === revision ? definition : undefined;
  }

  async text(type: string, part: ContentPart): Promise<Content> {
    const near = await this.place(type, part, (folder) => folder.forTexts());
    // What looked at metadata.json alone may not know of a file that was added beside it.
    const { folder, file } = near.file === undefined ? await this.place(type, part, readWhole) : near;
    if (file === undefined) throw contentUnavailable(type, part, "the definition has none");
    try {
      return contentOf(await folder.text(file), file);
    } catch (error) {
      if (!isPhasegateError(error)) throw error;
      throw contentUnavailable(type, part, error.message, { file, cause: error });
    }
  }

  /** The folder of a workflow, and the path of a text in it if it has such a one. */
  private async place(type: string, part: ContentPart, reading: Reading) {
    const found = await this.find(type, reading);
    if (found === undefined) throw contentUnavailable(type, part, "there is no such workflow any more");
    const { folder, read } = found;
    if (read.definition === undefined) {
      throw contentUnavailable(type, part, definitionInvalid(type, read.diagnostics).message);
    }
    return { folder, file: fileOf(read.definition.structure, part) };
  }

  private async find(type: string, reading?: Reading): Promise<FoundFolder | undefined> {
    return isWorkflowType(type) ? this.roots.find(type, reading) : undefined;
  }
}
