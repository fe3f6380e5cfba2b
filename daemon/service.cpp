#include "daemon/service.hpp"

#include <fcntl.h>
#include <systemd/sd-daemon.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include <boost/asio/post.hpp>
#include <boost/json.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "binaries/reader/file_reader.hpp"
#include "core/clock.hpp"
#include "core/heap.hpp"
#include "daemon/applied_settings.hpp"
#include "daemon/control/request_fields.hpp"
#include "daemon/events/watched_programs.hpp"
#include "daemon/kernel/kernel_types.hpp"
#include "daemon/kernel/process_priority.hpp"
#include "daemon/processes/reader_state.hpp"
#include "daemon/status/limited_users.hpp"
#include "daemon/status/untrusted_parties.hpp"
#include "daemon/temporary/bundle_answer.hpp"
#include "daemon/temporary/temporary_settings.hpp"
#include "daemon/thresholds/history_file.hpp"
#include "settings/parser.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// How often the watchdog is fed.
constexpr auto watch_interval = 10s;
// How often to check whether watched binaries were replaced. A new version is not watched until
// then.
constexpr auto file_interval = 5s;

std::uint64_t realtime_ns() { return ClockSnapshot::take().realtime_ns; }

// Services that depend on this one wait no longer than this for slow files.
constexpr auto ready_timeout = 30s;

boost::json::object outcome(const Status& status) {
    return status ? boost::json::object{{"ok", true}} : refusal(status.error().message);
}

constexpr std::chrono::nanoseconds usual_length = 5s;  // of a recording for a client

}  // namespace

Service::Service(Options options)
    : options_(std::move(options)),
      signals_(context_, SIGTERM, SIGINT, SIGHUP),
      watch_timer_(context_),
      file_timer_(context_),
      ready_timer_(context_),
      settings_reader_(context_, options_.settings_path,
                       [this](const auto& outcome) { finish_reload(outcome); }) {}

// The settings that are being armed, and what takes effect with them.
struct Service::Arming {
    EventMonitor* watched = nullptr;
    std::unique_ptr<EventMonitor> monitor;  // empty once it is in use
    std::unique_ptr<Recorder> recorder;
    RunSource source;
    settings::Settings settings;
    std::function<void()> then;
    bool first = false;
};

Service::~Service() {
    if (auto* const reader = binaries::file_reader()) reader->stop();
}

Result<std::unique_ptr<Service>> Service::create(const settings::Settings& settings,
                                                 Options options) {
    raise_priority();
    std::unique_ptr<Service> self(new Service(std::move(options)));
    TRY_ASSIGN(spool::Spool spool,
               spool::Spool::create(settings.spool.path, spool::group_of_writers()));
    // before the first scan of all processes
    (void)self->mapped_files_.want(programs_to_find(settings));
    TRY_ASSIGN(self->unwinder_,
               Unwinder::create({settings.unwinding.memory_bytes, settings.unwinding.cache_path,
                                 settings.unwinding.cache_limit_bytes},
                                *self->options_.inspectors, self->mapped_files_));
    if (!sees_all_processes())
        self->options_.log.warn(
            "this container cannot see host processes, so their code has no names and no stacks; "
            "start it in the host's PID namespace (--pid=host, or hostPID: true)");
    if (!self->unwinder_->cache_problem().empty())
        self->options_.log.warn("unwind tables cannot be cached on disk: " +
                                self->unwinder_->cache_problem());
    TRY_ASSIGN(self->reporter_,
               RunReporter::create(
                   spool, [unwinder = self->unwinder_.get()] { unwinder->look_soon(); },
                   [names = &self->names_](const std::string& id) { return names->name_of(id); },
                   self->options_.log));
    self->keeper_ =
        std::make_unique<SpoolKeeper>(spool, retention_of(settings), self->options_.log);
    self->call_traces_ = std::make_unique<CallTraces>(*self->options_.inspectors, *self->unwinder_);
    self->make_functions();
    CaptureSurroundings& surroundings = *self;
    const auto history = history_file_of(spool.path());
    self->controller_ = std::make_unique<CaptureController>(
        self->context_, std::move(spool), surroundings,
        CaptureController::Options{
            self->options_.merge_program,
            std::filesystem::path(settings.control.socket).replace_extension("unanswered"),
            self->options_.log});
    self->thresholds_ =
        std::make_unique<ThresholdWatch>(*self->controller_, history, self->options_.log);
    self->budgets_ = std::make_unique<BudgetKeeper>(self->context_, *self->controller_,
                                                    *self->unwinder_, self->options_.log);
    self->facts_.started_realtime_ns = realtime_ns();
    self->facts_.settings_path = self->options_.settings_path.string();
    TRY(self->arm(settings, [service = self.get()] {
        sd_notify(
            0, fmt::format("STATUS=watching {} events", service->settings_.events.size()).c_str());
    }));
    TRY(self->listen(settings.control));
    if (self->options_.for_client)
        self->serve_client();
    else
        self->serve_temporary_events();
    return self;
}

void Service::session_changed(const std::string& session_id) {
    reporter_->note_session(session_id);
}

void Service::spool_changed() { keeper_->look(); }

std::vector<std::string> Service::disabled_now() { return budgets_->disabled_now(); }

Status Service::begin_calls(CallRequest request, std::shared_ptr<AnswerLines> lines) {
    return call_traces_->begin_recorded(std::move(request), std::move(lines));
}

Status Service::begin_functions(std::uint32_t event, std::uint32_t pid,
                                std::shared_ptr<AnswerLines> lines) {
    return functions_->record(event, pid, lines);
}

Status Service::begin_objects(ObjectRequest request, std::shared_ptr<AnswerLines> lines) {
    return call_traces_->begin_recorded(std::move(request), std::move(lines));
}

Status Service::listen(const settings::Control& control) {
    ControlRequests& requests = *this;
    TRY_ASSIGN(control_, ControlServer::listen(context_, control, requests));
    return success();
}

Result<bool> Service::stream(const boost::json::object& request, const Caller* only_of,
                             std::shared_ptr<AnswerStream> answer) {
    const auto* const command = request.if_contains("command");
    if (command == nullptr) return false;
    if (*command == "record") {
        TRY_ASSIGN(const auto length, length_in(request));
        TRY(controller_->record_for(std::move(answer), length.value_or(usual_length)));
        return true;
    }
    if (*command != "calls" && *command != "functions" && *command != "objects") return false;
    TRY(call_traces_->begin(request, only_of, std::move(answer)));
    return true;
}

Result<bool> Service::hand_over(const boost::json::object& request, const Caller& caller,
                                int socket) {
    const auto* const command = request.if_contains("command");
    if (!temporary_ || command == nullptr || *command != "watch") return false;
    TRY_ASSIGN(const auto event, text_in(request, "event", temporary_event_limit_bytes));
    TRY(temporary_->begin(event, caller, socket, settings_, used_ppm()));
    return true;
}

ClientLink::Answer Service::answer_client(const boost::json::object& request) {
    const auto* const command = request.if_contains("command");
    if (command != nullptr && *command == "bundle")
        return bundle_answer(controller_->merges().last_bundle());
    for (const char* const known : {"status", "trigger", "finish"})
        if (command != nullptr && *command == known) return {answer(request)};
    return {refusal("unknown command; expected status, trigger, finish, bundle")};
}

std::uint64_t Service::used_ppm() { return budgets_->overhead().status().used_ppm; }

void Service::client_gone() { end(); }

void Service::serve_client() {
    ClientLink::Owner& owner = *this;
    client_ = std::make_unique<ClientLink>(context_, owner);
}

void Service::serve_temporary_events() {
    temporary_ = std::make_unique<TemporaryEvents>(
        context_, TemporaryEvents::Options{std::filesystem::path(settings_.spool.path) / "clients",
                                           {"--merge-program", options_.merge_program,
                                            "--reader-program", options_.reader_program},
                                           options_.log});
}

void Service::make_functions() {
    functions_ = std::make_unique<EventFunctions>(
        context_, *call_traces_,
        [this](std::uint32_t event) { return controller_->monitor().processes_of(event); },
        options_.log);
}

Result<RunSource> Service::source_of(const EventMonitor& monitor,
                                     const settings::Settings& settings) {
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

EventMonitor::Options Service::monitor_options(bool takes_over) {
    EventMonitor::Options options;
    options.report = [this](MonitorReport report) {
        if (auto* const breaches = std::get_if<BreachReport>(&report))
            if (auto* const aborted = std::get_if<AbortedRuns>(breaches))
                return reporter_->take_aborted(std::move(aborted->runs));
        boost::asio::post(context_, [this, report = std::move(report)] {
            const auto take_it = [this](const auto& happened) { take(happened); };
            std::visit([&](const auto& part) { std::visit(take_it, part); }, report);
        });
    };
    options.takes_over = takes_over;
    options.mapped_files = &mapped_files_;
    options.inspector = options_.inspectors;
    options.names = &names_;
    return options;
}

void Service::take(const Breach& breach) { controller_->on_breach(breach); }
void Service::take(const AbortedRuns& aborted) { reporter_->take_aborted(aborted.runs); }
void Service::take(const EarlyRun& early) { controller_->on_early(early.pid); }
void Service::take(const EarlyRunsOver& /*fact*/) { controller_->on_early_over(); }
void Service::take(const FirstRoundOver& /*fact*/) { finish_arming(); }

void Service::take(const EventArmed& armed) {
    if (armed.event >= settings_.events.size()) return;
    const std::string& name = settings_.events[armed.event].name;
    if (armed.problem.empty()) return options_.log.inform("event " + name + " is armed");
    options_.log.warn("event " + name + " is not armed: " + armed.problem);
}

void Service::take(const FileReplaced& /*fact*/) {
    options_.log.inform("a watched program was replaced on disk; attaching to the new file");
    unwinder_->watch(watched_programs(settings_));
}

// The new programs are attached before the old ones are detached, so that no run is missed. Without
// old programs, the new ones are in use from the start.
Status Service::arm(const settings::Settings& settings, std::function<void()> then) {
    const NormalPriority normal;
    auto arming = std::make_unique<Arming>();
    arming->first = settings_.source_text.empty();
    arming->settings = settings;
    thresholds_->fill(arming->settings);
    arming->then = std::move(then);
    // Also keep the programs of the current settings while those are in force.
    std::set<std::string> wanted = programs_to_find(settings);
    wanted.merge(programs_to_find(settings_));
    unwinder_->want_files(wanted);
    TRY_ASSIGN(const TimedThreads threads, TimedThreads::create(settings));
    const auto types = kernel_types();  // kept alive until both have used it
    // The verifier takes most of the startup time, so load both in parallel, if another thread is
    // available.
    auto recorder = std::async(
        [&] { return Recorder::create(arming->settings, *unwinder_, threads, &names_); });
    auto monitor = EventMonitor::create(arming->settings, unwinder_->store(), threads,
                                        monitor_options(!arming->first));
    TRY_ASSIGN(arming->recorder, recorder.get());
    TRY_ASSIGN(arming->monitor, std::move(monitor));
    TRY_ASSIGN(arming->source, source_of(*arming->monitor, arming->settings));
    arming->watched = arming->monitor.get();
    arming_ = std::move(arming);
    if (arming_->first) {
        put_in_place(*arming_);
        ready_timer_.expires_after(ready_timeout);
        ready_timer_.async_wait([this](const auto& failure) {
            if (!failure) say_ready();
        });
    }
    arming_->watched->arm_all();
    return success();
}

void Service::put_in_place(Arming& arming) {
    arming.monitor->breaches().start();
    if (!arming.first)
        arming.source.ended_after_ns = arming.monitor->take_over(controller_->monitor());
    settings_ = arming.settings;
    options_.inspectors->show_command_lines(command_lines_of(settings_.privacy));
    call_traces_->show_texts(command_lines_of(settings_.privacy));
    unwinder_->watch(watched_programs(settings_));
    unwinder_->want_files(programs_to_find(settings_));
    keeper_->set_limits(retention_of(settings_));
    facts_.settings_loaded_realtime_ns = realtime_ns();
    pairing_reports_.clear();
    controller_->use(settings_, std::move(arming.monitor), std::move(arming.recorder));
    functions_->use(settings_.events);
    budgets_->use(settings_.budget, *arming.watched);
    reporter_->use(std::move(arming.source));
    thresholds_->use(settings_);
}

void Service::say_ready() { sd_notify(0, "READY=1"); }

void Service::finish_arming() {
    if (!arming_->first && controller_->busy()) {
        controller_->when_idle([this] {
            boost::asio::post(context_, [this] {
                controller_->when_idle(nullptr);
                finish_arming();
            });
        });
        return;
    }
    const std::unique_ptr<Arming> done = std::move(arming_);
    if (!done->first) put_in_place(*done);
    for (const EventStatus& event : done->watched->status()) {
        if (event.armed || event.arming) continue;
        options_.log.warn("event " + event.name + " is not armed: " + event.problem);
    }
    done->then();
    ready_timer_.cancel();
    say_ready();
    if (settings_reader_.take_wish()) reload();
}

void Service::reload() {
    if (settings_reader_.begin(!arming_)) sd_notify(0, "RELOADING=1");
}

void Service::finish_reload(const settings::ParseOutcome& outcome) {
    if (!outcome.ok()) {
        facts_.reload_error = settings::format_diagnostics(
            options_.settings_path, outcome.settings.source_text, outcome.diagnostics);
        options_.log.warn("the new settings are invalid; the old settings stay in effect:\n" +
                          facts_.reload_error);
    } else {
        apply_when_idle(outcome.settings);
    }
    if (arming_) return;
    say_ready();
    if (settings_reader_.take_wish()) reload();
}

void Service::apply_when_idle(const settings::Settings& settings) {
    if (!controller_->busy()) return apply(settings);
    options_.log.inform("the new settings take effect when the recording has ended");
    controller_->when_idle([this, settings] {
        boost::asio::post(context_, [this, settings] {
            controller_->when_idle(nullptr);
            apply(settings);
        });
    });
}

// Restrict callers first, so that nobody uses rights that the new settings remove. If arming fails,
// the old rights are restored.
Status Service::apply_settings(const settings::Settings& settings) {
    TRY_ASSIGN(ControlAccess access, ControlAccess::create(settings.control));
    ControlAccess before = control_->access();
    TRY(control_->change_access(std::move(access)));
    if (temporary_)
        temporary_->end_unless(
            [this](const Caller& owner) { return control_->access().grant(owner, "watch").ok(); });
    Status armed = arm(settings, [this] { note_success(); });
    if (!armed) (void)control_->change_access(std::move(before));
    return armed;
}

void Service::apply(const settings::Settings& settings) {
    for (const std::string& change : changes_at_restart(settings_, settings))
        options_.log.warn(change);
    note_failure(apply_settings(settings));
}

void Service::note_failure(const Status& put) {
    if (put) return;
    facts_.reload_error = put.error().message;
    options_.log.warn("the new settings could not be applied; the old settings stay in effect: " +
                      put.error().message);
}

void Service::note_success() {
    facts_.reload_error.clear();
    options_.log.inform(fmt::format("settings in effect: {} events", settings_.events.size()));
}

void Service::await_signal() {
    signals_.async_wait([this](const auto& failure, int number) {
        if (failure) return;
        if (number != SIGHUP) return end();
        reload();
        await_signal();
    });
}

void Service::end() {
    options_.log.inform("stopping");
    sd_notify(0, "STOPPING=1");
    controller_->shut_down();
    context_.stop();
}

void Service::feed_watchdog() {
    std::uint64_t timeout_us = 0;
    if (::sd_watchdog_enabled(0, &timeout_us) <= 0) timeout_us = 0;
    const auto silent = unwinder_->silent_for();
    const bool missed = !may_feed_watchdog(silent, timeout_us);
    if (!missed) sd_notify(0, "WATCHDOG=1");
    if (missed && !follower_missed_)
        options_.log.warn(
            fmt::format("the thread that tracks processes has been stuck for {} s; the watchdog "
                        "will restart the daemon",
                        std::chrono::duration_cast<std::chrono::seconds>(silent).count()));
    follower_missed_ = missed;
}

void Service::keep_watch() {
    feed_watchdog();
    watch_timer_.expires_after(watch_interval);
    watch_timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        restart_failed_reader();
        if (const auto came = controller_->look_at_cpus(); !came.empty())
            options_.log.inform(
                fmt::format("CPUs came online: {}; they are recorded", fmt::join(came, ", ")));
        for (const std::string& one : pairing_reports_.take(controller_->monitor().status()))
            options_.log.warn(one);
        thresholds_->look();
        return_free_memory();
        keep_watch();
    });
}

void Service::keep_looking_at_files() {
    file_timer_.expires_after(file_interval);
    file_timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        // If no reader is available, keep what is armed; the next check finds the same changes.
        if (!controller_->busy() && !arming_ && can_read_programs())
            controller_->monitor().look_at_files();
        keep_room_for_watched();
        keep_looking_at_files();
    });
}

// Reserve capacity for watched programs, so that other users' files cannot keep the daemon from
// inspecting them.
void Service::keep_room_for_watched() {
    std::set<std::uint32_t> pids;
    for (std::uint32_t event = 0; event < controller_->monitor().events().size(); ++event)
        pids.merge(controller_->monitor().processes_of(event));
    options_.inspectors->keep_room_for(std::move(pids));
}

void Service::run() {
    await_signal();
    controller_->recover();
    keep_watch();
    keep_looking_at_files();
    context_.run();
    if (temporary_) temporary_->stop();
    functions_->stop();
    call_traces_.reset();
    budgets_->stop();
    thresholds_->finish();
    // Report runs that have ended by now.
    controller_->detach();
    reporter_->stop();
}

boost::json::object Service::answer(const boost::json::object& request) {
    const auto* const name = request.if_contains("command");
    if (!name || !name->is_string()) return refusal("the request has no \"command\"");
    const std::string_view command(name->as_string());
    if (command == "status") {
        auto report = status_report(*controller_, *unwinder_, *reporter_, *keeper_,
                                    budgets_->overhead(), facts_, settings_);
        add_functions(report, *functions_);
        add_thresholds(report, thresholds_->keeper());
        add_memory(report, budgets_->memory());
        add_untrusted_parties(report, *unwinder_, *control_);
        add_inspections(report, unwinder_->status(), options_.inspectors->counts(),
                        {mapped_files_.left_out(), controller_->monitor().copies_left_out()});
        report["temporary"] = temporary_ ? temporary_->report() : boost::json::array();
        report["arming"] = nullptr;
        const EventMonitor& arms = arming_ ? *arming_->watched : controller_->monitor();
        if (const auto progress = arms.progress(); progress.done < progress.of)
            report["arming"] = {{"done", progress.done}, {"of", progress.of}};
        report["processes_found"] = unwinder_->status().scans > 0 && arms.copies_are_armed();
        add_limited_looks(report, reporter_->limited_looks());
        add_watched_files(report, controller_->monitor().watched_files());
        return report;
    }
    if (command == "approve" || command == "decline") {
        const auto session = text_in(request, "session");
        if (!session) return refusal(session.error().message);
        return outcome(command == "approve" ? controller_->approve(*session)
                                            : controller_->decline(*session));
    }
    if (command == "trigger") {
        const auto* const event = request.if_contains("event");
        if (!event || !event->is_string()) return refusal("\"trigger\" needs an \"event\"");
        const auto length = length_in(request);
        if (!length) return refusal(length.error().message);
        boost::json::object answer =
            outcome(controller_->trigger(std::string(event->as_string()), *length));
        if (answer.at("ok").as_bool()) answer["session"] = controller_->current_session();
        return answer;
    }
    if (command == "finish") {
        const auto session = text_in(request, "session");
        return session ? outcome(controller_->finish(*session)) : refusal(session.error().message);
    }
    return refusal(
        "unknown command; expected status, trigger, record, watch, finish, approve, decline, "
        "calls, functions, objects");
}

}  // namespace lagtrap::daemon
