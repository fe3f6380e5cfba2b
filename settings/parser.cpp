#include "settings/parser.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/core.h>

#include "core/files.hpp"
#include "core/text.hpp"
#include "settings/build.hpp"
#include "settings/diagnostics.hpp"
#include "settings/document.hpp"
#include "settings/machine_check.hpp"
#include "settings/xml.hpp"

namespace lagtrap::settings {
namespace {

ParseOutcome refused(std::string found, std::string allowed, std::string hint = {}) {
    ParseOutcome outcome;
    outcome.diagnostics.push_back({0, 0, std::move(found), std::move(allowed), std::move(hint)});
    return outcome;
}

ParseOutcome refused_size(std::uint64_t bytes) {
    return refused(fmt::format("the file has {} bytes", bytes), fmt::format("expected at most {}", file_bytes_limit));
}

}  // namespace

ParseOutcome parse_settings(std::string_view text, BinaryCheck check) {
    if (text.size() > file_bytes_limit) return refused_size(text.size());
    ParseOutcome outcome;
    Diagnostics diagnostics;
    const LineIndex index(without_byte_order_mark(text));
    if (const auto root = read_document(index, diagnostics)) {
        Built built = build_settings(*root, diagnostics);
        if (check == BinaryCheck::Look) check_machine(built.sources, diagnostics);
        outcome.settings = std::move(built.settings);
    }
    outcome.settings.source_text = text;
    outcome.diagnostics = diagnostics.take();
    outcome.notes = diagnostics.take_notes();
    return outcome;
}

ParseOutcome load_settings(const std::filesystem::path& path, BinaryCheck check) {
    // O_NONBLOCK: opening a pipe would otherwise wait for a writer.
    const auto fd = open_file(path, O_RDONLY | O_NONBLOCK);
    if (!fd)
        return refused(fmt::format("the file can not be opened ({})", std::strerror(fd.error().system_errno)),
                       "expected a settings file");
    struct stat facts {};
    if (fstat(fd->get(), &facts) != 0 || !S_ISREG(facts.st_mode))
        return refused("this is no regular file", "expected a settings file");
    if (static_cast<std::uint64_t>(facts.st_size) > file_bytes_limit)
        return refused_size(static_cast<std::uint64_t>(facts.st_size));
    const auto text = read_all(fd->get(), file_bytes_limit);
    if (!text)
        return refused(fmt::format("the file can not be read ({})", text.error().message), "expected a settings file");
    return parse_settings(*text, check);
}

std::string success_line(const std::filesystem::path& path, const ParseOutcome& outcome) {
    std::string line =
        fmt::format("{}: {} events, no errors", printable(path.string()), outcome.settings.events.size());
    if (!outcome.notes.empty()) line += fmt::format("; {} markers or files could not be checked", outcome.notes.size());
    return line + "\n";
}

}  // namespace lagtrap::settings
