#include "trace/logs/code_files.hpp"

#include <charconv>

namespace lagtrap::trace {
namespace {

constexpr std::string_view map_ending = ".map";
constexpr std::string_view dump_ending = ".dump";

}  // namespace

std::string to_text(const CodeFileName& name) {
    return std::to_string(name.pid) + '-' + std::to_string(name.at_ns) +
           std::string(name.kind == CodeFileKind::PerfMap ? map_ending : dump_ending);
}

std::optional<CodeFileName> parse_code_file_name(std::string_view text) {
    CodeFileName name;
    const char* const end = text.data() + text.size();
    const auto [dash, bad_pid] = std::from_chars(text.data(), end, name.pid);
    if (bad_pid != std::errc{} || dash == end || *dash != '-') return std::nullopt;
    const auto [dot, bad_time] = std::from_chars(dash + 1, end, name.at_ns);
    if (bad_time != std::errc{}) return std::nullopt;
    const std::string_view ending(dot, static_cast<std::size_t>(end - dot));
    if (ending != map_ending && ending != dump_ending) return std::nullopt;
    name.kind = ending == map_ending ? CodeFileKind::PerfMap : CodeFileKind::Jitdump;
    return name;
}

}  // namespace lagtrap::trace
