#include "cli/why/why_report.hpp"

#include <algorithm>
#include <cerrno>
#include <sstream>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/why/why_json.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds min_recording = 10ms;
constexpr std::chrono::nanoseconds max_recording = 10min;
// Exit codes if the command could not be run, as in env(1).
constexpr int exit_not_run = 125;
constexpr int exit_not_executable = 126;
constexpr int exit_no_such_command = 127;

}  // namespace

Result<std::chrono::nanoseconds> recording_length(const char* option, const std::string& text) {
    const auto length = parse_duration(text);
    if (!length)
        return make_error(ErrorKind::Invalid, fmt::format("{} {}: {}", option, printable(text),
                                                          length.error().message));
    if (*length < min_recording || *length > max_recording)
        return make_error(ErrorKind::Invalid, std::string(option) + ": expected 10ms to 10min");
    return *length;
}

Result<std::string> why_report(const analysis::Recording& recording, const WhyTarget& target,
                               bool as_json, const WhyLook& look) {
    const bool known = std::any_of(
        recording.threads.begin(), recording.threads.end(),
        [&](const analysis::Thread& thread) { return target.pids.contains(thread.pid); });
    if (!known)
        return make_error(ErrorKind::Vanished,
                          (target.name.empty() ? "process " + std::to_string(*target.pids.begin())
                                               : target.name) +
                              " had ended before the recording began");
    return as_json ? json::serialize(why_json(recording, target, look)) + "\n"
                   : why_text(recording, target, look);
}

std::string round_on_screen(const std::string& report, std::size_t rows) {
    std::istringstream lines(report);
    std::string shown;
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line) && ++count < rows;) shown += line + "\n";
    return "\x1b[H\x1b[2J" + shown;
}

std::string round_in_file(const std::string& report) {
    return report + (report.starts_with('{') ? "" : "\n");
}

std::string words_of(const std::vector<std::string>& command) {
    std::string text;
    for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
    return text;
}

int exit_code_of_failed_start(const Error& error) {
    if (error.system_errno == ENOENT) return exit_no_such_command;
    return error.system_errno == EACCES ? exit_not_executable : exit_not_run;
}

}  // namespace lagtrap::cli
