// Puts the markers of a listener's events into programs, and takes them out: on a thread of its own, within a budget of
// time for each event, one event at a time where a file changes. Whoever owns a watched file may make it slow to read, swap
// it, or touch it all day; that costs the events of this file.
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
#include "daemon/events/listener_programs.hpp"
#include "daemon/probes/rearm_pauses.hpp"
#include "daemon/probes/watched_file.hpp"
#include "daemon/probes/write_guard.hpp"
#include "daemon/unwinding/file_sightings.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// What is known of a file with markers.
struct WatchedFileStatus {
    std::string path;
    uid_t owner = 0;
    std::string other_writers;         // as WatchedFile has it
    unsigned rearmed = 0;              // how often its events were armed anew, as it had changed
    std::chrono::seconds again_in{0};  // before they may be once more
    bool slow = false;                 // reading it took more than the budget of an event
};

class EventArming {
  public:
    struct Options {
        // The markers of the event are met no more: its open runs have no end. On any thread.
        std::function<void(std::uint32_t event)> on_left;
        // The event's stages are watched no more, or again soon: those of its open runs are not to be told. On any thread.
        std::function<void(std::uint32_t event)> on_stages_left;
        // After the first round of arm_all(): an event was armed, or could not be. On the arming thread.
        std::function<void(std::uint32_t event, const Status& armed)> on_armed;
        // A file changed, and its events are being armed anew. On the arming thread.
        std::function<void(const std::string& path)> on_replaced;
        // Hits do nothing but count until let_hits_count().
        bool hold_hits = false;
        // Where copies of the files are found; nullptr: they are not watched. All outlive it.
        FileSightings* sightings = nullptr;
        ProcessInspector* inspector = nullptr;
        ContainerNames* names = nullptr;
    };
    // `programs` outlive it.
    EventArming(const std::vector<settings::Event>& events, ListenerPrograms& programs, Options options);
    ~EventArming();

    // The following may be called from any thread and do not wait for files.

    // Arms all events, each within a budget that is enough for any program that means well; then, after `on_first_round` was
    // called on the arming thread, those that were not done, with more. Once.
    void arm_all(std::function<void()> on_first_round);
    // Takes an event out, for this reason: its markers have no effect from now on, all at once. The probes leave the kernel
    // after the call: by the older interface that takes 0.1 s a marker.
    // With `count` its begins are counted on, each of them; else a count ends too.
    void shed(std::uint32_t event, std::string reason, bool count);
    // Whether the markers of an event's stages are watched. Comes back as arm_again() does; a shed event has them when it is
    // armed again.
    [[nodiscard]] Status watch_stages(std::uint32_t event, bool wanted);
    // Arms a shed event again; on_armed() tells, of what goes well only with `tell`.
    void arm_again(std::uint32_t event, bool tell);
    // Looks whether files changed, and arms the events of those that did anew.
    void look_at_files();
    // Looks whether processes have copies mapped that are not watched yet, or no longer those that are.
    void look_at_copies();
    // Hits do nothing but count, and go on to do what they did.
    void hold_hits();
    void let_hits_count();
    // Ends the arming thread, and the attachments that are on their way out. The others stay.
    void stop();

    struct EventState {
        bool arming = true;  // waiting for its turn, or it is tried once more
        bool shed = false;
        bool counted = false;  // shed, and its begins are counted
        std::string problem;   // why it is not armed
        [[nodiscard]] bool armed() const { return problem.empty() && !arming; }
    };
    [[nodiscard]] EventState state(std::uint32_t event) const;
    [[nodiscard]] std::size_t count_arming() const;
    // Of files that were opened, in order of their paths.
    [[nodiscard]] std::vector<WatchedFileStatus> files() const;
    // The files of the event and their processes.
    [[nodiscard]] EventCopies copies_of(std::uint32_t event) const;
    [[nodiscard]] LeftOut copies_left_out() const { return copies_ ? copies_->left_out() : LeftOut{}; }
    // Of the files of the event's markers as they were armed; a file that was not opened is left out.
    [[nodiscard]] std::vector<FileIdentity> identities_of(std::uint32_t event) const;

  private:
    struct File {
        std::shared_ptr<const WatchedFile> file;  // that is probed; nullptr: to be opened
        std::optional<FileIdentity> seen;         // under its path, when it was last opened; nullopt: nothing was there
        RearmPauses pauses;
        bool slow = false;
        // None is opened before a process maps it (copy_arming.hpp): nothing is there, or a disk that may be taken away.
        bool followed = false;
        std::string leads_to;  // where a followed path's links lead; empty: nothing is there
    };
    // What lies under a path.
    struct Place;
    using Duration = std::chrono::steady_clock::duration;

    [[nodiscard]] std::unique_ptr<EventPlanner> make_planner(const std::vector<settings::Event>& events);
    [[nodiscard]] Result<std::shared_ptr<const WatchedFile>> open(const std::string& path);
    void arm_first_round(const std::function<void()>& on_first_round);
    void arm_late(std::uint32_t event, EventPlanner& planner, bool tell = true);
    [[nodiscard]] Status arm(std::uint32_t event, EventPlanner& planner, Duration budget);
    [[nodiscard]] Status attach(std::uint32_t event, const EventPlan& plan);
    [[nodiscard]] Status check_unchanged(const EventPlan& plan) const;
    [[nodiscard]] Error blame(const std::string& path, const Error& error);
    void finish(std::uint32_t event, const Status& armed);
    [[nodiscard]] CopyArming::Hooks copy_hooks();
    [[nodiscard]] Status attach_copy(std::uint32_t event, std::uint32_t copy, const EventPlan& plan);
    void detach_copy(std::uint32_t event, std::uint32_t copy);
    void look_at_copies_now();
    void note_left(std::uint32_t event);
    [[nodiscard]] Status put_back(std::uint32_t event);
    void arm_now(std::uint32_t event, bool tell);
    void await_detached();
    [[nodiscard]] std::vector<std::uint32_t> events_in(const std::string& path) const;
    // Takes the markers of these events out, one event after the other.
    void leave(const std::vector<std::uint32_t>& events, const std::string& problem);
    void look_at(const std::string& path);
    [[nodiscard]] Result<Place> place_of(const std::string& path) const;
    [[nodiscard]] bool is_followed(const std::string& path, const Place& place) const;
    [[nodiscard]] bool follow(const std::string& path);
    [[nodiscard]] std::map<std::string, std::string> followed_paths() const;
    [[nodiscard]] bool has_processes(const std::string& path) const;
    [[nodiscard]] bool has_changed(const std::string& path);
    void rearm(const std::string& path);

    const std::vector<settings::Event> events_;
    ListenerPrograms& programs_;
    Options options_;
    std::atomic<bool> given_up_{false};
    std::atomic<bool> look_wanted_{false};
    std::mutex attach_mutex_;  // held while markers are attached or taken out
    std::atomic<bool> hits_held_;
    mutable std::mutex state_mutex_;
    std::vector<EventState> states_;     // by event
    std::map<std::string, File> files_;  // by path: all that markers are in
    std::vector<std::future<void>> detaching_;
    std::unique_ptr<CopyArming> copies_;  // nullptr: none are watched
    std::uint64_t subscription_ = 0;
    std::atomic<bool> copies_wanted_{false};
    boost::asio::thread_pool pool_{1};          // the arming thread
    boost::asio::thread_pool leaving_pool_{1};  // takes markers out of copies that nobody has mapped any more
    boost::asio::steady_timer copies_timer_{pool_};
    std::unique_ptr<WriteGuard> guard_;  // last: its thread uses the others
};

// The programs and libraries that the event's markers are in, of those that the settings name by their paths.
[[nodiscard]] std::set<std::string> binaries_of(const settings::Event& event);

}  // namespace lagtrap::daemon
