/** What tests say of a host's server holds for those of the oldest version of the older SDK that is supported. */
import { registerWith } from "./host-servers.js";

registerWith("@modelcontextprotocol/sdk@1.20");
await import("./register-workflow-tool.test.js");
await import("./resources.test.js");
await import("./document-resources.test.js");
await import("./changes.test.js");
await import("./workspace-tools.test.js");
await import("./routed-tools.test.js");
await import("./approvals.test.js");
