#include "server/web/web_files.hpp"

#include <algorithm>

namespace lagtrap::server {
namespace {

bool is_under(std::string_view path, std::string_view folder) {
    return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

std::optional<WebFile> find_web_file(std::string_view path) {
    const auto files = web_files();
    const auto named = [files](std::string_view name) -> std::optional<WebFile> {
        const auto found = std::find_if(files.begin(), files.end(),
                                        [name](const auto& file) { return file.path == name; });
        if (found == files.end()) return std::nullopt;
        return *found;
    };
    if (const auto file = named(path)) return file;
    for (const std::string_view folder :
         {"/assets", "/api", "/metrics", "/healthz", "/favicon.ico", "/robots.txt"})
        if (is_under(path, folder)) return std::nullopt;
    if (!path.starts_with('/')) return std::nullopt;
    return named("/index.html");
}

}  // namespace lagtrap::server
