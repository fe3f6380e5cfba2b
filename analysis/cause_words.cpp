#include <algorithm>
#include <chrono>
#include <map>

#include "analysis/call_words.hpp"
#include "analysis/cpu_words.hpp"
#include "analysis/delay_cause.hpp"
#include "analysis/file_words.hpp"
#include "analysis/frame_role.hpp"
#include "analysis/function_name.hpp"
#include "analysis/group_name.hpp"
#include "analysis/parts.hpp"
#include "analysis/place_words.hpp"
#include "analysis/request_words.hpp"
#include "analysis/resource_words.hpp"
#include "analysis/sleep_words.hpp"
#include "analysis/spin_kind.hpp"
#include "analysis/thread_words.hpp"
#include "analysis/wait_end_words.hpp"
#include "core/duration.hpp"

namespace lagtrap::analysis {

namespace {

// as many may be the cause themselves, such as queries in a loop
constexpr std::uint64_t many_waits = 20;

class Sentence {
  public:
    explicit Sentence(const DelayCauses& causes) : causes_(causes) {}

    std::string of(const DelayCause& cause) const {
        if (cause.doing.kind == TimeKind::Unknown) return unknown(cause);
        std::string text =
            doing_words(cause.doing, causes_.wall_ns, causes_.who, !cause.chain.empty());
        text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
        const ThreadDoing* waited = &cause.doing;
        for (std::size_t i = 0; i < cause.chain.size(); ++i) {
            const CauseLink& link = cause.chain[i];
            text += waker_clause(*waited, link, causes_.who) +
                    link_words(*waited, link, i + 1 < cause.chain.size());
            if (!link.doings.empty()) waited = &link.doings.front();
        }
        if (!cause.chain.empty()) text += written_clause(cause.doing.written, causes_.who.pid);
        return text + ".";
    }

    std::string of_rest(std::size_t reported) const {
        std::map<TimeKind, std::uint64_t> times;
        std::uint64_t rest_ns = 0;
        for (std::size_t i = reported; i < causes_.causes.size(); ++i) {
            times[causes_.causes[i].doing.kind] += causes_.causes[i].doing.time_ns;
            rest_ns += causes_.causes[i].doing.time_ns;
        }
        if (rest_ns * 100 < causes_.wall_ns || rest_ns == 0) return "";
        std::string text;
        const auto add = [&](TimeKind kind, const char* words) {
            if (times[kind] * 200 < causes_.wall_ns) return;
            text += (text.empty() ? "" : ", ") + format_duration_ns(times[kind]) + " " + words;
        };
        add(TimeKind::OnCpu, "on a CPU");
        add(TimeKind::Runnable, "waiting for a CPU");
        add(TimeKind::Blocked, "blocked");
        add(TimeKind::Unknown, "not recorded");
        return "The rest: " + text + ".";
    }

  private:
    // What a thread did that another one waited for. A thread whose process started late held
    // nobody up.
    std::string link_words(const ThreadDoing& waited, const CauseLink& link, bool leads_on) const {
        if (link.is_late()) return "";
        const std::string work(analysis::to_text(link.work));
        std::string text;
        bool before = false;
        for (const ThreadDoing& doing : link.doings) {
            const bool followed = leads_on && &doing == &link.doings.front();
            before = before || is_before(doing);
            if (is_before(doing)) continue;
            if (!text.empty()) text += " and ";
            text += doing_words(doing, 0, link.who, followed, work.empty());
            if (followed) break;
        }
        if (text.empty()) return before ? "; what it did meanwhile was not recorded" : "";
        const std::string did = (work.empty() ? "" : "was " + work + ": it ") + text;
        if (waited.likely)
            return likely_words(waited) + thread_words(link.who, causes_.who) + in_request(link) +
                   (work.empty() && waited.wait != WaitKind::Sleep ? ": it " : ", which ") + did;
        return "; meanwhile " + thread_words(link.who, causes_.who) + in_request(link) + " " + did +
               sharers_words(link);
    }

    // Nothing shows that the thread was waited for, only that no other thread worked.
    static std::string likely_words(const ThreadDoing& waited) {
        if (waited.wait == WaitKind::Sleep)
            return "; it probably waited for the end of its child process ";
        const bool is_other_end = has_other_end(waited.files.kind);
        return std::string(is_other_end ? "; the only busy thread at the other end"
                                        : "; the only other busy thread of its process") +
               ", perhaps with unrelated work, was ";
    }

    static std::string in_request(const CauseLink& link) {
        return link.request ? request_words(link.request) + "," : "";
    }

    // `wall_ns` is the length of the whole delay, or 0 to omit the share.
    static std::string time_words(const ThreadDoing& doing, std::uint64_t wall_ns) {
        return format_duration_ns(doing.time_ns) +
               (wall_ns > 0 ? " (" + percent(doing.time_ns, wall_ns) + ")" : "");
    }

    // `with_work`: mention the kernel work done for it.
    std::string doing_words(const ThreadDoing& doing, std::uint64_t wall_ns,
                            const ThreadName& who_did, bool followed, bool with_work = true) const {
        const std::string time = time_words(doing, wall_ns);
        switch (doing.kind) {
            case TimeKind::OnCpu:
                if (doing.spin != SpinKind::None) return spin_words(doing, time, followed);
                if (!with_work)
                    return "computed for " + time + " in the kernel" +
                           (is_of_program(doing.work) ? caller_of_kernel(doing.focus) : "");
                return "computed for " + time + place_of_work(doing) +
                       caller_words(doing, wall_ns) + handler_clause(doing) +
                       (wall_ns > 0 ? faulted_file(doing) : "") + work_clause(doing, who_did);
            case TimeKind::Runnable:
                if (doing.throttled)
                    return "waited " + time +
                           " for a CPU: its control group had used up its CPU quota";
                return "waited " + time + " for a CPU" +
                       cpu_holder_words(doing.cpu, who_did, causes_.who.unit);
            case TimeKind::Unknown: return "was not recorded for " + time;
            case TimeKind::Blocked: break;
        }
        // Interpreter functions that sleep or wait for its locks are not informative.
        const std::string& function = doing.focus.place.function;
        const bool of_runtime = is_language_runtime(doing.focus.place.module);
        const bool nameless = of_runtime && function.starts_with('[');
        const bool sleeps = doing.wait == WaitKind::Sleep &&
                            (nameless || (of_runtime && function.starts_with("rb_")));
        const bool in_interpreter = sleeps ||
                                    (nameless && doing.wait == WaitKind::InterpreterLock) ||
                                    (of_runtime && doing.wait == WaitKind::PythonLock);
        const bool with_place = with_work && !in_interpreter;
        const bool frees_memory =
            doing.wait == WaitKind::Memory || doing.wait == WaitKind::GroupMemory;
        return blocked_words(doing, time, who_did) + (with_place ? place_of_wait(doing) : "") +
               handler_clause(doing) + file_clause(doing) + held_back_clause(doing.held_back) +
               (with_work && !frees_memory ? work_clause(doing, who_did) : "") +
               memory_clause(doing, who_did) + full_listener_clause(doing.files) +
               (followed && !retries(doing) ? "" : end_clause(doing, who_did, causes_.who)) +
               refused_clause(doing) + (followed ? "" : written_clause(doing.written, who_did.pid));
    }

    std::string memory_clause(const ThreadDoing& doing, const ThreadName& who_did) const {
        if (doing.wait == WaitKind::Memory) return ": the machine was low on memory";
        if (doing.wait != WaitKind::GroupMemory) return "";
        const std::string limit = limit_words(causes_.group, who_did.pid);
        return ": it was at its limit" + (limit.empty() ? "" : " of " + limit);
    }

    std::string blocked_words(const ThreadDoing& doing, const std::string& time,
                              const ThreadName& who_did) const {
        switch (doing.wait) {
            case WaitKind::Sleep: return slept_words(doing, time);
            case WaitKind::Stopped:
                return "was " + doing.reason + stopper_words(doing, " of ") + " for " + time;
            default:
                if (doing.block == BlockReason::Frozen)
                    return "was frozen" + stopper_words(doing, " by ") + " for " + time;
                return "waited " + time +
                       (doing.count >= many_waits ? " in " + std::to_string(doing.count) + " waits "
                                                  : " ") +
                       wait_words(doing, who_did);
        }
    }

    // Empty if whoever resumed the thread had also stopped it.
    std::string stopper_words(const ThreadDoing& doing, const char* preposition) const {
        return doing.stopper.tid == 0 || has_resumed_what_it_stopped(doing)
                   ? ""
                   : preposition + thread_words(doing.stopper, causes_.who);
    }

    std::string reclaim_clause(const ThreadName& who_did) const {
        const std::string limit = limit_words(causes_.group, who_did.pid);
        const std::string& path = causes_.group.path;
        return limit.empty() ? ""
                             : "; the limit" + (path.empty() ? "" : " of " + path) + " is " + limit;
    }

    std::string work_clause(const ThreadDoing& doing, const ThreadName& who_did) const {
        if (doing.work == KernelWork::None) return "";
        const std::string share = is_most(doing.work_ns, doing.time_ns)
                                      ? ""
                                      : percent(doing.work_ns, doing.time_ns) + " of it ";
        return ", " + share + std::string(analysis::to_text(doing.work)) +
               (doing.work == KernelWork::GroupReclaim ? reclaim_clause(who_did) : "");
    }

    static std::string spin_words(const ThreadDoing& doing, const std::string& time,
                                  bool followed) {
        const std::string place = !doing.focus.has_place() ? "" : " in " + place_words(doing.focus);
        const std::string yields = doing.yields == 0
                                       ? ""
                                       : " (yielding the CPU " + std::to_string(doing.yields) +
                                             (doing.yields == 1 ? " time)" : " times)");
        return "spun for " + time + place + ", " + std::string(analysis::to_text(doing.spin)) +
               yields + (followed ? "" : "; who held what it waited for is unknown");
    }

    static std::string caller_of_kernel(const CallFocus& focus) {
        return focus.has_place() && focus.place.module != kernel_path
                   ? ", called by " + place_words(focus)
                   : "";
    }

    // The functions of the delay's own threads are listed elsewhere, so a caller is named only if
    // it also spent time outside of the function. Other threads get only this.
    static std::string caller_words(const ThreadDoing& doing, std::uint64_t wall_ns) {
        const CallFocus& focus = doing.focus;
        const bool plain =
            focus.caller.empty() && focus.place.called.empty() && focus.parts.empty();
        if (!plain || !doing.kernel.empty() || !focus.has_place()) return "";
        const bool needless = wall_ns > 0 && is_nearly(focus.time_ns, focus.direct_caller_ns);
        return focus.direct_caller.empty() || needless || !doing.handler.empty()
                   ? ""
                   : ", called by " + short_function_name(focus.direct_caller);
    }

    // The sentence names who ended the wait later on, and a listener that was full.
    static bool names_owner(const ThreadDoing& doing, const ThreadName& who_waited) {
        const FileWaits& socket = doing.files;
        if (socket.owner_pid == 0 || socket.owner_pid == who_waited.pid ||
            is_of_full_listener(doing.files))
            return false;
        const bool by_owner = doing.end == WaitEnd::Thread && !doing.outlasts &&
                              !doing.wakers.empty() &&
                              doing.wakers.front().who.pid == socket.owner_pid;
        return !by_owner;
    }

    // The group at its limit may be one around that of the process.
    std::string group_name(const ThreadName& who_waited) const {
        const MemoryOfGroup& group = causes_.group;
        const bool known = group.memory.pid == who_waited.pid && group.memory.limit_bytes > 0 &&
                           !group.path.empty();
        const std::string name = short_group_name(known ? group.path : who_waited.unit);
        return name.empty() ? "" : " " + name;
    }

    std::string wait_words(const ThreadDoing& doing, const ThreadName& who_waited) const {
        if (doing.wait == WaitKind::GroupMemory)
            return "for memory of its control group" + group_name(who_waited);
        if (doing.wait == WaitKind::InterpreterLock)
            return interpreter_lock_words(doing.focus.place.module, doing.focus.place.source);
        if (has_other_end(doing.files.kind) && doing.files.time_ns * 2 >= doing.files.asked_ns)
            return peer_words(doing.files, names_owner(doing, who_waited), doing.room);
        if (doing.block == BlockReason::MessageQueue)
            return message_queue_words(doing.room, only_path(doing.files));
        if (doing.room != Room::None) return words_of_room(doing.room, doing.block);
        const auto of_call = words_of_call(doing.wait, doing.focus.place.called);
        if (!of_call.empty()) return std::string(of_call);
        return doing.wait == WaitKind::FileLock
                   ? file_lock_words(doing.block, only_path(doing.files))
                   : words_of_wait(doing.wait, doing.reason);
    }

    // The file read for page faults, if there were also waits for them. With a fast disk, more time
    // goes to the kernel's part than to the waits.
    std::string faulted_file(const ThreadDoing& computed) const {
        if (!computed.in_page_faults) return "";
        for (const DelayCause& cause : causes_.causes) {
            const ThreadDoing& waited = cause.doing;
            const bool same_place = waited.focus.place.function == computed.focus.place.function;
            if (waited.kind == TimeKind::Blocked && waited.wait == WaitKind::PageFault &&
                same_place && waited.time_ns * 10 >= computed.time_ns)
                return file_clause(waited);
        }
        return "";
    }

    static bool is_before(const ThreadDoing& doing) {
        return doing.kind == TimeKind::Unknown && doing.unknown == UnknownTime::BeforeRecording;
    }

    // For the thread that ended the run: what it did in the time in which it may have had the run.
    std::string receiver(const DelayCause& cause) const {
        if (cause.chain.empty() || cause.chain.front().doings.empty()) return "";
        const CauseLink& link = cause.chain.front();
        const ThreadDoing& most = link.doings.front();
        if (most.kind == TimeKind::Blocked && !is_most(most.time_ns, link.whole_ns)) return "";
        return "; in that time " + thread_words(link.who, causes_.who) + ", which ended it, " +
               doing_words(most, 0, link.who, false);
    }

    // "the run passed from reader (501) to writer (502) between 1.20 ms and 41.0 ms after its
    // begin, at a moment that ...".
    std::string hand_over_words(const std::vector<HandOver>& hand_overs) const {
        if (hand_overs.empty())
            return "it is not known which thread had the run: it passed from one thread to "
                   "another, at a moment that no marker shows";
        const auto longest = std::max_element(
            hand_overs.begin(), hand_overs.end(), [](const HandOver& a, const HandOver& b) {
                return a.end_ns - a.begin_ns < b.end_ns - b.begin_ns;
            });
        std::string text =
            "it is not known which thread had the run: it passed from " +
            thread_words(longest->from, causes_.who) + " to " +
            thread_words(longest->to, causes_.who) + " between " +
            (longest->begin_ns == 0 ? "its begin" : format_duration_ns(longest->begin_ns)) +
            " and " + format_duration_ns(longest->end_ns) +
            (longest->begin_ns == 0 ? "" : " after its begin") +
            ", at a moment that no marker shows";
        if (hand_overs.size() > 1) {
            const std::size_t more = hand_overs.size() - 1;
            text +=
                ", and did so " + std::to_string(more) + (more == 1 ? " more time" : " more times");
        }
        return text;
    }

    static std::string process_clause(const ThreadDoing& work) {
        if (work.time_ns == 0) return " Meanwhile, no thread of its process computed.";
        return " Meanwhile, threads of its process computed for " +
               format_duration_ns(work.time_ns) + place_of_work(work) + caller_words(work, 0) + ".";
    }

    std::string unknown(const DelayCause& cause) const {
        const ThreadDoing& doing = cause.doing;
        const std::string time = time_words(doing, causes_.wall_ns);
        switch (doing.unknown) {
            case UnknownTime::BeforeRecording:
                return time + " had passed before the recording began.";
            case UnknownTime::AfterRecording: return time + " came after the recording ended.";
            case UnknownTime::BetweenThreads:
                return "For " + time + ", " + hand_over_words(cause.hand_overs) + receiver(cause) +
                       ".";
            case UnknownTime::InGoroutine:
                return "For " + time + ", the run was in " + causes_.who.thread +
                       ". Goroutines can change threads at any time, so its time cannot be "
                       "separated from that of others." +
                       process_clause(cause.of_process);
            case UnknownTime::ThreadEnded: return "For " + time + ", its thread had already ended.";
            case UnknownTime::NotRecorded: break;
        }
        return "For " + time + ", there is no record of what the thread did.";
    }

    const DelayCauses& causes_;
};

}  // namespace

std::vector<std::string> cause_sentences(const DelayCauses& causes) {
    std::vector<std::string> sentences;
    const Sentence sentence(causes);
    const std::size_t reported = causes.reported();
    for (std::size_t i = 0; i < reported; ++i) sentences.push_back(sentence.of(causes.causes[i]));
    if (std::string rest = sentence.of_rest(reported); !rest.empty())
        sentences.push_back(std::move(rest));
    return sentences;
}

}  // namespace lagtrap::analysis
