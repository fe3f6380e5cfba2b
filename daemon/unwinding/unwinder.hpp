// Continuously maintains what walking user stacks needs: which code is mapped where in every
// process, and the tables of that code. One thread follows the kernel's events (once a second,
// often during a capture), one inspects mapped files, one finds files that watched programs will
// map, and two make tables. They do so at the lowest priority, unless a watched program or a
// recording waits for a table, or a busy machine delays it.
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
#include "daemon/unwinding/follow_events.hpp"
#include "daemon/unwinding/mapped_files.hpp"
#include "daemon/unwinding/process_spaces.hpp"
#include "daemon/unwinding/scan_budget.hpp"
#include "daemon/unwinding/unwind_store.hpp"
#include "daemon/unwinding/unwinder_status.hpp"

namespace lagtrap::daemon {

// Thread-safe.
class Unwinder {
  public:
    struct Options {
        std::uint64_t memory_bytes = 64ULL << 20;
        std::filesystem::path cache_folder;  // empty: no cache
        std::uint64_t cache_limit_bytes = 512ULL << 20;
    };
    // Starts following events and scans all processes. If the cache is unusable, continues without
    // it; `cache_problem` has the reason. Errors: the kernel refuses the maps or the events.
    // `inspector` must be thread-safe. It and `mapped_files`, which receives all mappings, must
    // outlive this object.
    [[nodiscard]] static Result<std::unique_ptr<Unwinder>> create(const Options& options,
                                                                  ProcessInspector& inspector,
                                                                  MappedFiles& mapped_files);
    ~Unwinder();

    [[nodiscard]] const UnwindStore& store() const { return *store_; }
    [[nodiscard]] const std::string& cache_problem() const { return cache_problem_; }

    // Processes events at once instead of within a second, because stacks of a new process are
    // wanted.
    void look_soon();
    // Starts following the events of CPUs that came online since the last call, and returns these.
    // Call it now and then.
    [[nodiscard]] std::vector<int> look_at_cpus();
    // From now on, events are also kept for take_events() and processed every few milliseconds. The
    // code that all processes have mapped now is added in the form of such events.
    void begin_capture();
    // Returns the events since the last call, CPU by CPU, and the mappings from the start of the
    // capture, both unordered.
    [[nodiscard]] RecordBuffer take_events();
    // Reads the last events for take_events(). False if the mappings from the start of the capture
    // are missing, because a file that was being opened delayed them.
    [[nodiscard]] bool end_capture();
    // Ends the capture and discards its events.
    void forget_capture();
    // While held, tables get no more memory than they have, and less is kept about mappings.
    void hold_memory(bool held);
    // Waits until stacks of the process can be walked, up to `timeout` or until `enough` returns
    // true, which is called every few milliseconds. Meanwhile its tables come before others.
    // Returns 0 if the tables are ready or not available, else the number of its files without
    // tables, or nullopt if nothing is known about it yet. May block; do not call it on threads
    // that serve others.
    [[nodiscard]] std::optional<std::size_t> prepare(std::uint32_t pid,
                                                     std::chrono::milliseconds timeout,
                                                     const std::function<bool()>& enough);
    // Sets the programs whose tables, and those of files that their processes map, are made before
    // others. Tables of files that are known to be needed are made at once, even before there is
    // such a process. They are kept (kept_tables.hpp).
    void watch(std::set<std::string> paths);
    // Sets the names of programs and libraries in the settings that `mapped_files` tracks. Files
    // that are mapped already are reported before it returns. Programs that were started by another
    // name of their file follow a little later.
    void want_files(const std::set<std::string>& names);
    // Time since the thread that follows events last completed a round, which it should do every
    // second.
    [[nodiscard]] std::chrono::steady_clock::duration silent_for() const {
        return heartbeat_.silence();
    }
    // Events lost since the start, by the kernel or because of limits.
    [[nodiscard]] std::uint64_t events_lost() const;

    [[nodiscard]] UnwinderStatus status() const;

  private:
    Unwinder(std::unique_ptr<UnwindStore> store, TaskEvents events,
             std::optional<binaries::UnwindCache> cache, ProcessInspector& inspector,
             MappedFiles& mapped_files);
    struct Maker {
        int thread = 0;
        clockid_t cpu_clock{};  // of the thread
        // working without a pause since then
        std::optional<std::chrono::steady_clock::time_point> since;
        // CPU time of the thread, and of the process that reads files for it, when the job began;
        // nullopt if there is no job.
        std::optional<std::chrono::nanoseconds> cpu_before_job;
        std::uint32_t user = 0;  // owner of the job
    };

    void follow();
    // Waits until somebody asks for a look, the pause is over, or, without a capture, until shortly
    // after a program has started or a ring is half full.
    void wait_for_work(std::chrono::milliseconds pause) const;
    // Takes new events.
    void take_events_in(const RecordBuffer& events, std::uint64_t capture_ns);
    void look_at_files();
    void make_tables(Maker& maker);
    void find_watched();
    [[nodiscard]] MadeTable make(const Maker& maker, TableJob job, bool patient);
    // Raises the priority of makers that somebody has waited for too long, except for files that
    // are slow by themselves. Call it with state_mutex_ held.
    void raise_priority_of_late_tables();
    // Identify mapped files, and read processes again that exceeded their limit, both without a
    // lock. True if there were any.
    bool identify_files();
    bool read_outgrown();
    // Publishes the results. Call it after taking events. True if tables are being made.
    [[nodiscard]] bool publish();
    // Empties the rings. Call it with events_mutex_ held.
    void drain_rings();
    // Returns the records that are known to be complete, in order of time. Sets `some_lost` if the
    // kernel dropped some.
    [[nodiscard]] RecordBuffer take_ordered(bool& some_lost);
    void start_over();
    // Starts over if that is wanted, or if events were lost and the budget allows it; otherwise the
    // next call does. True if it started over because of losses.
    [[nodiscard]] bool scan_if_needed(bool some_lost);
    // When the capture began whose processes must be described; 0 if there is none.
    [[nodiscard]] std::uint64_t take_capture_to_describe();
    [[nodiscard]] bool is_capturing();
    // Adds the mappings of all processes at that time to the capture's log, once all earlier events
    // are known.
    void describe(std::uint64_t at_ns);
    void note_status();

    std::unique_ptr<UnwindStore> store_;
    std::optional<binaries::UnwindCache> cache_;
    std::string cache_problem_;

    // Never held while a file is opened, because starting a capture must not wait for that.
    mutable std::mutex events_mutex_;
    UniqueFd to_follower_;  // eventfd
    TaskEvents events_;
    EventOrder order_;           // of what was read from the rings
    CaptureEvents for_capture_;  // likewise, for the capture's log
    std::uint64_t lost_before_ = 0;
    std::atomic<bool> capturing_{false};  // changed with events_mutex_ held
    std::uint64_t capture_to_describe_ns_ = 0;
    bool described_ = true;
    std::condition_variable has_described_;
    std::uint64_t capture_began_ns_ = 0;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> scan_wanted_{false};
    std::uint64_t scans_ = 0;  // this and the next two: only for the follower thread
    bool scan_due_ = false;    // events were lost since the last scan
    ScanBudget scan_budget_;
    UnwinderStatus status_;

    Heartbeat heartbeat_;
    ProcessInspector& inspector_;
    MappedFiles& mapped_files_;
    std::mutex state_mutex_;  // for state that the threads share
    std::condition_variable to_maker_;
    std::condition_variable has_published_;
    std::array<Maker, 2> makers_;
    CodeModules modules_;
    ProcessSpaces spaces_;
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
