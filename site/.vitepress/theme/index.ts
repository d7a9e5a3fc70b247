/** VitePress' own theme on the fonts of the reader's system: nothing is loaded from another server. */
import "./home.css";

export { default } from "vitepress/theme-without-fonts";
