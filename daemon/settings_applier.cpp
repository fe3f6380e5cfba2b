#include "daemon/settings_applier.hpp"

#include <fcntl.h>
#include <systemd/sd-daemon.h>

#include <chrono>
#include <future>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include <boost/asio/post.hpp>
#include <fmt/core.h>

#include "core/clock.hpp"
#include "daemon/applied_settings.hpp"
#include "daemon/events/watched_programs.hpp"
#include "daemon/kernel/kernel_types.hpp"
#include "daemon/kernel/process_priority.hpp"

namespace lagtrap::daemon {
namespace {

// Services that depend on this one wait no longer than this for slow files.
constexpr std::chrono::seconds ready_timeout{30};

void say_ready() { ::sd_notify(0, "READY=1"); }

Result<RunSource> source_of(const EventMonitor& monitor, const settings::Settings& settings) {
    RunSource source;
    source.ring.reset(::fcntl(monitor.reported_runs_fd(), F_DUPFD_CLOEXEC, 0));
    source.quotas.reset(::fcntl(monitor.run_quotas_fd(), F_DUPFD_CLOEXEC, 0));
    if (!source.ring.valid() || !source.quotas.valid())
        return system_error("share the ring of reported runs");
    source.events = settings.events;
    source.limits = settings.runs;
    source.places = monitor.marker_places();
    source.weights = monitor.weights();
    source.thresholds = monitor.thresholds();
    source.since_ns = monotonic_ns();
    return source;
}

}  // namespace

// The settings that are being armed, and what takes effect with them.
struct SettingsApplier::Arming {
    EventMonitor* watched = nullptr;
    std::unique_ptr<EventMonitor> monitor;  // empty once it is in use
    std::unique_ptr<Recorder> recorder;
    RunSource source;
    settings::Settings settings;
    bool first = false;
};

SettingsApplier::SettingsApplier(boost::asio::io_context& context, DaemonParts& parts)
    : context_(context),
      parts_(parts),
      ready_timer_(context),
      reader_(context, parts.options.settings_path,
              [this](const auto& outcome) { finish_reload(outcome); }) {}

SettingsApplier::~SettingsApplier() = default;

const EventMonitor& SettingsApplier::newest_monitor() const {
    return arming_ ? *arming_->watched : parts_.controller->monitor();
}

EventMonitor::Options SettingsApplier::monitor_options(bool takes_over) {
    EventMonitor::Options options;
    options.report = [this](MonitorReport report) {
        if (auto* const breaches = std::get_if<BreachReport>(&report))
            if (auto* const aborted = std::get_if<AbortedRuns>(breaches))
                return parts_.reporter->take_aborted(std::move(aborted->runs));
        boost::asio::post(context_, [this, report = std::move(report)] {
            const auto take_it = [this](const auto& happened) { take(happened); };
            std::visit([&](const auto& part) { std::visit(take_it, part); }, report);
        });
    };
    options.takes_over = takes_over;
    options.mapped_files = &parts_.mapped_files;
    options.inspector = parts_.options.inspectors;
    options.names = &parts_.names;
    return options;
}

void SettingsApplier::take(const Breach& breach) { parts_.controller->on_breach(breach); }
void SettingsApplier::take(const AbortedRuns& aborted) {
    parts_.reporter->take_aborted(aborted.runs);
}
void SettingsApplier::take(const EarlyRun& early) { parts_.controller->on_early(early.pid); }
void SettingsApplier::take(const EarlyRunsOver& /*fact*/) { parts_.controller->on_early_over(); }
void SettingsApplier::take(const FirstRoundOver& /*fact*/) { finish_arming(); }

void SettingsApplier::take(const EventArmed& armed) {
    if (armed.event >= parts_.settings.events.size()) return;
    const std::string& name = parts_.settings.events[armed.event].name;
    if (armed.problem.empty()) return parts_.options.log.inform("event " + name + " is armed");
    parts_.options.log.warn("event " + name + " is not armed: " + armed.problem);
}

void SettingsApplier::take(const FileReplaced& /*fact*/) {
    parts_.options.log.inform("a watched program was replaced on disk; attaching to the new file");
    parts_.unwinder->watch(watched_programs(parts_.settings));
}

// The new programs are attached before the old ones are detached, so that no run is missed. Without
// old programs, the new ones are in use from the start.
Status SettingsApplier::arm(const settings::Settings& settings) {
    const NormalPriority normal;
    auto arming = std::make_unique<Arming>();
    arming->first = parts_.settings.source_text.empty();
    arming->settings = settings;
    parts_.thresholds->fill(arming->settings);
    // Also keep the programs of the current settings while those are in force.
    std::set<std::string> wanted = files_to_track(settings);
    wanted.merge(files_to_track(parts_.settings));
    parts_.unwinder->want_files(wanted);
    TRY_ASSIGN(const TimedThreads threads, TimedThreads::create(settings));
    const auto types = kernel_types();  // kept alive until both have used it
    // The verifier takes most of the startup time, so load both in parallel, if another thread is
    // available.
    auto recorder = std::async([&] {
        return Recorder::create(arming->settings, *parts_.unwinder, parts_.mapped_files, threads,
                                &parts_.names);
    });
    auto monitor = EventMonitor::create(arming->settings, parts_.unwinder->store(), threads,
                                        monitor_options(!arming->first));
    TRY_ASSIGN(arming->recorder, recorder.get());
    TRY_ASSIGN(arming->monitor, std::move(monitor));
    TRY_ASSIGN(arming->source, source_of(*arming->monitor, arming->settings));
    arming->watched = arming->monitor.get();
    arming_ = std::move(arming);
    if (arming_->first) {
        put_in_place(*arming_);
        ready_timer_.expires_after(ready_timeout);
        ready_timer_.async_wait([](const auto& failure) {
            if (!failure) say_ready();
        });
    }
    arming_->watched->arm_all();
    return success();
}

void SettingsApplier::put_in_place(Arming& arming) {
    arming.monitor->breaches().start();
    if (!arming.first)
        arming.source.ended_after_ns = arming.monitor->take_over(parts_.controller->monitor());
    parts_.settings = arming.settings;
    parts_.options.inspectors->show_command_lines(command_lines_of(parts_.settings.privacy));
    parts_.call_traces->show_texts(command_lines_of(parts_.settings.privacy));
    parts_.unwinder->watch(watched_programs(parts_.settings));
    parts_.unwinder->want_files(files_to_track(parts_.settings));
    parts_.keeper->set_limits(retention_of(parts_.settings));
    parts_.facts.settings_loaded_realtime_ns = ClockSnapshot::take().realtime_ns;
    parts_.pairing_reports.clear();
    parts_.controller->use(parts_.settings, std::move(arming.monitor), std::move(arming.recorder));
    parts_.functions->use(parts_.settings.events);
    parts_.budgets->use(parts_.settings.budget, *arming.watched);
    parts_.reporter->use(std::move(arming.source));
    parts_.thresholds->use(parts_.settings);
}

void SettingsApplier::finish_arming() {
    if (!arming_->first && parts_.controller->busy()) {
        parts_.controller->when_idle([this] {
            boost::asio::post(context_, [this] {
                parts_.controller->when_idle(nullptr);
                finish_arming();
            });
        });
        return;
    }
    const std::unique_ptr<Arming> done = std::move(arming_);
    if (!done->first) put_in_place(*done);
    for (const EventStatus& event : done->watched->status()) {
        if (event.armed || event.arming) continue;
        parts_.options.log.warn("event " + event.name + " is not armed: " + event.problem);
    }
    if (done->first) {
        ::sd_notify(
            0, fmt::format("STATUS=watching {} events", parts_.settings.events.size()).c_str());
    } else {
        parts_.facts.reload_error.clear();
        parts_.options.log.inform(
            fmt::format("settings in effect: {} events", parts_.settings.events.size()));
    }
    ready_timer_.cancel();
    say_ready();
    if (reader_.take_wish()) reload();
}

void SettingsApplier::reload() {
    if (reader_.begin(!arming_)) ::sd_notify(0, "RELOADING=1");
}

void SettingsApplier::finish_reload(const settings::ParseOutcome& outcome) {
    if (!outcome.ok()) {
        parts_.facts.reload_error = settings::format_diagnostics(
            parts_.options.settings_path, outcome.settings.source_text, outcome.diagnostics);
        parts_.options.log.warn("the new settings are invalid; the old settings stay in effect:\n" +
                                parts_.facts.reload_error);
    } else {
        apply_when_idle(outcome.settings);
    }
    if (arming_) return;
    say_ready();
    if (reader_.take_wish()) reload();
}

void SettingsApplier::apply_when_idle(const settings::Settings& settings) {
    if (!parts_.controller->busy()) return apply(settings);
    parts_.options.log.inform("the new settings take effect when the recording has ended");
    parts_.controller->when_idle([this, settings] {
        boost::asio::post(context_, [this, settings] {
            parts_.controller->when_idle(nullptr);
            apply(settings);
        });
    });
}

// Restrict callers first, so that nobody uses rights that the new settings remove. If arming fails,
// the old rights are restored.
Status SettingsApplier::apply_settings(const settings::Settings& settings) {
    TRY_ASSIGN(ControlAccess access, ControlAccess::create(settings.control));
    ControlAccess before = parts_.control->access();
    TRY(parts_.control->change_access(std::move(access)));
    if (parts_.temporary)
        parts_.temporary->end_unless([this](const Caller& owner) {
            return parts_.control->access().grant(owner, "watch").ok();
        });
    Status armed = arm(settings);
    if (!armed) (void)parts_.control->change_access(std::move(before));
    return armed;
}

void SettingsApplier::apply(const settings::Settings& settings) {
    for (const std::string& change : changes_at_restart(parts_.settings, settings))
        parts_.options.log.warn(change);
    const Status applied = apply_settings(settings);
    if (applied) return;
    parts_.facts.reload_error = applied.error().message;
    parts_.options.log.warn(
        "the new settings could not be applied; the old settings stay in effect: " +
        applied.error().message);
}

}  // namespace lagtrap::daemon
