#include "daemon/thresholds/threshold_keeper.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <system_error>
#include <utility>

#include "daemon/thresholds/history_file.hpp"
#include "settings/run_identity.hpp"

namespace lagtrap::daemon {
namespace {

// A killed daemon loses the runs of this time.
constexpr std::uint64_t save_interval_ns = 600'000'000'000;
constexpr int lowest_priority = 19;
// Smaller steps of the clock, such as those of NTP, need no correction.
constexpr std::int64_t min_step_ns = 60'000'000'000;

// Files that a killed daemon did not finish writing: NAME.XXXXXX.
void remove_unfinished(const std::filesystem::path& file) {
    std::error_code ignored;
    const std::string begin = file.filename().string() + ".";
    std::vector<std::filesystem::path> unfinished;
    for (const auto& entry : std::filesystem::directory_iterator(file.parent_path(), ignored))
        if (entry.path().filename().string().starts_with(begin)) unfinished.push_back(entry.path());
    for (const std::filesystem::path& path : unfinished) std::filesystem::remove(path, ignored);
}

}  // namespace

ThresholdKeeper::ThresholdKeeper(std::filesystem::path file, Log log, const ClockSnapshot& now)
    : file_(std::move(file)),
      log_(std::move(log)),
      clocks_(now),
      save_at_ns_(now.boottime_ns + save_interval_ns) {
    remove_unfinished(file_);
    auto stored = read_history(file_);
    if (!stored) {
        log_.warn("the history of runs in " + file_.string() +
                  " is lost, thresholds are learned anew: " + stored.error().message);
        return;
    }
    history_ = RunHistory(std::move(stored->runs), now.realtime_ns);
    states_ = std::move(stored->thresholds);
    for (auto& [name, state] : states_)
        if (state.base_hour > now.realtime_ns / RunHistory::hour_ns)
            state.move(-static_cast<std::int64_t>(state.base_hour * RunHistory::hour_ns -
                                                  now.realtime_ns));
}

ThresholdKeeper::~ThresholdKeeper() {
    if (saving_.valid()) saving_.wait();
}

void ThresholdKeeper::fill(settings::Settings& settings) const {
    for (settings::Event& event : settings.events) {
        if (!event.threshold_rule) continue;
        const auto state = states_.find(event.name);
        const EventRuns* runs = history_.of(event.name);
        if (state == states_.end() || !runs || runs->identity != settings::run_identity(event))
            continue;
        ThresholdState copy = state->second;
        const auto decided = ThresholdPolicy(*event.threshold_rule, settings.auto_threshold)
                                 .decide(copy, *runs, {}, clocks_.realtime_ns);
        event.threshold = std::chrono::nanoseconds(static_cast<std::int64_t>(decided.threshold_ns));
    }
}

void ThresholdKeeper::use(const settings::Settings& settings) {
    events_ = settings.events;
    limits_ = settings.auto_threshold;
    decisions_.clear();
}

ThresholdDecision ThresholdKeeper::decide(const settings::Event& event, const RunHistogram& added,
                                          std::uint64_t now_ns) {
    return ThresholdPolicy(*event.threshold_rule, limits_)
        .decide(states_[event.name], *history_.of(event.name), added, now_ns);
}

void ThresholdKeeper::follow_clock(const ClockSnapshot& now) {
    const auto difference = [](std::uint64_t a, std::uint64_t b) {
        return static_cast<std::int64_t>(a - b);
    };
    const std::int64_t step_ns = difference(now.realtime_ns, now.boottime_ns) -
                                 difference(clocks_.realtime_ns, clocks_.boottime_ns);
    clocks_ = now;
    if (std::abs(step_ns) < min_step_ns) return;
    history_.move(step_ns);
    for (auto& [name, state] : states_) state.move(step_ns);
}

void ThresholdKeeper::look(const Totals& totals, const ClockSnapshot& now) {
    follow_clock(now);
    std::map<std::string, RunHistogram> added;
    for (const settings::Event& event : events_) {
        const auto of_event = totals.find(event.name);
        const std::string identity = settings::run_identity(event);
        if (const EventRuns* runs = history_.of(event.name); runs && runs->identity != identity)
            states_.erase(event.name);
        added[event.name] = history_.note(
            event.name, identity, of_event == totals.end() ? RunHistogram{} : of_event->second,
            now.realtime_ns);
    }
    history_.forget_old(now.realtime_ns);
    std::erase_if(states_,
                  [this](const auto& state) { return history_.of(state.first) == nullptr; });
    for (std::uint32_t number = 0; number < events_.size(); ++number)
        if (events_[number].threshold_rule)
            decisions_[number] =
                decide(events_[number], added[events_[number].name], now.realtime_ns);
}

void ThresholdKeeper::note_capture(std::uint32_t number, std::uint64_t now_ns) {
    if (number >= events_.size() || !events_[number].threshold_rule ||
        !history_.of(events_[number].name))
        return;
    ThresholdPolicy::note_capture(states_[events_[number].name], now_ns);
    decisions_[number] = decide(events_[number], {}, now_ns);
    save_at_ns_ = 0;
}

void ThresholdKeeper::take_saved() {
    if (!saving_.valid()) return;
    const Status saved = saving_.get();
    if (!saved && !save_failed_)
        log_.warn("the history of runs cannot be saved: " + saved.error().message);
    save_failed_ = !saved;
}

void ThresholdKeeper::begin_to_save() {
    saving_ =
        std::async(std::launch::async, [file = file_, runs = history_.events(), states = states_] {
            (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), lowest_priority);
            return write_history(file, history_text(runs, states));
        });
}

void ThresholdKeeper::save(const ClockSnapshot& now) {
    if (saving_.valid() && saving_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        return;
    take_saved();
    if (now.boottime_ns < save_at_ns_) return;
    save_at_ns_ = now.boottime_ns + save_interval_ns;
    begin_to_save();
}

void ThresholdKeeper::finish() {
    take_saved();
    begin_to_save();
    take_saved();
}

}  // namespace lagtrap::daemon
