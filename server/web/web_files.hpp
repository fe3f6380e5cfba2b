// The server's pages, built by server/web/build.mjs and embedded in the program.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace lagtrap::server {

// A file of the pages. Everything in it lives as long as the program.
struct WebFile {
    std::string_view path;          // "/index.html", "/assets/..."
    std::string_view content_type;  // with its charset
    // with quotes, for the uncompressed bytes; weaken or suffix it for other encodings
    std::string_view etag;
    std::string_view bytes;
    std::string_view gzip;    // the same bytes for `Content-Encoding: gzip`
    std::string_view brotli;  // the same bytes for `Content-Encoding: br`
    // The name contains a digest of the content, so it may be cached forever. Other files must be
    // revalidated each time.
    bool unchanging = false;
};

// Send it with every page and file. Do not send Cross-Origin-Opener-Policy: "Open in Perfetto"
// talks to the window it opens.
inline constexpr std::string_view web_content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

// All files.
[[nodiscard]] std::span<const WebFile> web_files();

// The file for a decoded path without its query. Paths of pages, which the script in the browser
// tells apart, give index.html. nullopt for missing files below /assets, and for everything below
// /api, /metrics and /healthz.
[[nodiscard]] std::optional<WebFile> find_web_file(std::string_view path);

}  // namespace lagtrap::server
