// Continuously maintains what walking user stacks needs: which code is mapped where in every
// process, and the tables of that code. One thread follows the kernel's events, one inspects mapped
// files, one finds files that watched programs will map, and two make tables.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "binaries/unwind/unwind_cache.hpp"
#include "core/result.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/task_events.hpp"
#include "daemon/threads/wakeup.hpp"
#include "daemon/unwinding/code_follower.hpp"
#include "daemon/unwinding/followed_code.hpp"
#include "daemon/unwinding/mapped_files.hpp"
#include "daemon/unwinding/mapping_identifier.hpp"
#include "daemon/unwinding/table_makers.hpp"
#include "daemon/unwinding/task_event_log.hpp"
#include "daemon/unwinding/unwind_store.hpp"
#include "daemon/unwinding/unwinder_status.hpp"
#include "daemon/unwinding/watched_finder.hpp"

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

    [[nodiscard]] const UnwindStore& store() const { return *code_.store; }
    [[nodiscard]] const std::string& cache_problem() const { return cache_problem_; }

    // Processes events at once instead of within a second, because stacks of a new process are
    // wanted.
    void look_soon() { wakeup_.notify(); }
    // Starts following the events of CPUs that came online since the last call, and returns these.
    // Call it now and then.
    [[nodiscard]] std::vector<int> look_at_cpus() { return events_.renew(); }
    // From now on, events are also kept for take_events() and processed every few milliseconds. The
    // code that all processes have mapped now is added in the form of such events.
    void begin_capture();
    // Returns the events since the last call, CPU by CPU, and the mappings from the start of the
    // capture, both unordered.
    [[nodiscard]] RecordBuffer take_events() { return events_.take_captured(); }
    // Reads the last events for take_events(). False if the mappings from the start of the capture
    // are missing, because a file that was being opened delayed them.
    [[nodiscard]] bool end_capture() { return events_.end_capture(); }
    // Ends the capture and discards its events.
    void forget_capture() { events_.forget_capture(); }
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
    void watch(std::set<std::string> paths) { finder_.watch(std::move(paths)); }
    // Sets the names of programs and libraries in the settings that `mapped_files` tracks. Files
    // that are mapped already are reported before it returns. Programs that were started by another
    // name of their file follow a little later.
    void want_files(const std::set<std::string>& names);
    // Time since the thread that follows events last completed a round, which it should do every
    // second.
    [[nodiscard]] std::chrono::steady_clock::duration silent_for() const {
        return follower_.silent_for();
    }
    // Events lost since the start, by the kernel or because of limits.
    [[nodiscard]] std::uint64_t events_lost() const { return events_.lost(); }

    [[nodiscard]] UnwinderStatus status() const;

  private:
    Unwinder(std::unique_ptr<UnwindStore> store, TaskEvents events, Wakeup wakeup,
             std::optional<binaries::UnwindCache> cache, std::string cache_problem,
             ProcessInspector& inspector, MappedFiles& mapped_files);

    std::string cache_problem_;
    Wakeup wakeup_;  // of the follower
    TaskEventLog events_;
    FollowedCode code_;
    TableMakers makers_;
    MappingIdentifier identifier_;
    WatchedFinder finder_;
    CodeFollower follower_;
};

}  // namespace lagtrap::daemon
