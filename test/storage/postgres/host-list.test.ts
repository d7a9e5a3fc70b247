import { readFile } from "node:fs/promises";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../../src/errors.js";
import { readHostList } from "../../../src/storage/postgres/hosts.js";

describe("the URL", () => {
  it("may be one of the documented ones, which mean the same", async () => {
    const page = await readFile(new URL("../documented/servers.txt", import.meta.url), "utf8");
    const read = page.trim().split("\n").map(readHostList);
    const urls = ["postgres://host@db1:5432/app?", "postgres://host@db2:5432/app?"];
    expect(read).toEqual([urls, urls].map((both) => ({ urls: both, roles: ["read-write"] })));
  });

  it.each([
    "postgres://host/db",
    "postgresql://u:p@host:5432/db?sslmode=require",
    "postgres:///db",
    "postgres:///db?host=/tmp",
    "postgres://[::1]:5432/db",
  ])("of one server is left to the driver: %s", (url) => {
    expect(readHostList(url)).toBeUndefined();
  });

  it.each<[string, readonly string[]]>([
    ["postgres://a,b/db", ["postgres://a/db?", "postgres://b/db?"]],
    ["postgres://u:p%40@a:1,b:2/db?x=1", ["postgres://u:p%40@a:1/db?x=1", "postgres://u:p%40@b:2/db?x=1"]],
    ["postgres://u:p@ss@a,b", ["postgres://u:p@ss@a?", "postgres://u:p@ss@b?"]],
    ["postgres://[::1]:1,[::2]:2/db", ["postgres://[::1]:1/db?", "postgres://[::2]:2/db?"]],
    ["postgres:///db?host=a,b", ["postgres://a/db?", "postgres://b/db?"]],
    ["postgres://u@/db?host=a,b&port=1,2", ["postgres://u@a:1/db?", "postgres://u@b:2/db?"]],
    ["postgres:///db?port=7&host=%2Ftmp,b", ["postgres://%2Ftmp:7/db?", "postgres://b:7/db?"]],
    ["postgres:///db?host=::1,b", ["postgres://[::1]/db?", "postgres://b/db?"]],
  ])("of several servers is split into one per server: %s", (url, urls) => {
    expect(readHostList(url)).toEqual({ urls, roles: ["any"] });
  });

  it.each([
    ["any", ["any"]],
    ["read-write", ["read-write"]],
    ["read-only", ["read-only"]],
    ["primary", ["primary"]],
    ["standby", ["standby"]],
    ["prefer-standby", ["standby", "any"]],
  ])("determines the role that a server must have: %s", (wanted, roles) => {
    const [one] = [readHostList(`postgres://a/db?target_session_attrs=${wanted}&x=1`)];
    expect(one).toEqual({ urls: ["postgres://a/db?x=1"], roles });
    expect(readHostList(`postgres://a,b/db?target_session_attrs=${wanted}`)?.roles).toEqual(roles);
  });

  it.each([
    ["postgres://u:s3cret@a,b/db?target_session_attrs=constructor", "its target_session_attrs is unknown"],
    ["postgres://u:s3cret@a,,b/db", "a host in the url is empty"],
    ["postgres://u:s3cret@/db?host=a,", "a host in the url is empty"],
    ["postgres://u:s3cret@/db?host=a,b&port=1,2,3", "the url has 2 hosts and 3 ports"],
    ["postgres://u:s3cret@a:x,b/db", "the url is not one of PostgreSQL's"],
    ["postgres://u:s3cret@a:x/db", "the url is not one of PostgreSQL's"],
    ["mysql://u:s3cret@a,b/db", "the url is not one of PostgreSQL's"],
    ["host=a password=s3cret", "the url is not one of PostgreSQL's"],
    [undefined, "the url is not one of PostgreSQL's"],
  ])("is refused if it is invalid, without showing its password: %s", (url, cause) => {
    let error: unknown;
    try {
      readHostList(url);
    } catch (thrown) {
      error = thrown;
    }
    expect(isPhasegateError(error, "STORAGE_FAILED") && error.details).toEqual({ operation: "open", cause });
    expect(inspect(error, { depth: 10 })).not.toContain("s3cret");
  });
});
