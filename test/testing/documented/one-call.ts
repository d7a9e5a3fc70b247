import { runStorageContract } from "phasegate/testing";
import * as contract from "./my-contract.ts";

// #region call
const { kept, notTried } = await runStorageContract(contract, {
  onResult: ({ name, outcome }) => console.log(outcome, name),
});
// #endregion call
console.log(`${kept} kept, ${notTried} not tried`);
