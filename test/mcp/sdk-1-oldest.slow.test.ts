/** What tests say of a host's server holds for those of the oldest version of the older SDK that is supported. */
import { testsWith } from "./host-servers.js";

await testsWith("@modelcontextprotocol/sdk@1.20");
