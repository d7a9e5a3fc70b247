import { describe, expect, it } from "vitest";

/** The runtime exports of each entry point. A change here affects every user and belongs in the changelog. */
const EXPORTS = {
  phasegate: [
    "DEFAULT_LIMITS",
    "MemoryContent",
    "MemoryPlans",
    "MemoryStorage",
    "PhasegateError",
    "createEngine",
    "createWorkflowTool",
    "defineWorkflow",
    "formatDiagnostic",
    "isPhasegateError",
    "parseSessionId",
  ],
  "phasegate/ai": ["AiSdkDecider", "GeminiDecider", "LinearDecider", "SamplingDecider", "ScriptedDecider"],
  "phasegate/approval": [
    "approvalMessage",
    "createApproverKeys",
    "passkeyChallenge",
    "readRegistration",
    "registrationOptions",
    "signApproval",
  ],
  "phasegate/gate": ["checkGate", "compileRules", "conceal", "verifierNames"],
  "phasegate/plan": ["parsePlan", "planOrder", "renderTemplate", "tickTask"],
  "phasegate/storage": ["copySessions"],
  "phasegate/fs": ["FileContent", "FilePlans", "FileStorage", "FileTexts", "createProjectRoot"],
  "phasegate/login": [
    "createHostCheck",
    "createOAuthLogin",
    "createQuotas",
    "createToken",
    "createTokenLogin",
    "firstOf",
    "quotaError",
    "quotaResponse",
    "tokensText",
  ],
  "phasegate/mcp": [
    "createMcpHttpHandler",
    "registerRoutedTools",
    "registerSearchTool",
    "registerWorkflowPrompt",
    "registerWorkflowTool",
    "registerWorkspaceTools",
  ],
  "phasegate/postgres": ["PostgresStorage"],
  "phasegate/rag": ["OramaRetriever", "RagContent", "createSearchTool"],
  "phasegate/routed": [
    "DEFAULT_ROUTED_LIMITS",
    "FINISH",
    "ROUTED_SESSIONS",
    "RoutedFolders",
    "buildDecisionPrompt",
    "createHttpApi",
    "createRoutedEngine",
    "createRoutedTools",
    "decisionJsonSchema",
    "defineRoutedWorkflow",
    "definitionText",
    "openApiDocument",
    "readDecision",
    "readDecisionText",
    "routedWorkflows",
  ],
  "phasegate/sqlite": ["SqliteStorage"],
  "phasegate/verify": ["createVerifiers"],
  "phasegate/workspace": [
    "DEFAULT_WORKSPACE_LIMITS",
    "INSTRUCTION_SECTIONS",
    "RECORDED_SESSIONS",
    "createWorkspace",
    "discoverBundles",
    "readBundle",
    "workflowInstructions",
    "workspaceTools",
  ],
  "phasegate/testing": [
    "BROKEN_CONTENTS",
    "BROKEN_STORAGES",
    "ContractError",
    "FakeClock",
    "FaultyStorage",
    "ScriptedAgent",
    "brokenContent",
    "brokenStorage",
    "commitChain",
    "contentContract",
    "makeCommit",
    "nextCommit",
    "planContract",
    "runContentContract",
    "runStorageContract",
    "startModelServer",
    "storageContract",
  ],
};

/** Every error code. Hosts compare codes: none is renamed or removed. */
const ERROR_CODES = [
  "APPROVAL_REFUSED",
  "ATTEMPTS_EXHAUSTED",
  "BUSY",
  "CANCELLED",
  "CONFLICT",
  "CONTENT_UNAVAILABLE",
  "CURSOR_INVALID",
  "DECIDER_FAILED",
  "DEFINITION_CHANGED",
  "DEFINITION_INVALID",
  "DEFINITION_UNAVAILABLE",
  "EVIDENCE_TOO_LARGE",
  "EVIDENCE_UNSAFE",
  "FILE_NOT_FOUND",
  "FORMAT_TOO_NEW",
  "IDEMPOTENCY_KEY_REUSED",
  "INTERNAL",
  "INVALID_INPUT",
  "INVALID_TRANSITION",
  "NOT_ALLOWED",
  "PATH_REFUSED",
  "PHASE_ALREADY_COMPLETED",
  "PHASE_LOCKED",
  "PHASE_OUT_OF_RANGE",
  "PLAN_PARSE",
  "SESSION_LIMIT",
  "SESSION_NOT_FOUND",
  "STEP_NOT_CURRENT",
  "STORAGE_FAILED",
  "TAMPERED",
  "TASK_LOCKED",
  "TASK_NOT_FOUND",
  "TEMPLATE",
  "TOO_LARGE",
  "UNSUPPORTED",
  "WORKFLOW_NOT_FOUND",
];

describe("the public surface", () => {
  for (const [entry, names] of Object.entries(EXPORTS)) {
    it(`of ${entry} matches this list`, async () => {
      const module: object = await import(entry);
      expect(Object.keys(module).sort()).toEqual(names);
    });
  }

  it("has these error codes, each with a type on the wire", async () => {
    const { WIRE_ERRORS } = await import("../../src/tools/dispatch.js");
    expect(Object.keys(WIRE_ERRORS).sort()).toEqual(ERROR_CODES);
  });
});
