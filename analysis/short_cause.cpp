#include "analysis/short_cause.hpp"

#include <algorithm>
#include <cctype>

#include "analysis/parts.hpp"
#include "analysis/place_words.hpp"
#include "analysis/spin_kind.hpp"

namespace lagtrap::analysis {
namespace {

std::string place_of(const CallFocus& focus) {
    return focus.has_place() ? " in " + place_words(focus) : "";
}

// Kernel workers are named after their CPU and pool.
std::string without_instance(const std::string& name) {
    return name.starts_with("kworker/") ? "a kernel worker" : name;
}

// "report", or "its thread worker" in the process of the delay.
std::string name_of(const ThreadName& who, const ThreadName& delayed) {
    if (who.pid == delayed.pid && who.pid != 0)
        return who.thread.empty() ? "another of its threads" : "its thread " + who.thread;
    if (!who.process.empty()) return without_instance(who.process);
    return who.thread.empty() ? "an unknown process" : without_instance(who.thread);
}

std::string computing_words(const ThreadDoing& doing) {
    if (doing.spin != SpinKind::None)
        return "spun" + place_of(doing.focus) + ", " + std::string(to_text(doing.spin));
    if (doing.work != KernelWork::None && !is_of_program(doing.work) &&
        is_most(doing.work_ns, doing.time_ns))
        return "was in the kernel, " + std::string(to_text(doing.work));
    if (!doing.focus.has_place())
        return doing.kernel.empty() ? "computed" : "computed in the kernel";
    return "computed" + place_of(doing.focus);
}

std::string cpu_words(const ThreadDoing& doing, const ThreadName& who) {
    if (doing.throttled)
        return "waited for a CPU, because its control group had used up its CPU quota";
    if (doing.cpu.holders.empty() || doing.cpu.idle_ns * 2 > doing.cpu.time_ns)
        return "waited for a CPU";
    const CpuHolder& holder = doing.cpu.holders.front();
    if (holder.pid == who.pid) return "waited for a CPU that its own process used";
    return "waited for a CPU" +
           (holder.process.empty() ? "" : " that " + without_instance(holder.process) + " used");
}

// Names the place only if no thread that was waited for says more.
std::string blocked_words(const ThreadDoing& doing, bool followed) {
    if (doing.wait == WaitKind::Sleep) return "slept" + place_of(doing.focus);
    if (doing.wait == WaitKind::Stopped) return "was " + doing.reason;
    if (!doing.held_back.disk.empty())
        return "waited for the disk, because its control group was at its limit";
    const std::string text = "waited " + words_of_wait(doing.wait, doing.reason);
    if (has_other_end(doing.files.kind) && !doing.files.owner.empty())
        return text + " to " + doing.files.owner;
    return followed ? text : text + place_of(doing.focus);
}

std::string unknown_words(const ThreadDoing& doing) {
    switch (doing.unknown) {
        case UnknownTime::BeforeRecording: return "unknown: before the recording";
        case UnknownTime::AfterRecording: return "unknown: after the recording";
        case UnknownTime::BetweenThreads: return "unknown: passed from one thread to another";
        case UnknownTime::InGoroutine: return "unknown: in a goroutine";
        case UnknownTime::ThreadEnded: return "unknown: its thread had ended";
        case UnknownTime::NotRecorded: break;
    }
    return "unknown: not recorded";
}

std::string doing_words(const ThreadDoing& doing, const ThreadName& who, bool followed) {
    switch (doing.kind) {
        case TimeKind::OnCpu: return computing_words(doing);
        case TimeKind::Runnable: return cpu_words(doing, who);
        case TimeKind::Blocked: return blocked_words(doing, followed);
        case TimeKind::Unknown: break;
    }
    return unknown_words(doing);
}

// The only busy thread of a process may have had nothing to do with the wait, so no cause names it.
bool is_followed(const DelayCause& cause) {
    return !cause.chain.empty() && !cause.chain.front().likely;
}

const CauseLink& last_known(const DelayCause& cause) {
    const auto likely = std::find_if(cause.chain.begin(), cause.chain.end(),
                                     [](const auto& link) { return link.likely; });
    return *(likely - 1);
}

// " held by report, which computed in merge_rows".
std::string chain_words(const DelayCause& cause, const ThreadName& delayed) {
    if (!is_followed(cause) || cause.doing.kind != TimeKind::Blocked) return "";
    const CauseLink& first = cause.chain.front();
    const CauseLink& last = last_known(cause);
    const bool is_named =
        has_other_end(cause.doing.files.kind) && cause.doing.files.owner == first.who.process;
    std::string text;
    if (is_held(cause.doing.wait)) {
        text = " held by " + name_of(first.who, delayed);
    } else if (!is_named) {
        text = ", for " + name_of(first.who, delayed);
    }
    if (&last != &first) text += ", which waited for " + name_of(last.who, delayed);
    if (last.doings.empty() || last.doings.front().kind == TimeKind::Unknown) return text;
    return text + ", which " + doing_words(last.doings.front(), last.who, false);
}

}  // namespace

std::string short_cause(const DelayCauses& causes) {
    if (causes.causes.empty()) return "Unknown";
    const DelayCause& cause = causes.causes.front();
    std::string text =
        doing_words(cause.doing, causes.who, is_followed(cause)) + chain_words(cause, causes.who);
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text;
}

}  // namespace lagtrap::analysis
