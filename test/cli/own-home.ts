import { vi } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";

/** Gives the user a new home, without keys, until the stubs of variables are taken back. Returns its path. */
export async function stubHome(): Promise<string> {
  const home = await temporaryFolder();
  for (const name of ["HOME", "USERPROFILE"]) vi.stubEnv(name, home);
  return home;
}
