#include "daemon/events/run_words.hpp"

#include <cstring>

#include <fmt/core.h>

#include "core/text.hpp"
#include "daemon/processes/process_names.hpp"

namespace lagtrap::daemon {
namespace {

// The BPF programs leave the name to us if another thread ended the run.
std::string thread_of(const lagtrap_run& run, const std::filesystem::path& process) {
    const std::string reported(run.comm, ::strnlen(run.comm, sizeof(run.comm)));
    return printable(reported.empty() ? name_of(process / "task" / std::to_string(run.begin_tid))
                                      : reported);
}

}  // namespace

std::string words_of_beginner(const lagtrap_run& run, const std::filesystem::path& proc_root) {
    const auto process = proc_root / std::to_string(run.begin_pid);
    const std::string thread = thread_of(run, process);
    const std::string program = printable(program_of(process));
    const std::string pid = std::to_string(run.begin_pid);
    const std::string facts = program.empty() ? pid : pid + ", " + program;
    if (run.begin_pid == run.begin_tid)
        return thread.empty() ? fmt::format("process {}", facts)
                              : fmt::format("{} ({})", thread, facts);
    const std::string name = printable(name_of(process));
    const std::string of =
        name.empty() ? fmt::format("process {}", facts) : fmt::format("{} ({})", name, facts);
    return thread.empty() ? fmt::format("thread {} of {}", run.begin_tid, of)
                          : fmt::format("{} ({}) of {}", thread, run.begin_tid, of);
}

}  // namespace lagtrap::daemon
