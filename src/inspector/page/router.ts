/**
 * Where the page is: a path of segments below the base path, and filters in the query. Links are plain links, so they can be
 * opened in a new tab; a click on one changes the view without loading the page anew. Back and forward restore the place that
 * was scrolled to.
 */
import { signal } from "@preact/signals";

export interface Place {
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

/** The path that the page is mounted at, with a slash at its end: this file lies directly below it. */
export const base = new URL(".", import.meta.url).pathname;

function read(): Place {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : "";
  return { segments: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(location.search) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export const place = signal<Place>(read());

/** Returns the URL of a place. Members of the query that are empty or undefined are left out. */
export function href(segments: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).flatMap(([key, value]) => (value ? [[key, value]] : []));
  const search = new URLSearchParams(given).toString();
  // The server takes a path with a dot for a file.
  const path = segments.map((segment) => encodeURIComponent(segment).replaceAll(".", "%2E")).join("/");
  return `${base}${path}${search === "" ? "" : `?${search}`}`;
}

export function hrefWith(changes: Readonly<Record<string, string | undefined>>): string {
  const { segments, query } = place.value;
  return href(segments, { ...Object.fromEntries(query), ...changes });
}

const scrolled = new Map<string, number>();

/** Shows another place. `replace` leaves no entry in the browser's history. */
export function go(url: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  scrolled.set(location.href, scrollY);
  const { pathname } = location;
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  place.value = read();
  if (location.pathname !== pathname) scrollTo(0, 0);
}

/** Follows clicks on links of the page, and the browser's buttons. */
export function followLinks(): void {
  history.scrollRestoration = "manual";
  let shown = location.href;
  addEventListener("popstate", () => {
    scrolled.set(shown, scrollY);
    shown = location.href;
    place.value = read();
    const y = scrolled.get(shown) ?? 0;
    // What is shown there is drawn after the change of the place.
    setTimeout(() => scrollTo(0, y));
  });
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!(link instanceof HTMLAnchorElement) || !isPlain || link.target !== "" || event.defaultPrevented) return;
    if (
      link.origin !== location.origin ||
      !link.pathname.startsWith(base) ||
      link.getAttribute("href")?.startsWith("#")
    )
      return;
    event.preventDefault();
    go(link.href);
  });
  place.subscribe(() => {
    shown = location.href;
  });
}
