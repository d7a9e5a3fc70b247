/** The page as HTML. `npm run build` makes the module: scripts/build-page.mjs. */
export const SESSION_VIEW: string;
