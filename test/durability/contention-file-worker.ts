import { FileStorage } from "../../src/storage/files/storage.js";
import { contend } from "./contend.js";

await contend((place) => FileStorage.open(place));
