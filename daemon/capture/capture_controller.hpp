// The capture controller turns breaches into bundles: it decides whether to record (and asks
// whether to keep that, if configured), runs the recorder for the trace length, and queues the
// capture for the merge. It runs on the io_context's only thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "core/result.hpp"
#include "daemon/capture/capture_limits.hpp"
#include "daemon/capture/capture_session.hpp"
#include "daemon/capture/capture_surroundings.hpp"
#include "daemon/capture/capture_traces.hpp"
#include "daemon/capture/client_recordings.hpp"
#include "daemon/capture/recorder.hpp"
#include "daemon/capture/recording_length.hpp"
#include "daemon/capture/unanswered.hpp"
#include "daemon/events/event_monitor.hpp"
#include "daemon/merges/merge_queue.hpp"
#include "daemon/processes/kept_roots.hpp"
#include "settings/settings.hpp"
#include "spool/spool.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {

enum class CaptureState { Waiting, Confirming, Recording, CoolingDown };

// Recordings by outcome. The skipped ones are delays that ended while no recording could begin. The
// merge queue counts what became of finished recordings.
struct CaptureCounts {
    std::uint64_t failed = 0;  // could not begin or was cut short by an error
    std::uint64_t declined = 0;
    std::uint64_t skipped_cool_down = 0;
    std::uint64_t skipped_hourly_limit = 0;
    std::uint64_t skipped_event_share = 0;  // those left of the hour are for other events
    std::uint64_t skipped_daily_limit = 0;  // see hold_events()
    std::uint64_t skipped_user_share = 0;   // their user had reached the share of captures per hour
};

class CaptureController {
  public:
    struct Options {
        std::string merge_program;  // path of lagtrap-merge
        // for recordings that nobody has agreed to yet; in memory
        std::filesystem::path unanswered_folder;
        Say inform;
        Say warn;
    };

    CaptureController(boost::asio::io_context& context, spool::Spool spool,
                      CaptureSurroundings& surroundings, Options options);
    ~CaptureController();

    // Takes over new settings, a started event monitor, and a recorder. Call it only while `busy()`
    // is false. Destroys, and so detaches, the previous event monitor.
    void use(const settings::Settings& settings, std::unique_ptr<EventMonitor> monitor,
             std::unique_ptr<Recorder> recorder);
    [[nodiscard]] bool busy() const { return state_ == CaptureState::Recording; }
    // Called when a capture has ended, so that new settings can be applied.
    void when_idle(std::function<void()> action) { when_idle_ = std::move(action); }

    // Merges captures that an earlier daemon left, and removes the remains of captures that were
    // finished or never begun.
    void recover() { merges_.take_what_waits(); }

    void on_breach(const Breach& breach);
    // A run of process `pid` is unusually slow: starts recording into memory, in case a breach
    // follows.
    void on_early(std::uint32_t pid);
    // The run ended without a breach; discards the early recording.
    void on_early_over();
    // A manual trigger: records at once, whatever the limits, and takes nothing from them. `length`
    // replaces the event's trace length. Errors: NotFound (no such event), Busy (a capture is
    // running).
    [[nodiscard]] Status trigger(const std::string& event,
                                 std::optional<std::chrono::nanoseconds> length = {});
    // Records for a client, which alone gets the bundle: its connection gets a line with "session"
    // now, and one with the path of the "bundle" or an "error" later. If a delay of an event
    // happens meanwhile, the recording is also that event's and stays in the spool. Errors: Busy (a
    // capture is running, or clients have too many); Unsupported (there are no events).
    [[nodiscard]] Status record_for(std::shared_ptr<AnswerStream> client,
                                    std::chrono::nanoseconds length);
    // Ends the capture of this session early. ErrorKind::NotFound if it is not running.
    [[nodiscard]] Status finish(const std::string& session);
    // Answer the open question about a session, or the oldest one: its recording is kept, or
    // discarded. ErrorKind::Invalid if there is none.
    [[nodiscard]] Status approve(const std::string& session = {});
    [[nodiscard]] Status decline(const std::string& session = {});
    // Ends a running capture; the daemon merges it at its next start. Recordings that nobody has
    // agreed to are gone then.
    void shut_down();
    // Delays of these events begin no capture before these times (CaptureLimits::hold()).
    void hold_events(std::map<std::string, std::chrono::steady_clock::time_point> until);
    // While held, no merge begins and captures wait on disk.
    void hold_merges(bool held) { merges_.hold(held); }
    // Detaches the event monitor's programs.
    void detach() { monitor_->detach(); }

    // Confirming while a question is open, whether or not its recording is complete.
    [[nodiscard]] CaptureState state() const {
        return unanswered_.open() ? CaptureState::Confirming : state_;
    }
    // The oldest open question; null if there is none.
    [[nodiscard]] const Unanswered::Question* question() const { return unanswered_.open(); }
    [[nodiscard]] const MergeQueue& merges() const { return merges_; }
    [[nodiscard]] CaptureCounts counts() const;
    [[nodiscard]] const EventMonitor& monitor() const { return *monitor_; }
    [[nodiscard]] EventMonitor& monitor() { return *monitor_; }
    [[nodiscard]] Recorder::History history() const { return recorder_->history(); }
    [[nodiscard]] std::uint64_t history_cost_ns() const {
        return recorder_ ? recorder_->history_cost_ns() : 0;
    }
    // Switches the history before a breach on (if the settings want it) or off.
    void keep_history(bool wanted);
    // See Recorder::look_at_cpus().
    [[nodiscard]] std::vector<int> look_at_cpus() { return recorder_->look_at_cpus(); }
    // When the current capture or cool-down ends, and which event it concerns.
    [[nodiscard]] std::chrono::steady_clock::time_point state_ends() const { return state_ends_; }
    [[nodiscard]] const std::string& current_event() const { return current_event_; }
    [[nodiscard]] const std::string& current_session() const { return session_.id; }
    // For whom it records; nullopt if it is for the event.
    [[nodiscard]] std::optional<StreamClient> current_client() const {
        return clients_.client_of(session_.id);
    }
    // For CoolingDown: true if it lasts until the hourly limit of captures allows another.
    [[nodiscard]] bool hourly_limit_reached() const;
    // Events and parties whose delays begin no capture, and until when.
    [[nodiscard]] const std::map<std::string, CaptureLimits::Closed>& events_without_captures()
        const {
        return events_without_captures_;
    }
    [[nodiscard]] const std::map<Party, CaptureLimits::Clock::time_point>&
    parties_without_captures() const {
        return parties_without_captures_;
    }
    // Number of recordings begun since the daemon started: in total, and by event.
    [[nodiscard]] std::uint64_t begun() const { return begun_; }
    [[nodiscard]] std::uint64_t begun_for(const std::string& event) const {
        const auto found = begun_for_.find(event);
        return found == begun_for_.end() ? 0 : found->second;
    }

  private:
    void follow_limits();
    void limit_parties();
    void limit_events();
    [[nodiscard]] bool all_events_closed() const {
        return events_without_captures_.size() == settings_.events.size();
    }
    void ask(const Breach& breach);
    void await_answers();
    void after_answer();
    [[nodiscard]] std::uint64_t capture_limit_bytes() const;
    void move_to_spool(MergeQueue::Work work);
    void hand_over(MergeQueue::Work work);
    void hand_over_to_client(MergeQueue::Work work);
    [[nodiscard]] Status check_idle() const;
    // "event NAME" or "a client".
    [[nodiscard]] std::string recorded_for() const;
    void record_by_hand(std::string session, std::uint32_t event, CaptureLengths lengths);
    void record(const Breach& breach, std::string session);
    void start_capture(std::string session, std::uint32_t event, trace::TriggerReason reason,
                       const Breach* breach, CaptureLengths lengths);
    [[nodiscard]] Status begin_recording(const Breach* breach);
    void await_length();
    void look_at_length();
    void note_size_limit();
    void begin_traces(const Breach* breach);
    void merge_recorded();
    void keep_draining();
    void keep_draining_early();
    void drop_early();
    void follow_history();
    void await_history();
    void keep_budget();
    void keep_roots_for_merge();
    void end_capture(const Status& status);
    void cool_down();
    void become_ready();
    [[nodiscard]] CaptureLimits::Delays delays_so_far() const;
    // True if the capture is still being written.
    [[nodiscard]] bool in_use(const std::filesystem::path& capture) const;

    boost::asio::io_context& context_;
    spool::Spool spool_;
    CaptureSurroundings& surroundings_;
    Options options_;
    settings::Settings settings_;
    std::unique_ptr<EventMonitor> monitor_;
    std::unique_ptr<Recorder> recorder_;
    RecordingBudget budget_;
    std::function<void()> when_idle_;

    CaptureState state_ = CaptureState::Waiting;
    boost::asio::steady_timer state_timer_;
    boost::asio::steady_timer drain_timer_;
    boost::asio::posix::stream_descriptor history_calls_;
    std::chrono::steady_clock::time_point state_ends_;
    RecordingLength length_;  // of the recording
    std::string current_event_;
    trace::Session session_;
    std::filesystem::path capture_directory_;
    std::shared_ptr<KeptRoots> roots_;  // of the recording
    CaptureTraces traces_;
    CaptureLimits limits_;
    std::map<std::string, CaptureLimits::Closed> events_without_captures_;
    std::map<Party, CaptureLimits::Clock::time_point> parties_without_captures_;
    boost::asio::steady_timer limits_timer_;
    std::uint64_t begun_ = 0;
    std::map<std::string, std::uint64_t> begun_for_;
    CaptureCounts counts_;
    bool history_wanted_ = true;
    bool early_ = false;  // recording into memory
    bool early_reported_ = false;
    std::optional<std::string> kept_for_;  // the event whose delay is in a client's recording
    MergeQueue merges_;
    ClientRecordings clients_;
    Unanswered unanswered_;
    std::set<std::filesystem::path> moving_;  // into the spool, now
    boost::asio::thread_pool mover_{1};       // moves recordings into the spool
    boost::asio::steady_timer answer_timer_;
};

}  // namespace lagtrap::daemon
