#include "core/fault_point.hpp"

#ifdef LAGTRAP_FAULT_POINTS

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

// Defined by the linker: begin and end of the section that holds the entries of all linked points.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
extern const lagtrap::FaultPoint __start_lagtrap_fault_points[] __attribute__((weak));
extern const lagtrap::FaultPoint __stop_lagtrap_fault_points[] __attribute__((weak));
// NOLINTEND(bugprone-reserved-identifier)
}

namespace lagtrap {
namespace {

struct Fault {
    std::string point;
    std::uint64_t nth = 0;  // 0: every time
    bool kill = false;
    int error = 0;
};

[[noreturn]] void print_points() {
    std::set<std::string> lines;
    for (const auto* point = __start_lagtrap_fault_points; point != __stop_lagtrap_fault_points;
         ++point)
        lines.insert(std::string(point->name) + (point->by_suffix ? "*" : "") +
                     (point->can_fail ? "" : " kill"));
    for (const std::string& line : lines) std::puts(line.c_str());
    std::fflush(stdout);
    ::_exit(0);
}

[[noreturn]] void refuse(const char* text) {
    std::fprintf(
        stderr, "LAGTRAP_FAULT is \"%s\"; expected POINT[@N]:kill, POINT[@N]:error:ERRNO or list\n",
        text);
    ::_exit(2);
}

int errno_of(std::string_view name) {
    if (name == "EIO") return EIO;
    if (name == "ENOSPC") return ENOSPC;
    if (name == "EDQUOT") return EDQUOT;
    if (name == "EROFS") return EROFS;
    if (name == "EINVAL") return EINVAL;
    return 0;
}

Fault parse(const char* text) {
    const std::string_view whole(text);
    const std::size_t colon = whole.find(':');
    if (colon == std::string_view::npos || colon == 0) refuse(text);
    Fault fault;
    std::string_view point = whole.substr(0, colon);
    if (const std::size_t at = point.find('@'); at != std::string_view::npos) {
        const std::string_view nth = point.substr(at + 1);
        const auto [end, failed] = std::from_chars(nth.data(), nth.data() + nth.size(), fault.nth);
        if (failed != std::errc() || end != nth.data() + nth.size() || fault.nth == 0) refuse(text);
        point = point.substr(0, at);
    }
    fault.point = point;
    const std::string_view action = whole.substr(colon + 1);
    fault.kill = action == "kill";
    if (action.starts_with("error:")) fault.error = errno_of(action.substr(6));
    if (!fault.kill && fault.error == 0) refuse(text);
    return fault;
}

Fault read_environment() {
    const char* const text = ::secure_getenv("LAGTRAP_FAULT");
    if (text == nullptr || *text == '\0') return {};
    if (std::string_view(text) == "list") print_points();
    return parse(text);
}

// Read before main(), so that "list" and invalid values work without any action of the program.
const Fault chosen_fault = read_environment();
// Opened at startup, because a process may later lose the right to open files.
const int log_fd = [] {
    const char* const path = ::secure_getenv("LAGTRAP_FAULT_LOG");
    return path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}();
std::atomic<std::uint64_t> times_passed{0};

void log_pass(const std::string& name) {
    const std::string line = std::to_string(::getpid()) + " " + name + "\n";
    if (::write(log_fd, line.data(), line.size()) < 0) return;
}

}  // namespace

Status pass_fault_point(const FaultPoint& point, std::string_view suffix) {
    if (chosen_fault.point.empty() && log_fd < 0) return success();
    const std::string name = point.name + std::string(suffix);
    if (log_fd >= 0) log_pass(name);
    if (name != chosen_fault.point) return success();
    const std::uint64_t times = ++times_passed;
    if (chosen_fault.nth != 0 && times != chosen_fault.nth) return success();
    if (chosen_fault.kill) {
        ::kill(::getpid(), SIGKILL);
        __builtin_trap();  // in case the process may not send signals, even to itself
    }
    return system_error("fault injected at " + name, chosen_fault.error);
}

std::string fault_point_suffix(const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    const std::size_t dot = name.find('.');
    return dot == std::string::npos ? std::string() : name.substr(dot);
}

}  // namespace lagtrap

#endif
