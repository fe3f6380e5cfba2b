// Recorded captures on their way to bundles: one merge at a time, tried again whatever fails in between, within the spool's
// limits. Knows folders, not recordings.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/result.hpp"
#include "daemon/merges/merge_job.hpp"
#include "spool/spool.hpp"
#include "trace/logs/awaited_file.hpp"

namespace lagtrap::daemon {

// What is to be told to people, each as one line.
using Say = std::function<void(const std::string&)>;

struct MergeCounts {
    std::uint64_t done = 0;
    std::uint64_t failed = 0;         // attempts; the capture waits for the next
    std::uint64_t over_limit = 0;     // of these, those that took longer than they may
    std::uint64_t without_names = 0;  // of those done, after a merge with names had taken too long
    std::uint64_t waiting = 0;        // now
    std::uint64_t set_aside = 0;      // now; no merge of them ends, and none is tried
    std::uint64_t removed = 0;        // waiting ones that outgrew the spool's limits
};

struct LastBundle {
    std::string path;
    std::string digest;
    std::string session;
    std::string event;
};

// What the last merge that took too long was waiting for.
struct HeldUp {
    std::string session;
    trace::AwaitedFile file;
};

// Used on one thread, the io_context's.
class MergeQueue {
  public:
    struct Work {
        std::filesystem::path capture;
        std::string session;
        std::string event;
        bool with_names = true;
        std::shared_ptr<const void> kept{};  // lives until the merge has ended: what it may look for
    };
    struct Options {
        std::string merge_program;  // path of lagtrap-merge
        Say inform;
        Say warn;
        std::function<void()> on_spool_change{};                                // a bundle more, or room was missing
        std::function<bool(const std::filesystem::path& capture)> is_in_use{};  // captures that are still written
        std::chrono::milliseconds first_pause{1000}, longest_pause{600'000};    // after failures: 1 s, 4 s, 16 s ...
    };

    MergeQueue(boost::asio::io_context& context, spool::Spool spool, Options options);

    // From now on: how long a merge may take, and how large the captures that wait may be together.
    void set_limits(std::chrono::nanoseconds merge_limit, std::uint64_t size_limit_bytes);
    void add(Work work);
    // Queues what lies in the spool's captures/, the oldest first: what an earlier daemon left, and what failed. Removes what is
    // beyond the size limit, what never began, and what was done.
    void take_what_waits();
    // While it is held, no merge begins.
    void hold(bool held);

    [[nodiscard]] bool is_running() const { return running_; }
    [[nodiscard]] MergeCounts counts() const;
    [[nodiscard]] const std::optional<LastBundle>& last_bundle() const { return last_bundle_; }
    [[nodiscard]] const std::optional<HeldUp>& held_up() const { return held_up_; }

  private:
    void begin_next();
    void take_merged(const Work& work, const Result<MergedBundle>& merged);
    void take_over_limit(const Work& work, const Error& error);
    void try_again_later();
    [[nodiscard]] bool is_in_use(const std::filesystem::path& capture) const;
    void look_at(const std::filesystem::path& capture);
    void drop(const std::filesystem::path& capture);
    [[nodiscard]] std::vector<std::filesystem::path> oldest_within_limits(
        const std::vector<std::filesystem::path>& waiting);

    boost::asio::io_context& context_;
    spool::Spool spool_;
    Options options_;
    std::chrono::nanoseconds merge_limit_ = std::chrono::minutes(10);
    std::uint64_t size_limit_bytes_ = UINT64_MAX;
    std::deque<Work> queue_;  // the first one runs: several at once would need more memory than a unit allows
    bool running_ = false;
    bool held_ = false;
    std::uint64_t failed_in_row_ = 0;
    boost::asio::steady_timer again_timer_;
    std::set<std::filesystem::path> unreadable_;  // or set aside; it was said already
    MergeCounts counts_;
    std::optional<LastBundle> last_bundle_;
    std::optional<HeldUp> held_up_;
};

}  // namespace lagtrap::daemon
