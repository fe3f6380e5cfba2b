// Where the server lies below other pages of its host: "/lagtrap", or nothing. Addresses within the pages are without it.

const meta = typeof document === "undefined" ? null : document.querySelector<HTMLMetaElement>('meta[name="lagtrap-base"]');
export const base = meta?.content ?? "";

// The address for the browser of one within the pages; others, such as "?order=p99" or "https://...", stay as they are.
export function outer(address: string, below = base): string {
  return address.startsWith("/") && !address.startsWith("//") ? below + address : address;
}

// The path within the pages of one of the browser's; nothing for a page that is not ours.
export function inner(path: string, below = base): string | null {
  if (below === "") return path;
  return path.startsWith(`${below}/`) ? path.slice(below.length) : null;
}
