import { describe, expect, it } from "vitest";
import { parseSections, strictTextLines } from "../../src/plan/blocks.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { readRows } from "../../src/plan/rows.js";
import { findRegions, SourceText } from "../../src/plan/source.js";

const LONG = "x".repeat(450);
const PHASE = "## Phase 1: A\n- [ ] **Task 1.1**: b\n";

/** Returns the rows of a text as `item 0 2:4 text [x]5`: kind, depth, place, text and checkbox with its column. */
function rowsOf(text: string): string[] {
  const source = new SourceText(text);
  const rows = readRows(source, parseSections(source, findRegions(source), "f"));
  return rows.map(({ kind, depth, line, column, text: words, checkbox }) => {
    const box = checkbox === undefined ? "" : ` [${checkbox.mark}]${checkbox.column}`;
    return `${kind} ${depth} ${line}:${column} ${words}${box}`;
  });
}

/** Returns the pieces in which a text is parsed, as `3 with 2`: the first line, and how many blocks it has. */
function piecesOf(text: string): string[] {
  const source = new SourceText(text);
  const pieces = [...parseSections(source, findRegions(source), "f")];
  return pieces.map(({ base, blocks }) => `${base + 1} with ${blocks.length}`);
}

function strictLines(text: string): number[] {
  const source = new SourceText(text);
  return [...strictTextLines(source, findRegions(source))];
}

describe("the rows of a source", () => {
  it.each<readonly [string, string[]]>([
    ["a\nb", ["text -1 0:0 a", "text -1 1:0 b"]],
    ["# a", ["heading 1 0:2 a"]],
    ["#", ["heading 1 0:1 "]],
    ["## a ##", ["heading 2 0:3 a"]],
    ["## a#", ["heading 2 0:3 a#"]],
    ["## [x] a", ["heading 2 0:3 a [x]4"]],
    ["## a [ ]", ["heading 2 0:3 a []6"]],
    ["## a [ ] b", ["heading 2 0:3 a [ ] b"]],
    ["## a  [x]  ##", ["heading 2 0:3 a [x]7"]],
    ["a\n=", ["text -1 0:0 a", "text -1 1:0 ="]],
    ["a\n===", ["heading 1 0:0 a"]],
    ["a\n---", ["heading 2 0:0 a", "rule -1 1:0 "]],
    ["b\n\n   🚀 a (1)  \n---", ["text -1 0:0 b", "heading 2 2:0 🚀 a (1)", "rule -1 3:0 "]],
    ["2 a: c\n---", ["heading 2 0:0 2 a: c", "rule -1 1:0 "]],
    ["# b\n\n2 a: c\n---", ["heading 1 0:2 b", "text -1 2:0 2 a: c", "rule -1 3:0 "]],
    [
      "2 a\n---\n\nPhase 1\n---\n\nb\n===\n# c",
      [
        "text -1 0:0 2 a",
        "rule -1 1:0 ",
        "heading 2 3:0 Phase 1",
        "rule -1 4:0 ",
        "heading 1 6:0 b",
        "heading 1 8:2 c",
      ],
    ],
    ["# b\na\n---", ["heading 1 0:2 b", "text -1 1:0 a", "rule -1 2:0 "]],
    ["---\na: b\n---", ["rule -1 0:0 ", "text -1 1:0 a: b", "rule -1 2:0 "]],
    ["a b.\n---", ["text -1 0:0 a b.", "rule -1 1:0 "]],
    ["Goal: a\n---", ["text -1 0:0 Goal: a", "rule -1 1:0 "]],
    ["**a**\n---", ["text -1 0:0 **a**", "rule -1 1:0 "]],
    ["| a\n---", ["text -1 0:0 | a", "rule -1 1:0 "]],
    ["[ ] a\n---", ["item 0 0:0 a []1", "rule -1 1:0 "]],
    ["Phase 1\n---", ["heading 2 0:0 Phase 1", "rule -1 1:0 "]],
    ["   Task  2\n ---  ", ["heading 2 0:0 Task  2", "rule -1 1:0 "]],
    ["Phase  1: a.\n---", ["heading 2 0:0 Phase  1: a.", "rule -1 1:0 "]],
    ["    a\n---", ["text -1 0:4 a", "rule -1 1:0 "]],
    ["    Phase 1\n---", ["text -1 0:4 Phase 1", "rule -1 1:0 "]],
    ["a\nb\n===", ["text -1 0:0 a", "text -1 1:0 b", "text -1 2:0 ==="]],
    ["a\nb\n---", ["text -1 0:0 a", "text -1 1:0 b", "rule -1 2:0 "]],
    ["Phase 1\n===\nb\n- c", ["heading 1 0:0 Phase 1", "text -1 2:0 b", "item 0 3:2 c"]],
    ["Phase 1\nb\n---", ["text -1 0:0 Phase 1", "text -1 1:0 b", "rule -1 2:0 "]],
    ["a\n=== b", ["text -1 0:0 a", "text -1 1:0 === b"]],
    ["a\n-=-", ["text -1 0:0 a", "text -1 1:0 -=-"]],
    ["my Phase 1\n---", ["heading 2 0:0 my Phase 1", "rule -1 1:0 "]],
    ["- Phase 1\n  ---", ["item 0 0:2 Phase 1"]],
    ["> Phase 1\n> ---", ["text -1 0:2 Phase 1", "rule -1 1:0 "]],
    ["---", ["rule -1 0:0 "]],
    ["***", ["rule -1 0:0 "]],
    ["- a\n\n  ---", ["item 0 0:2 a"]],
    ["> ---", ["rule -1 0:0 "]],
    ["- a", ["item 0 0:2 a"]],
    ["- a\n  b", ["item 0 0:2 a", "text 0 1:2 b"]],
    ["- a\n  - b\n    c", ["item 0 0:2 a", "item 1 1:4 b", "text 1 2:4 c"]],
    ["1. a\n2. b", ["item 0 0:3 a", "item 0 1:3 b"]],
    ["- a\n\n  b", ["item 0 0:2 a", "text 0 2:2 b"]],
    ["- # a", ["text 0 0:0 - # a"]],
    ["- # a [x]", ["text 0 0:0 - # a [x]7"]],
    ["-", []],
    ["- \n  a", ["item 0 1:2 a"]],
    ["- - a", ["item 1 0:4 a"]],
    ["- > a", ["text 0 0:0 - > a"]],
    ["> a\n> b", ["text -1 0:2 a", "text -1 1:2 b"]],
    ["> - a", ["item 0 0:4 a"]],
    ["> # a", ["heading 1 0:4 a"]],
    ["- [ ] a", ["item 0 0:2 a []3"]],
    ["-[ ] a", ["item 0 0:1 a []2"]],
    ["- [x]", ["item 0 0:2  [x]3"]],
    ["- **[ ] a**", ["item 0 0:2 ** a** []5"]],
    ["- ~~[x] a~~", ["item 0 0:2 ~~ a~~ [x]5"]],
    ["-  [ ]  a ", ["item 0 0:3 a []4"]],
    ["- [ ]a", ["item 0 0:2 a []3"]],
    ["[ ] a", ["item 0 0:0 a []1"]],
    ["  [x] a", ["item 0 0:2 a [x]3"]],
    ["a\n[ ] b", ["text -1 0:0 a", "item 0 1:0 b []1"]],
    ["a\n- [ ] b", ["text -1 0:0 a", "item 0 1:2 b []3"]],
    ["a\n2. [ ] b", ["text -1 0:0 a", "item 0 1:3 b []4"]],
    ["- a\n  [x] b", ["item 0 0:2 a", "item 1 1:2 b [x]3"]],
    ["- a\n  2) [x] b", ["item 0 0:2 a", "item 1 1:5 b [x]6"]],
    ["10. [ ] a", ["item 0 0:4 a []5"]],
    ["1234567890. [ ] a", ["text -1 0:0 1234567890. [ ] a"]],
    ["*[ ] a", ["item 0 0:1 a []2"]],
    ["* [ ] a", ["item 0 0:2 a []3"]],
    ["a [ ] b", ["text -1 0:0 a [ ] b"]],
    ["- a [ ]", ["item 0 0:2 a [ ]"]],
    ["-\t[ ] a", ["item 0 0:2 a []3"]],
    ["- -[ ] a", ["item 0 0:3 a []4"]],
    ["+   **[-]** a", ["item 0 0:4 **** a [-]7"]],
    ["-  a", ["item 0 0:3 a"]],
    ["  -   a", ["item 0 0:6 a"]],
    ["12)  a", ["item 0 0:5 a"]],
    ["- a\n=", ["item 0 0:2 a", "text 0 1:0 ="]],
    ["<b>\n- a\n</b>", ["text -1 0:0 <b>", "item 0 1:2 a", "text 0 2:0 </b>"]],
    ["[a]: b\n- c", ["text -1 0:0 [a]: b", "item 0 1:2 c"]],
    ["    - a", ["item 0 0:6 a"]],
    ["- a\n\n\n      b", ["item 0 0:2 a", "text 0 3:6 b"]],
    ["  phase 1\n---", ["heading 2 0:0 phase 1", "rule -1 1:0 "]],
    ["   phase 1\n---", ["heading 2 0:0 phase 1", "rule -1 1:0 "]],
    ["Task\t2\n---", ["heading 2 0:0 Task\t2", "rule -1 1:0 "]],
    ["Phase x\n---", ["heading 2 0:0 Phase x", "rule -1 1:0 "]],
    ["Phase 1 a\n---", ["heading 2 0:0 Phase 1 a", "rule -1 1:0 "]],
    ["Phase 1\n--", ["text -1 0:0 Phase 1", "text -1 1:0 --"]],
    ["a\n  ====  ", ["heading 1 0:0 a"]],
    ["a\n\t===", ["heading 1 0:0 a"]],
    ["a\n=== ===", ["text -1 0:0 a", "text -1 1:0 === ==="]],
    ["a\n==", ["text -1 0:0 a", "text -1 1:0 =="]],
    ["Phase 1\n----", ["heading 2 0:0 Phase 1", "rule -1 1:0 "]],
    ["Task 2\n  ---\t", ["heading 2 0:0 Task 2", "rule -1 1:0 "]],
    ["- a\nPhase 2: b\n===\n- c", ["item 0 0:2 a", "heading 1 1:0 Phase 2: b", "item 0 3:2 c"]],
    ["- a\nPhase 2: b\n---\n- c", ["item 0 0:2 a", "heading 2 1:0 Phase 2: b", "rule -1 2:0 ", "item 0 3:2 c"]],
    ["- a\n  - b\nc\nTask 2: d\n===", ["item 0 0:2 a", "item 1 1:4 b", "text 1 2:0 c", "heading 1 3:0 Task 2: d"]],
    ["a\nphase\t2: b\n---", ["text -1 0:0 a", "heading 2 1:0 phase\t2: b", "rule -1 2:0 "]],
    ["- a\n  Phase 2: b\n  ===", ["item 0 0:2 a", "text 0 1:2 Phase 2: b", "text 0 2:2 ==="]],
    ["- a\nPhase 2: b", ["item 0 0:2 a", "text 0 1:0 Phase 2: b"]],
    ["- a\n**Phase B: c**\nd", ["item 0 0:2 a", "text -1 1:0 **Phase B: c**", "text 0 2:0 d"]],
    ["- a\n  **Phase 2: c**", ["item 0 0:2 a", "text 0 1:2 **Phase 2: c**"]],
    ["> a\n> ===", ["text -1 0:2 a", "text -1 1:2 ==="]],
    ["- a\n  ===", ["item 0 0:2 a", "text 0 1:2 ==="]],
    [">  ## a", ["heading 2 0:6 a"]],
    ["##  a", ["heading 2 0:4 a"]],
    ["####### a", ["text -1 0:0 ####### a"]],
    ["## a #b", ["heading 2 0:3 a #b"]],
    ["## a\t##", ["heading 2 0:3 a"]],
    ["## a #", ["heading 2 0:3 a"]],
    ["## a [x] #", ["heading 2 0:3 a [x]6"]],
    ["## [x]", ["heading 2 0:3  [x]4"]],
    ["## [ ] a [x]", ["heading 2 0:3 a [x] []4"]],
    ["###### a", ["heading 6 0:7 a"]],
    ["##", ["heading 2 0:2 "]],
    ["## ", ["heading 2 0:2 "]],
    ["a\n1) [ ] b", ["text -1 0:0 a", "item 0 1:3 b []4"]],
    ["a\n+[ ] b", ["text -1 0:0 a", "item 0 1:1 b []2"]],
    ["a\n-  [ ] b", ["text -1 0:0 a", "item 0 1:3 b []4"]],
    ["- __[ ] a__", ["item 0 0:2 __ a__ []5"]],
    ["- _[ ] a_", ["item 0 0:2 _ a_ []4"]],
    ["a\n- **[x] b**", ["text -1 0:0 a", "item 0 1:2 ** b** [x]5"]],
    ["a\n3. __[x] b__", ["text -1 0:0 a", "item 0 1:3 __ b__ [x]6"]],
    ["a\n3. _[x] b_", ["text -1 0:0 a", "item 0 1:3 _ b_ [x]5"]],
    ["a\n3. ~~[x] b~~", ["text -1 0:0 a", "item 0 1:3 ~~ b~~ [x]6"]],
    ["a\n3. a [x]", ["text -1 0:0 a", "text -1 1:0 3. a [x]"]],
    ["a\n1234567890. [ ] b", ["text -1 0:0 a", "text -1 1:0 1234567890. [ ] b"]],
    ["a\n123456789. [ ] b", ["text -1 0:0 a", "item 0 1:11 b []12"]],
    ["> > a", ["text -1 0:4 a"]],
    ["> > - a", ["item 0 0:6 a"]],
    ["123456789. a", ["item 0 0:11 a"]],
    ["-\ta", ["item 0 0:2 a"]],
    ["- [a](b)", ["item 0 0:2 [a](b)"]],
    ["- \ta", ["item 0 0:3 a"]],
    ["-   > - a", ["item 1 0:8 a"]],
    ["+ a", ["item 0 0:2 a"]],
    ["* a", ["item 0 0:2 a"]],
    ["*a", ["text -1 0:0 *a"]],
    ["-a", ["text -1 0:0 -a"]],
    ["1.a", ["text -1 0:0 1.a"]],
    ["> 1. a", ["item 0 0:5 a"]],
    ["a\n> b", ["text -1 0:0 a", "text -1 1:2 b"]],
    ["- a\n> b", ["item 0 0:2 a", "text -1 1:2 b"]],
    ["- a\n\n> b", ["item 0 0:2 a", "text -1 2:2 b"]],
    ["1. a\n   - b\n\n     c\n2. d", ["item 0 0:3 a", "item 1 1:5 b", "text 1 3:5 c", "item 0 4:3 d"]],
    ["- a\n  1. b\n     - c", ["item 0 0:2 a", "item 1 1:5 b", "item 2 2:7 c"]],
    ["> - a\n>   b", ["item 0 0:4 a", "text 0 1:4 b"]],
    ["- > a\n  > b", ["text 0 0:0 - > a", "text 0 1:4 b"]],
    ["- ***", []],
    ["- a\n\n  # b\n\n  c", ["item 0 0:2 a", "text 0 2:4 b", "text 0 4:2 c"]],
    ["- a\n\n  ***\n\n- b", ["item 0 0:2 a", "item 0 4:2 b"]],
    ["a\n\n***\n\nb", ["text -1 0:0 a", "rule -1 2:0 ", "text -1 4:0 b"]],
    ["\ta", ["text -1 0:1 a"]],
    ["    a", ["text -1 0:4 a"]],
    ["- a\n\n\tb", ["item 0 0:2 a", "text 0 2:1 b"]],
    ["[x] a\n[ ] b", ["item 0 0:0 a [x]1", "item 0 1:0 b []1"]],
    ["a [x]\nb [ ]", ["text -1 0:0 a [x]", "text -1 1:0 b [ ]"]],
    ["- [x] a [ ] b", ["item 0 0:2 a [ ] b [x]3"]],
    ["- [ ]  ", ["item 0 0:2  []3"]],
    ["* * * a", ["item 2 0:6 a"]],
    ["- - [ ] a", ["item 1 0:4 a []5"]],
    ["- 1. [ ] a", ["item 1 0:5 a []6"]],
    ["| a | b |", ["text -1 0:0 | a | b |"]],
    ["1. [ ] a\n   b [x]", ["item 0 0:3 a []4", "text 0 1:3 b [x]"]],
    ["# a\nb", ["heading 1 0:2 a", "text -1 1:0 b"]],
    ["a\n# b\nc", ["text -1 0:0 a", "heading 1 1:2 b", "text -1 2:0 c"]],
    ["<div>\n# a\n</div>", ["text -1 0:0 <div>", "heading 1 1:2 a", "text -1 2:0 </div>"]],
    ["`a\nb`", ["text -1 0:0 `a", "text -1 1:0 b`"]],
    ["**a\nb**", ["text -1 0:0 **a", "text -1 1:0 b**"]],
    ["&amp; a", ["text -1 0:0 &amp; a"]],
    ["\\- a", ["text -1 0:0 \\- a"]],
    ["a  \nb", ["text -1 0:0 a", "text -1 1:0 b"]],
    ["- a\\\n  b", ["item 0 0:2 a\\", "text 0 1:2 b"]],
    ["a\n[ ] b\n---\nc", ["text -1 0:0 a", "item 0 1:0 b []1", "rule -1 2:0 ", "text -1 3:0 c"]],
    ["- a\nPhase 1\n---\nb", ["item 0 0:2 a", "heading 2 1:0 Phase 1", "rule -1 2:0 ", "text -1 3:0 b"]],
    ["- a\nPhase 1: x\n===\nb", ["item 0 0:2 a", "heading 1 1:0 Phase 1: x", "text 0 3:0 b"]],
    ["- a\nphase\t2 b\n---", ["item 0 0:2 a", "heading 2 1:0 phase\t2 b", "rule -1 2:0 "]],
    ["- a\nTask 1.1: b\n----\nc", ["item 0 0:2 a", "heading 2 1:0 Task 1.1: b", "rule -1 2:0 ", "text -1 3:0 c"]],
    ["- a\ntask 1\n===\n- b", ["item 0 0:2 a", "heading 1 1:0 task 1", "item 0 3:2 b"]],
    ["a\nPhase 1\n---\nb", ["text -1 0:0 a", "heading 2 1:0 Phase 1", "rule -1 2:0 ", "text -1 3:0 b"]],
    ["a\nPhase 1\n===\nb", ["text -1 0:0 a", "heading 1 1:0 Phase 1", "text -1 3:0 b"]],
    ["> a\n> Phase 1\n> ---", ["text -1 0:2 a", "text -1 1:2 Phase 1", "rule -1 2:0 "]],
    ["- a\n  Phase 1\n  ---", ["item 0 0:2 a", "text 0 1:2 Phase 1"]],
    ["- a\nPhase x\n---\nb", ["item 0 0:2 a", "text 0 1:0 Phase x", "rule -1 2:0 ", "text -1 3:0 b"]],
    ["- a\nPhased 1\n---\nb", ["item 0 0:2 a", "text 0 1:0 Phased 1", "rule -1 2:0 ", "text -1 3:0 b"]],
    ["- a\nmy Phase 1\n---\nb", ["item 0 0:2 a", "text 0 1:0 my Phase 1", "rule -1 2:0 ", "text -1 3:0 b"]],
    ["- a\nPhase 1\n--\nb", ["item 0 0:2 a", "text 0 1:0 Phase 1", "text 0 2:0 --", "text 0 3:0 b"]],
    ["- a\n**Phase 1: b**", ["item 0 0:2 a", "text -1 1:0 **Phase 1: b**"]],
    ["- a\n**phase  two**", ["item 0 0:2 a", "text -1 1:0 **phase  two**"]],
    ["- a\n**Phased 1**", ["item 0 0:2 a", "text 0 1:0 **Phased 1**"]],
    ["- a\n**Phase:**", ["item 0 0:2 a", "text 0 1:0 **Phase:**"]],
    [
      "a\nb\nPhase 1\n---\nc",
      ["text -1 0:0 a", "text -1 1:0 b", "heading 2 2:0 Phase 1", "rule -1 3:0 ", "text -1 4:0 c"],
    ],
    ["# t\na\nb\n---\nc", ["heading 1 0:2 t", "text -1 1:0 a", "text -1 2:0 b", "rule -1 3:0 ", "text -1 4:0 c"]],
    ["x\na\n---", ["text -1 0:0 x", "text -1 1:0 a", "rule -1 2:0 "]],
    ["a b)\n---", ["heading 2 0:0 a b)", "rule -1 1:0 "]],
    ["a!\n---", ["text -1 0:0 a!", "rule -1 1:0 "]],
    ["(a)\n---", ["text -1 0:0 (a)", "rule -1 1:0 "]],
    ["- \n---", ["rule -1 1:0 "]],
    ['"a"\n---', ['text -1 0:0 "a"', "rule -1 1:0 "]],
    ["    🚀 a\n---", ["text -1 0:4 🚀 a", "rule -1 1:0 "]],
    ["Status: a\n---", ["text -1 0:0 Status: a", "rule -1 1:0 "]],
    ["Owner: b\n---", ["heading 2 0:0 Owner: b", "rule -1 1:0 "]],
    ["a\n   ---   ", ["heading 2 0:0 a", "rule -1 1:0 "]],
    ["a\n    ---", ["heading 2 0:0 a", "rule -1 1:0 "]],
    ["a\n\t---", ["heading 2 0:0 a", "rule -1 1:0 "]],
    ["a\n---x", ["text -1 0:0 a", "text -1 1:0 ---x"]],
    ["a\n- - -", ["text -1 0:0 a", "rule -1 1:0 "]],
    ["- a\n---\nb", ["item 0 0:2 a", "rule -1 1:0 ", "text -1 2:0 b"]],
    ["Phase 1\nTask 2\n---", ["text -1 0:0 Phase 1", "heading 2 1:0 Task 2", "rule -1 2:0 "]],
    ["## a\n---\nb", ["heading 2 0:3 a", "rule -1 1:0 ", "text -1 2:0 b"]],
    ["- a\n  ---\n  b", ["item 0 0:2 a", "text 0 2:2 b"]],
    ["[x] Phase 1\n---", ["item 0 0:0 Phase 1 [x]1", "rule -1 1:0 "]],
    ["**Phase 1**\n---", ["text -1 0:0 **Phase 1**", "rule -1 1:0 "]],
    ["Phase 1 [x]\n---", ["heading 2 0:0 Phase 1 [x]9", "rule -1 1:0 "]],
    ["Task 1.1: a [ ]\n===", ["heading 1 0:0 Task 1.1: a []13"]],
    ["Title [ ]\n===", ["heading 1 0:0 Title []7"]],
    ["[x] Title\n===", ["heading 1 0:0 Title [x]1"]],
    ["# [ ] a [x]", ["heading 1 0:2 a [x] []3"]],
    ["#[ ] a", ["text -1 0:0 #[ ] a"]],
    ["# a [ ]  ", ["heading 1 0:2 a []5"]],
    ["# a [ ] .", ["heading 1 0:2 a [ ] ."]],
    ["# **[x] a**", ["heading 1 0:2 a** [x]5"]],
    ["# **[x]** a", ["heading 1 0:2 ** a [x]5"]],
    ["> # a [x]", ["heading 1 0:4 a [x]7"]],
    ["> ## [ ] a ##", ["heading 2 0:5 a []6"]],
    ["- a\n  ## b [ ]\n- c", ["item 0 0:2 a", "text 0 1:5 b []8", "item 0 2:2 c"]],
    ["1.[ ] a", ["text -1 0:0 1.[ ] a"]],
    ["**[x] a**", ["item 0 0:0 ** a** [x]3"]],
    ["-  **[x]** a", ["item 0 0:3 **** a [x]6"]],
    ["> > [x] a", ["item 0 0:4 a [x]5"]],
    ["> - [ ] a\n>   - [x] b", ["item 0 0:4 a []5", "item 1 1:6 b [x]7"]],
    ["1. > - [ ] a", ["item 1 0:7 a []8"]],
    ["- [ ] a\n\n      [x] b", ["item 0 0:2 a []3", "item 1 2:6 b [x]7"]],
    ["a\n\n    [x] b", ["text -1 0:0 a", "item 0 2:4 b [x]5"]],
    ["\t- [ ] a", ["item 0 0:3 a []4"]],
    ["> -[ ] a", ["item 0 0:3 a []4"]],
    ["- a\n  -[ ] b", ["item 0 0:2 a", "item 1 1:3 b []4"]],
    ["- a\n  *[x] b", ["item 0 0:2 a", "item 1 1:3 b [x]4"]],
    ["a\n-   [ ] b", ["text -1 0:0 a", "item 0 1:4 b []5"]],
    ["a\n-\t[x] b", ["text -1 0:0 a", "item 0 1:2 b [x]3"]],
    ["a\n- a [ ]", ["text -1 0:0 a", "item 0 1:2 a [ ]"]],
    ["a\n10) [x] b", ["text -1 0:0 a", "item 0 1:4 b [x]5"]],
    ["a\n2. **[x]** b", ["text -1 0:0 a", "item 0 1:3 **** b [x]6"]],
    ["a\n2. ***[x] b", ["text -1 0:0 a", "text -1 1:0 2. ***[x] b"]],
    ["a\n2. b\n3. c", ["text -1 0:0 a", "text -1 1:0 2. b", "text -1 2:0 3. c"]],
    ["- a\n2. [x] b", ["item 0 0:2 a", "item 0 1:3 b [x]4"]],
    ["- a\n   2. [x] b", ["item 0 0:2 a", "item 1 1:6 b [x]7"]],
    [
      "<details>\n<summary>a</summary>\n\n- [ ] b\n</details>",
      ["text -1 0:0 <details>", "text -1 1:0 <summary>a</summary>", "item 0 3:2 b []3", "text 0 4:0 </details>"],
    ],
    ["- a\n  ```\n  b\n  ```\n- c", ["item 0 0:2 a", "item 0 4:2 c"]],
    ["a\n<!-- b -->\nc", ["text -1 0:0 a", "text -1 2:0 c"]],
    ["a<!--\n-->\nb", ["text -1 0:0 a<!--", "text -1 1:0 -->", "text -1 2:0 b"]],
    ['[a]: b "c"\n- d', ['text -1 0:0 [a]: b "c"', "item 0 1:2 d"]],
    ["- [ ] a\\\n  [x] b", ["item 0 0:2 a\\ []3", "item 1 1:2 b [x]3"]],
    ["`[ ]` a", ["text -1 0:0 `[ ]` a"]],
    ["- [ ] `a\n  b`", ["item 0 0:2 `a []3", "text 0 1:2 b`"]],
    ["1. a\n\n2. b\n   - c\n\n     d", ["item 0 0:3 a", "item 0 2:3 b", "item 1 3:5 c", "text 1 5:5 d"]],
    ["- a\n   - b\n     - c\n   - d", ["item 0 0:2 a", "item 1 1:5 b", "item 2 2:7 c", "item 1 3:5 d"]],
    ["-\n  - a", ["item 1 1:4 a"]],
    ["> - a\nb", ["item 0 0:4 a", "text 0 1:0 b"]],
    ["> - a\n\nb", ["item 0 0:4 a", "text -1 2:0 b"]],
    ["- a\n  > b\n  > - c", ["item 0 0:2 a", "text 0 1:4 b", "item 1 2:6 c"]],
    ["# a #b #", ["heading 1 0:2 a #b"]],
    ["#\ta", ["heading 1 0:2 a"]],
    ["# a\t#", ["heading 1 0:2 a"]],
    ["##a\n## b", ["text -1 0:0 ##a", "heading 2 1:3 b"]],
    ["- a\n\n  b\n  ===", ["item 0 0:2 a", "text 0 2:2 b", "text 0 3:2 ==="]],
    ["a\n===\nb", ["text -1 0:0 a", "text -1 1:0 ===", "text -1 2:0 b"]],
    ["b\n  \na\n---", ["text -1 0:0 b", "heading 2 2:0 a", "rule -1 3:0 "]],
    ["a\n2.  [ ] b", ["text -1 0:0 a", "item 0 1:4 b []5"]],
    ["- a\nPhase  2: b\n===", ["item 0 0:2 a", "heading 1 1:0 Phase  2: b"]],
    ["# c\n\n   Phase 1\n---", ["heading 1 0:2 c", "heading 2 2:0 Phase 1", "rule -1 3:0 "]],
    ["# c\n\n   Phase 1 a\n---", ["heading 1 0:2 c", "heading 2 2:0 Phase 1 a", "rule -1 3:0 "]],
    ["a (b).\n---", ["text -1 0:0 a (b).", "rule -1 1:0 "]],
    ["  Goal: a\n---", ["text -1 0:2 Goal: a", "rule -1 1:0 "]],
    ["> a\n> b\n===\nc", ["text -1 0:2 a", "text -1 1:2 b", "text -1 2:0 ===", "text -1 3:0 c"]],
  ])("of %j are %j", (text, rows) => {
    expect(rowsOf(text)).toEqual(rows);
  });

  it.each([
    ["- L\n  - b", ["item 0 0:2 L", "item 1 1:4 b"]],
    ["- L\n\n  b", ["item 0 0:2 L", "text 0 2:2 b"]],
    ["- L\n\nb", ["item 0 0:2 L", "text -1 2:0 b"]],
    ["- L\nb", ["item 0 0:2 L", "text 0 1:0 b"]],
    ["- L\n- b\n  c", ["item 0 0:2 L", "item 0 1:2 b", "text 0 2:2 c"]],
    ["- L\n# b\n  c", ["item 0 0:2 L", "heading 1 1:2 b", "text -1 2:2 c"]],
    ["1. L\n2. b", ["item 0 0:3 L", "item 0 1:3 b"]],
    ["L\n2. b", ["text -1 0:0 L", "text -1 1:0 2. b"]],
    ["L\n\n# b\n\nc\n---", ["text -1 0:0 L", "heading 1 2:2 b", "text -1 4:0 c", "rule -1 5:0 "]],
    ["```\nL\n\n# b\n```\nc", ["text -1 5:0 c"]],
  ])("go on after a long line as after a short one: %j", (text, rows) => {
    const said = rows.map((row) => row.replace("L", LONG));
    expect(rowsOf(text.replace("L", LONG))).toEqual(said);
    expect(rowsOf(text)).toEqual(rows);
  });

  it("are the same in a long source, which is parsed in pieces", () => {
    const parts = [
      "## a [x]",
      "- b\n  - c\n\n    d\n\n      e",
      "f\ng\n===",
      "1. h\n   more\n\n2. i",
      "> j\n> - k",
      "l\n",
    ];
    const once = parts.map((part) => rowsOf(`${part}\n`));
    let [text, line] = ["", 0];
    const expected: string[] = [];
    for (let round = 0; round < 60; round += 1) {
      for (const [index, part] of parts.entries()) {
        const moved = (once[index] ?? []).map((row) => row.replace(/\d+(?=:)/, (at) => `${Number(at) + line}`));
        expected.push(...moved);
        text += `${part}\n\n# ${"x".repeat(round)}.\n\n`;
        line += part.split("\n").length + 1;
        expected.push(`heading 1 ${line}:2 ${"x".repeat(round)}.`);
        line += 2;
      }
    }
    expect(rowsOf(text)).toEqual(expected);
  });

  // A piece begins where no block continues; a cut costs nothing but the time of a start.
  it.each<readonly [string, string[]]>([
    ["", ["0 with 0"]],
    ["\n\n", ["0 with 0"]],
    ["a\n# b\n- c\n\nd", ["0 with 4"]],
    ["L\n# b", ["0 with 1", "1 with 1"]],
    ["L\n#", ["0 with 1", "1 with 1"]],
    ["L\n#b", ["0 with 1"]],
    ["L\n- b", ["0 with 1", "1 with 1"]],
    ["L\n-  b", ["0 with 1", "1 with 1"]],
    ["L\n- ", ["0 with 1"]],
    ["L\n  - b", ["0 with 2"]],
    ["L\n1. b", ["0 with 2"]],
    ["L\nb", ["0 with 1"]],
    ["L\n\nb", ["0 with 1", "2 with 1"]],
    ["L\n \nb", ["0 with 1", "2 with 1"]],
    ["L\n\n b", ["0 with 2"]],
    ["L\n# b\n# c\nL\n# d", ["0 with 1", "1 with 3", "4 with 1"]],
  ])("come from the pieces and blocks of %j as %j", (text, pieces) => {
    expect(piecesOf(text.replaceAll("L", LONG))).toEqual(pieces);
  });

  it("come from pieces of more than 400 characters", () => {
    expect(piecesOf(`${"x".repeat(399)}\n# b`)).toEqual(["0 with 2"]);
    expect(piecesOf(`${"x".repeat(400)}\n# b`)).toEqual(["0 with 1", "1 with 1"]);
    expect(piecesOf(`${"x\n".repeat(199)}xx\n# b`)).toEqual(["0 with 1", "200 with 1"]);
    expect(piecesOf(`${"x\n".repeat(199)}x\n# b`)).toEqual(["0 with 2"]);
  });

  it("may not be too many for their length", () => {
    const details = { file: "tasks.md", line: 1 };
    expect(() => parsePlan(`${PHASE}${"\n".repeat(30_000)}`)).toThrowError(
      expect.objectContaining({ code: "PLAN_PARSE", message: expect.stringContaining("too many"), details }),
    );
    expect(parsePlan(`${PHASE}${"\n".repeat(20_000)}`).plan.phases).toHaveLength(1);
    const deep = (lines: number) => `${PHASE}${`${" ".repeat(40)}- a\n`.repeat(lines)}`;
    expect(() => parsePlan(deep(2000))).toThrow("too many for its length and nesting");
    expect(parsePlan(deep(500)).plan.phases).toHaveLength(1);
  });
});

describe("lines in code that strict Markdown reads as text", () => {
  const CASES: readonly (readonly [string, number[]])[] = [
    ["```\n- [ ] a\n```", []],
    ["- ```\n- [ ] a\n```", []],
    ["- a\n  ```\n- [ ] b\n  ```", []],
    ["- ```\n  a\n[ ] b\n  ```", [2]],
    ["1. ```\na [ ]\nb\n   ```", [1]],
    ["<pre>\n\n[ ] a\n</pre>", []],
    ["<pre>\n[ ] a\n\n[ ] b\n</pre>", []],
    ["a\n<pre>\n[ ] a\n</pre>", []],
    ["- <pre>\n  [ ] a\n  </pre>", []],
    ["<!-- [ ] -->", []],
    ["    <pre>\n    [ ] a\n    </pre>", []],
    ["- a\n  <script>\n  [ ] a\n  </script>", []],
    ["a\n```\nb\n```\n[ ] c", []],
    ["<div>\n<pre>\n[ ] a\n</pre>\n</div>", [2]],
    ["<pre\n>\n[ ] a\n</pre>", []],
    // Strict Markdown begins code where this reader ends it: it has the second sample in it.
    ["- ```\n  a\n[ ] b\n  ```\n# c\n- ```\n[ ] d\n  ```\n", [2]],
  ];

  it.each(CASES)("in %j are %j", (text, expected) => {
    expect(strictLines(text)).toEqual(expected);
  });

  it("are the same in a long source, which is parsed between headings", () => {
    const before = `${"words ".repeat(900)}\n# x\n`.repeat(60);
    const lines = before.split("\n").length - 1;
    const text = `${before}- \`\`\`\n  a\n[ ] b\n  \`\`\`\n\n# y\n- \`\`\`md\n# z\n  a\n`;
    expect(before.length).toBeGreaterThan(256 * 1024);
    expect(strictLines(text)).toEqual([lines + 2]);
  });

  // In a long source no code goes on below a heading that is no code, so the second sample is read by itself.
  it.each<readonly [string, number[]]>([
    ["# c", [2, 6]],
    ["###### c", [2, 6]],
    ["#\tc", [2, 6]],
    ["####### c", [2]],
    ["#c", [2]],
    ["c # d", [2]],
  ])("are those between headings in a long source, with %j between two samples: %j", (between, found) => {
    const sample = (words: string) => `- \`\`\`\n${words}\n  \`\`\`\n`;
    const text = `${sample("  a\n[ ] b")}${between}\n${sample("[ ] d")}`;
    const before = `${"words ".repeat(900)}\n# x\n`.repeat(60);
    const first = before.split("\n").length - 1;
    expect(strictLines(before + text).map((line) => line - first)).toEqual(found);
  });

  it("are none below a heading in a sample of a long source", () => {
    const before = `${"words ".repeat(900)}\n# x\n`.repeat(60);
    expect(strictLines(`${before}\`\`\`\n# c\n[ ] d\n\`\`\`\n`)).toEqual([]);
  });

  it("are those of the whole source up to 256 Ki characters before its last line", () => {
    const text = "- ```\n  a\n[ ] b\n  ```\n# c\n- ```\n[ ] d\n  ```\n# e\n";
    const lines = `${"x".repeat(1000)}\n`.repeat(250);
    const padded = (length: number) => `${`${text}${lines}`.padEnd(length - 1, ".")}\n.`;
    expect(strictLines(padded(256 * 1024))).toEqual([2]);
    expect(strictLines(padded(256 * 1024 + 1))).toEqual([2, 6]);
  });
});
