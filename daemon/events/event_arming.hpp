// Attaches the markers of an event monitor's events to programs and detaches them, on its own
// thread, with a time budget for each event.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include "core/result.hpp"
#include "daemon/events/arming_policy.hpp"
#include "daemon/events/arming_steps.hpp"
#include "daemon/events/breach_watch.hpp"
#include "daemon/events/copy_arming.hpp"
#include "daemon/events/copy_watch.hpp"
#include "daemon/events/event_plan.hpp"
#include "daemon/events/marker_attachments.hpp"
#include "daemon/events/monitor_programs.hpp"
#include "daemon/events/settings_files.hpp"
#include "daemon/probes/watched_file.hpp"
#include "daemon/probes/write_guard.hpp"
#include "daemon/unwinding/mapped_files.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// What happened on the arming thread.
struct FirstRoundOver {};  // each event was armed or failed, or needs more time
struct EventArmed {        // after the first round
    std::uint32_t event = 0;
    std::string problem;  // why it is not armed; empty if it is
};
struct FileReplaced {  // its events are being armed again
    std::string path;
};
using ArmingReport = std::variant<FirstRoundOver, EventArmed, FileReplaced>;

class EventArming {
  public:
    struct Options {
        // Called on the arming thread.
        std::function<void(const ArmingReport&)> report;
        // Ignore hits, except for counting them, until let_hits_count().
        bool hold_hits = false;
        // Where copies of files are found; nullptr if copies are not watched. All must outlive this
        // object.
        MappedFiles* mapped_files = nullptr;
        ProcessInspector* inspector = nullptr;
        ContainerNames* names = nullptr;
    };
    // `programs`, `attachments` and `breaches` must outlive it. `breaches` forgets open runs of
    // detached events, and stages of runs if these are detached or coming back.
    EventArming(const std::vector<settings::Event>& events, MonitorPrograms& programs,
                MarkerAttachments& attachments, BreachWatch& breaches, const Options& options);
    ~EventArming();

    // The following is thread-safe and does not wait for files.

    // Arms all events, each within a budget that suffices for ordinary programs. Then reports
    // FirstRoundOver, and arms events that timed out with a larger budget. Call it once.
    void arm_all();
    // Disables an event, for the given reason: its markers have no effect from now on, all at the
    // same time. The kernel removes the probes after the call, which takes 0.1 s per marker with
    // the older interface. With `count` its begins are still counted, each of them; otherwise
    // counting ends too.
    void disable(std::uint32_t event, const std::string& reason, bool count);
    // Enables or disables the markers of an event's stages. They come back like those of enable().
    // A disabled event gets them when it is enabled.
    [[nodiscard]] Status watch_stages(std::uint32_t event, bool wanted);
    // Arms a disabled event again, and reports EventArmed, for success only if `report_success`.
    void enable(std::uint32_t event, bool report_success);
    // Checks whether files changed, and arms the events of those again.
    void look_at_files();
    // Checks whether processes map copies that are not watched, and whether watched ones are still
    // mapped.
    void look_at_copies();
    // Ignore hits of all events (except for counting them), or handle them again.
    void hold_hits();
    void let_hits_count();
    // Stops the arming thread and waits for detaching to finish. Attached markers stay.
    void stop();

    [[nodiscard]] ArmingPolicy::State state(std::uint32_t event) const {
        return steps_.ask([event](const auto& policy) { return policy.state(event); });
    }
    [[nodiscard]] std::size_t count_arming() const {
        return steps_.ask([](const auto& policy) { return policy.count_arming(); });
    }
    // Opened files, by path.
    [[nodiscard]] std::vector<WatchedFileStatus> files() const { return files_->status(); }
    // The files of the event and their processes.
    [[nodiscard]] EventCopies copies_of(std::uint32_t event) const {
        return copies_ ? copies_->of(event, state(event).attachable()) : EventCopies{};
    }
    // See EventMonitor::copies_are_armed().
    [[nodiscard]] bool copies_are_armed() const { return !copy_watch_ || copy_watch_->is_done(); }
    [[nodiscard]] LeftOut copies_left_out() const {
        return copies_ ? copies_->left_out() : LeftOut{};
    }
    // Identities of the files of the event's markers when they were armed, without files that could
    // not be opened.
    [[nodiscard]] std::vector<FileIdentity> identities_of(std::uint32_t event) const {
        return files_->identities_of(events_[event]);
    }

  private:
    using Followups = ArmingSteps::Followups;

    // The following run on the arming thread.
    void follow(const Followups& followups);
    [[nodiscard]] std::unique_ptr<EventPlanner> make_planner(
        const std::vector<std::uint32_t>& events);
    void arm_first_round();
    [[nodiscard]] Followups arm(std::uint32_t event, EventPlanner& planner);
    [[nodiscard]] Followups attach(std::uint32_t event, const EventPlan& plan);
    [[nodiscard]] Followups put_back(std::uint32_t event);
    [[nodiscard]] Status attach_again(std::uint32_t event);
    void look_at(const std::string& path);
    void rearm(const std::string& path);

    [[nodiscard]] std::vector<std::uint32_t> events_in(const std::string& path) const;
    // Runs on the guard's thread.
    void leave(const std::string& path);

    const std::vector<settings::Event> events_;
    MarkerAttachments& attachments_;
    BreachWatch& breaches_;
    const std::function<void(const ArmingReport&)> report_;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> look_wanted_{false};
    std::unique_ptr<CopyArming> copies_;  // nullptr if copies are not watched
    ArmingSteps steps_;
    std::unique_ptr<SettingsFiles> files_;
    boost::asio::thread_pool pool_{1};       // the arming thread
    std::unique_ptr<CopyWatch> copy_watch_;  // nullptr if copies are not watched
    std::unique_ptr<WriteGuard> guard_;      // last: its thread uses the other members
};

}  // namespace lagtrap::daemon
