// Explains a delay: what its threads did, whom they waited for, what those did in the meantime, and
// so on along the chain. Also formats the result as sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/block_reason.hpp"
#include "analysis/call_focus.hpp"
#include "analysis/cpu_holders.hpp"
#include "analysis/disk_limits.hpp"
#include "analysis/file_waits.hpp"
#include "analysis/interruptions.hpp"
#include "analysis/kernel_work.hpp"
#include "analysis/recording.hpp"
#include "analysis/request_context.hpp"
#include "analysis/run_profile.hpp"
#include "analysis/thread_name.hpp"
#include "analysis/time_split.hpp"
#include "analysis/wait_kind.hpp"
#include "analysis/written_data.hpp"

namespace lagtrap::analysis {

// How a wait ended.
enum class WaitEnd : std::uint8_t {
    Unknown,
    Thread,     // by another thread
    Timeout,    // by its own timer
    Interrupt,  // by a timer or a device
    NotYet,     // still waiting when the recording ended
};

struct ThreadTime {
    ThreadName who;
    std::uint64_t time_ns = 0;
};

// What one thread did in a period of time, for all intervals of one kind and reason.
struct ThreadDoing {
    TimeKind kind = TimeKind::Unknown;
    std::uint64_t time_ns = 0;
    std::uint64_t count = 0;  // number of intervals
    // Blocked: the first of `wakers` should have ended its last wait, and did not
    bool outlasts = false;
    bool timed_out = false;  // Blocked, outlasts: its own timer ended it
    // Blocked: whoever ended most of it did so from outside. If it outlasts, that is `interrupter`,
    // otherwise the first of `wakers`.
    Interruption interruption = Interruption::None;
    ThreadName interrupter;
    ThreadName stopper;  // Blocked, in a stop or freeze: who began it; tid 0 if unknown
    // Blocked, outlasts: nothing shows that any of `wakers` was waited for
    bool likely = false;
    // Blocked, of the delayed thread: sleeps between which it hardly computed
    bool polls = false;
    bool object_known = false;  // Blocked: the lock is identified, and so is its holder
    // Blocked: number of wakers that held it in turn before the thread got it
    std::uint32_t turns = 0;
    CallFocus focus;                           // the place in its program
    std::string handler;                       // the signal handler that most of the time was in
    BlockReason block = BlockReason::Unknown;  // Blocked
    Room room = Room::None;                    // Blocked: what most of the time was for
    // Blocked: as in TimeSplit; Runnable: "CPU quota" or empty; Unknown: why
    std::string reason;
    bool throttled = false;                          // Runnable: by its control group's CPU quota
    UnknownTime unknown = UnknownTime::NotRecorded;  // TimeKind::Unknown
    // OnCpu: the kernel function with most of the time; empty if it was in the program
    std::string kernel;
    // OnCpu, Blocked: kernel work on its behalf, if a third of the time or more.
    KernelWork work = KernelWork::None;
    std::uint64_t work_ns = 0;
    bool in_page_faults = false;  // OnCpu: most of the time was
    std::uint64_t yields = 0;     // yields to another thread, if it spun that way
    // OnCpu, including waits for a CPU: it spun, perhaps waiting for a thread of `wakers`.
    SpinKind spin = SpinKind::None;
    WaitKind wait = WaitKind::Other;  // Blocked
    WaitEnd end = WaitEnd::Unknown;   // Blocked: how most of the time ended
    // WaitEnd::Interrupt: its cause, for most of the time
    WakeCause interrupt = WakeCause::Unknown;
    // Blocked: threads that ended the waits, most time first; at most 3
    std::vector<ThreadTime> wakers;
    std::uint32_t waker_count = 0;  // total number of wakers
    // in waits ended by the first of `wakers` or others with its name and process
    std::uint64_t alike_ns = 0;
    std::uint32_t alike = 0;  // number of those others
    FileWaits files;          // Blocked
    HeldBack held_back;       // Blocked, for a disk: by a limit of a control group
    WrittenData written;      // Blocked, for a disk: what the disk wrote meanwhile
    // Blocked, for events or its own timer: the peer that refused most of its connections
    std::string refused_by;
    std::uint32_t refusals = 0;  // number of these refusals
    CpuWaits cpu;                // Runnable
};

// True if a device, the kernel or time ends such a wait, not another thread.
[[nodiscard]] bool ends_by_device(const ThreadDoing& doing);

// What a thread did while the previous one in the chain waited for it.
struct CauseLink {
    ThreadName who;
    // The thread that ended the wait, if it did not exist for most of it: `who` started it, which
    // is what the wait was for. tid 0 if `who` itself ended the wait.
    ThreadName started;
    std::uint64_t started_after_ns = 0;  // from the begin of the wait; 0 without `started`
    std::uint64_t whole_ns = 0;          // how long the previous one waited for it
    // other threads with its name and process that the previous one also waited for
    std::uint32_t alike = 0;
    // nothing shows that it was waited for, or that the previous one was
    bool likely = false;
    // From the begin of the first such wait to the start of its process; 0 if it existed before, or
    // unknown.
    std::uint64_t began_after_ns = 0;
    KernelWork work = KernelWork::None;  // most of what it did
    std::optional<RequestPart> request;  // another one, that it was in for most of that time
    // other threads that were in the first of `doings`, and may have held the lock together with it
    std::uint32_t sharers = 0;
    // if the wait was spinning: the outermost function it was in only during that time
    std::string operation;
    // Those that took a sixth of the time or more, longest first; at most 2. If it mostly waited
    // for a CPU, also what it computed, however briefly: that is what kept its waiters waiting.
    std::vector<ThreadDoing> doings;

    // Its process began so late that it held nobody up.
    [[nodiscard]] bool is_late() const { return began_after_ns * 2 > whole_ns; }
};

// A run that passed from one thread to another between two markers. Times count from the delay's
// begin.
struct HandOver {
    ThreadName from, to;
    std::uint64_t begin_ns = 0, end_ns = 0;
};

struct DelayCause {
    ThreadDoing doing;                 // what the delay's own threads did
    std::vector<HandOver> hand_overs;  // for unknown time between threads; in time order
    // Each thread was waited for by the previous one. Empty if there was no such thread or it is
    // unknown.
    std::vector<CauseLink> chain;
    // Of unknown time in a goroutine: what all threads of its process computed meanwhile.
    ThreadDoing of_process;
};

// What filled the control group of the delay's process that is nearest to its memory limit.
struct MemoryOfGroup {
    GroupMemory memory;  // pid 0: no group with a limit, or unknown
    std::string path;
    std::string filler;  // name of memory.filler_pid
};

struct DelayCauses {
    MemoryOfGroup group;
    ThreadName who;  // the thread that began the delay, or "goroutine 34" without a thread id
    RequestContext request;  // the delayed one
    std::uint64_t wall_ns = 0;
    std::vector<DelayCause> causes;  // longest first; they add up to wall_ns

    // Number of causes worth a sentence: the longest, and others of at least 5 %; at most 3.
    [[nodiscard]] std::size_t reported() const;
};

// "goroutine 34", or "goroutines" if the run may have several.
[[nodiscard]] std::string goroutine_words(const trace::Delay& delay);

// Finds the causes of one delay, longest first.
[[nodiscard]] DelayCauses causes_of_delay(const Recording& recording, const trace::Delay& delay);

// One sentence per cause that told() counts, then one about the rest if it exceeds 1 %.
[[nodiscard]] std::vector<std::string> cause_sentences(const DelayCauses& causes);

}  // namespace lagtrap::analysis
