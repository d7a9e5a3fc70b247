/** A module of Nest. Decorators are called as functions, since Node runs no file that has them. */
import "reflect-metadata";
import { All, Controller, Module, Req, Res } from "@nestjs/common";
import { toNodeHandler } from "phasegate/http";
import { api, mcp } from "./handlers.mjs";

const answer = toNodeHandler(mcp);

/** `@Controller("mcp")`, whose requests have a body that Nest has read. */
class McpController {
  handle(request, response) {
    return answer(request, response);
  }
}
Controller("mcp")(McpController);
All()(McpController.prototype, "handle", Object.getOwnPropertyDescriptor(McpController.prototype, "handle"));
Req()(McpController.prototype, "handle", 0);
Res()(McpController.prototype, "handle", 1);

export class AppModule {
  /** `implements NestModule`: middleware that comes after Nest's parser. */
  configure(consumer) {
    consumer.apply(toNodeHandler(api)).forRoutes("/api/*path");
  }
}
Module({ controllers: [McpController] })(AppModule);
