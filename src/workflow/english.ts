/** The texts of problems that zod finds, in English: `zod/mini` comes without any. Pass it to `parse` and `safeParse`. */
import en from "zod/v4/locales/en.js";

export const ENGLISH = { error: en().localeError };
