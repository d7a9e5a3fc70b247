/** The parsers that come with the library, by name. */
export const builtInParsers = {};
