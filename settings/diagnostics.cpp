#include "settings/diagnostics.hpp"

#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "core/text.hpp"

namespace lagtrap::settings {
namespace {

constexpr std::size_t quoted_bytes = 80;
// characters shown of the source line, before and after the column
constexpr std::size_t shown_before = 80;
constexpr std::size_t shown_after = 60;
constexpr std::size_t max_character_bytes = 4;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// The size in bytes of the first `count` characters of `text`.
std::size_t bytes_of_first(std::string_view text, std::size_t count) {
    std::size_t offset = 0;
    for (; offset < text.size(); ++offset) {
        if (continues_character(text[offset])) continue;
        if (count == 0) break;
        --count;
    }
    return offset;
}

// The size in bytes of the last `count` characters of `text`.
std::size_t bytes_of_last(std::string_view text, std::size_t count) {
    std::size_t bytes = 0;
    while (bytes < text.size() && count > 0)
        if (!continues_character(text[text.size() - ++bytes])) --count;
    return bytes;
}

std::string shown(std::string_view part) {
    std::string spaced(part);
    std::replace(spaced.begin(), spaced.end(), '\t', ' ');
    return printable(spaced);
}

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char byte) { return !continues_character(byte); }));
}

std::vector<Note> in_order(std::vector<Note> notes) {
    std::stable_sort(notes.begin(), notes.end(), [](const Note& a, const Note& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    });
    return notes;
}

// The source line around the column, with a caret below it. Reads only the part it shows: a line
// may be as long as the file, and have many errors.
std::string source_excerpt(const LineIndex& index, Place place) {
    const std::string_view line = index.line(place.line);
    const std::size_t at =
        index.offset_of(place) - static_cast<std::size_t>(line.data() - index.text().data());
    const std::size_t before = std::min(at, shown_before * max_character_bytes);
    const std::size_t start = at - bytes_of_last(line.substr(at - before, before), shown_before);
    const std::string_view rest = line.substr(at, shown_after * max_character_bytes);
    const std::size_t end = at + bytes_of_first(rest, shown_after);
    const std::string left = (start > 0 ? "..." : "") + shown(line.substr(start, at - start));
    const std::string right = shown(line.substr(at, end - at)) + (end < line.size() ? "..." : "");
    return fmt::format("  {}{}\n  {}^\n", left, right, std::string(characters(left), ' '));
}

}  // namespace

bool Diagnostics::counted_alone() {
    if (kept_.size() < diagnostics_limit) return false;
    ++dropped_;
    return true;
}

void Diagnostics::add(Place place, std::string found, std::string allowed, std::string hint) {
    if (counted_alone()) return;
    // Two markers of a short form have the same attributes.
    const auto is_same = [&](const auto& kept) {
        return kept.line == place.line && kept.column == place.column && kept.found == found;
    };
    if (std::any_of(kept_.begin(), kept_.end(), is_same)) return;
    kept_.push_back(
        {place.line, place.column, std::move(found), std::move(allowed), std::move(hint)});
}

void Diagnostics::note(Place place, const std::string& what, const Error& why) {
    if (notes_.size() >= diagnostics_limit) return;
    std::string reason = printable(why.message);
    const std::string prefix = printable(what) + ": ";
    if (reason.starts_with(prefix)) reason.erase(0, prefix.size());
    notes_.push_back(
        {place.line, place.column,
         fmt::format("{} could not be checked: {}; run as root", shortened(what), reason)});
}

void Diagnostics::note(Place place, std::string text) {
    if (notes_.size() < diagnostics_limit)
        notes_.push_back({place.line, place.column, std::move(text)});
}

void Diagnostics::warn(Place place, std::string text) {
    const bool said = std::any_of(warnings_.begin(), warnings_.end(),
                                  [&](const Note& warning) { return warning.text == text; });
    if (!said && warnings_.size() < diagnostics_limit)
        warnings_.push_back({place.line, place.column, std::move(text)});
}

std::vector<Note> Diagnostics::take_notes() { return in_order(std::exchange(notes_, {})); }

std::vector<Note> Diagnostics::take_warnings() { return in_order(std::exchange(warnings_, {})); }

std::vector<Diagnostic> Diagnostics::take() {
    std::stable_sort(kept_.begin(), kept_.end(), [](const Diagnostic& a, const Diagnostic& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    });
    if (dropped_ > 0)
        kept_.push_back({0, 0, fmt::format("{} more errors", dropped_),
                         fmt::format("only {} are listed", diagnostics_limit), ""});
    return std::exchange(kept_, {});
}

bool root_may_know(const Error& error) {
    return error.kind == ErrorKind::Denied && ::geteuid() != 0;
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

std::string format_notes(const std::filesystem::path& path, const ParseOutcome& outcome) {
    const std::string file = printable(path.string());
    std::string output;
    for (const Note& warning : outcome.warnings)
        output += fmt::format("{}:{}:{}: warning: {}\n", file, warning.line, warning.column,
                              printable(warning.text));
    for (const Note& note : outcome.notes)
        output +=
            fmt::format("{}:{}:{}: note: {}\n", file, note.line, note.column, printable(note.text));
    return output;
}

std::string format_diagnostics(const std::filesystem::path& path, std::string_view text,
                               const std::vector<Diagnostic>& diagnostics) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    const LineIndex index(text);
    const std::string file = printable(path.string());
    std::string output;
    for (const Diagnostic& diagnostic : diagnostics) {
        const std::string where =
            diagnostic.line > 0 ? fmt::format("{}:{}:{}", file, diagnostic.line, diagnostic.column)
                                : file;
        output += fmt::format("{}: {}; {}\n", where, printable(diagnostic.found),
                              printable(diagnostic.allowed));
        if (!index.line(diagnostic.line).empty())
            output += source_excerpt(index, {diagnostic.line, diagnostic.column});
        if (!diagnostic.hint.empty())
            output += fmt::format("  hint: {}\n", printable(diagnostic.hint));
    }
    return output;
}

}  // namespace lagtrap::settings
