// A recording as questions want it: the merged trace of a bundle, decoded, checked and sorted by thread. All times
// are CLOCK_BOOTTIME nanoseconds. A Recording is plain values; once made it may be read from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calls/call_tree.hpp"
#include "core/result.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::analysis {

using NameId = std::uint32_t;   // index into Recording::names; 0 is the empty name
using StackId = std::uint32_t;  // index into Recording::stacks; 0 is the empty stack

// A function at a place in a program; functions inlined there are frames of their own. `label` is its name or, where that
// is unknown, "[FILE]" after its module.
struct Frame {
    NameId label = 0;
    NameId module = 0;            // path of the file
    NameId build_id = 0;          // of the file, hexadecimal
    NameId source = 0;            // path of the source file; 0: not known
    std::uint32_t line = 0;       // in it; 0: not known
    std::uint64_t offset = 0;     // of the place within the module, as linked
    std::uint64_t load_bias = 0;  // `offset` minus this is the offset within the file
    bool kernel = false;
    bool named = false;
};

enum class ThreadState : std::uint8_t {
    NotRecorded,  // before or after the recording, or lost
    Running,
    Runnable,  // waits for a CPU
    Blocked,
    Exited,
};

// What made a thread runnable. The numbers are those of the merged trace.
enum class WakeCause : std::uint8_t {
    Unknown = 0,     // recordings of before there were causes
    Thread = 1,      // the waker, by something it did itself
    Timeout = 2,     // the timer that the thread itself had set to end its wait
    Timer = 3,       // another timer
    Packet = 4,      // a packet that was received by a network device; where a thread of the machine sent it: the waker
    Disk = 5,        // a request that a disk completed
    Device = 6,      // another device's interrupt
    Interrupt = 7,   // any other interrupt
    DelayedAck = 8,  // a packet that this machine held back until an ACK came that was delayed
};

// Why a file belongs to a wait; the numbers are those of lagtrap_wait_file_kind (bpf/records.h).
enum class WaitFileKind : std::uint8_t {
    Unknown = 0,
    OfCall = 1,   // the system call in which the thread stopped is about it
    OfFault = 2,  // a page of it that the thread touched was not in memory
    Lock = 3,     // the thread waited for a lock on it
    Refused = 4,  // a lock on it had been refused to the thread, which then waited for something else
    // Sockets, with the other end's address, or the path of a local one.
    Peer = 5,
    Connecting = 6,    // it has not answered yet
    DatagramPeer = 7,  // UDP and the like
    LocalPeer = 8,
    SynRepeated = 9,      // a SYN was sent to it again; of no thread
    ConnectRefused = 10,  // it refused a connection
    // No waits: which process has the other end of a socket, or listens for it.
    Owner = 11,
    Listener = 12,
    FullListener = 13,  // it had no room for another connection
};

// The file that a thread waited for.
struct WaitedFile {
    NameId path = 0;                // 0: not known
    NameId disk = 0;                // its name; 0: the file system is on none
    std::uint32_t queue_depth = 0;  // requests that the disk had when the wait began
    std::uint32_t holder_pid = 0;   // Lock, Refused: a process that had a lock in the way; 0: not known
    std::uint64_t socket = 0;       // the same number for the same connection; 0: no socket, or not known
    WaitFileKind kind = WaitFileKind::Unknown;
};

// From `at_ns` on, until the next change, the thread is in `state`.
struct StateChange {
    std::uint64_t at_ns = 0;
    std::uint32_t waker_tid = 0;  // Runnable and woken: who woke it; 0: an idle CPU or unknown
    StackId stack = 0;            // Blocked: where it stopped; yielded: the same, but not of each time
    std::uint32_t file = 0;       // Blocked: place in Recording::waited_files + 1; 0: none, or not known
    std::uint32_t lock = 0;       // Blocked: place in Recording::lock_turns: for what it waits; 0: not known
    std::uint16_t cpu = 0;        // Running: on which
    NameId wake_device = 0;       // woken: name of the network device, disk or interrupt; 0: none, or not known
    ThreadState state = ThreadState::NotRecorded;
    WakeCause wake_cause = WakeCause::Unknown;
    bool woken = false;         // Runnable: it had blocked and was woken; else it was preempted
    bool by_interrupt = false;  // the waker was an interrupt (a timer, a device), not the thread it interrupted
    bool throttled = false;     // Runnable: kept from running by the CPU quota of its control group
    bool yielded = false;       // Runnable: it gave its CPU up by sched_yield
};

inline constexpr std::uint16_t no_priority = 0xffff;

// A lock, a condition variable, a semaphore: `from_tid` ended the wait of `to_tid` for it.
struct LockTurn {
    std::uint64_t at_ns = 0;
    std::uint32_t from_tid = 0;
    std::uint32_t to_tid = 0;
};

// From `at_ns` on, until the next one of the same CPU, this thread has the CPU.
struct CpuTenure {
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;  // 0: idle, or not known
    std::uint16_t priority =
        no_priority;     // the kernel's: below 100 real-time (99 - priority as programs set it), 120 nice 0
    bool known = false;  // false: switches were lost
};

// One tick of the sampler that found the thread on a CPU.
struct Sample {
    std::uint64_t at_ns = 0;
    StackId stack = 0;
    std::uint32_t cpu = 0;
};

// A thread id stands for one thread in the whole recording; its last name counts.
struct Thread {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    NameId name = 0;
    bool alive_at_start = false;
    std::vector<StateChange> changes;  // by time; empty where scheduling was not recorded
    std::vector<Sample> samples;       // by time
};

struct Process {
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::optional<std::uint32_t> uid;  // none: not known
    std::uint64_t started_ns = 0;      // 0: not known
    NameId name = 0;                   // of its main thread, or the file name of its program
    std::string command_line;          // arguments parted by spaces
    NameId unit = 0;                   // of systemd, or container: "nginx.service", "container web"; 0: not known
};

struct RecordedStage {
    std::string name;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;  // the next stage's begin, or the run's end
    std::uint32_t tid = 0;
};

// One run as its slice in the merged trace says it.
struct Run {
    std::uint64_t id = 0;
    std::string event;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t threshold_ns = 0;
    std::uint64_t queued_ns = 0;
    std::uint64_t key = 0;
    bool in_go = false;  // as trace::Delay has them
    std::uint64_t goroutine = 0;
    std::uint32_t depth = 0;
    std::uint32_t begin_pid = 0, begin_tid = 0, end_pid = 0, end_tid = 0;
    bool delay = false, open = false, abandoned = false, reported_at_deadline = false, first = false;
    std::vector<RecordedStage> stages;  // by begin
};

// A connection was not answered in time, or it was refused.
struct FailedConnect {
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;  // who wanted it; 0: not known
    NameId peer = 0;
    std::uint64_t socket = 0;  // as WaitedFile has it
};

struct SocketOwner {
    std::uint64_t socket = 0;  // as WaitedFile has it
    NameId peer = 0;           // the address of this end
    std::uint32_t pid = 0;
    WaitFileKind kind = WaitFileKind::Owner;
};

// How much of a file a disk had written since the recording began.
struct WrittenFile {
    std::uint64_t at_ns = 0;
    std::uint64_t file = 0;
    std::uint64_t bytes = 0;
    NameId path = 0;  // within its file system; 0: not known
    NameId disk = 0;
};

// A process that had such a file open for writing, or that wrote much and ended.
struct FileWriter {
    std::uint64_t file = 0;  // 0: it has ended
    std::uint32_t pid = 0;
    NameId name = 0;  // of one that has ended
    std::uint64_t bytes = 0;
    std::uint64_t ended_ns = 0;
};

// The control group around a process that is nearest to its memory limit.
struct GroupMemory {
    std::uint32_t pid = 0;  // 0: it is in none with a limit, or that is not known
    NameId path = 0;
    std::uint64_t limit_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t file_bytes = 0;
    std::uint64_t anonymous_bytes = 0;
    std::uint64_t shared_bytes = 0;
    std::uint32_t filler_pid = 0;    // whose the larger of the two parts mostly is; 0: not known
    std::uint64_t filler_bytes = 0;  // that it has read and written, or has in memory
};

// From before the recording: who had a CPU, every trace::SystemFile::history_interval_ns.
struct EarlierSample {
    std::uint64_t at_ns = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    StackId stack = 0;  // without the kernel's part
};

// From before the recording: a wait that had ended when it began, of a thread in a run or for a disk.
struct EarlierWait {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint32_t tid = 0;
    std::uint32_t waker_tid = 0;  // 0: an idle CPU
    StackId stack = 0;            // 0: not walked
    StackId waker_stack = 0;      // the same
    bool by_interrupt = false;    // that thread was only interrupted by what ended the wait
    bool in_run = false;          // else it was for a disk
};

// A call of an event's function with all that it called, as <calls> has it recorded.
struct RunCalls {
    std::uint32_t pid = 0;
    std::uint64_t begin_ns = 0;
    calls::Tree tree;                 // functions are Recording::called_functions
    std::vector<calls::Times> times;  // of each call, without the probes'
};

struct Recording {
    trace::SystemFile system;
    std::uint64_t begin_ns = 0;  // what lies outside [begin, end) was not recorded
    std::uint64_t end_ns = 0;
    std::uint32_t cpu_count = 1;
    bool has_scheduling = false;
    std::uint64_t unreadable = 0;  // packets and references of the trace that made no sense and were left out

    std::uint64_t switch_gaps = 0;  // places where a CPU's switches do not fit together: at least one is missing

    std::vector<std::string> names{""};
    std::vector<Frame> frames;
    std::vector<std::span<const std::uint32_t>> stacks{{}};  // indices into frames, outermost first
    std::vector<std::uint32_t> stack_frames;                 // what `stacks` points into
    std::unordered_map<std::uint32_t, Process> processes;    // by pid
    std::vector<Thread> threads;                             // by tid, without the idle threads (tid 0)
    std::vector<Run> runs;                                   // by begin
    std::vector<RunCalls> run_calls;                         // by begin
    std::vector<calls::Function> called_functions;           // their costs are not known
    std::vector<EarlierSample> earlier_samples;              // by time
    std::vector<EarlierWait> earlier_waits;                  // by thread, then by begin
    std::vector<WaitedFile> waited_files;                    // what StateChange::file counts
    std::vector<FailedConnect> repeated_syns;
    std::vector<FailedConnect> refused_connects;
    std::vector<SocketOwner> socket_owners;
    std::vector<WrittenFile> written_files;  // by time
    std::vector<FileWriter> file_writers;
    GroupMemory group_memory;                       // of the process whose delay began the recording
    std::vector<std::vector<LockTurn>> lock_turns;  // by lock, each by time; 0 is no lock
    std::vector<std::vector<CpuTenure>> cpus;       // by CPU, each by time; empty where nothing is known of it

    // It points into itself: it may be moved, not copied.
    Recording() = default;
    Recording(Recording&&) = default;
    Recording& operator=(Recording&&) = default;

    [[nodiscard]] const Thread* find_thread(std::uint32_t tid) const;
    [[nodiscard]] const Run* find_run(std::uint64_t id) const;
    // The tree of the delay's run; nullptr: there is none.
    [[nodiscard]] const RunCalls* calls_of(const trace::Delay& delay) const;
    [[nodiscard]] const std::string& name(NameId id) const { return names[id]; }
    // Of the process, or "" where the recording does not know it.
    [[nodiscard]] const std::string& process_name(std::uint32_t pid) const;
    // As Process::unit; empty: not known.
    [[nodiscard]] const std::string& unit_of(std::uint32_t pid) const;
    [[nodiscard]] const std::string& thread_name(std::uint32_t tid) const;
    [[nodiscard]] std::uint64_t sample_interval_ns() const;
};

// Decodes a merged trace. It may come from anywhere: everything is checked, what is malformed is left out and
// counted, and a trace that is damaged as a whole, or holds more than 128 M records or 1 GiB of names, is an error
// (ErrorKind::Invalid, TooLarge). Takes about the size of the trace in memory beside it.
[[nodiscard]] Result<Recording> decode_recording(std::string_view trace, trace::SystemFile system);

// Reads a bundle, the folder of a merged capture, or a trace file with its system.xml beside it.
[[nodiscard]] Result<Recording> read_recording(const std::filesystem::path& path);

// The system file and the trace of the same three, undecoded.
struct RecordingFiles {
    std::string trace;
    std::string system_xml;
};
[[nodiscard]] Result<RecordingFiles> read_recording_files(const std::filesystem::path& path);

}  // namespace lagtrap::analysis
