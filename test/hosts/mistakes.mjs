/** What is tried first, and by mistake: each ends in an answer that says what to do. `node mistakes.mjs` runs them all. */
import assert from "node:assert/strict";
import { once } from "node:events";
import express from "express";
import express4 from "express-4";
import Fastify from "fastify";
import { Hono } from "hono";
import { toNodeHandler } from "phasegate/http";
import { createInspector } from "phasegate/inspector";
import { engine } from "./engine.mjs";
import { api, inspector, mcp } from "./handlers.mjs";

/** Lets an app of Express or Fastify listen while `use` calls it. */
async function served(app, use) {
  const http = app.server ?? app.listen(0, "127.0.0.1");
  if (app.server === undefined) await once(http, "listening");
  else await app.listen({ port: 0, host: "127.0.0.1" });
  await use(`http://127.0.0.1:${http.address().port}`);
  http.close();
  http.closeAllConnections();
}
const withHono = (app, use) => use({ request: (path, init) => app.request(path, init) });
const json = { "content-type": "application/json", "x-phasegate": "1" };
const post = (body) => ({ method: "POST", headers: json, body: JSON.stringify(body) });
const start = post({ workflow_type: "release", target_file: "a.md" });

const TRIES = {
  "a fetch handler as middleware of Express": async () => {
    for (const make of [express, express4]) {
      for (const handler of [api, mcp.fetch, inspector.fetch]) {
        const app = make();
        app.use("/x", handler);
        // Express logs it, too, unless somebody else answers.
        app.use((error, _request, response, _next) => response.status(500).end(`${error.message} ${error.remedy}`));
        await served(app, async (url) =>
          assert.match(await (await fetch(`${url}/x`)).text(), /wrap it: toNodeHandler/),
        );
      }
    }
  },
  "a fetch handler as a route of Fastify": async () => {
    const app = Fastify();
    app.all("/x", inspector.fetch);
    app.setErrorHandler((error, _request, reply) => reply.code(500).send(error.remedy));
    await served(app, async (url) => assert.match(await (await fetch(`${url}/x`)).text(), /wrap it: toNodeHandler/));
  },
  "a fetch handler as a route of Hono, without c.req.raw": async () => {
    const app = new Hono();
    app.all("/inspector/*", inspector.fetch);
    app.onError((error, context) => context.text(error.remedy, 500));
    await withHono(app, async ({ request }) =>
      assert.match(await (await request("/inspector/")).text(), /In Hono, pass on c\.req\.raw/),
    );
  },
  "a handler for Node as a route of Hono": async () => {
    const app = new Hono();
    app.all("/inspector/*", (context) => toNodeHandler(inspector)(context.req.raw));
    app.onError((error, context) => context.text(error.remedy, 500));
    await withHono(app, async ({ request }) =>
      assert.match(await (await request("/inspector/")).text(), /Mount the fetch handler itself/),
    );
  },
  "a mount at another path than the handler knows": async () => {
    const app = express();
    app.use("/v1", toNodeHandler(api));
    app.use("/agents", toNodeHandler(mcp));
    app.use("/page", toNodeHandler(inspector));
    app.use("/unset", toNodeHandler(createInspector({ engine, access: { authorize: () => true } })));
    await served(app, async (url) => {
      const remedy = (await (await fetch(`${url}/v1/sessions/start`, start)).json()).details.remedy;
      assert.match(remedy, /createHttpApi needs basePath: "\/v1"\.$/);
      const { error } = await (await fetch(`${url}/agents`, start)).json();
      assert.match(error.message, /nothing at "\/agents": use \/mcp, which createMcpHttpHandler\({ path }\) sets/);
      assert.match(
        (await (await fetch(`${url}/page/`)).json()).error.remedy,
        /It is at \/inspector, its option basePath/,
      );
      assert.match(await (await fetch(`${url}/unset/`)).text(), /give it that path:\s+<code>createInspector/);
    });
  },
  "Hono's mount, which takes the path off": async () => {
    const app = new Hono();
    app.mount("/inspector", inspector.fetch);
    await withHono(app, async ({ request }) =>
      assert.match(
        (await (await request("/inspector/")).json()).error.remedy,
        /pass on requests with their whole path/,
      ),
    );
  },
  "a body that was read, and not kept": async () => {
    const app = express();
    app.use(async (request, _response, next) => {
      for await (const _ of request);
      next();
    });
    app.use("/api", toNodeHandler(api));
    await served(app, async (url) => {
      const answer = await fetch(`${url}/api/sessions/start`, start);
      assert.match((await answer.json()).message, /has read the body before phasegate got the request/);
    });
    const hono = new Hono();
    hono.all("/api/*", async (context) => {
      await context.req.json();
      return api(context.req.raw);
    });
    await withHono(hono, async ({ request }) =>
      assert.match((await (await request("/api/sessions/start", start)).json()).details.remedy, /request\.clone\(\)/),
    );
  },
  "a proxy that does not pass on the header Host": async () => {
    const app = express();
    app.use("/inspector", toNodeHandler(inspector));
    await served(app, async (url) => {
      const headers = { origin: "https://tools.example.com" };
      const other = await fetch(`${url}/inspector/api/about`, { headers });
      assert.match((await other.json()).error.remedy, /let it pass on the header Host/);
    });
  },
  "a body over Fastify's limit": async () => {
    const large = post({ workflow_type: "release", target_file: "a".repeat(2_000_000) });
    const app = Fastify();
    app.all("/api/*", toNodeHandler(api));
    await served(app, async (url) => assert.equal((await fetch(`${url}/api/sessions/start`, large)).status, 413));
  },
  "the tests of a Fastify app, which use no server": async () => {
    const app = Fastify();
    app.all("/api/*", toNodeHandler(api));
    const { statusCode, json: read } = await app.inject({ method: "GET", url: "/api/sessions/list_workflows" });
    assert.deepEqual([statusCode, read().status], [200, "success"]);
    const payload = { workflow_type: "release", target_file: "a.md" };
    assert.equal((await app.inject({ method: "POST", url: "/api/sessions/start", payload })).statusCode, 200);
  },
};

let failed = 0;
for (const [name, attempt] of Object.entries(TRIES)) {
  try {
    await attempt();
  } catch (error) {
    failed += 1;
    console.error(`${name}: ${error.stack}`);
  }
}
if (failed > 0) process.exitCode = 1;
