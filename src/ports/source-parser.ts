/** Reads sources of one kind as plans; the plans that come with the library are read through it too. */
export type { SourceParser, TickRequest } from "../plan/source-parser.js";
