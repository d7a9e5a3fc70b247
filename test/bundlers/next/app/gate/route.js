import { selfTest } from "../../../host.ts";

export const dynamic = "force-dynamic";

export async function GET() {
  return new Response(await selfTest());
}
