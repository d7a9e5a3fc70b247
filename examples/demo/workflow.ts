/**
 * A workflow of four phases whose gates look at the real files of a project: what an agent claims
 * and what is there are two things.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { defineWorkflow } from "phasegate";
import { createProjectRoot } from "phasegate/fs";
import * as z from "zod";

/** Release notes for the project in a folder: its changes lie in `changes/`, one Markdown file each. */
export async function releaseNotes(project: string) {
  const root = await createProjectRoot(project);

  /** A file of the project; undefined if it isn't there, or leads out of the project. */
  async function read(path: string): Promise<string | undefined> {
    try {
      await root.check(path);
      return await readFile(join(project, path), "utf8");
    } catch {
      return undefined;
    }
  }

  const exists = async (path: string) => (await read(path)) !== undefined;
  const existingFile = z.string().refine(exists, { error: ({ input }) => `there is no file ${input}` });

  /** The changes that notes don't mention; none if there are no notes, which is a problem of its own. */
  async function leftOut(notes: string): Promise<string[]> {
    const text = await read(notes);
    if (text === undefined) return [];
    const files = await readdir(join(project, "changes"));
    const titles = await Promise.all(files.map(async (file) => (await read(`changes/${file}`))?.split("\n")[0]));
    return titles.flatMap((title) => (title === undefined || text.includes(title.slice(2)) ? [] : [title.slice(2)]));
  }

  const collect = z.object({
    changes: z.array(existingFile).superRefine(async (given, context) => {
      for (const file of await readdir(join(project, "changes"))) {
        if (!given.includes(`changes/${file}`)) context.addIssue(`changes/${file} is not in the list`);
      }
    }),
    breaking: z.boolean().describe("whether any change breaks something"),
  });

  const write = z.object({
    notes_file: existingFile.superRefine(async (file, context) => {
      for (const title of await leftOut(file)) context.addIssue(`the notes don't mention "${title}"`);
    }),
  });

  const review = z.object({
    notes_file: existingFile,
    read_aloud: z.literal(true).describe("somebody who did not write the notes has read them"),
    breaking_first: z.literal(true).describe("breaking changes stand at the top"),
  });

  const publish = z
    .object({ published_file: existingFile, notes_file: existingFile })
    .superRefine(async (given, context) => {
      const [published, notes] = await Promise.all([read(given.published_file), read(given.notes_file)]);
      if (published !== notes) context.addIssue("what was published is not what was reviewed");
    });

  return defineWorkflow({
    type: "release_notes",
    revision: "1",
    name: "Release notes",
    description: "Collect what has changed, write it down, have it read, publish it",
    phases: [
      {
        number: 1,
        name: "Collect the changes",
        content: "Read every file in `changes/`. Submit their paths, and whether one of them breaks something.",
        gate: { evidence: collect, example: { changes: ["changes/001-example.md"], breaking: false } },
      },
      {
        number: 2,
        name: "Write the notes",
        content: "Write `NOTES.md`: a line for each change, with its title. Breaking changes come first.",
        gate: { evidence: write, example: { notes_file: "NOTES.md" }, allowExample: true },
      },
      {
        number: 3,
        name: "Review",
        content: "Have the notes read by somebody who did not write them.",
        gate: {
          evidence: review,
          example: { notes_file: "NOTES.md", read_aloud: true, breaking_first: true },
          allowExample: true,
        },
      },
      {
        number: 4,
        name: "Publish",
        content: "Copy the reviewed notes to `published/`.",
        gate: {
          evidence: publish,
          example: { published_file: "published/1.0.0.md", notes_file: "NOTES.md" },
          allowExample: true,
        },
      },
    ],
  });
}
