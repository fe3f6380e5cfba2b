#include <sys/syscall.h>

#include <array>
#include <charconv>
#include <fstream>

#include <fmt/core.h>

#include "cli/add/add_offers.hpp"
#include "cli/add/event_names.hpp"

namespace lagtrap::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t processes_limit = 64;
constexpr std::size_t threads_limit = 256;  // per process

struct WaitingCall {
    long number;
    const char* name;
};

constexpr std::array waiting_calls{
#ifdef SYS_epoll_wait
    WaitingCall{SYS_epoll_wait, "epoll_wait"},
#endif
    WaitingCall{SYS_epoll_pwait, "epoll_pwait"},
    WaitingCall{SYS_epoll_pwait2, "epoll_pwait2"},
#ifdef SYS_poll
    WaitingCall{SYS_poll, "poll"},
#endif
    WaitingCall{SYS_ppoll, "ppoll"},
#ifdef SYS_select
    WaitingCall{SYS_select, "select"},
#endif
    WaitingCall{SYS_pselect6, "pselect6"},
    WaitingCall{SYS_accept, "accept"},
    WaitingCall{SYS_accept4, "accept4"},
};

// nullptr if the thread is in none of these calls, is running, or may not be inspected.
const char* waiting_call_of(const fs::path& task) {
    std::ifstream file(task / "syscall");
    std::string word;
    long number = -1;
    if (!(file >> word)) return nullptr;
    if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc())
        return nullptr;
    for (const WaitingCall& call : waiting_calls)
        if (call.number == number) return call.name;
    return nullptr;
}

}  // namespace

void note_waiting_calls(const AddTarget& target, WaitingCalls& seen, const fs::path& proc_root) {
    for (std::size_t i = 0; i < std::min(target.processes.size(), processes_limit); ++i) {
        const std::uint32_t pid = target.processes[i].pid;
        std::error_code gone;
        fs::directory_iterator tasks(proc_root / std::to_string(pid) / "task", gone);
        for (std::size_t left = threads_limit;
             !gone && tasks != fs::directory_iterator() && left > 0; --left) {
            if (const char* name = waiting_call_of(tasks->path())) ++seen[name];
            tasks.increment(gone);
        }
    }
}

std::vector<Offer> loop_offers(const AddTarget& target, const WaitingCalls& seen) {
    std::vector<Offer> offers;
    for (const auto& [call, times] : seen) {
        Offer offer{
            OfferKind::Loop,
            "iterations of the event loop, by " + call,
            fmt::format(
                "From the return of {0} to the thread's next {0}: the handling of the events. "
                "Works without symbols; the report's stacks show where the time went.",
                call),
            {},
            true,
            {},
            {}};
        offer.scope_program = target.program;
        offer.events.push_back(
            {event_name(target.name, call == "accept" || call == "accept4" ? "request" : "turn"),
             fmt::format("    <begin tracepoint=\"syscalls:sys_exit_{0}\"/>\n"
                         "    <end tracepoint=\"syscalls:sys_enter_{0}\"/>\n",
                         call),
             {},
             {},
             {}});
        offers.push_back(std::move(offer));
    }
    return offers;
}

}  // namespace lagtrap::cli
