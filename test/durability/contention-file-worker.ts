import { FileStorage } from "../../src/adapters/fs/storage/file-storage.js";
import { contend } from "./contend.js";

await contend((place) => FileStorage.open(place));
