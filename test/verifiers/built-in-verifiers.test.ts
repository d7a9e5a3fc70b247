import { describe, expect, it } from "vitest";
import { BUILT_IN } from "../../src/verifiers/create-verifiers.js";
import { aboutVerifier } from "../../src/workflow/built-in-verifiers.js";

describe("what is known of a verifier without its host", () => {
  it.each(Object.entries(BUILT_IN))("is what its parameters say: %s", (name, { params }) => {
    const about = aboutVerifier(name);
    const taken = Object.keys(params.shape);
    expect(about?.since === true).toBe(taken.includes("since"));
    if (about?.insteadOfValue !== undefined) expect(taken).toContain(about.insteadOfValue);
    // A verifier of a file takes its path from the field, and may follow a link.
    if (taken.includes("allow_link") && taken.includes("path")) expect(about).toHaveProperty("insteadOfValue", "path");
    const isDefault = Object.values(params.shape).some(({ description = "" }) =>
      /^[^.]*\. Default: the value of the evidence field\./.test(description),
    );
    if (isDefault) expect(about).toHaveProperty("value");
  });

  it("is nothing for a verifier of the host", () => {
    expect(["tests_pass", "toString", ""].map(aboutVerifier)).toEqual([undefined, undefined, undefined]);
  });
});
