import { expect, it } from "vitest";
import { waivedNotice } from "../../src/tools/phased/approval-notices.js";

it("says who has waived something, and why, however long its names are", () => {
  const fields = Array.from({ length: 50 }, (_, at) => `a_requirement_with_a_long_name_${at}`);
  const one = { fields, by: "ann", reason: "there is no disk", authenticated: true, version: 3 };
  const { waived } = waivedNotice([{ ...one, note: "until May" }]);
  expect(waived).toEqual([
    expect.stringMatching(
      /^a_requirement.*… waived by ann\. The agent's reason: there is no disk\. ann's note: until May$/,
    ),
  ]);
  expect(JSON.stringify(waived).length).toBeLessThan(500);
  expect(waivedNotice([one], true)).toEqual({ waived: [expect.stringMatching(/^a_requirement.*… waived by ann$/)] });
});
