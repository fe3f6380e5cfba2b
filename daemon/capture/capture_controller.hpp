// The capture controller turns breaches into bundles: it runs the recorder as CapturePolicy decides
// (and asks whether to keep that, if configured), and queues the capture for the merge. It runs on
// the io_context's only thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/log.hpp"
#include "core/result.hpp"
#include "daemon/capture/capture_policy.hpp"
#include "daemon/capture/capture_session.hpp"
#include "daemon/capture/capture_surroundings.hpp"
#include "daemon/capture/capture_traces.hpp"
#include "daemon/capture/client_recordings.hpp"
#include "daemon/capture/history_calls.hpp"
#include "daemon/capture/recorder.hpp"
#include "daemon/capture/recording_files.hpp"
#include "daemon/capture/spool_mover.hpp"
#include "daemon/capture/unanswered.hpp"
#include "daemon/events/event_monitor.hpp"
#include "daemon/merges/merge_queue.hpp"
#include "settings/settings.hpp"
#include "spool/spool.hpp"

namespace lagtrap::daemon {

enum class CaptureState { Waiting, Confirming, Recording, CoolingDown };

// Recordings by outcome. The skipped ones are delays that ended while no recording could begin. The
// merge queue counts what became of finished recordings.
struct CaptureCounts {
    std::uint64_t failed = 0;  // could not begin or was cut short by an error
    std::uint64_t declined = 0;
    std::uint64_t skipped_user_share = 0;  // their user had reached the share of captures per hour
    CaptureLimits::Skipped skipped;
};

class CaptureController : private MergeQueue::Owner {
  public:
    struct Options {
        std::string merge_program;  // path of lagtrap-merge
        // for recordings that nobody has agreed to yet; in memory
        std::filesystem::path unanswered_folder;
        Log log{};
    };

    CaptureController(boost::asio::io_context& context, spool::Spool spool,
                      CaptureSurroundings& surroundings, Options options);
    ~CaptureController() override;

    // Takes over new settings, a started event monitor, and a recorder. Call it only while `busy()`
    // is false. Destroys, and so detaches, the previous event monitor.
    void use(const settings::Settings& settings, std::unique_ptr<EventMonitor> monitor,
             std::unique_ptr<Recorder> recorder);
    [[nodiscard]] bool busy() const { return policy_.state() == CapturePolicy::State::Recording; }
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
    [[nodiscard]] CaptureState state() const;
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
    [[nodiscard]] std::chrono::steady_clock::time_point state_ends() const {
        return policy_.ends();
    }
    [[nodiscard]] const std::string& current_event() const { return recording_.event(); }
    [[nodiscard]] const std::string& current_session() const { return recording_.session().id; }
    // For whom it records; nullopt if it is for the event.
    [[nodiscard]] std::optional<StreamClient> current_client() const {
        return clients_.client_of(current_session());
    }
    // For CoolingDown: true if it lasts until the hourly limit of captures allows another.
    [[nodiscard]] bool hourly_limit_reached() const;
    // Events and parties whose delays begin no capture, and until when.
    [[nodiscard]] const std::map<std::string, CaptureLimits::Closed>& events_without_captures()
        const {
        return policy_.closed_events();
    }
    [[nodiscard]] const std::map<Party, CaptureLimits::Clock::time_point>&
    parties_without_captures() const {
        return policy_.closed_parties();
    }
    // Number of recordings begun since the daemon started: in total, and by event.
    [[nodiscard]] std::uint64_t begun() const { return policy_.begun(); }
    [[nodiscard]] std::uint64_t begun_for(const std::string& event) const {
        return policy_.begun_for(event);
    }

  private:
    void carry_out(const CapturePolicy::Actions& actions);
    void carry_out(const capture_action::Ask& action);
    void carry_out(const capture_action::Record& action);
    void carry_out(const capture_action::Stop& action);
    void carry_out(const capture_action::Extended& action);
    void carry_out(const capture_action::WantBreaches& action);
    void carry_out(const capture_action::CloseEvents& action);
    void carry_out(const capture_action::CloseParties& action);
    void carry_out(const capture_action::BeginEarly& action);
    void carry_out(const capture_action::DropEarly& action);
    void carry_out(const capture_action::PartyUsedShare& action);
    void carry_out(const capture_action::EventUsedShare& action);
    void carry_out(const capture_action::TooManyQuestions& action);
    [[nodiscard]] CaptureContext context() const;
    void await_limits();
    void await_answers();
    void after_answer();
    [[nodiscard]] std::uint64_t capture_limit_bytes() const;
    void move_to_spool(MergeQueue::Work work);
    void hand_over(MergeQueue::Work work);
    void keep(Unanswered::Kept recordings);
    void hand_over_to_client(MergeQueue::Work work);
    [[nodiscard]] Status check_idle() const;
    // "event NAME" or "a client".
    [[nodiscard]] std::string recorded_for() const;
    void request(const capture_fact::Requested& request);
    void say_begun(const capture_action::Record& action, const Breach* breach);
    void await_length();
    void look_at_length();
    void note_size_limit();
    void begin_traces(const Breach* breach);
    void merge_recorded();
    void keep_draining();
    void keep_draining_early();
    void keep_budget();
    void end_capture(const Status& status);
    // True if the capture is still being written.
    void bundle_changed() override { surroundings_.spool_changed(); }
    [[nodiscard]] bool is_in_use(const std::filesystem::path& capture) const override;

    spool::Spool spool_;
    CaptureSurroundings& surroundings_;
    Options options_;
    settings::Settings settings_;
    std::unique_ptr<EventMonitor> monitor_;
    std::unique_ptr<Recorder> recorder_;
    std::function<void()> when_idle_;

    CapturePolicy policy_;
    Breach breach_;  // the last one that was reported
    boost::asio::steady_timer state_timer_;
    boost::asio::steady_timer drain_timer_;
    HistoryCalls history_calls_;
    RecordingFiles recording_;
    CaptureTraces traces_;
    boost::asio::steady_timer limits_timer_;
    bool early_reported_ = false;
    MergeQueue merges_;
    ClientRecordings clients_;
    Unanswered unanswered_;
    SpoolMover mover_;
    boost::asio::steady_timer answer_timer_;
};

}  // namespace lagtrap::daemon
