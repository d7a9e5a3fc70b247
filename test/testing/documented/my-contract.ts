// #region contract
import { MyStorage, newTemporaryFile, removeTemporaryFiles } from "./my-storage.ts";

// An adapter over a new, empty storage. Called once for each case.
export const open = () => MyStorage.open({ file: newTemporaryFile() });

// Another adapter over the same storage, as after a restart. The first is closed, or, if your
// capabilities say `multiProcess`, may still be open.
export const reopen = (storage: MyStorage) => MyStorage.open({ file: storage.file });

// How another process opens it: the module's default export, or `openWith`, gets the options.
export const spawn = (storage: MyStorage) => ({ module: import.meta.url, options: { file: storage.file } });
export const openWith = ({ file }: { file: string }) => MyStorage.open({ file });

// Called once at the end.
export const finish = () => removeTemporaryFiles();
// #endregion contract
