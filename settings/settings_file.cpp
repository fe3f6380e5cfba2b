#include "settings/settings_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include <fmt/core.h>

#include "core/files.hpp"
#include "settings/schema.hpp"

namespace lagtrap::settings {

Diagnostic too_large(std::uint64_t bytes) {
    return {0,
            0,
            fmt::format("the file has {} bytes", bytes),
            fmt::format("expected at most {}", file_bytes_limit),
            {}};
}

std::variant<std::string, Diagnostic> read_settings_file(const std::filesystem::path& path,
                                                         std::string_view what) {
    const std::string expected = fmt::format("expected {}", what);
    // With O_NONBLOCK, opening a pipe does not wait for a writer.
    const auto fd = open_file(path, O_RDONLY | O_NONBLOCK);
    if (!fd)
        return Diagnostic{
            0,
            0,
            fmt::format("the file cannot be opened ({})", std::strerror(fd.error().system_errno)),
            expected,
            {}};
    struct stat facts {};
    if (fstat(fd->get(), &facts) != 0 || !S_ISREG(facts.st_mode))
        return Diagnostic{0, 0, "not a regular file", expected, {}};
    if (static_cast<std::uint64_t>(facts.st_size) > file_bytes_limit)
        return too_large(static_cast<std::uint64_t>(facts.st_size));
    auto text = read_all(fd->get(), file_bytes_limit);
    if (!text)
        return Diagnostic{
            0, 0, fmt::format("the file cannot be read ({})", text.error().message), expected, {}};
    return std::move(text).value();
}

}  // namespace lagtrap::settings
