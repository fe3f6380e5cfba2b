#include "trace/system_file/run_so_far.hpp"

#include <algorithm>
#include <array>

#include "trace/processes/thread_table.hpp"

namespace lagtrap::trace {
namespace {

// By lagtrap_waker.
constexpr std::array<std::string_view, 4> wakers{"unknown", "thread", "interrupt", "softirq"};

}  // namespace

std::string_view waker_name(std::uint32_t waker) {
    return waker < wakers.size() ? wakers[waker] : wakers[0];
}

std::uint32_t waker_of(std::string_view name) {
    const auto found = std::find(wakers.begin(), wakers.end(), name);
    return found == wakers.end() ? 0 : static_cast<std::uint32_t>(found - wakers.begin());
}

RunSoFar run_so_far(const lagtrap_run_so_far& record, std::uint64_t begin_ns) {
    const auto offset = [&](std::uint64_t at_ns) { return at_ns - std::min(begin_ns, at_ns); };
    RunSoFar known;
    static_cast<TimeParts&>(known) = time_parts(record.parts);
    known.tid = record.tid;
    known.from_offset_ns = offset(record.from_ns);
    known.until_offset_ns = offset(record.until_ns);
    known.earlier = time_parts(record.earlier);
    for (const lagtrap_wait& wait : record.waits) {
        const std::uint64_t begin = std::max<std::uint64_t>(wait.begin_ns, record.from_ns);
        const std::uint64_t end =
            std::min<std::uint64_t>(wait.begin_ns + wait.length_ns, record.until_ns);
        // With nested runs of a thread, waits of an earlier run may remain.
        if (wait.length_ns == 0 || end <= begin) continue;
        RunSoFar::Wait& one = known.waits.emplace_back();
        one.offset_ns = offset(begin);
        one.length_ns = end - begin;
        one.wait_class = wait.wait_class;
        one.waker = wait.waker;
        if (wait.waker != LAGTRAP_WAKER_THREAD) continue;
        one.waker_pid = wait.waker_pid;
        one.waker_tid = wait.waker_tid;
        one.waker_thread = comm_text(wait.waker_comm);
    }
    std::sort(known.waits.begin(), known.waits.end(),
              [](const auto& a, const auto& b) { return a.offset_ns < b.offset_ns; });
    return known;
}

}  // namespace lagtrap::trace
