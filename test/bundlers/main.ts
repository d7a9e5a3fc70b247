import { selfTest } from "./host.ts";

selfTest().then(
  (found) => {
    console.log(found);
    process.exit(0);
  },
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
