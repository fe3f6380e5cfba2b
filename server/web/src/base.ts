// The path prefix of a server that shares its host with other pages: "/lagtrap", or empty.
// Addresses within the pages omit it.

const meta =
  typeof document === "undefined"
    ? null
    : document.querySelector<HTMLMetaElement>('meta[name="lagtrap-base"]');
export const base = meta?.content ?? "";

// Converts an address within the pages to one for the browser. Others, such as "?order=p99" or
// "https://...", stay unchanged.
export function outer(address: string, below = base): string {
  return address.startsWith("/") && !address.startsWith("//") ? below + address : address;
}

// Converts a path of the browser to one within the pages; null if it is not one of our pages.
export function inner(path: string, below = base): string | null {
  if (below === "") return path;
  return path.startsWith(`${below}/`) ? path.slice(below.length) : null;
}
