// A recording prepared for analysis: the merged trace of a bundle, decoded, checked and sorted by
// thread. All times are CLOCK_BOOTTIME nanoseconds. A Recording is plain data; once built, any
// thread may read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
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

// module of the kernel's frames
inline constexpr std::string_view kernel_path = "[kernel.kallsyms]";

// A function at a place in a program; functions inlined there have their own frames. `label` is its
// name or, if that is unknown, "[FILE]" from its module.
struct Frame {
    NameId label = 0;
    NameId module = 0;            // path of the file
    NameId build_id = 0;          // of the file, hexadecimal
    NameId source = 0;            // path of the source file; 0 if unknown
    std::uint32_t line = 0;       // in the source file; 0 if unknown
    std::uint64_t offset = 0;     // of the place in the module, as linked
    std::uint64_t load_bias = 0;  // `offset` minus this is the offset in the file
    bool kernel = false;
    bool named = false;
};

enum class ThreadState : std::uint8_t {
    NotRecorded,  // outside the recording, or lost
    Running,
    Runnable,  // waiting for a CPU
    Blocked,
    Exited,
};

// What made a thread runnable. Values are those of the merged trace.
enum class WakeCause : std::uint8_t {
    Unknown = 0,     // recordings from before causes were recorded
    Thread = 1,      // an action of the waker itself
    Timeout = 2,     // timer that the thread set to end its wait
    Timer = 3,       // another timer
    Packet = 4,      // received by a network device; if a local thread sent it, that is the waker
    Disk = 5,        // request completed by a disk
    Device = 6,      // interrupt of another device
    Interrupt = 7,   // any other interrupt
    DelayedAck = 8,  // packet that this machine held back until a delayed ACK came
    Signal = 9,      // sent by the waker; the wait was interrupted
    Killed = 10,     // the waker ended the thread's process, or the thread
};

// Why a file belongs to a wait. Values are those of lagtrap_wait_file_kind (bpf/records.h).
enum class WaitFileKind : std::uint8_t {
    Unknown = 0,
    OfCall = 1,   // argument of the system call in which the thread stopped
    OfFault = 2,  // contains the page that the thread touched and that was not in memory
    Lock = 3,     // the thread waited for a lock on it
    Refused = 4,  // the thread had been refused a lock on it, then waited for something else
    // Sockets, with the peer's address, or the path of a local one.
    Peer = 5,
    Connecting = 6,    // not yet answered
    DatagramPeer = 7,  // UDP and the like
    LocalPeer = 8,
    SynRepeated = 9,      // a SYN to it was repeated; belongs to no thread
    ConnectRefused = 10,  // it refused a connection
    // Not waits: the process that has the other end of a socket, or listens for it.
    Owner = 11,
    Listener = 12,
    FullListener = 13,  // its accept queue was full
    Pipe = 14,          // again a wait, for the other end of a pipe
    Nothing = 15,       // poll or select without files: a sleep
};

// The file a thread waited for.
struct WaitedFile {
    NameId path = 0;                // 0 if unknown
    NameId disk = 0;                // name; 0 if the file system is not on a disk
    std::uint32_t queue_depth = 0;  // requests in the disk's queue when the wait began
    // Lock, Refused: a process with a conflicting lock; 0 if unknown
    std::uint32_t holder_pid = 0;
    std::uint64_t socket = 0;  // number of the connection; 0 if not a socket, or unknown
    WaitFileKind kind = WaitFileKind::Unknown;
};

// The thread is in `state` from `at_ns` until the next change.
struct StateChange {
    std::uint64_t at_ns = 0;
    std::uint32_t waker_tid = 0;  // Runnable and woken: the waker; 0 if an idle CPU or unknown
    // Blocked: where it stopped; yielded: the same, but not every time
    StackId stack = 0;
    // Blocked: index into Recording::waited_files, plus 1; 0 if none or unknown
    std::uint32_t file = 0;
    // Blocked: index into Recording::lock_turns of what it waits for; 0 if unknown
    std::uint32_t lock = 0;
    std::uint16_t cpu = 0;  // Running
    // woken: name of the network device, disk or interrupt; 0 if none or unknown
    NameId wake_device = 0;
    ThreadState state = ThreadState::NotRecorded;
    WakeCause wake_cause = WakeCause::Unknown;
    bool woken = false;  // Runnable: woken after blocking; otherwise preempted
    // an interrupt (timer, device) was the waker, not the thread it interrupted
    bool by_interrupt = false;
    bool throttled = false;  // Runnable: held back by its control group's CPU quota
    bool yielded = false;    // Runnable: it called sched_yield
};

inline constexpr std::uint16_t no_priority = 0xffff;
// of threads with the policy SCHED_IDLE, for which the kernel has the priority of nice 0
inline constexpr std::uint16_t idle_priority = 140;

// `from_tid` ended the wait of `to_tid` for a lock, condition variable or semaphore.
struct LockTurn {
    std::uint64_t at_ns = 0;
    std::uint32_t from_tid = 0;
    std::uint32_t to_tid = 0;
};

// `owner_tid` had the lock when another thread began to wait for it, according to the memory of
// their program.
struct LockSighting {
    std::uint64_t at_ns = 0;
    std::uint32_t lock = 0;  // index into Recording::lock_turns
    std::uint32_t owner_tid = 0;
};

// This thread has the CPU from `at_ns` until the CPU's next tenure.
struct CpuTenure {
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;  // 0 if idle or unknown
    // The kernel's: real-time if below 100 (programs set 99 - priority); 120 is nice 0.
    std::uint16_t priority = no_priority;
    bool known = false;  // false: switches were lost
};

// A sampler tick that found the thread on a CPU.
struct Sample {
    std::uint64_t at_ns = 0;
    StackId stack = 0;
    std::uint32_t cpu = 0;
};

// A thread id stands for one thread throughout the recording; its last name counts.
// Which thread started another one, and when; 0 if that is unknown, or before the recording.
struct Creation {
    std::uint32_t creator_tid = 0;
    std::uint64_t at_ns = 0;
};

struct Thread {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    NameId name = 0;
    bool alive_at_start = false;
    Creation creation;
    std::vector<StateChange> changes;  // in time order; empty if scheduling was not recorded
    std::vector<Sample> samples;       // in time order
};

struct Process {
    std::uint32_t pid = 0;
    std::uint32_t parent_pid = 0;
    std::optional<std::uint32_t> uid;  // nullopt if unknown
    std::uint64_t started_ns = 0;      // 0 if unknown
    NameId name = 0;                   // of its main thread, or its program's file name
    std::string command_line;          // arguments separated by spaces
    // systemd unit or container: "nginx.service", "container web"; 0 if unknown
    NameId unit = 0;
};

struct RecordedStage {
    std::string name;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;  // the next stage's begin, or the run's end
    std::uint32_t tid = 0;
};

// A run, from its slice in the merged trace.
struct Run {
    std::uint64_t id = 0;
    std::string event;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t threshold_ns = 0;
    std::uint64_t queued_ns = 0;
    std::uint64_t key = 0;
    bool in_go = false;  // this and the next as in trace::Delay
    std::uint64_t goroutine = 0;
    std::uint32_t depth = 0;
    std::uint32_t begin_pid = 0, begin_tid = 0, end_pid = 0, end_tid = 0;
    bool delay = false, open = false, abandoned = false, reported_at_deadline = false,
         first = false;
    std::vector<RecordedStage> stages;  // by begin
};

// Which runs have a marker that a thread hit, by thread. For searches of a time.
struct IndexedRun {
    std::uint32_t run = 0;            // index into Recording::runs
    std::uint64_t latest_end_ns = 0;  // of this one and those before
};
using RunIndex = std::unordered_map<std::uint32_t, std::vector<IndexedRun>>;

// A connection that was refused or not answered in time.
struct FailedConnect {
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;  // thread that wanted it; 0 if unknown
    NameId peer = 0;
    std::uint64_t socket = 0;  // as WaitedFile has it
};

// A thread began to wait for a disk while its control group was at a limit there.
struct DiskLimit {
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;
    bool writes = false;
    NameId disk = 0;
    NameId group = 0;                                     // the last part of its path
    std::uint64_t bytes_per_s = 0, operations_per_s = 0;  // 0 if it was not at this limit
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
    NameId path = 0;  // within its file system; 0 if unknown
    NameId disk = 0;
};

// A process that had a WrittenFile open for writing, or that wrote much and has ended.
struct FileWriter {
    std::uint64_t file = 0;  // 0 if the process has ended
    std::uint32_t pid = 0;
    NameId name = 0;  // of a process that has ended
    std::uint64_t bytes = 0;
    std::uint64_t ended_ns = 0;
};

// The control group around a process that is nearest to its memory limit.
struct GroupMemory {
    std::uint32_t pid = 0;  // 0 if no group has a limit, or if unknown
    NameId path = 0;
    std::uint64_t limit_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t file_bytes = 0;
    std::uint64_t anonymous_bytes = 0;
    std::uint64_t shared_bytes = 0;
    // uses most of the larger part (files or anonymous); 0 if unknown
    std::uint32_t filler_pid = 0;
    std::uint64_t filler_bytes = 0;  // read and written by it, or in its memory
};

// From before the recording: the thread on a CPU, every trace::SystemFile::history_interval_ns.
struct EarlierSample {
    std::uint64_t at_ns = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    StackId stack = 0;  // without kernel frames
};

// From before the recording: a wait that had ended when it began, in a run or for a disk.
struct EarlierWait {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint32_t tid = 0;
    std::uint32_t waker_tid = 0;  // 0 if an idle CPU
    StackId stack = 0;            // 0 if not walked
    StackId waker_stack = 0;      // 0 if not walked
    bool by_interrupt = false;    // what ended the wait only interrupted `waker_tid`
    bool in_run = false;          // otherwise it was for a disk
};

// A call of an event's function with everything it called, as recorded for <calls>.
struct RunCalls {
    std::uint32_t pid = 0;
    std::uint64_t begin_ns = 0;
    calls::Tree tree;                 // its functions are indexes into Recording::called_functions
    std::vector<calls::Times> times;  // of each call, without probe overhead
};

struct SpanAttribute {
    NameId name = 0;
    NameId value = 0;
};

// The span that a thread worked for from a time on, as its program published it. Without a trace
// id, it worked for none.
struct PublishedSpan {
    std::uint64_t at_ns = 0;
    NameId trace_id = 0;  // 32 lower-case hexadecimal digits
    NameId span_id = 0;   // 16 lower-case hexadecimal digits
    std::vector<SpanAttribute> attributes;
};

struct Recording {
    trace::SystemFile system;
    std::uint64_t begin_ns = 0;  // time outside [begin, end) was not recorded
    std::uint64_t end_ns = 0;
    std::uint32_t cpu_count = 1;
    bool has_scheduling = false;
    // packets and references of the trace that were inconsistent and left out
    std::uint64_t unreadable = 0;

    std::uint64_t switch_gaps = 0;  // where a CPU's switches do not match: at least one is missing

    std::vector<std::string> names{""};
    std::vector<Frame> frames;
    std::vector<std::span<const std::uint32_t>> stacks{{}};  // indexes into frames, outermost first
    std::vector<std::uint32_t> stack_frames;                 // what `stacks` points into
    // From here on, `stacks` are copies, for waits that are sleeps although they are in poll or
    // select.
    StackId first_sleep = std::numeric_limits<StackId>::max();
    std::unordered_map<std::uint32_t, Process> processes;  // by pid
    std::vector<Thread> threads;                           // by tid, without idle threads (tid 0)
    std::vector<Run> runs;                                 // by begin
    RunIndex run_index;                                    // of `runs`
    std::vector<RunCalls> run_calls;                       // by begin
    std::vector<calls::Function> called_functions;         // costs are unknown
    std::vector<EarlierSample> earlier_samples;            // by time
    std::vector<EarlierWait> earlier_waits;                // by thread, then by begin
    std::vector<WaitedFile> waited_files;                  // for StateChange::file
    std::vector<FailedConnect> repeated_syns;
    std::vector<FailedConnect> refused_connects;
    std::vector<DiskLimit> disk_limits;  // by time
    std::vector<SocketOwner> socket_owners;
    std::vector<WrittenFile> written_files;  // by time
    std::vector<FileWriter> file_writers;
    std::unordered_map<std::uint32_t, std::vector<PublishedSpan>> spans;  // by tid, then by time
    GroupMemory group_memory;  // of the process whose delay began the recording
    // By waiting thread, for waits that outlast the recording: the owner of the mutex. Not from the
    // trace; set by whoever knows.
    std::map<std::uint32_t, std::uint32_t> lock_owners;
    std::vector<std::vector<LockTurn>> lock_turns;  // by lock, each in time order; 0 is no lock
    std::vector<LockSighting> lock_sightings;       // by lock, then by time
    std::vector<std::vector<CpuTenure>> cpus;       // by CPU, each in time order; empty if unknown

    // Movable but not copyable, because it points into itself.
    Recording() = default;
    Recording(Recording&&) = default;
    Recording& operator=(Recording&&) = default;

    // find_thread() and find_run() return nullptr if there is none.
    [[nodiscard]] const Thread* find_thread(std::uint32_t tid) const;
    [[nodiscard]] const Run* find_run(std::uint64_t id) const;
    // The call tree of the delay's run; nullptr if there is none.
    [[nodiscard]] const RunCalls* calls_of(const trace::Delay& delay) const;
    [[nodiscard]] const std::string& name(NameId id) const { return names[id]; }
    // Name of the process, or "" if unknown.
    [[nodiscard]] const std::string& process_name(std::uint32_t pid) const;
    // As Process::unit; empty if unknown.
    [[nodiscard]] const std::string& unit_of(std::uint32_t pid) const;
    // Name of the thread, or of the process if it is its main thread, or "" if unknown.
    [[nodiscard]] const std::string& thread_name(std::uint32_t tid) const;
    // From the system file; 1 ms if it does not say.
    [[nodiscard]] std::uint64_t sample_interval_ns() const;
};

// Decodes a merged trace, which may be untrusted. Everything is checked; malformed parts are left
// out and counted. Fails if the whole trace is damaged (ErrorKind::Invalid), or has more than 128 M
// records or 1 GiB of names (TooLarge). Needs about as much memory as the trace itself.
[[nodiscard]] Result<Recording> decode_recording(std::string_view trace, trace::SystemFile system);

// Reads a bundle, the folder of a merged capture, or a trace file with system.xml next to it.
[[nodiscard]] Result<Recording> read_recording(const std::filesystem::path& path);

// The undecoded system file and trace, from the same three sources.
struct RecordingFiles {
    std::string trace;
    std::string system_xml;
};
[[nodiscard]] Result<RecordingFiles> read_recording_files(const std::filesystem::path& path);

}  // namespace lagtrap::analysis
