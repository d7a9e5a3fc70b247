/** Compiled alone: the types of handlers fit those of each framework. */
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import type { MiddlewareConsumer } from "@nestjs/common";
import type { NestExpressApplication } from "@nestjs/platform-express";
import express, { type Request as ExpressRequest, type Response as ExpressResponse } from "express";
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { Hono } from "hono";
import { createHttpApi, toNodeHandler } from "phasegate/http";
import { createInspector } from "phasegate/inspector";
import { createMcpHttpHandler } from "phasegate/mcp-http";

type Engine = Parameters<typeof createHttpApi>[0];

export function mount(engine: Engine, nest: NestExpressApplication, consumer: MiddlewareConsumer): void {
  const [api, mcp] = [createHttpApi(engine), createMcpHttpHandler({ register: () => undefined })];
  const inspector = createInspector({ access: { authorize: () => true } });
  for (const handler of [toNodeHandler(api), toNodeHandler(mcp), toNodeHandler(inspector)]) {
    createServer(handler);
    createSecureServer((request, response) => void handler(request, response));
    express().use("/x", handler).all("/y", handler);
    Fastify().all("/x", handler);
    nest.use("/x", handler);
    consumer.apply(handler).forRoutes("x");
  }
  const hono = new Hono();
  hono.all("/x", (context) => api(context.req.raw));
  hono.mount("/y", inspector.fetch, { replaceRequest: false });
  // @ts-expect-error a fetch handler is no listener of Node
  createServer(mcp.fetch);
  // @ts-expect-error and takes no context of Hono
  hono.all("/z", mcp.fetch);
}

const answer = toNodeHandler(() => new Response());

/** What a controller of Nest gets of `@Req()` and `@Res()`. */
export const onExpress = (request: ExpressRequest, response: ExpressResponse) => answer(request, response);
export const onFastify = (request: FastifyRequest, reply: FastifyReply) => answer(request, reply);
