import { MemoryStorage } from "phasegate";

test("a static import, compiled to require", () => {
  const storage: MemoryStorage = new MemoryStorage();
  expect(storage).toBeInstanceOf(MemoryStorage);
});
