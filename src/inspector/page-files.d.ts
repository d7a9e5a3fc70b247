/** The files of the built page, by their names. `npm run build` makes the module: scripts/build-page.mjs. */
export const PAGE_FILES: Readonly<Record<string, string>>;
