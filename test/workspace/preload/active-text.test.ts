import { describe, expect, it } from "vitest";
import { activeText, invokedWorkflows, usesElicitation } from "../../../src/workspace/preload/tags.js";

const FENCE = "```";

describe("elicitation", () => {
  it.each([
    ["<elicit-required/>"],
    ["<elicit-required />"],
    ["<elicit-required>"],
    ["  <elicit-required>Ask three times.</elicit-required>"],
    ['<elicit-required method="red team"/>'],
    ["<!-- one --> <elicit-required/> <!-- two -->"],
    [`${FENCE}xml\n<workflow>\n<elicit-required/>\n</workflow>\n${FENCE}`],
    [`${FENCE}\n<workflow name="x">\n<elicit-required/>\n</workflow>`],
  ])("is detected in %j", (text) => {
    expect(usesElicitation(text)).toBe(true);
  });

  it.each([
    ["<elicit-requiredness/>"],
    ["elicit-required"],
    ["`<elicit-required/>`"],
    ["Write ``<elicit-required/>`` where you want it."],
    ["<!-- <elicit-required/> -->"],
    ["<!-- one\n<elicit-required/>\nthree -->"],
    ["<!-- never closed\n<elicit-required/>"],
    [`${FENCE}xml\n<elicit-required/>\n${FENCE}`],
    [`   ${FENCE}${"`"}\n${FENCE}\n<elicit-required/>\n   ${FENCE}${"`"}`],
    ["~~~\n<elicit-required/>\n~~~"],
    [`${FENCE}python\n<workflow>\n<elicit-required/>\n${FENCE}`],
    [`${FENCE}xml\n<workflow>\n<!--\n<elicit-required/>\n-->\n${FENCE}`],
    [`${FENCE}md\n<elicit-required/>`],
  ])("is not detected in %j", (text) => {
    expect(usesElicitation(text)).toBe(false);
  });
});

describe("invoked workflows", () => {
  it("are found by path, in both kinds of quotes, with other attributes, or as the element's content", () => {
    const text = `
<invoke-workflow path="{a}" data="x > y">text</invoke-workflow>
<invoke-workflow data='z' path='{bundle-root}/b'/>
<invoke-workflow>{bundle-root}/workflows/next/workflow.yaml</invoke-workflow>
<invoke-workflow path="{a}"/>
<invoke-workflow path="">in words only</invoke-workflow>
<!-- <invoke-workflow path="hidden"/> -->
\`<invoke-workflow path="shown"/>\`
<invoke-workflows path="other"/>`;
    expect(invokedWorkflows(text)).toEqual(["{a}", "{bundle-root}/b", "{bundle-root}/workflows/next/workflow.yaml"]);
  });
});

it("activeText removes comments and code, and keeps the text around them", () => {
  expect(activeText("a <!-- b --> c `d` e\r\nf <!-- g")).toBe("a  c  e\nf ");
});
