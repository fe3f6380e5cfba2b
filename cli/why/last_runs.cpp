#include "cli/why/last_runs.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "core/files.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t sched_limit_bytes = 64 * 1024;

// Parses a line such as "se.exec_start   :   35325715.683490" (milliseconds); returns nanoseconds.
std::optional<std::uint64_t> last_run_in(std::string_view sched) {
    constexpr std::string_view label = "se.exec_start";
    const std::size_t line = sched.find(label);
    if (line == std::string_view::npos) return std::nullopt;
    const std::size_t digits = sched.find_first_of("0123456789", line + label.size());
    if (digits == std::string_view::npos) return std::nullopt;
    double ms = 0;
    const auto [end, failed] =
        std::from_chars(sched.data() + digits, sched.data() + sched.size(), ms);
    constexpr double ns_of_ms = 1e6;
    if (failed != std::errc{} || ms <= 0 || ms > 1e13) return std::nullopt;
    return static_cast<std::uint64_t>(ms * ns_of_ms);
}

std::optional<std::uint64_t> last_run_of(const fs::path& thread) {
    const auto sched = read_file(thread / "sched", sched_limit_bytes);
    return sched ? last_run_in(*sched) : std::nullopt;
}

}  // namespace

LastRuns last_runs_of(std::uint32_t pid, const fs::path& proc_root) {
    LastRuns runs;
    std::error_code failed;
    for (const auto& entry :
         fs::directory_iterator(proc_root / std::to_string(pid) / "task", failed)) {
        const std::string name = entry.path().filename().string();
        std::uint32_t tid = 0;
        std::from_chars(name.data(), name.data() + name.size(), tid);
        if (const auto last = last_run_of(entry.path()); last && tid != 0) runs[tid] = *last;
    }
    return runs;
}

std::uint64_t scheduler_clock_ns(const fs::path& proc_root) {
    return last_run_of(proc_root / "self").value_or(0);
}

std::map<std::uint32_t, std::uint64_t> stopped_before(const LastRuns& before, const LastRuns& after,
                                                      std::uint64_t now_ns) {
    std::map<std::uint32_t, std::uint64_t> stopped;
    for (const auto& [tid, last_ns] : before) {
        const auto later = after.find(tid);
        if (later != after.end() && later->second == last_ns && last_ns < now_ns)
            stopped[tid] = now_ns - last_ns;
    }
    return stopped;
}

}  // namespace lagtrap::cli
