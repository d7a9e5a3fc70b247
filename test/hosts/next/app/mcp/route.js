import { mcp } from "../../../handlers.mjs";

export { fetch as DELETE, fetch as GET, fetch as POST };

const { fetch } = mcp;
