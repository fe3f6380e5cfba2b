#include "server/reports/wait_notes.hpp"

#include <algorithm>
#include <string_view>

namespace lagtrap::server::reports {
namespace {

constexpr std::size_t max_threads = 64;  // of a place; their names are untrusted
constexpr double min_named_share = 0.6;  // of the time, for a thread to be named

std::string without_number(std::string_view name) {
    const std::size_t end = name.find_last_not_of("0123456789");
    if (end == std::string_view::npos || end + 1 == name.size()) return std::string(name);
    return std::string(name.substr(0, end + 1)) + "*";
}

std::string of_most_time(const std::map<std::string, std::uint64_t>& times,
                         std::uint64_t whole_ns) {
    for (const auto& [name, time_ns] : times)
        if (static_cast<double>(time_ns) >= min_named_share * static_cast<double>(whole_ns))
            return name;
    return {};
}

}  // namespace

void WaitNotes::add(std::uint32_t node, analysis::WaitKind kind, const std::string& awaited,
                    std::uint64_t time_ns) {
    Note& note = notes_[node];
    note.time_ns += time_ns;
    note.kinds[kind] += time_ns;
    if (!awaited.empty() && (note.threads.size() < max_threads || note.threads.contains(awaited)))
        note.threads[awaited] += time_ns;
}

analysis::WaitKind WaitNotes::kind_of(std::uint32_t node) const {
    const auto note = notes_.find(node);
    if (note == notes_.end()) return analysis::WaitKind::Other;
    const auto& kinds = note->second.kinds;
    return std::ranges::max_element(kinds, {}, [](const auto& kind) { return kind.second; })->first;
}

std::string WaitNotes::awaited_thread(std::uint32_t node) const {
    const auto note = notes_.find(node);
    if (note == notes_.end()) return {};
    const std::string one = of_most_time(note->second.threads, note->second.time_ns);
    if (!one.empty()) return one;
    std::map<std::string, std::uint64_t> alike;
    for (const auto& [name, time_ns] : note->second.threads) alike[without_number(name)] += time_ns;
    return of_most_time(alike, note->second.time_ns);
}

}  // namespace lagtrap::server::reports
