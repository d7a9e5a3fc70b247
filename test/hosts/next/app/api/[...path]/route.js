import { api } from "../../../../handlers.mjs";

export { api as GET, api as POST };
