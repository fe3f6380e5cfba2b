// Why a delay took its time: what its threads did, whom they waited for, what those did meanwhile, and whom those waited
// for. The same as words, for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/call_tree.hpp"
#include "analysis/cpu_holders.hpp"
#include "analysis/file_waits.hpp"
#include "analysis/kernel_work.hpp"
#include "analysis/recording.hpp"
#include "analysis/run_profile.hpp"
#include "analysis/thread_name.hpp"
#include "analysis/time_split.hpp"
#include "analysis/wait_kind.hpp"
#include "analysis/written_data.hpp"

namespace lagtrap::analysis {

// How a wait ended.
enum class WaitEnd : std::uint8_t {
    Unknown,
    Thread,     // another thread ended it
    Timeout,    // its own timer
    Interrupt,  // a timer or a device
    NotYet,     // it had not ended when the recording did
};

struct ThreadTime {
    ThreadName who;
    std::uint64_t time_ns = 0;
};

// What one thread did in a part of some stretch of time: all of it that was of one kind and for one reason.
struct ThreadDoing {
    TimeKind kind = TimeKind::Unknown;
    std::uint64_t time_ns = 0;
    std::uint64_t count = 0;    // of stretches
    bool object_known = false;  // Blocked: it is known for which lock, and so who had that
    std::uint32_t turns = 0;    // Blocked: of the wakers, those that had it in turn before the thread got it
    CallFocus focus;            // where in its program
    std::string reason;         // Blocked: as in TimeSplit; Runnable: "CPU quota" or empty; Unknown: why
    std::string kernel;  // OnCpu: the kernel's function in which most of the time was; empty: it was in the program
    KernelWork work = KernelWork::None;  // OnCpu, Blocked: what the kernel did for it in a third of that time or more
    std::uint64_t work_ns = 0;
    bool in_page_faults = false;      // OnCpu: most of that time was
    std::uint64_t yields = 0;         // that let another thread run, where it spun so
    SpinKind spin = SpinKind::None;   // OnCpu, with its waits for a CPU: it spun, perhaps for a thread of `wakers`
    WaitKind wait = WaitKind::Other;  // Blocked
    WaitEnd end = WaitEnd::Unknown;   // Blocked: of most of the time
    WakeCause interrupt = WakeCause::Unknown;  // of WaitEnd::Interrupt: which, of most of the time
    std::vector<ThreadTime> wakers;            // Blocked: who ended the waits, most first; at most 3
    std::uint32_t waker_count = 0;             // of all of them
    std::uint64_t alike_ns = 0;  // of waits ended by the first of `wakers` or others of its name and process
    std::uint32_t alike = 0;     // these others
    FileWaits files;             // Blocked
    WrittenData written;         // Blocked, for a disk: what that wrote meanwhile
    std::string refused_by;      // Blocked, for events or its own timer: who refused most of its connections meanwhile
    std::uint32_t refusals = 0;  // so often
    CpuWaits cpu;                // Runnable
};

// What a thread did while the one before it in a chain waited for it.
struct CauseLink {
    ThreadName who;
    std::uint64_t whole_ns = 0;          // the time that the one before waited for it
    std::uint32_t alike = 0;             // other threads of its name and process for which the one before waited too
    std::uint64_t began_after_ns = 0;    // so long after the wait for it its process began; 0: before it, or not known
    KernelWork work = KernelWork::None;  // most of what it did
    const Run* run = nullptr;  // of its own, that it was in for most of that time; nullptr: none. In the recording
    std::string operation;     // of who is waited for by spinning: the outermost function that it was in for this alone
    // That take a sixth of it or more, longest first; at most 2. Where it mostly waited for a CPU, also what it computed, however
    // short that was: it tells what those who waited for it were kept by.
    std::vector<ThreadDoing> doings;
};

// A run passed from one thread to another somewhere between two markers. Times count from the delay's begin.
struct HandOver {
    ThreadName from, to;
    std::uint64_t begin_ns = 0, end_ns = 0;
};

struct DelayCause {
    ThreadDoing doing;                 // of the delay's own threads
    std::vector<HandOver> hand_overs;  // of unknown time between threads; by time
    std::vector<CauseLink>
        chain;  // each is waited for by the one before; empty: nobody was waited for, or it is not known
};

// What filled the control group of the delay's process that is nearest to its memory limit.
struct MemoryOfGroup {
    GroupMemory memory;  // pid 0: it is in none with a limit, or that is not known
    std::string path;
    std::string filler;  // name of memory.filler_pid
};

struct DelayCauses {
    MemoryOfGroup group;
    ThreadName who;  // of the delay: the thread that began it, or "goroutine 34" with no thread's number
    std::uint64_t wall_ns = 0;
    std::vector<DelayCause> causes;  // longest first; they add up to wall_ns

    // Of the causes, those that are worth a sentence: the longest, and others of 5 % or more; at most 3.
    [[nodiscard]] std::size_t told() const;
};

// "goroutine 34", or "goroutines" where a run may be of several.
[[nodiscard]] std::string goroutine_words(const trace::Delay& delay);

[[nodiscard]] DelayCauses causes_of_delay(const Recording& recording, const trace::Delay& delay);

// A sentence for each cause that is told, then one that says what the rest was, if there is more than 1 % of it.
[[nodiscard]] std::vector<std::string> cause_sentences(const DelayCauses& causes);

}  // namespace lagtrap::analysis
