// Keeps what the walk of user stacks needs, all the time: which code lies where in every process, and the tables of
// that code. Threads of its own: one follows the kernel's events (once a second, often during a capture), one looks what the
// files are that were mapped, one finds those that watched programs will map, two make tables: at the lowest priority, unless
// a watched program or a recording waits for them, or a busy machine keeps them waiting.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "binaries/unwind/unwind_cache.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/task_events.hpp"
#include "daemon/threads/heartbeat.hpp"
#include "daemon/unwinding/code_modules.hpp"
#include "daemon/unwinding/file_sightings.hpp"
#include "daemon/unwinding/process_spaces.hpp"
#include "daemon/unwinding/unwind_store.hpp"

namespace lagtrap::daemon {

struct UnwinderStatus {
    SpaceTotals spaces;
    ModuleTotals modules;
    std::uint64_t tables = 0;  // ready
    std::uint64_t tables_waiting = 0;
    std::uint64_t tables_without_room = 0;
    std::uint64_t table_bytes = 0;  // of tables that are ready
    std::uint64_t tables_kept = 0;  // of them: never thrown out for others
    std::uint64_t kept_bytes = 0;
    std::uint64_t used_bytes = 0;   // tables and spaces
    std::uint64_t taken_bytes = 0;  // memory taken from the kernel
    std::uint64_t budget_bytes = 0;
    std::uint64_t events_lost = 0;
    std::uint64_t scans = 0;          // looks at all processes that are done: at the start, and after events were lost
    std::uint64_t not_described = 0;  // mappings that captures lack, for want of room
    struct Largest {
        std::string path;
        std::uint64_t bytes = 0;
    };
    std::vector<Largest> largest;            // at most 10
    std::vector<UnreadableFile> unreadable;  // files without a table because they could not be read; at most 10
};

// Free to be used from any thread.
class Unwinder {
  public:
    struct Options {
        std::uint64_t memory_bytes = 64ULL << 20;
        std::filesystem::path cache_folder;  // empty: no cache
        std::uint64_t cache_limit_bytes = 512ULL << 20;
    };
    // Begins to follow events and reads what is there. A cache that cannot be used is done without; `cache_problem`
    // says why. Errors: the kernel refuses the maps or the events. `inspector` is free to be used from any thread; it and
    // `sightings`, which are told of all that is mapped, outlive it.
    [[nodiscard]] static Result<std::unique_ptr<Unwinder>> create(const Options& options, ProcessInspector& inspector,
                                                                  FileSightings& sightings);
    ~Unwinder();

    [[nodiscard]] const UnwindStore& store() const { return *store_; }
    [[nodiscard]] const std::string& cache_problem() const { return cache_problem_; }

    // Follows the events at once, not within a second: a process is there whose stacks are wanted.
    void look_soon();
    // Follows the events of CPUs that came, or came back, since the last call; these it returns. To be called now and then.
    [[nodiscard]] std::vector<int> look_at_cpus();
    // From now on what events tell is kept for take_events() too, and is looked for every few milliseconds. The code that all
    // processes have mapped at this moment is told as such events.
    void begin_capture();
    // The events since the last call, CPU by CPU, and what was mapped at the begin, both in no order.
    [[nodiscard]] RecordBuffer take_events();
    // Reads the last events; take_events() has them afterwards. False: what was mapped at the begin could not be told, as
    // a file that is opened meanwhile keeps it waiting.
    [[nodiscard]] bool end_capture();
    // Ends it at once: nobody wants the events.
    void forget_capture();
    // While it is held, tables get no more memory than they have, and less is kept of what processes map.
    void hold_memory(bool held);
    // Waits until stacks of the process can be walked, for `patience` at most or until `enough` says so, which is asked
    // every few milliseconds. Its tables come before others' meanwhile. 0: they are there, or cannot be had; else how many of its
    // files lack theirs, or nullopt: nothing is known of it yet. Not for threads that serve others.
    [[nodiscard]] std::optional<std::size_t> prepare(std::uint32_t pid, std::chrono::milliseconds patience,
                                                     const std::function<bool()>& enough);
    // Programs whose tables, and those of what their processes map, are made before others': of the files that are known to be
    // needed at once, before there is such a process. They are kept (kept_tables.hpp).
    void watch(std::set<std::string> paths);
    // Programs and libraries, by names as the settings have them, that the sightings are about from now on. Those that are
    // mapped already are told before it returns; that a program was started by another name of its file, a little later.
    void want_files(const std::set<std::string>& names);
    // Since the thread that follows events last went round: it should do so every second.
    [[nodiscard]] std::chrono::steady_clock::duration silent_for() const { return heartbeat_.silence(); }
    // By the kernel, or for want of room; counted since the start.
    [[nodiscard]] std::uint64_t events_lost() const;

    [[nodiscard]] UnwinderStatus status() const;

  private:
    Unwinder(std::unique_ptr<UnwindStore> store, TaskEvents events, std::optional<binaries::UnwindCache> cache,
             ProcessInspector& inspector, FileSightings& sightings);
    struct Maker {
        int thread = 0;
        clockid_t cpu_clock{};                                       // of the thread
        std::optional<std::chrono::steady_clock::time_point> since;  // without a pause
        // CPU time of the thread, and of who reads files for it, when the job began; nullopt: there is no job.
        std::optional<std::chrono::nanoseconds> cpu_before_job;
        std::uint32_t user = 0;  // whose job it is
    };

    void follow();
    // Takes the events that came in.
    void take_events_in(const RecordBuffer& events, std::uint64_t capture_ns);
    void look_at_files();
    void make_tables(Maker& maker);
    void find_watched();
    [[nodiscard]] MadeTable make(const Maker& maker, TableJob job, bool patient);
    // Raises the priority of makers for which something waits too long, but not those of files that take long themselves;
    // needs state_mutex_.
    void raise_priority_of_late_tables();
    // Looks what files are that were mapped, and reads anew what outgrew its limit; both without a lock. Whether there was any.
    bool identify_files();
    bool read_outgrown();
    // What comes of it all: to be called after the events were taken in. Whether tables are being made.
    [[nodiscard]] bool publish();
    // Empties the rings; needs events_mutex_.
    void drain_rings();
    // What is known to be complete, in order of time. Nothing, and `some_lost`, if events are missing.
    [[nodiscard]] RecordBuffer take_ordered(bool& some_lost);
    void start_over();
    // When a capture began whose processes are to be described; 0: none.
    [[nodiscard]] std::uint64_t take_capture_to_describe();
    [[nodiscard]] bool is_capturing();
    // What all processes have mapped at that moment, for the capture's log, once what happened up to it is known.
    void describe(std::uint64_t at_ns);
    void note_status();

    std::unique_ptr<UnwindStore> store_;
    std::optional<binaries::UnwindCache> cache_;
    std::string cache_problem_;

    // Never held while a file is opened: who begins a capture must not wait for one.
    mutable std::mutex events_mutex_;
    std::condition_variable to_follower_;
    TaskEvents events_;
    RecordBuffer unordered_;    // read from the rings
    RecordBuffer for_capture_;  // the same, for the capture's log
    std::uint64_t lost_before_ = 0;
    std::uint64_t events_not_kept_ = 0;   // for_capture_ was full
    std::atomic<bool> capturing_{false};  // changed under the lock
    std::uint64_t capture_to_describe_ns_ = 0;
    bool described_ = true;
    std::condition_variable has_described_;
    std::uint64_t capture_began_ns_ = 0;
    bool look_now_ = false;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> scan_wanted_{false};
    std::uint64_t scans_ = 0;  // the follower's
    UnwinderStatus status_;

    Heartbeat heartbeat_;
    ProcessInspector& inspector_;
    FileSightings& sightings_;
    std::mutex state_mutex_;  // between the threads
    std::condition_variable to_maker_;
    std::condition_variable has_published_;
    std::array<Maker, 2> makers_;
    CodeModules modules_;
    ProcessSpaces spaces_;  // the follower's alone
    std::chrono::steady_clock::time_point last_sweep_;
    std::uint64_t not_described_ = 0;
    std::condition_variable to_looker_;
    bool look_wanted_ = false;
    std::condition_variable to_finder_;
    std::optional<std::set<std::string>> watch_wanted_;
    std::thread follower_, looker_, finder_;
    std::array<std::thread, 2> maker_threads_;
};

}  // namespace lagtrap::daemon
