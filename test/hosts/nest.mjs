/** Nest. Its module mounts the others, below its parser: one as middleware, one in a controller. */
// #region nest
import { NestFactory } from "@nestjs/core";
import { toNodeHandler } from "phasegate/http";
import { inspector } from "./handlers.mjs";
import { AppModule } from "./nest-app.mjs";

const app = await NestFactory.create(AppModule, { logger: ["error"] });
app.use("/inspector", toNodeHandler(inspector));
await app.listen(process.env.PORT);
// #endregion nest
