import dns from "node:dns/promises";
import { createServer, type RequestListener } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "phasegate";
import type { AllowedHost } from "phasegate/verify";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { isPublicAddress, readHosts } from "../../src/verifiers/http-ok.js";
import { aProject, refused } from "./a-project.js";

/** Starts a server on this machine; returns its port, and the hosts that it was requested by. */
async function aServer(answer: RequestListener) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.headers.host} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  // listen() on a port gives an address of this type.
  const { port } = server.address() as AddressInfo;
  return { port, asked, url: `http://127.0.0.1:${port}/` };
}

/** Makes look-ups of names give these addresses until the test ends; returns the names that are looked up. */
function resolving(addresses: (names: readonly string[]) => readonly string[]): readonly string[] {
  const names: string[] = [];
  const spy = vi.spyOn(dns, "lookup").mockImplementation((async (name: string) => {
    names.push(name);
    return addresses(names).map((address) => ({ address, family: 4 }));
  }) as never);
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return names;
}

async function asking(hosts: readonly AllowedHost[], limits = {}) {
  const { verify, check } = await aProject({}, { hosts, limits });
  return { check, ask: (params: JsonObject, more = {}) => verify("http_ok", params, more) };
}

describe("http_ok", () => {
  it("accepts a server that answers", async () => {
    const { port, url, asked } = await aServer((_, response) => response.end("hello\nworld\n"));
    const { ask } = await asking([{ host: `127.0.0.1:${port}`, private: true }]);
    expect(await ask({ url: `${url}health?deep=1#top` })).toEqual({
      ok: true,
      message: "the answer is 200; expected: 200 to 299",
      ran: `GET ${url}health?deep=1#top`,
      exit: 200,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      output: ["hello", "world"],
    });
    expect(await ask({}, { value: url })).toMatchObject({ ok: true });
    expect(asked[0]).toBe(`127.0.0.1:${port} /health?deep=1`);
  });

  it("requires the status of the gate", async () => {
    const { port, url } = await aServer((request, response) => {
      response.statusCode = Number(request.url?.slice(1));
      response.end();
    });
    const { ask } = await asking([{ host: `127.0.0.1:${port}`, private: true }]);
    expect(refused(await ask({ url: `${url}500` }))).toContain("the answer is 500; expected: 200 to 299");
    expect(await ask({ url: `${url}404`, status: 404 })).toMatchObject({ ok: true, exit: 404 });
    expect(refused(await ask({ url: `${url}200`, status: [201, 204] }))).toContain("expected: 201 or 204");
  });

  it("follows no redirect, to a private address or any other", async () => {
    const secret = await aServer((_, response) => response.end("secret"));
    const { port, url } = await aServer((_, response) => {
      response.writeHead(302, { location: secret.url }).end();
    });
    const { ask } = await asking([{ host: `127.0.0.1:${port}`, private: true }]);
    expect(refused(await ask({ url }))).toContain("the answer is 302; redirects are not followed");
    expect(secret.asked).toEqual([]);
  });

  it("requests only servers on the host's list, at their port", async () => {
    const { port, asked } = await aServer((_, response) => response.end());
    const { ask, check } = await asking(["example.org", { host: `localhost:${port}`, private: true }]);
    const others = [
      `http://127.0.0.1:${port}/`,
      `http://example.org:${port}/`,
      `http://localhost.:${port}/`,
      `http://user:secret@localhost:${port}/`,
      `http://localhost@127.0.0.1:${port}/`,
      `http://localhost:${port + 1}/`,
      `http://ехample.org/`,
      `http://sub.example.org/`,
      "ftp://example.org/",
      "file:///etc/passwd",
      "example.org",
      "",
    ];
    for (const url of others) {
      await expect(check("http_ok", { url })).rejects.toThrow("http_ok");
      expect(refused(await ask({ url }))).toContain("http_ok");
    }
    for (const value of [5, null, ["http://example.org/"]]) {
      expect(refused(await ask({}, { value }))).toContain("must be a URL");
    }
    expect(asked).toEqual([]);
    await check("http_ok", { url: "https://EXAMPLE.org/a" });
    await check("http_ok", { url: "https://{evidence.host}/a" });
    await expect(check("http_ok", { status: 20 })).rejects.toThrow("status of http_ok");
    await expect(check("http_ok", { method: "POST" })).rejects.toThrow("no such parameter");
  });

  it("requests no private address that the host has not allowed, by number or by name", async () => {
    const { port, asked } = await aServer((_, response) => response.end());
    const names = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "169.254.169.254"];
    const { ask } = await asking(names.map((name) => `${name}:${port}`));
    for (const name of names) {
      expect(refused(await ask({ url: `http://${name}:${port}/` }))).toContain(
        "has no public address, and the host allows only public ones",
      );
    }
    expect(asked).toEqual([]);
  });

  it("resolves a name once, and connects to the address that was checked", async () => {
    const { port, asked } = await aServer((_, response) => response.end());
    const url = `http://rebind.test:${port}/`;
    const strict = await asking([`rebind.test:${port}`]);
    // Public for the check, this machine for a second lookup.
    const lookups = resolving((names) => (names.length > 1 ? ["127.0.0.1"] : ["192.0.2.1"]));
    expect(refused(await strict.ask({ url }))).toContain("no public address");
    expect(lookups).toEqual(["rebind.test"]);
    expect(asked).toEqual([]);
    // No system knows this name: the request must have gone to the given address, under the name.
    const allowed = await asking([{ host: `rebind.test:${port}`, private: true }]);
    resolving(() => ["127.0.0.1"]);
    expect(await allowed.ask({ url })).toMatchObject({ ok: true });
    expect(asked).toEqual([`rebind.test:${port} /`]);
    // One private address among public ones is refused.
    resolving(() => ["8.8.8.8", "10.0.0.1"]);
    expect(refused(await strict.ask({ url }))).toContain("no public address");
    resolving(() => []);
    expect(refused(await allowed.ask({ url }))).toContain("no public address");
  });

  it("limits what it reads, and how long it waits", async () => {
    const flood = await aServer((_, response) => {
      const write = (): void => {
        while (response.write("x".repeat(1000)));
        response.once("drain", write);
      };
      write();
    });
    const silent = await aServer(() => {});
    const dripping = await aServer((_, response) => void response.write("a"));
    const hosts = [flood, silent, dripping].map(({ port }) => ({ host: `127.0.0.1:${port}`, private: true }));
    const { ask } = await asking(hosts, { maxOutputBytes: 5000 });
    const flooded = await ask({ url: flood.url });
    expect(flooded).toMatchObject({ ok: true });
    expect(flooded.digest).toBeUndefined();
    for (const { url } of [silent, dripping]) {
      expect(refused(await ask({ url, timeout_ms: 200 }))).toContain("no answer in time");
    }
    const signal = AbortSignal.timeout(200);
    await expect(ask({ url: silent.url }, { signal })).rejects.toThrow("timeout");
  });

  it("reports that no server answers, without addresses", async () => {
    const gone = await aServer(() => {});
    const broken = await aServer((request) => request.socket.destroy());
    const hosts = [
      { host: `127.0.0.1:${broken.port}`, private: true },
      { host: "127.0.0.1:1", private: true },
      { host: "name.invalid", private: true },
      { host: `127.0.0.1:${gone.port}`, private: true },
    ];
    const { ask } = await asking(hosts);
    expect(refused(await ask({ url: "http://127.0.0.1:1/" }))).toContain("no answer (ECONNREFUSED)");
    expect(refused(await ask({ url: broken.url }))).toContain("no answer (ECONNRESET)");
    expect(refused(await ask({ url: "http://name.invalid/" }))).toMatch(/no answer \(E\w+\)/);
    // TLS to a server without TLS.
    expect(refused(await ask({ url: `https://127.0.0.1:${broken.port}/` }))).toContain("no answer");
  });

  it.each(["http://example.org", "example.org/path", "*.example.org", "user@example.org", "", "exa mple.org"])(
    "refuses %j on the host's list",
    (host) => {
      expect(() => readHosts([host])).toThrow("is not a host name or address");
    },
  );

  it("reads a port that is the default of its protocol", () => {
    expect([...readHosts(["a.example:80", "b.example:443", "[::1]", "c.example"]).keys()]).toEqual([
      "a.example:80",
      "b.example:443",
      "[::1]:80",
      "[::1]:443",
      "c.example:80",
      "c.example:443",
    ]);
  });
});

describe("isPublicAddress", () => {
  it.each(["8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.255.255", "100.128.0.0", "223.255.255.255"])(
    "takes %s",
    (address) => expect(isPublicAddress(address)).toBe(true),
  );

  it.each(["2606:4700::1111", "2a00:1450:4001:80b::200e", "::ffff:8.8.8.8", "2001:4860:4860::8888"])(
    "takes %s",
    (address) => expect(isPublicAddress(address)).toBe(true),
  );

  it.each([
    ..."0.0.0.0 10.1.2.3 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.255 169.254.169.254 172.16.0.1".split(" "),
    ..."172.31.255.255 192.0.0.1 192.0.2.1 192.168.1.1 198.18.0.1 198.19.255.255 203.0.113.9 224.0.0.1".split(" "),
    ..."240.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:a9fe:a9fe ::127.0.0.1".split(" "),
    ..."fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 ff02::1 64:ff9b::7f00:1 64:ff9b:1::1 2001::1".split(" "),
    ..."2001:db8::1 2002:7f00:1:: 100::1 3fff::1 fec0::1 ::ffff:0:127.0.0.1".split(" "),
    ..."localhost 1.2.3 1.2.3.4.5 0x7f.0.0.1 example.org 127.1".split(" "),
    "",
  ])("doesn't take %s", (address) => expect(isPublicAddress(address)).toBe(false));
});
