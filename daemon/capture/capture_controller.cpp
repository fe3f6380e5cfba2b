#include "daemon/capture/capture_controller.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "core/digest.hpp"
#include "core/duration.hpp"
#include "core/fault_point.hpp"
#include "core/text.hpp"
#include "daemon/capture/find_event.hpp"
#include "daemon/events/run_words.hpp"

namespace lagtrap::daemon {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using namespace capture_action;
namespace {

CaptureRules rules_of(const settings::Settings& settings) {
    CaptureRules rules;
    for (const settings::Event& event : settings.events)
        rules.events.push_back({event.name, {event.trace_length, event.trace_length_limit}});
    rules.captures_per_hour = settings.recording.captures_per_hour;
    rules.cool_down = settings.recording.cool_down;
    rules.asks = settings.confirm.has_value();
    return rules;
}

}  // namespace

CaptureController::CaptureController(boost::asio::io_context& context, spool::Spool spool,
                                     CaptureSurroundings& surroundings, Options options)
    : spool_(std::move(spool)),
      surroundings_(surroundings),
      options_(std::move(options)),
      state_timer_(context),
      drain_timer_(context),
      history_calls_(context),
      traces_(context, surroundings_, options_.log),
      limits_timer_(context),
      merges_(context, spool_, {options_.merge_program, options_.log}, *this),
      clients_(context, spool_.path() / "clients"),
      unanswered_(options_.unanswered_folder),
      mover_(context, spool_.captures()),
      answer_timer_(context) {}

CaptureController::~CaptureController() = default;

void CaptureController::use(const settings::Settings& settings,
                            std::unique_ptr<EventMonitor> monitor,
                            std::unique_ptr<Recorder> recorder) {
    on_early_over();  // it is in the recorder of before
    history_calls_.close();
    settings_ = settings;
    merges_.set_limits(settings.recording.merge_limit, settings.spool.size_limit_bytes);
    recorder_ = std::move(recorder);
    monitor_ = std::move(monitor);
    keep_history(true);
    carry_out(policy_.use(rules_of(settings_), context(), Clock::now()));
}

// In their order. An action may report a fact that leads to others.
void CaptureController::carry_out(const CapturePolicy::Actions& actions) {
    for (const CaptureAction& action : actions)
        std::visit([this](const auto& one) { carry_out(one); }, action);
}

void CaptureController::carry_out(const WantBreaches& action) {
    monitor_->breaches().want_breach(action.wanted);
}

void CaptureController::carry_out(const CloseEvents& action) {
    monitor_->set_events_without_recordings(action.events);
    await_limits();
}

void CaptureController::carry_out(const CloseParties& action) {
    monitor_->set_parties_without_recordings(action.parties);
}

void CaptureController::carry_out(const BeginEarly& action) {
    const Status begun = recorder_->begin_early(*monitor_, action.pid);
    if (begun) {
        carry_out(policy_.on(capture_fact::EarlyBegan{}));
        return keep_draining_early();
    }
    if (!std::exchange(early_reported_, true))
        options_.log.warn("recording before a breach failed: " + begun.error().message);
}

void CaptureController::carry_out(const DropEarly& action) {
    if (action.outgrown) monitor_->breaches().outgrow_early();
    drain_timer_.cancel();
    recorder_->drop_early();
}

void CaptureController::carry_out(const PartyUsedShare& action) {
    options_.log.warn(fmt::format("{} reached its share of {} captures per hour; none for {}",
                                  party_text(action.party), settings_.recording.captures_per_hour,
                                  format_duration(action.duration)));
}

void CaptureController::carry_out(const EventUsedShare& action) {
    options_.log.warn(fmt::format(
        "event {} used its share of {} captures per hour; the others are for other events",
        settings_.events[action.event].name, settings_.recording.captures_per_hour));
}

void CaptureController::carry_out(const TooManyQuestions& /*action*/) {
    options_.log.inform(
        fmt::format("delays are not recorded: {} recordings wait for an answer "
                    "(lagtrap approve, lagtrap decline)",
                    Unanswered::most));
}

CaptureState CaptureController::state() const {
    if (unanswered_.open()) return CaptureState::Confirming;
    switch (policy_.state()) {
        case CapturePolicy::State::Recording: return CaptureState::Recording;
        case CapturePolicy::State::CoolingDown: return CaptureState::CoolingDown;
        case CapturePolicy::State::Waiting: break;
    }
    return CaptureState::Waiting;
}

bool CaptureController::hourly_limit_reached() const {
    const auto& closed = policy_.closed_events();
    return std::any_of(closed.begin(), closed.end(), [](const auto& event) {
        return event.second.reason == CaptureLimits::Reason::HourlyLimit;
    });
}

void CaptureController::await_limits() {
    limits_timer_.cancel();
    const auto next = policy_.next_change();
    if (!next) return;
    limits_timer_.expires_at(*next);
    limits_timer_.async_wait([this](const auto& failure) {
        if (!failure) carry_out(policy_.on(capture_fact::LimitsDue{}, context(), Clock::now()));
    });
}

void CaptureController::hold_events(std::map<std::string, Clock::time_point> until) {
    carry_out(policy_.on(capture_fact::Held{std::move(until)}, context(), Clock::now()));
}

void CaptureController::on_breach(const Breach& breach) {
    breach_ = breach;
    carry_out(policy_.on(capture_fact::Breached{random_uuid(), breach.run.event, breach.at_deadline,
                                                breach.run.begin_party},
                         context(), Clock::now()));
}

void CaptureController::on_early(std::uint32_t pid) {
    carry_out(policy_.on(capture_fact::EarlyPoint{pid}));
}

void CaptureController::keep_history(bool wanted) {
    carry_out(policy_.on(capture_fact::HistoryWanted{wanted}));
    if (!wanted) {
        history_calls_.close();
        return recorder_->end_history();
    }
    if (const Status ready = recorder_->get_ready(*monitor_); !ready)
        options_.log.warn("the time before a breach is not kept: " + ready.error().message);
    if (const Status followed = history_calls_.follow(*recorder_); !followed)
        options_.log.warn("the time before a breach is not kept: " + followed.error().message);
}

void CaptureController::on_early_over() { carry_out(policy_.on(capture_fact::EarlyOver{})); }

void CaptureController::keep_draining_early() {
    drain_timer_.expires_after(recorder_->until_next_drain());
    drain_timer_.async_wait([this](const auto& failure) {
        if (failure || !policy_.is_early()) return;
        if (recorder_->drain() && !recorder_->early_is_full()) return keep_draining_early();
        carry_out(policy_.on(capture_fact::EarlyFull{}));
    });
}

// The machine is recorded in memory meanwhile, so that what was asked about is in the recording.
void CaptureController::carry_out(const Ask& action) {
    const std::string& event = settings_.events[action.breach.event].name;
    const std::string who = words_of_beginner(breach_.run);
    const auto until =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(settings_.confirm->wait);
    if (const Status asked = unanswered_.ask({action.breach.session, event, who, until}); !asked) {
        options_.log.warn("cannot record in memory until there is an answer: " +
                          asked.error().message);
        return carry_out(policy_.on(capture_fact::NotAsked{}));
    }
    options_.log.inform(
        fmt::format("event {} exceeded its threshold in {}: recorded in memory, and kept after {} "
                    "unless declined (lagtrap approve, lagtrap decline)",
                    event, who, format_duration(settings_.confirm->wait)));
    carry_out(policy_.on(capture_fact::Asked{action.breach}, context(), Clock::now()));
    await_answers();
}

void CaptureController::await_answers() {
    answer_timer_.cancel();
    const auto due = unanswered_.due();
    if (!due) return;
    answer_timer_.expires_at(*due);
    answer_timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        keep(unanswered_.answer_overdue(Clock::now()));
        after_answer();
    });
}

// There may be room for another question now.
void CaptureController::after_answer() {
    await_answers();
    carry_out(policy_.on(capture_fact::Answered{}, context(), Clock::now()));
}

Status CaptureController::approve(const std::string& session) {
    TRY_ASSIGN(Unanswered::Kept kept, unanswered_.approve(session));
    keep(std::move(kept));
    options_.log.inform("the recording is kept");
    after_answer();
    return success();
}

Status CaptureController::decline(const std::string& session) {
    TRY_ASSIGN(const auto recording, unanswered_.decline(session));
    if (recording) (void)finish(*recording);
    options_.log.inform("the recording is discarded");
    after_answer();
    return success();
}

void CaptureController::move_to_spool(MergeQueue::Work work) {
    mover_.move(std::move(work), [this](const Status& moved, MergeQueue::Work moved_work) {
        if (moved) return merges_.add(std::move(moved_work));
        clients_.fail(moved_work.session, moved.error().message);
        options_.log.warn(moved.error().message);
    });
}

std::uint64_t CaptureController::capture_limit_bytes() const {
    const std::uint64_t limit_bytes = settings_.recording.capture_size_limit_bytes;
    return unanswered_.knows(current_session())
               ? std::min(limit_bytes, Unanswered::recording_limit_bytes)
               : limit_bytes;
}

Status CaptureController::trigger(const std::string& event,
                                  std::optional<std::chrono::nanoseconds> length) {
    TRY_ASSIGN(const std::uint32_t number, find_event(settings_.events, event));
    TRY(check_idle());
    const settings::Event& found = settings_.events[number];
    request({random_uuid(),
             number,
             {length.value_or(found.trace_length), length.value_or(found.trace_length_limit)},
             false});
    return success();
}

Status CaptureController::record_for(std::shared_ptr<AnswerStream> client,
                                     std::chrono::nanoseconds length) {
    if (settings_.events.empty())
        return make_error(ErrorKind::Unsupported, "the settings have no event");
    TRY(check_idle());
    const std::string session = random_uuid();
    TRY(clients_.begin(session, std::move(client)));
    request({session, 0, {length, length}, true});
    return success();
}

Status CaptureController::check_idle() const {
    if (!busy()) return success();
    return make_error(ErrorKind::Busy, "a recording for " + recorded_for() + " is running");
}

std::string CaptureController::recorded_for() const {
    return clients_.knows(current_session()) ? "a client" : "event " + current_event();
}

void CaptureController::request(const capture_fact::Requested& request) {
    carry_out(policy_.on(request, context(), Clock::now()));
}

Status CaptureController::finish(const std::string& session) {
    if (!busy() || session != current_session())
        return make_error(ErrorKind::NotFound, "no recording of this session runs");
    if (const Status drained = recorder_->drain(); !drained)
        end_capture(drained);
    else
        carry_out(policy_.on(capture_fact::Unwanted{}));
    return success();
}

void CaptureController::carry_out(const Record& action) {
    const Breach* const breach = action.reason == trace::TriggerReason::Manual ? nullptr : &breach_;
    state_timer_.cancel();
    drain_timer_.cancel();
    const std::string& id = action.session;
    const auto begun =
        recording_.begin(make_session(id, settings_, *monitor_->thresholds(), action.event,
                                      action.reason, breach, action.lengths),
                         action.for_client       ? clients_.folder_of(id)
                         : unanswered_.knows(id) ? unanswered_.folder_of(id)
                                                 : spool_.captures() / id,
                         settings_, breach, *recorder_, *monitor_);
    if (!begun) return end_capture(begun);
    carry_out(policy_.on(capture_fact::Began{capture_limit_bytes()}, Clock::now()));
    if (action.for_client) {
        traces_.drop();
    } else {
        begin_traces(breach);
        surroundings_.session_changed(current_session());
    }
    if (breach) surroundings_.capture_begun(action.event);
    say_begun(action, breach);
    await_length();
    keep_draining();
}

void CaptureController::say_begun(const Record& action, const Breach* breach) {
    const auto after_ns = static_cast<std::int64_t>(recording_.session().started_ns -
                                                    recording_.session().trigger.reported_ns);
    const std::string who = breach ? words_of_beginner(breach->run) : "a manual request";
    options_.log.inform(fmt::format(
        "recording {} for {}, starting {} {} the breach", format_duration(action.lengths.planned),
        action.for_client ? recorded_for() : recorded_for() + " of " + who,
        format_duration(std::chrono::nanoseconds(std::abs(after_ns))),
        after_ns < 0 ? "before" : "after"));
}

void CaptureController::await_length() {
    state_timer_.expires_at(policy_.ends());
    state_timer_.async_wait([this](const auto& failure) {
        if (failure || !busy()) return;
        if (const auto drained = recorder_->drain(); !drained) return end_capture(drained);
        look_at_length();
    });
}

// Ends the recording if it is time. The records are drained.
void CaptureController::look_at_length() {
    const auto now = Clock::now();
    auto run = recorder_->first_run_recorded();
    if (run == AwaitedRun::State::GoesOn && policy_.is_look_due(now)) run = recorder_->first_run();
    carry_out(policy_.on(capture_fact::Written{recorder_->written_bytes(), run}, now));
}

void CaptureController::carry_out(const Stop& action) {
    recording_.note_end(action.why);
    if (action.why == trace::RecordingEnd::Size) note_size_limit();
    end_capture(success());
}

void CaptureController::carry_out(const Extended& /*action*/) {
    options_.log.inform(fmt::format(
        "the run of event {} is still open: recording until it ends, at most {}", current_event(),
        format_duration(settings_.events[recording_.session().trigger.event].trace_length_limit)));
    await_length();
}

void CaptureController::note_size_limit() {
    recording_.note_size_limit();
    options_.log.warn(
        fmt::format("the recording for {} reached its size limit of {} and ends early",
                    recorded_for(), format_byte_size(capture_limit_bytes())));
}

void CaptureController::keep_draining() {
    drain_timer_.expires_after(recorder_->until_next_drain());
    drain_timer_.async_wait([this](const auto& failure) {
        if (failure || !busy()) return;
        if (const auto drained = recorder_->drain(); !drained) return end_capture(drained);
        keep_budget();
        if (clients_.is_unwanted(current_session())) return (void)finish(current_session());
        look_at_length();
        if (busy()) keep_draining();
    });
}

// Reduces a recording that costs more than the settings allow.
void CaptureController::keep_budget() {
    if (const auto reduced = recording_.keep_budget(*recorder_))
        options_.log.warn("the recording for " + recorded_for() +
                          " is reduced to stay within the budget: " + *reduced);
}

void CaptureController::end_capture(const Status& status) {
    state_timer_.cancel();
    drain_timer_.cancel();
    const Status ended = recording_.end(*recorder_, status, surroundings_.disabled_now());
    surroundings_.session_changed({});
    if (!ended) {
        options_.log.warn(
            fmt::format("the recording for {} failed: {}", recorded_for(), ended.error().message));
        surroundings_.spool_changed();  // it may have lacked space
    }
    KILL_POINT("capture.ended");
    // Merge even a partial capture. Without session.json there is nothing to merge.
    if (recording_.has_session()) {
        merge_recorded();
    } else {
        traces_.drop();
        std::error_code ignored;
        std::filesystem::remove_all(recording_.folder(), ignored);
        unanswered_.forget(current_session());
        clients_.fail(current_session(), "the recording failed; see the daemon's log");
    }
    carry_out(policy_.on(capture_fact::Ended{!ended}, context(), Clock::now()));
    if (when_idle_) when_idle_();
}

// A manual trigger names no process, so one that runs the event's program is traced.
void CaptureController::begin_traces(const Breach* breach) {
    const std::uint32_t number = recording_.session().trigger.event;
    if (!CaptureTraces::are_wanted(settings_.events[number])) return traces_.drop();
    const std::uint32_t pid =
        breach ? breach->run.begin_pid : monitor_->status().at(number).copies.pid;
    settings::Event event = settings_.events[number];
    event.threshold =
        std::chrono::nanoseconds(static_cast<std::int64_t>(monitor_->thresholds()->of_ns(number)));
    traces_.begin(event, number, pid, recording_.folder());
}

// Queues the capture once its traces have written everything.
void CaptureController::merge_recorded() {
    MergeQueue::Work work{recording_.folder(), current_session(), current_event(), true,
                          recording_.take_roots()};
    traces_.end(recording_.folder(), current_event(),
                [this, work = std::move(work)] { hand_over(work); });
}

// A client's recording with a delay that would have begun one of its own is also that event's,
// unless a person must agree first.
void CaptureController::hand_over_to_client(MergeQueue::Work work) {
    if (const auto event = policy_.event_to_share(context(), Clock::now())) {
        work.event = *event;
        return move_to_spool(clients_.share_recorded(std::move(work)));
    }
    if (auto wanted = clients_.take_recorded(std::move(work))) merges_.add(std::move(*wanted));
}

void CaptureController::hand_over(MergeQueue::Work work) {
    if (clients_.knows(work.session)) return hand_over_to_client(std::move(work));
    if (!unanswered_.knows(work.session)) return merges_.add(std::move(work));
    keep(unanswered_.take_recorded(std::move(work)));
    after_answer();
}

void CaptureController::keep(Unanswered::Kept recordings) {
    for (MergeQueue::Work& work : recordings) move_to_spool(std::move(work));
}

bool CaptureController::is_in_use(const std::filesystem::path& capture) const {
    return (busy() && capture == recording_.folder()) || traces_.are_written_to(capture) ||
           mover_.is_moving(capture);
}

CaptureContext CaptureController::context() const {
    CaptureContext context;
    for (const auto& [name, counters] : monitor_->all_counters())
        context.delays[name] = counters.delays;
    context.parties = monitor_->seen_parties();
    if (!unanswered_.has_room())
        context.questions_full_until = unanswered_.due().value_or(Clock::time_point::max());
    return context;
}

CaptureCounts CaptureController::counts() const {
    CaptureCounts counts{policy_.failed(), unanswered_.declined(), 0, {}};
    CaptureLimits::Delays delays;
    for (const auto& [name, counters] : monitor_->all_counters()) {
        delays[name] = counters.delays;
        counts.skipped_user_share += counters.unrecorded;
    }
    counts.skipped = policy_.skipped(delays);
    return counts;
}

void CaptureController::shut_down() {
    when_idle_ = nullptr;
    traces_.note_over();
    if (!busy()) return;
    recording_.leave(*recorder_);
}

}  // namespace lagtrap::daemon
