#include "trace/names/perf_map.hpp"

#include <charconv>
#include <limits>
#include <optional>

namespace lagtrap::trace {
namespace {

constexpr std::string_view blanks = " \t";

// Removes and returns a number at the start of the line, along with the blanks after it.
std::optional<std::uint64_t> take_number(std::string_view& line) {
    if (line.starts_with("0x") || line.starts_with("0X")) line.remove_prefix(2);
    std::uint64_t number = 0;
    const auto [end, failure] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
    if (failure != std::errc{}) return std::nullopt;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    const std::size_t rest = line.find_first_not_of(blanks);
    if (rest == 0 || rest == std::string_view::npos) return std::nullopt;
    line.remove_prefix(rest);
    return number;
}

std::optional<JitPiece> parse_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto start = take_number(line);
    const auto size = start ? take_number(line) : std::nullopt;
    if (!size || *size == 0 || *size > std::numeric_limits<std::uint64_t>::max() - *start)
        return std::nullopt;
    return JitPiece{*start, *start + *size, 0, line.substr(0, code_name_limit_bytes)};
}

}  // namespace

PerfMap parse_perf_map(std::string_view content) {
    PerfMap map;
    while (!content.empty()) {
        const std::size_t end = content.find('\n');
        if (end == std::string_view::npos) {
            ++map.damaged;  // copied while it was being written: the name may be incomplete
            break;
        }
        const auto piece = parse_line(content.substr(0, end));
        content.remove_prefix(end + 1);
        if (!piece) {
            ++map.damaged;
        } else if (map.pieces.size() < code_pieces_limit) {
            map.pieces.push_back(*piece);
        } else {
            ++map.left_out;
        }
    }
    return map;
}

}  // namespace lagtrap::trace
