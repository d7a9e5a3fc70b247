import { it } from "./collected.ts";

// #region cases

import { storageContract } from "phasegate/testing";
import * as contract from "./my-contract.ts";

for (const { name, run } of storageContract({ ...contract, kills: 100 })) it(name, run);
// #endregion cases
