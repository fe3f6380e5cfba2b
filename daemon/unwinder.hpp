// Keeps what the walk of user stacks needs, all the time: which code lies where in every process, and the tables of
// that code. Two threads of its own: one follows the kernel's events (once a second, often during a capture), the
// other makes tables: at the lowest priority, unless a busy machine keeps it waiting.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "binaries/unwind_cache.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/code_modules.hpp"
#include "daemon/process_scan.hpp"
#include "daemon/process_spaces.hpp"
#include "daemon/task_events.hpp"
#include "daemon/unwind_store.hpp"

namespace lagtrap::daemon {

struct UnwinderStatus {
    SpaceTotals spaces;
    ModuleTotals modules;
    std::uint64_t tables = 0;  // ready
    std::uint64_t tables_waiting = 0;
    std::uint64_t tables_without_room = 0;
    std::uint64_t table_bytes = 0;  // of tables that are ready
    std::uint64_t used_bytes = 0;   // tables and spaces
    std::uint64_t taken_bytes = 0;  // memory taken from the kernel
    std::uint64_t budget_bytes = 0;
    std::uint64_t events_lost = 0;
    struct Largest {
        std::string path;
        std::uint64_t bytes = 0;
    };
    std::vector<Largest> largest;  // at most 10
    struct Unreadable {
        std::string path;
        std::string problem;
    };
    std::vector<Unreadable> unreadable;  // files without a table because their reading failed; at most 10
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
    // says why. Errors: the kernel refuses the maps or the events.
    [[nodiscard]] static Result<std::unique_ptr<Unwinder>> create(const Options& options);
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
    // While it is held, tables get no more memory than they have.
    void hold_memory(bool held);
    // By the kernel, or for want of room; counted since the start.
    [[nodiscard]] std::uint64_t events_lost() const;

    [[nodiscard]] UnwinderStatus status() const;

  private:
    Unwinder(std::unique_ptr<UnwindStore> store, TaskEvents events, std::optional<binaries::UnwindCache> cache);
    void follow();
    void make_tables();
    // Raises its priority if a table is waited for too long; needs state_mutex_.
    void hurry_the_maker();
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
    std::uint64_t events_not_kept_ = 0;  // for_capture_ was full
    bool capturing_ = false;
    std::uint64_t capture_to_describe_ns_ = 0;
    bool described_ = true;
    std::condition_variable has_described_;
    std::uint64_t capture_began_ns_ = 0;
    bool look_now_ = false;
    std::atomic<bool> stopping_{false};
    UnwinderStatus status_;

    std::mutex state_mutex_;  // between the two threads
    std::condition_variable to_maker_;
    std::optional<std::chrono::steady_clock::time_point> making_since_;  // without a pause
    int maker_thread_ = 0;
    CodeModules modules_;
    ProcessSpaces spaces_;  // the follower's alone
    std::thread follower_, maker_;
};

}  // namespace lagtrap::daemon
