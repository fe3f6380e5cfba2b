// What other threads want the reporter of runs to do.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/unique_fd.hpp"
#include "daemon/runs/report_pace.hpp"
#include "daemon/runs/run_gatherer.hpp"
#include "daemon/threads/wakeup.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// The source of reports: the maps of one set of programs, as the reporter's own descriptors.
struct RunSource {
    UniqueFd ring;
    UniqueFd quotas;
    std::vector<settings::Event> events;
    settings::Runs limits;
    std::shared_ptr<const MarkerPlaces> places;
    std::shared_ptr<const RunWeights> weights;
    std::shared_ptr<const EventThresholds> thresholds;
    std::uint64_t since_ns = 0;        // CLOCK_MONOTONIC: when its programs were attached
    std::uint64_t ended_after_ns = 0;  // the previous source reported runs that ended before
};

// Thread-safe.
class RunOrders {
  public:
    struct Taken {
        std::vector<ReportedRun> aborted;
        std::vector<RunSource> sources;
        std::vector<std::string> sessions;
    };

    // False: no descriptors are left.
    [[nodiscard]] bool valid() const { return wakeup_.valid(); }
    // Readable when there are orders.
    [[nodiscard]] int fd() const { return wakeup_.fd(); }

    void use(RunSource source) {
        {
            const std::lock_guard lock(mutex_);
            waiting_.sources.push_back(std::move(source));
        }
        wakeup_.notify();
    }
    // False, and nothing is added, if too many wait.
    [[nodiscard]] bool add_aborted(std::vector<ReportedRun> aborted) {
        {
            const std::lock_guard lock(mutex_);
            if (!has_room_for_aborted(waiting_.aborted.size(), aborted.size())) return false;
            std::move(aborted.begin(), aborted.end(), std::back_inserter(waiting_.aborted));
        }
        wakeup_.notify();
        return true;
    }
    void note_session(std::string session) {
        {
            const std::lock_guard lock(mutex_);
            waiting_.sessions.push_back(std::move(session));
        }
        wakeup_.notify();
    }
    void stop() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wakeup_.notify();
    }

    [[nodiscard]] Taken take() {
        wakeup_.clear();
        const std::lock_guard lock(mutex_);
        return std::exchange(waiting_, {});
    }
    // It was stopped, and no source waits to be used.
    [[nodiscard]] bool done() const {
        const std::lock_guard lock(mutex_);
        return stopping_ && waiting_.sources.empty();
    }

  private:
    Wakeup wakeup_;
    mutable std::mutex mutex_;  // protects the following members
    Taken waiting_;
    bool stopping_ = false;
};

}  // namespace lagtrap::daemon
