#include "daemon/service.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/json.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "binaries/file_reader.hpp"
#include "core/clock.hpp"
#include "core/heap.hpp"
#include "daemon/outsiders.hpp"
#include "settings/parser.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// How often the watchdog is told that all is well, and the watched binaries are looked at for replacement.
constexpr auto watch_interval = 10s;

std::uint64_t realtime_ns() { return ClockSnapshot::take().realtime_ns; }

uploader::RetentionLimits retention_of(const settings::Settings& settings) {
    return {settings.spool.size_limit_bytes, settings.spool.age_limit};
}

// Who vanished and came back is found, though nothing is to be read: the status tells what holds.
void look_for_reader() {
    auto* const reader = binaries::file_reader();
    if (reader != nullptr && !reader->counts().start_problem.empty()) (void)reader->try_start();
}

bool can_read_programs() {
    auto* const reader = binaries::file_reader();
    return reader == nullptr || reader->try_start().ok();
}

boost::json::object outcome(const Status& status) {
    return status ? boost::json::object{{"ok", true}} : refusal(status.error().message);
}

}  // namespace

Service::Service(Options options)
    : options_(std::move(options)), signals_(context_, SIGTERM, SIGINT, SIGHUP), watch_timer_(context_) {}

// What is being attached, and what goes into force with it.
struct Service::Arming {
    Listener* watched = nullptr;
    std::unique_ptr<Listener> listener;  // empty when it is in place
    std::unique_ptr<Recorder> recorder;
    RunSource source;
    settings::Settings settings;
    std::function<void()> then;
    bool first = false;
    std::thread thread;
};

Service::~Service() { stop_arming(); }

Result<std::unique_ptr<Service>> Service::create(const settings::Settings& settings, Options options) {
    // A capture is started by this thread; on a busy machine it must not wait for its turn. Better, not needed.
    (void)::setpriority(PRIO_PROCESS, 0, -20);
    std::unique_ptr<Service> self(new Service(std::move(options)));
    TRY_ASSIGN(uploader::Spool spool, uploader::Spool::create(settings.spool.path));
    TRY_ASSIGN(self->unwinder_, Unwinder::create({settings.unwinding.memory_bytes, settings.unwinding.cache_path,
                                                  settings.unwinding.cache_limit_bytes}));
    if (!self->unwinder_->cache_problem().empty())
        self->options_.warn("unwind tables are not kept on disk: " + self->unwinder_->cache_problem());
    TRY_ASSIGN(
        self->reporter_,
        RunReporter::create(
            spool, settings.spool, [unwinder = self->unwinder_.get()] { unwinder->look_soon(); }, self->options_.warn));
    const auto on_session = [reporter = self->reporter_.get()](const std::string& session) {
        reporter->note_session(session);
    };
    self->keeper_ = std::make_unique<SpoolKeeper>(spool, retention_of(settings), self->options_.warn);
    const auto on_spool_change = [keeper = self->keeper_.get()] { keeper->look(); };
    const auto shed_now = [service = self.get()] {
        std::vector<std::string> sentences = service->overhead_->shed_now();
        for (std::string& sentence : service->memory_->shed_now()) sentences.push_back(std::move(sentence));
        return sentences;
    };
    self->collector_ =
        std::make_unique<Collector>(self->context_, std::move(spool),
                                    Collector::Options{self->options_.merge_program, self->options_.inform,
                                                       self->options_.warn, on_spool_change, shed_now, on_session});
    const auto recordings = [collector = self->collector_.get()] {
        return OverheadWatch::Options::Recordings{collector->begun(), collector->state() == CollectorState::Recording};
    };
    self->overhead_ = std::make_unique<OverheadWatch>(
        self->context_, OverheadWatch::Options{self->options_.inform, self->options_.warn, recordings});
    self->watch_memory();
    self->facts_.started_realtime_ns = realtime_ns();
    self->facts_.settings_path = self->options_.settings_path.string();
    TRY(self->arm(settings, [service = self.get()] {
        sd_notify(0, fmt::format("STATUS=watching {} events", service->settings_.events.size()).c_str());
    }));
    TRY_ASSIGN(self->control_,
               ControlServer::listen(self->context_, settings.control,
                                     [service = self.get()](const auto& request) { return service->answer(request); }));
    return self;
}

void Service::watch_memory() {
    memory_ = std::make_unique<MemoryWatch>(
        context_, MemoryGroup::of_this_process(),
        MemoryWatch::Options{options_.inform, options_.warn,
                             [unwinder = unwinder_.get()](bool held) { unwinder->hold_memory(held); },
                             [collector = collector_.get()](bool held) { collector->hold_merges(held); }});
}

Result<RunSource> Service::source_of(const Listener& listener, const settings::Settings& settings) {
    RunSource source;
    source.ring.reset(::fcntl(listener.reported_runs_fd(), F_DUPFD_CLOEXEC, 0));
    source.quotas.reset(::fcntl(listener.run_quotas_fd(), F_DUPFD_CLOEXEC, 0));
    if (!source.ring.valid() || !source.quotas.valid()) return system_error("share the ring of reported runs");
    source.events = settings.events;
    source.limits = settings.runs;
    source.since_ns = monotonic_ns();
    return source;
}

// The new programs are attached before the old ones go, so that no run is missed in between. Where there are no old ones
// the new are in place from the start.
Status Service::arm(const settings::Settings& settings, std::function<void()> then) {
    const auto on_breach = [this](const Breach& breach) {
        boost::asio::post(context_, [this, breach] { collector_->on_breach(breach); });
    };
    const auto on_aborted = [this](std::vector<OpenRuns::Aborted> aborted) {
        reporter_->take_aborted(std::move(aborted));
    };
    auto arming = std::make_unique<Arming>();
    arming->first = settings_.source_text.empty();
    arming->settings = settings;
    arming->then = std::move(then);
    const auto carried = arming->first ? std::map<std::string, EventTotals>{} : collector_->listener().all_totals();
    TRY_ASSIGN(arming->listener, Listener::create(settings, unwinder_->store(), {carried, on_breach, on_aborted}));
    TRY_ASSIGN(arming->source, source_of(*arming->listener, settings));
    TRY_ASSIGN(arming->recorder, Recorder::create(settings.recording, *unwinder_));
    arming->watched = arming->listener.get();
    arming_ = std::move(arming);
    if (arming_->first) put_in_place(*arming_);
    arming_->thread = std::thread([this, listener = arming_->watched] {
        listener->arm_all();
        boost::asio::post(context_, [this] { finish_arming(); });
    });
    return success();
}

void Service::put_in_place(Arming& arming) {
    arming.listener->start();
    settings_ = arming.settings;
    keeper_->set_limits(retention_of(settings_));
    facts_.settings_loaded_realtime_ns = realtime_ns();
    told_pairing_.clear();
    collector_->use(settings_, std::move(arming.listener), std::move(arming.recorder));
    overhead_->use(settings_.budget, *arming.watched);
    if (!arming.first) arming.source.ended_after_ns = monotonic_ns();
    reporter_->use(std::move(arming.source), settings_.spool);
}

void Service::finish_arming() {
    if (arming_->thread.joinable()) arming_->thread.join();
    if (!arming_->first && collector_->busy()) {
        collector_->when_idle([this] {
            boost::asio::post(context_, [this] {
                collector_->when_idle(nullptr);
                finish_arming();
            });
        });
        return;
    }
    const std::unique_ptr<Arming> done = std::move(arming_);
    if (!done->first) put_in_place(*done);
    for (const EventStatus& event : done->watched->status()) {
        if (event.armed) continue;
        options_.warn("event " + event.name + " is not armed: " + event.problem);
    }
    done->then();
    sd_notify(0, "READY=1");
    if (std::exchange(reload_wanted_, false)) reload();
}

void Service::stop_arming() {
    if (!arming_) return;
    arming_->watched->give_up_arming();
    if (arming_->thread.joinable()) arming_->thread.join();
    arming_.reset();
}

void Service::reload() {
    if (arming_) {
        reload_wanted_ = true;
        return;
    }
    sd_notify(0, "RELOADING=1");
    const auto outcome = settings::load_settings(options_.settings_path, settings::BinaryCheck::Look);
    if (!outcome.ok()) {
        facts_.reload_error =
            settings::format_diagnostics(options_.settings_path, outcome.settings.source_text, outcome.diagnostics);
        options_.warn("the new settings are refused, the old ones stay in force:\n" + facts_.reload_error);
    } else {
        apply_when_idle(outcome.settings);
    }
    if (!arming_) sd_notify(0, "READY=1");
}

void Service::apply_when_idle(const settings::Settings& settings) {
    if (!collector_->busy()) return apply(settings);
    options_.inform("the new settings come into force when the recording has ended");
    collector_->when_idle([this, settings] {
        boost::asio::post(context_, [this, settings] {
            collector_->when_idle(nullptr);
            apply(settings);
        });
    });
}

// Callers first: those who may do less now shall not come in between; where arming fails they have what they had.
Status Service::put_in_force(const settings::Settings& settings) {
    TRY_ASSIGN(ControlAccess access, ControlAccess::create(settings.control));
    ControlAccess before = control_->access();
    TRY(control_->change_access(std::move(access)));
    Status armed = arm(settings, [this] { note_success(); });
    if (!armed) (void)control_->change_access(std::move(before));
    return armed;
}

void Service::apply(const settings::Settings& settings) {
    if (settings.spool.path != settings_.spool.path || settings.control.socket != settings_.control.socket)
        options_.warn("spool path and control socket stay as they are until the daemon is restarted");
    const settings::Unwinding& unwinding = settings.unwinding;
    if (unwinding.memory_bytes != settings_.unwinding.memory_bytes ||
        unwinding.cache_path != settings_.unwinding.cache_path ||
        unwinding.cache_limit_bytes != settings_.unwinding.cache_limit_bytes)
        options_.warn("<unwinding> stays as it is until the daemon is restarted");
    note_failure(put_in_force(settings));
}

void Service::note_failure(const Status& put) {
    if (put) return;
    facts_.reload_error = put.error().message;
    options_.warn("the new settings could not be applied, the old ones stay in force: " + put.error().message);
}

void Service::note_success() {
    facts_.reload_error.clear();
    options_.inform(fmt::format("settings in force: {} events", settings_.events.size()));
}

void Service::await_signal() {
    signals_.async_wait([this](const auto& failure, int number) {
        if (failure) return;
        if (number != SIGHUP) {
            options_.inform("stopping");
            sd_notify(0, "STOPPING=1");
            collector_->shut_down();
            context_.stop();
            return;
        }
        reload();
        await_signal();
    });
}

void Service::tell_pairing() {
    for (const EventStatus& event : collector_->listener().status())
        for (const PairingFinding& finding : event.pairing)
            if (told_pairing_.emplace(event.name, finding.kind).second)
                options_.warn(
                    fmt::format("event {}: {}; see \"lagtrap explain {}\"", event.name, finding.sentence, event.name));
}

void Service::keep_watch() {
    sd_notify(0, "WATCHDOG=1");
    watch_timer_.expires_after(watch_interval);
    watch_timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        look_for_reader();
        const Listener& listener = collector_->listener();
        const bool replaced = !collector_->busy() && !arming_ && listener.binaries_changed();
        if (replaced) options_.inform("a watched program was replaced on disk: attaching to the new one");
        // Where nothing can read programs now, what is armed stays so; the next look finds the same.
        if (replaced && can_read_programs()) note_failure(arm(settings_, [this] { note_success(); }));
        if (const auto came = collector_->look_at_cpus(); !came.empty())
            options_.inform(fmt::format("CPUs came, or came back: {}; they are recorded", fmt::join(came, ", ")));
        tell_pairing();
        return_free_memory();
        keep_watch();
    });
}

void Service::run() {
    await_signal();
    collector_->recover();
    keep_watch();
    context_.run();
    stop_arming();
    overhead_->stop();
    memory_->stop();
    // What has ended by now is told.
    collector_->detach();
    reporter_->stop();
}

boost::json::object Service::answer(const boost::json::object& request) {
    const auto* const name = request.if_contains("command");
    if (!name || !name->is_string()) return refusal("the request has no \"command\"");
    const std::string_view command(name->as_string());
    if (command == "status") {
        auto report = status_report(*collector_, *unwinder_, *reporter_, *keeper_, *overhead_, facts_, settings_);
        add_memory(report, memory_->status());
        add_outsiders(report, *unwinder_, *control_);
        report["arming"] = nullptr;
        if (arming_) {
            const Listener::Progress progress = arming_->watched->progress();
            report["arming"] = {{"done", progress.done}, {"of", progress.of}};
        }
        return report;
    }
    if (command == "approve") return outcome(collector_->approve());
    if (command == "decline") return outcome(collector_->decline());
    if (command == "trigger") {
        const auto* const event = request.if_contains("event");
        if (!event || !event->is_string()) return refusal("\"trigger\" needs an \"event\"");
        return outcome(collector_->trigger(std::string(event->as_string())));
    }
    return refusal("unknown command; known are status, trigger, approve, decline");
}

}  // namespace lagtrap::daemon
