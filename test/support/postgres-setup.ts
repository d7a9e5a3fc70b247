import { createServer } from "node:http";
import type { TestProject } from "vitest/node";
import type { PostgresServer } from "./postgres-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** URL at which test files request the run's PostgreSQL server. */
    postgresAt: string;
  }
}

/** One PostgreSQL server for the whole run, started when the first test file asks for it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let starting: Promise<PostgresServer> | undefined;
  const start = async () => {
    const { startPostgres } = await import("./postgres-server.ts");
    return startPostgres();
  };
  const desk = createServer(async (_request, response) => {
    starting ??= start();
    const [status, text] = await starting.then(
      ({ url }) => [200, url] as const,
      (error: unknown) => [500, String(error)] as const,
    );
    response.writeHead(status).end(text);
  });
  await new Promise<void>((resolve) => desk.listen(0, "127.0.0.1", resolve));
  const address = desk.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  project.provide("postgresAt", `http://127.0.0.1:${address.port}`);
  return async () => {
    desk.closeAllConnections();
    desk.close();
    const server = await starting?.catch(() => undefined);
    await server?.remove();
  };
}
