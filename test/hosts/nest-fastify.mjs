/** Nest on Fastify, whose middleware gets requests of Node, and whose controllers get those of Fastify. */
import "reflect-metadata";
import { All, Controller, Module, Req, Res } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { toNodeHandler } from "phasegate/http";
import { api, inspector, mcp } from "./handlers.mjs";

const answer = toNodeHandler(mcp);

class McpController {
  handle(request, reply) {
    return answer(request, reply);
  }
}
Controller("mcp")(McpController);
All()(McpController.prototype, "handle", Object.getOwnPropertyDescriptor(McpController.prototype, "handle"));
Req()(McpController.prototype, "handle", 0);
Res()(McpController.prototype, "handle", 1);
class AppModule {}
Module({ controllers: [McpController] })(AppModule);

const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: ["error"] });
app.use("/api", toNodeHandler(api));
app.use("/inspector", toNodeHandler(inspector));
await app.listen(process.env.PORT);
