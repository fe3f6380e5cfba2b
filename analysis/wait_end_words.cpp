#include "analysis/wait_end_words.hpp"

#include <string_view>

#include "analysis/file_words.hpp"
#include "analysis/function_name.hpp"
#include "analysis/interrupt_words.hpp"
#include "analysis/parts.hpp"
#include "analysis/place_words.hpp"
#include "analysis/resource_words.hpp"
#include "analysis/sleep_words.hpp"
#include "analysis/thread_words.hpp"
#include "core/duration.hpp"

namespace lagtrap::analysis {

namespace {

class WaitEndWords {
  public:
    explicit WaitEndWords(const ThreadName& delayed) : delayed_(delayed) {}

    [[nodiscard]] std::string end_of(const ThreadDoing& doing, const ThreadName& who_did) const {
        if (retries(doing)) return retry_words(doing);
        switch (doing.end) {
            case WaitEnd::Timeout:
                // What frees memory waits for a while now and then.
                if (doing.wait == WaitKind::Memory || doing.wait == WaitKind::GroupMemory)
                    return "";
                if (doing.wait == WaitKind::Sleep ||
                    (doing.wait == WaitKind::DatabaseLock && doing.count > 1))
                    return retry_words(doing);
                return ", until it timed out" +
                       (doing.count > 1 && is_socket(doing.files.kind)
                            ? " (" + std::to_string(doing.count) + " times)"
                            : "");
            case WaitEnd::NotYet: {
                const bool held =
                    doing.wait == WaitKind::Lock || doing.wait == WaitKind::ReadWriteLock ||
                    doing.wait == WaitKind::PythonLock || doing.wait == WaitKind::FileLock ||
                    doing.wait == WaitKind::DatabaseLock || doing.wait == WaitKind::RowLock;
                const std::string text = ", which was still going on when the recording ended";
                if (!held) return text;
                if (doing.files.holder_pid != 0)
                    return text + "; " + process_words(doing.files.holder, doing.files.holder_pid) +
                           " holds it";
                return text + "; its holder is unknown";
            }
            case WaitEnd::Interrupt:
                if (doing.room == Room::Data) return "";
                if (doing.interrupt == WakeCause::DelayedAck)
                    return ", until TCP's delayed ACK let the other side send what it had held "
                           "back (without TCP_NODELAY)";
                return ends_by_device(doing) ? ""
                                             : ", until " + std::string(to_text(doing.interrupt)) +
                                                   " ended the wait" + missed_lock_clause(doing);
            case WaitEnd::Unknown:
                return ends_by_device(doing) ? "" : "; what ended the wait is unknown";
            case WaitEnd::Thread: break;
        }
        if (doing.wakers.empty() || is_of_full_listener(doing.files)) return "";
        const ThreadTime& most = doing.wakers.front();
        if (doing.turns > 0) {
            return "; " + std::to_string(doing.turns) + " threads had it in turn meanwhile, " +
                   who(most.who) + " for the longest time (" +
                   percent(most.time_ns, doing.time_ns) + ")";
        }
        const bool is_open = !doing.timed_out && doing.interruption == Interruption::None;
        if (doing.outlasts && is_held(doing.wait) && is_open && !doing.likely)
            return owner_clause(most.who, who_did);
        if (doing.outlasts) return open_clause(doing, most.who);
        if (doing.interruption != Interruption::None)
            return ", until " + who(most.who) +
                   (!has_resumed_what_it_stopped(doing)  ? " "
                    : doing.block == BlockReason::Frozen ? ", which had frozen it, "
                                                         : ", which had stopped it, ") +
                   std::string(to_text(doing.interruption));
        if (doing.waker_count == 1)
            return ", until " + who(most.who) + " " + std::string(words_of_waker(doing));
        return ", ended by " + std::to_string(doing.waker_count) + " threads, most of it by " +
               who(most.who) + " (" + percent(most.time_ns, doing.time_ns) + ")";
    }

    // If the waker itself waited for locks, it may have been ahead of this thread in the queue for
    // the same lock.
    [[nodiscard]] std::string waker_of(const ThreadDoing& waited, const CauseLink& link) const {
        if (waited.spin != SpinKind::None)
            return ", probably for a lock that " + who(link.who) + " held" +
                   (link.operation.empty() ? "" : " in " + short_function_name(link.operation));
        if (is_of_full_listener(waited.files)) return "";
        std::uint64_t in_locks_ns = 0;
        std::uint64_t known_ns = 0;
        for (const ThreadDoing& doing : link.doings) {
            if (doing.kind != TimeKind::Unknown) known_ns += doing.time_ns;
            const bool lock = doing.wait == WaitKind::Lock || doing.wait == WaitKind::Futex ||
                              doing.wait == WaitKind::KernelLock ||
                              doing.wait == WaitKind::FileLock;
            if (doing.kind == TimeKind::Blocked && lock) in_locks_ns += doing.time_ns;
        }
        const bool lock = is_held(waited.wait);
        if (waited.turns > 0) return turns_clause(waited, link, lock);
        // A thread that waits for an interpreter's lock retries every few milliseconds, but still
        // waits for the same lock.
        const bool once = waited.count == 1 || waited.waker_count == 1 ||
                          waited.wait == WaitKind::InterpreterLock;
        if (waited.outlasts) return open_clause(waited, link.who);
        if (lock && waited.object_known && once && link.alike == 0)
            return ", which " + who(link.who) + " held";
        if (lock && once && in_locks_ns == 0 && is_most(known_ns, link.whole_ns)) {
            return ", which " + who(link.who) + " held";
        }
        const bool child = waited.wait == WaitKind::Child;
        const std::string one = child ? "process" : "thread",
                          many = child ? "processes" : "threads";
        const std::string others = link.alike == 0   ? ""
                                   : link.alike == 1 ? " and another " + one + " with that name"
                                                     : " and " + std::to_string(link.alike) +
                                                           " other " + many + " with that name";
        const std::string late =
            link.is_late()
                ? " (which began " + format_duration_ns(link.began_after_ns) + " after that)"
                : "";
        if (link.started.tid != 0)
            return ", until " + who(link.started) + ", started after " +
                   format_duration_ns(link.started_after_ns) + " by " + who(link.who) + ", " +
                   std::string(words_of_waker(waited));
        return ", until " + who(link.who) + others + late + " " +
               std::string(words_of_waker(waited));
    }

  private:
    [[nodiscard]] std::string who(const ThreadName& name) const {
        return thread_words(name, delayed_);
    }

    // Nobody ended the wait; `should` is the one who should have.
    std::string open_clause(const ThreadDoing& doing, const ThreadName& should) const {
        if (retries(doing)) return "";
        if (doing.wait == WaitKind::Sleep) return expired_words(doing);
        const bool by_signal = doing.interruption != Interruption::None;
        const std::string end = by_signal ? ", until " + who(doing.interrupter) + " " +
                                                std::string(to_text(doing.interruption))
                                : doing.timed_out
                                    ? ", until it timed out"
                                    : ", which was still going on when the recording ended";
        const bool is_end = doing.wait == WaitKind::Child || doing.wait == WaitKind::ThreadEnd;
        if (doing.wait == WaitKind::ChildStart) return ", which had not done so: " + who(should);
        if (is_end && by_signal) return end + "; " + who(should) + " had not ended";
        if (is_end)
            return ", which had not ended" + std::string(doing.timed_out ? " in time: " : ": ") +
                   who(should);
        const bool held = is_held(doing.wait) || doing.wait == WaitKind::ReadWriteLock;
        if (doing.likely) return end + (held ? "; its holder is unknown" : "");
        if (!held) return end;
        return ", which " + who(should) +
               (doing.timed_out || by_signal ? " held," + end.substr(1) : " holds");
    }

    // Whoever is waited for and waits for the delay's own thread will do so forever.
    std::string owner_clause(const ThreadName& owner, const ThreadName& who_waits) const {
        if (owner.tid == who_waits.tid) return ", which it holds itself (a deadlock)";
        const std::string text = ", which " + who(owner) + " holds";
        return owner.tid == delayed_.tid && owner.tid != 0
                   ? text + ": these threads wait for each other (a deadlock)"
                   : text;
    }

    // Of a process that "ended" more than once, most were stops for a debugger.
    static std::string_view words_of_waker(const ThreadDoing& waited) {
        if (waited.room != Room::None) return words_of_room_maker(waited.room);
        const bool may_be_end =
            waited.wait != WaitKind::Child || waited.waker_count >= waited.count;
        return may_be_end ? analysis::words_of_waker(waited.wait) : "woke it";
    }

    // It changed hands while the thread waited; the link is the thread that held it for most of
    // that time.
    std::string turns_clause(const ThreadDoing& waited, const CauseLink& link, bool lock) const {
        const std::uint32_t others = waited.turns - 1;
        const std::string threads =
            std::to_string(others) + (others == 1 ? " other thread" : " other threads");
        const std::string holder = who(link.who), time = format_duration_ns(link.whole_ns);
        if (lock) {
            return ", which " + holder + " held for " + time + "; " + threads + " got it " +
                   (waited.count == 1 ? "before this one" : "meanwhile");
        }
        return ", until " + threads + " had handed it on; " + holder + " had it for " + time;
    }

    const ThreadName& delayed_;
};

}  // namespace

bool has_resumed_what_it_stopped(const ThreadDoing& doing) {
    return doing.stopper.tid != 0 && !doing.wakers.empty() &&
           doing.wakers.front().who.tid == doing.stopper.tid;
}

std::string end_clause(const ThreadDoing& doing, const ThreadName& who_did,
                       const ThreadName& delayed) {
    return WaitEndWords(delayed).end_of(doing, who_did);
}

std::string waker_clause(const ThreadDoing& waited, const CauseLink& link,
                         const ThreadName& delayed) {
    return WaitEndWords(delayed).waker_of(waited, link);
}

}  // namespace lagtrap::analysis
