// Turns recorded captures into bundles: one merge at a time, repeated after failures, within the
// spool's limits. It knows about folders, not about recordings.
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

#include "core/log.hpp"
#include "core/result.hpp"
#include "daemon/merges/merge_job.hpp"
#include "daemon/merges/merge_outcomes.hpp"
#include "spool/spool.hpp"

namespace lagtrap::daemon {

// Use it only on the io_context's thread.
class MergeQueue {
  public:
    struct Work {
        std::filesystem::path capture;
        std::string session;
        std::string event;
        bool with_names = true;
        std::shared_ptr<const void> kept{};  // what the merge needs; kept alive until it has ended
        // Where the bundle goes; empty: into the spool. Elsewhere it is no bundle of the spool, its
        // capture is left where it is, and a failed merge is not repeated.
        std::filesystem::path output{};
        // called with the bundle or the first error
        std::function<void(const Result<MergedBundle>&)> then{};
    };
    struct Options {
        std::string merge_program;  // path of lagtrap-merge
        Log log{};
        // after failures: 1 s, 4 s, 16 s ...
        std::chrono::milliseconds first_pause{1000}, max_pause{600'000};
    };

    class Owner {
      public:
        Owner() = default;
        Owner(const Owner&) = delete;
        Owner& operator=(const Owner&) = delete;
        virtual ~Owner() = default;

        // There is a new bundle, or space was lacking.
        virtual void bundle_changed() = 0;
        // True if the capture is still being written.
        [[nodiscard]] virtual bool is_in_use(const std::filesystem::path& capture) const = 0;
    };

    // `owner` must outlive it.
    MergeQueue(boost::asio::io_context& context, spool::Spool spool, const Options& options,
               Owner& owner);

    // Limits from now on: the duration of a merge, and the total size of waiting captures.
    void set_limits(std::chrono::nanoseconds merge_limit, std::uint64_t size_limit_bytes);
    void add(Work work);
    // Queues the captures in the spool's captures/, oldest first: those of an earlier daemon and
    // those that failed. Removes captures beyond the size limit, and the remains of captures that
    // never began or were finished.
    void take_what_waits();
    // While held, no merge begins.
    void hold(bool held);

    [[nodiscard]] bool is_running() const { return running_; }
    [[nodiscard]] MergeCounts counts() const;
    // Before the next attempt, if a merge fails now.
    [[nodiscard]] std::chrono::milliseconds pause_after_failure() const {
        return outcomes_.pause_after_failure(options_.first_pause, options_.max_pause);
    }
    [[nodiscard]] const std::optional<LastBundle>& last_bundle() const {
        return outcomes_.last_bundle();
    }
    [[nodiscard]] const std::optional<HeldUp>& held_up() const { return outcomes_.held_up(); }

  private:
    void begin_next();
    void take_merged(const Work& work, const Result<MergedBundle>& merged);
    void take_over_limit(const Work& work, const Error& error);
    void try_again_after(std::chrono::milliseconds pause);
    [[nodiscard]] bool is_in_use(const std::filesystem::path& capture) const;
    void look_at(const std::filesystem::path& capture);
    void drop(const std::filesystem::path& capture);
    [[nodiscard]] std::vector<std::filesystem::path> oldest_within_limits(
        const std::vector<std::filesystem::path>& waiting);

    boost::asio::io_context& context_;
    spool::Spool spool_;
    const Options options_;
    Owner& owner_;
    std::chrono::nanoseconds merge_limit_ = std::chrono::minutes(10);
    std::uint64_t size_limit_bytes_ = UINT64_MAX;
    // the first is running; several at once would need more memory than the unit allows
    std::deque<Work> queue_;
    bool running_ = false;
    bool held_ = false;
    boost::asio::steady_timer again_timer_;
    std::set<std::filesystem::path> unreadable_;  // or set aside; already reported
    MergeOutcomes outcomes_;
};

}  // namespace lagtrap::daemon
