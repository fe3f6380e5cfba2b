// Attaches the markers of an event monitor's events to programs and detaches them, on its own
// thread, with a time budget for each event.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "core/result.hpp"
#include "daemon/events/copy_arming.hpp"
#include "daemon/events/event_plan.hpp"
#include "daemon/events/marker_attachments.hpp"
#include "daemon/events/monitor_programs.hpp"
#include "daemon/events/settings_files.hpp"
#include "daemon/probes/watched_file.hpp"
#include "daemon/probes/write_guard.hpp"
#include "daemon/unwinding/mapped_files.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

class EventArming {
  public:
    struct Options {
        // The event's markers were detached: its open runs get no end. Called on any thread.
        std::function<void(std::uint32_t event)> on_left;
        // The event's stages were detached or are coming back: ignore the stages of its open runs.
        // Called on any thread.
        std::function<void(std::uint32_t event)> on_stages_left;
        // An event was armed or could not be, after the first round of arm_all(). Called on the
        // arming thread.
        std::function<void(std::uint32_t event, const Status& armed)> on_armed;
        // A file changed, and its events are being armed again. Called on the arming thread.
        std::function<void(const std::string& path)> on_replaced;
        // Ignore hits, except for counting them, until let_hits_count().
        bool hold_hits = false;
        // Where copies of files are found; nullptr if copies are not watched. All must outlive this
        // object.
        MappedFiles* mapped_files = nullptr;
        ProcessInspector* inspector = nullptr;
        ContainerNames* names = nullptr;
    };
    // `programs` and `attachments` must outlive it.
    EventArming(const std::vector<settings::Event>& events, MonitorPrograms& programs,
                MarkerAttachments& attachments, Options options);
    ~EventArming();

    // The following is thread-safe and does not wait for files.

    // Arms all events, each within a budget that suffices for ordinary programs. Then calls
    // `on_first_round` on the arming thread, and arms events that timed out with a larger budget.
    // Call it once.
    void arm_all(std::function<void()> on_first_round);
    // Disables an event, for the given reason: its markers have no effect from now on, all at the
    // same time. The kernel removes the probes after the call, which takes 0.1 s per marker with
    // the older interface. With `count` its begins are still counted, each of them; otherwise
    // counting ends too.
    void shed(std::uint32_t event, std::string reason, bool count);
    // Enables or disables the markers of an event's stages. They come back like arm_again() does. A
    // disabled event gets them when it is armed again.
    [[nodiscard]] Status watch_stages(std::uint32_t event, bool wanted);
    // Arms a disabled event again. Calls on_armed(), for success only with `tell`.
    void arm_again(std::uint32_t event, bool tell);
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

    struct EventState {
        bool arming = true;  // not attempted yet, or being retried
        bool shed = false;
        bool counted = false;  // disabled, but its begins are counted
        std::string problem;   // why it is not armed
        [[nodiscard]] bool armed() const { return problem.empty() && !arming; }
        // Its markers may be attached to copies of its files.
        [[nodiscard]] bool attachable() const { return armed() || counted; }
    };
    [[nodiscard]] EventState state(std::uint32_t event) const;
    [[nodiscard]] std::size_t count_arming() const;
    // Opened files, by path.
    [[nodiscard]] std::vector<WatchedFileStatus> files() const { return files_->status(); }
    // The files of the event and their processes.
    [[nodiscard]] EventCopies copies_of(std::uint32_t event) const;
    // See EventMonitor::copies_are_armed().
    [[nodiscard]] bool copies_are_armed() const { return !copies_ || copies_->is_up_to_date(); }
    [[nodiscard]] LeftOut copies_left_out() const {
        return copies_ ? copies_->left_out() : LeftOut{};
    }
    // Identities of the files of the event's markers when they were armed, without files that could
    // not be opened.
    [[nodiscard]] std::vector<FileIdentity> identities_of(std::uint32_t event) const {
        return files_->identities_of(events_[event]);
    }

  private:
    using Duration = std::chrono::steady_clock::duration;

    [[nodiscard]] std::unique_ptr<EventPlanner> make_planner(
        const std::vector<settings::Event>& events);
    void arm_first_round(const std::function<void()>& on_first_round);
    void arm_late(std::uint32_t event, EventPlanner& planner, bool tell = true);
    [[nodiscard]] Status arm(std::uint32_t event, EventPlanner& planner, Duration budget);
    [[nodiscard]] Status attach(std::uint32_t event, const EventPlan& plan);
    [[nodiscard]] Status check_unchanged(const EventPlan& plan) const;
    void finish(std::uint32_t event, const Status& armed);
    [[nodiscard]] std::set<std::uint32_t> armed_events() const;
    void detach_copies(std::vector<CopyArming::Leaving> leaving);
    [[nodiscard]] Status attach_copy(std::uint32_t event, std::uint32_t copy,
                                     const EventPlan& plan);
    void detach_copy(std::uint32_t event, std::uint32_t copy);
    void look_at_copies_now();
    void note_left(std::uint32_t event);
    [[nodiscard]] Status put_back(std::uint32_t event);
    void arm_now(std::uint32_t event, bool tell);
    void await_detached();
    [[nodiscard]] std::vector<std::uint32_t> events_in(const std::string& path) const;
    // Detaches the markers of these events, one event after the other.
    void leave(const std::vector<std::uint32_t>& events, const std::string& problem);
    void look_at(const std::string& path);
    void rearm(const std::string& path);

    const std::vector<settings::Event> events_;
    MonitorPrograms& programs_;
    MarkerAttachments& attachments_;
    Options options_;
    std::atomic<bool> given_up_{false};
    std::atomic<bool> look_wanted_{false};
    std::mutex attach_mutex_;  // held while markers are attached or detached
    std::atomic<bool> hits_held_;
    mutable std::mutex state_mutex_;
    std::vector<EventState> states_;  // by event
    std::vector<std::future<void>> detaching_;
    std::unique_ptr<SettingsFiles> files_;
    std::unique_ptr<CopyArming> copies_;  // nullptr if copies are not watched
    std::uint64_t subscription_ = 0;
    std::atomic<bool> copies_wanted_{false};
    boost::asio::thread_pool pool_{1};  // the arming thread
    // detaches markers from copies that no process maps any more
    boost::asio::thread_pool leaving_pool_{1};
    boost::asio::steady_timer copies_timer_{pool_};
    std::unique_ptr<WriteGuard> guard_;  // last: its thread uses the other members
};

}  // namespace lagtrap::daemon
