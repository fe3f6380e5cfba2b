// The pages of the server, built by server/web/build.mjs and embedded in the program.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace lagtrap::server {

// Everything here lives as long as the program.
struct WebFile {
    std::string_view path;          // "/index.html", "/assets/..."
    std::string_view content_type;  // with its charset
    std::string_view etag;          // with its quotes; of the uncompressed bytes, so weaken or suffix it per encoding
    std::string_view bytes;
    std::string_view gzip;    // the same bytes for `Content-Encoding: gzip`
    std::string_view brotli;  // the same bytes for `Content-Encoding: br`
    // The name holds a digest of the content: may be cached for ever. The others are to be asked for anew each time.
    bool unchanging = false;
};

// To be sent with every page and file. Sent without Cross-Origin-Opener-Policy: "Open in Perfetto" talks to the window
// that it opened.
inline constexpr std::string_view web_content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

// All files.
[[nodiscard]] std::span<const WebFile> web_files();

// The file of a decoded path without its query. The paths of pages, which the script in the browser tells apart, give
// index.html. Nothing for paths under /assets that do not exist, nor for /api, /metrics and /healthz, whatever is
// behind them.
[[nodiscard]] std::optional<WebFile> find_web_file(std::string_view path);

}  // namespace lagtrap::server
