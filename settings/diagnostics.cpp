#include "settings/diagnostics.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "core/text.hpp"

namespace lagtrap::settings {
namespace {

constexpr std::size_t quoted_bytes = 80;
constexpr std::size_t shown_before = 80;  // characters of the source line before and after the column
constexpr std::size_t shown_after = 60;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Offset of character `count` of `line`, or its end.
std::size_t offset_of_character(std::string_view line, std::size_t count) {
    std::size_t offset = 0;
    for (; offset < line.size(); ++offset) {
        if (continues_character(line[offset])) continue;
        if (count == 0) break;
        --count;
    }
    return offset;
}

std::string shown(std::string_view part) {
    std::string spaced(part);
    std::replace(spaced.begin(), spaced.end(), '\t', ' ');
    return printable(spaced);
}

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return !continues_character(byte); }));
}

// The source line around the column, and a caret below it.
std::string source_excerpt(std::string_view line, std::uint32_t column) {
    const std::size_t before = column > 0 ? column - 1 : 0;
    const std::size_t first = before > shown_before ? before - shown_before : 0;
    const std::size_t start = offset_of_character(line, first);
    const std::size_t at = start + offset_of_character(line.substr(start), before - first);
    const std::size_t end = at + offset_of_character(line.substr(at), shown_after);
    const std::string left = (start > 0 ? "..." : "") + shown(line.substr(start, at - start));
    const std::string right = shown(line.substr(at, end - at)) + (end < line.size() ? "..." : "");
    return fmt::format("  {}{}\n  {}^\n", left, right, std::string(characters(left), ' '));
}

}  // namespace

void Diagnostics::add(Place place, std::string found, std::string allowed, std::string hint) {
    if (kept_.size() >= diagnostics_limit) {
        ++dropped_;
        return;
    }
    kept_.push_back({place.line, place.column, std::move(found), std::move(allowed), std::move(hint)});
}

std::vector<Diagnostic> Diagnostics::take() {
    std::stable_sort(kept_.begin(), kept_.end(), [](const Diagnostic& a, const Diagnostic& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    });
    if (dropped_ > 0)
        kept_.push_back({0, 0, fmt::format("{} more errors were found", dropped_),
                         fmt::format("only {} are listed", diagnostics_limit), ""});
    return std::exchange(kept_, {});
}

std::string shortened(std::string_view text) {
    if (text.size() <= quoted_bytes) return printable(text);
    std::size_t end = quoted_bytes;
    while (end > 0 && continues_character(text[end])) --end;
    return printable(text.substr(0, end)) + "...";
}

std::string in_quotes(std::string_view text) { return '"' + shortened(text) + '"'; }

std::string did_you_mean(std::string_view name) {
    return name.empty() ? std::string() : fmt::format("did you mean {}?", shortened(name));
}

std::string format_diagnostics(const std::filesystem::path& path, std::string_view text,
                               const std::vector<Diagnostic>& diagnostics) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    const LineIndex index(text);
    const std::string file = printable(path.string());
    std::string output;
    for (const Diagnostic& diagnostic : diagnostics) {
        const std::string where =
            diagnostic.line > 0 ? fmt::format("{}:{}:{}", file, diagnostic.line, diagnostic.column) : file;
        output += fmt::format("{}: {}; {}\n", where, printable(diagnostic.found), printable(diagnostic.allowed));
        const std::string_view line = index.line(diagnostic.line);
        if (!line.empty()) output += source_excerpt(line, diagnostic.column);
        if (!diagnostic.hint.empty()) output += fmt::format("  hint: {}\n", printable(diagnostic.hint));
    }
    return output;
}

}  // namespace lagtrap::settings
