// The threads that make tables. They do so at the lowest priority, unless a watched program or a
// recording waits for a table, or a busy machine delays it.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <thread>

#include "binaries/unwind/unwind_cache.hpp"
#include "daemon/threads/wakeup.hpp"
#include "daemon/unwinding/code_module.hpp"
#include "daemon/unwinding/followed_code.hpp"
#include "daemon/unwinding/task_event_log.hpp"

namespace lagtrap::daemon {

// Call its functions with the mutex of the code held.
class TableMakers {
  public:
    static constexpr std::size_t count = 2;

    // Starts the threads, which notify `follower` of new tables. The references must outlive it.
    TableMakers(FollowedCode& code, const TaskEventLog& events, const Wakeup& follower,
                std::optional<binaries::UnwindCache> cache);
    // Needs `stopping` of the code. Waits for the tables that are being made.
    ~TableMakers();
    TableMakers(const TableMakers&) = delete;
    TableMakers& operator=(const TableMakers&) = delete;

    // Tables may wait to be made.
    void notify() { to_maker_.notify_all(); }
    // True if tables are being made.
    [[nodiscard]] bool at_work() const;
    // Raises the priority of makers that somebody has waited for too long, except for files that
    // are slow by themselves.
    void raise_priority_of_late_tables();

  private:
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

    void work(Maker& maker);
    [[nodiscard]] MadeTable make(const Maker& maker, TableJob job, bool patient);

    FollowedCode& code_;
    const TaskEventLog& events_;
    const Wakeup& follower_;
    std::optional<binaries::UnwindCache> cache_;
    std::condition_variable to_maker_;
    std::array<Maker, count> makers_;
    std::array<std::thread, count> threads_;
};

}  // namespace lagtrap::daemon
