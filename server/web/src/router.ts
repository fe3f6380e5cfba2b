// The address bar: reading it, and navigating without reloading the page.
import { useEffect, useState } from "preact/hooks";
import { inner, outer } from "./base";

export interface Place {
  path: string;
  query: URLSearchParams;
  // Changes whenever the address does.
  key: string;
}

const listeners = new Set<() => void>();

function here(): Place {
  const { pathname, search } = window.location;
  return {
    path: inner(pathname) ?? pathname,
    query: new URLSearchParams(search),
    key: (inner(pathname) ?? pathname) + search,
  };
}

function tell(): void {
  for (const listener of [...listeners]) listener();
}

// `address` is within the pages. Use `replace` for what should not be a history entry, such as
// letters of a search.
export function navigate(address: string, how: "push" | "replace" = "push"): void {
  if (how === "push") window.history.pushState(null, "", outer(address));
  else window.history.replaceState(null, "", outer(address));
  tell();
}

// Changes parts of the query and keeps the rest. An empty value removes its part; several values
// are repeated.
export function setQuery(
  changes: Record<string, string | string[] | undefined>,
  how: "push" | "replace" = "push",
): void {
  const query = new URLSearchParams(window.location.search);
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== "") query.append(name, one);
  }
  const text = query.toString();
  navigate(here().path + (text === "" ? "" : `?${text}`), how);
}

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const listener = () => setPlace(here());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return place;
}

// Makes ordinary links navigate without a reload; call once.
export function followLinks(): void {
  window.addEventListener("popstate", tell);
  document.addEventListener("click", (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = (event.target as Element | null)?.closest?.("a[href]") as HTMLAnchorElement | null;
    if (
      !link ||
      link.target !== "" ||
      link.hasAttribute("download") ||
      link.origin !== window.location.origin
    )
      return;
    const path = inner(link.pathname);
    if (
      path === null ||
      path.startsWith("/api/") ||
      (link.hash !== "" && link.pathname === window.location.pathname)
    )
      return;
    event.preventDefault();
    navigate(path + link.search);
    window.scrollTo(0, 0);
  });
}
