test("a dynamic import", async () => {
  const { MemoryStorage } = await import("phasegate");
  expect(new MemoryStorage()).toBeInstanceOf(MemoryStorage);
});
