import { describe, it } from "vitest";
import { aGate, lieThenTruth } from "./a-gate.js";

const REVIEW = {
  gate: "evidence_schema:\n  reviewed: {type: boolean, description: a person has read it}\n",
  files: { "docs/review.md": "# Review\n" },
  engine: { claims: "backed" },
} as const;

const claim = (proof: string) => ({ reviewed: { claim: true, proof } });
const TRUTH = claim("docs/review.md:1, read and/or discussed");

describe("a gate whose claims need a proof", () => {
  it("lets an honest agent through", async () => {
    await (await aGate(REVIEW)).accepts(TRUTH);
  });

  it.each([
    ["docs/nothing.md#L12", /there is no file docs\/nothing\.md/],
    ["docs\\nothing.md:3", /there is no file docs\/nothing\.md/],
    ["docs\\\\nothing.md:3", /there is no file docs\/nothing\.md/],
    ["docs/nothing", /there is no file docs\/nothing/],
    ["docs/nothing/", /there is no file docs\/nothing/],
    ["C:/nothing.md", /C:\/nothing\.md.*is refused/],
    ["/etc/passwd", /\/etc\/passwd.*is refused/],
    ["../outside.md", /\.\.\/outside\.md.*is refused/],
    ["docs/prüfung.md", /there is no file docs\/prüfung\.md/],
  ])("looks up the place %s", async (place, says) => {
    await lieThenTruth(REVIEW, claim(`see ${place}`), says, TRUTH);
  });

  it.each(["docs/review.md:2", "docs/review.md#L2", "docs/review.md:1-2", "docs/review.md#L1-L2"])(
    "refuses a line that the file does not have: %s",
    async (place) => {
      await lieThenTruth(REVIEW, claim(place), /docs\/review\.md has no line 2: it ends with line 1/, TRUTH);
    },
  );

  it("looks up each of many places, and refuses more than it would look up", async () => {
    const places = ["docs/review.md:1", "docs/review.md", ...Array.from({ length: 9 }, () => "docs/review.md")];
    await (await aGate(REVIEW)).accepts(claim(places.join(" ")));
    await lieThenTruth(REVIEW, claim([...places, "docs/last.md"].join(" ")), /there is no file docs\/last\.md/, TRUTH);
    const many = Array.from({ length: 11 }, (_, index) => `docs/${index}.md`).join(" ");
    await lieThenTruth(REVIEW, claim(many), /names more than 10 files/, TRUTH);
  });
});
