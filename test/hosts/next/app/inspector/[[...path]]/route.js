// #region inspector
import { inspector } from "../../../../handlers.mjs";

const { fetch } = inspector;

export { fetch as GET, fetch as POST };
// #endregion inspector
