const { createEngine } = require("phasegate");
const { parsePlan } = require("phasegate/plan");

if (typeof createEngine !== "function" || typeof parsePlan !== "function") throw new Error("an export is missing");
console.log("required");
