#include "uploader/service.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "core/duration.hpp"
#include "uploader/span_maker.hpp"

namespace lagtrap::uploader {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds watchdog_interval{5};
constexpr std::chrono::minutes tidy_interval{10};
constexpr std::chrono::seconds min_spool_pause{1};
constexpr std::chrono::seconds max_spool_pause{60};

Result<UniqueFd> open_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
    UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd.valid()) return system_error("signalfd");
    return fd;
}

Result<UniqueFd> watch_folder(const std::filesystem::path& folder) {
    UniqueFd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!fd.valid()) return system_error("inotify");
    if (::inotify_add_watch(fd.get(), folder.c_str(), IN_MOVED_TO | IN_CLOSE_WRITE) < 0)
        return system_error("watching " + folder.string());
    return fd;
}

void drain(int fd) {
    std::array<char, 4096> buffer;
    while (::read(fd, buffer.data(), buffer.size()) > 0) {
    }
}

}  // namespace

Service::Service(ServiceSettings settings, Reload reload, spool::Spool spool)
    : settings_(std::move(settings)), reload_(std::move(reload)), spool_(std::move(spool)) {
    take_routes();
}

void Service::take_routes() {
    server_.reset();
    collector_.reset();
    if (settings_.target) server_ = Route{*settings_.target, Transfer(*settings_.target)};
    if (settings_.collector)
        collector_ = Route{*settings_.collector, Transfer(*settings_.collector)};
}

Service::Route* Service::route_of(const std::string& name) {
    const auto parsed = spool::parse_entry_name(name);
    if (!parsed) return nullptr;
    auto& route = parsed->kind == spool::EntryKind::Spans ? collector_ : server_;
    return route ? &*route : nullptr;
}

// Runs before a bundle leaves ready/, so that a search of ready/ for bundles without spans finds
// it.
Status Service::add_missing_spans(const std::vector<spool::SpoolEntry>& ready) {
    std::set<std::string> known;
    for (const spool::EntryState state : {spool::EntryState::Ready, spool::EntryState::Sending,
                                          spool::EntryState::Sent, spool::EntryState::Rejected}) {
        TRY_ASSIGN(const auto entries, spool_.list(state));
        for (const spool::SpoolEntry& entry : entries)
            if (entry.kind == spool::EntryKind::Spans)
                known.insert(spool::parse_entry_name(entry.name)->id);
    }
    for (const spool::SpoolEntry& bundle : ready) {
        if (bundle.kind != spool::EntryKind::Bundle || without_spans_.contains(bundle.name))
            continue;
        const std::string session = spool::parse_entry_name(bundle.name)->id;
        if (known.contains(session) || stop_requested_) continue;
        const auto path = spool_.path_of(spool::EntryState::Ready, bundle.name);
        const auto spans = make_spans(settings_.lagtrap_program, path,
                                      [this] { return keep_going() && !stop_requested_; });
        if (stop_requested_) break;
        if (!spans) {
            without_spans_.insert(bundle.name);
            spdlog::error("{}: no spans for the collector: {}", bundle.name, spans.error().message);
            continue;
        }
        TRY(spool_.add_spans(session, *spans));
    }
    return success();
}

Result<std::vector<std::string>> Service::ready_names() {
    TRY_ASSIGN(auto ready, spool_.list(spool::EntryState::Ready));
    if (collector_) {
        TRY(add_missing_spans(ready));
        // A bundle that arrived in the meantime has no spans yet and waits for the next pass.
        TRY_ASSIGN(const auto now, spool_.list(spool::EntryState::Ready));
        for (const spool::SpoolEntry& entry : now)
            if (entry.kind == spool::EntryKind::Spans &&
                std::none_of(ready.begin(), ready.end(),
                             [&](const auto& one) { return one.name == entry.name; }))
                ready.push_back(entry);
    }
    std::vector<std::string> names;
    for (const spool::SpoolEntry& entry : ready)
        if (route_of(entry.name) != nullptr) names.push_back(entry.name);
    return names;
}

Result<Service> Service::create(ServiceSettings settings, Reload reload) {
    TRY_ASSIGN(spool::Spool spool, spool::Spool::open(settings.spool_path));
    Service service(std::move(settings), std::move(reload), std::move(spool));
    TRY_ASSIGN(service.lock_, service.spool_.lock_for_sending());
    const auto left = service.spool_.recover();
    if (!left) service.note_spool_trouble(left.error());
    if (left && *left > 0) spdlog::info("{} interrupted upload(s) will be sent again", *left);
    TRY_ASSIGN(service.signals_, open_signals());
    TRY_ASSIGN(service.changes_, watch_folder(service.spool_.folder(spool::EntryState::Ready)));
    return service;
}

Status Service::file_away(const std::string& name, const TransferOutcome& outcome) {
    switch (outcome.verdict) {
        case Verdict::Delivered:
            ++delivered_;
            return spool_.mark_sent(name, settings_.retention.sent_batch_age.count() > 0
                                              ? spool::Spool::SentBatch::Keep
                                              : spool::Spool::SentBatch::Delete);
        case Verdict::Rejected: ++rejected_; return spool_.mark_rejected(name, outcome.message);
        case Verdict::TryLater: break;
    }
    if (!outcome.cancelled) ++failed_;
    return spool_.put_back(name);
}

Result<std::optional<TransferOutcome>> Service::send(const std::string& name) {
    if (const auto claimed = spool_.claim(name); !claimed) {
        if (claimed.error().kind == ErrorKind::NotFound) return std::optional<TransferOutcome>();
        return claimed.error();
    }
    const auto path = spool_.path_of(spool::EntryState::Sending, name);
    const TransferOutcome outcome = route_of(name)->transfer.send(
        path, *spool::parse_entry_name(name), [this] { return keep_going(); });
    TRY(file_away(name, outcome));
    return std::optional(outcome);
}

Result<bool> Service::run_once() {
    if (!server_ && !collector_)
        return make_error(ErrorKind::Invalid,
                          "no server configured: set <upload url=...>, <otlp url=...> or --url");
    TRY_ASSIGN(const auto ready, ready_names());
    if (ready.empty())
        fmt::print("nothing to send in {}\n", spool_.folder(spool::EntryState::Ready).string());
    bool all_delivered = true;
    std::map<Route*, std::chrono::seconds> asked_to_wait;
    for (const std::string& name : ready) {
        const auto asked = asked_to_wait.find(route_of(name));
        if (asked != asked_to_wait.end() || stop_requested_) {
            all_delivered = false;
            fmt::print("{}: not tried: {}\n", name,
                       asked != asked_to_wait.end()
                           ? fmt::format("the server asks to wait {} s", asked->second.count())
                           : "stopped");
            continue;
        }
        TRY_ASSIGN(const auto outcome, send(name));
        if (!outcome) continue;
        if (outcome->verdict != Verdict::Delivered) all_delivered = false;
        if (outcome->verdict == Verdict::TryLater && concerns_all_bundles(outcome->status))
            if (outcome->retry_after) asked_to_wait[route_of(name)] = *outcome->retry_after;
        const char* word = outcome->verdict == Verdict::Delivered  ? "delivered"
                           : outcome->verdict == Verdict::Rejected ? "rejected"
                                                                   : "try later";
        fmt::print("{}: {}: {}\n", name, word, outcome->message);
        std::fflush(stdout);
    }
    tidy();
    return all_delivered;
}

// A disk that is full, read-only or broken may recover. Then whatever is in sending/ is sent again.
void Service::note_spool_trouble(const Error& error) {
    left_behind_ = true;
    spool_pause_ = std::clamp(2 * spool_pause_, min_spool_pause, max_spool_pause);
    last_trouble_ = error.message;
    spdlog::error("cannot use the spool, retrying in {} s: {}", spool_pause_.count(),
                  error.message);
    spool_pause_ends_ = Clock::now() + spool_pause_;
}

Result<std::optional<TimePoint>> Service::send_what_is_due() {
    // Putting an entry back also wakes the service, so check the pause first.
    if (Clock::now() < spool_pause_ends_) return std::optional(spool_pause_ends_);
    if (left_behind_) {
        TRY(spool_.recover());
        left_behind_ = false;
    }
    while (!stop_requested_ && !reload_requested_) {
        TRY_ASSIGN(const auto names, ready_names());
        bool sent = false;
        std::optional<TimePoint> wake;
        for (auto* const route : {&server_, &collector_}) {
            if (!*route) continue;
            TRY_ASSIGN(const Turn turn, take_turn(**route, names));
            sent = sent || turn.sent;
            if (turn.wake) wake = wake ? std::min(*wake, *turn.wake) : *turn.wake;
        }
        if (!sent) return wake;
    }
    return std::optional<TimePoint>();
}

Result<Service::Turn> Service::take_turn(Route& route, const std::vector<std::string>& all) {
    std::vector<std::string> names;
    std::copy_if(all.begin(), all.end(), std::back_inserter(names),
                 [&](const std::string& name) { return route_of(name) == &route; });
    const auto choice = route.schedule.choose(names, Clock::now());
    if (!choice.name) return Turn{false, choice.wake};
    TRY_ASSIGN(const auto outcome, send(*choice.name));
    spool_pause_ = {};
    if (!outcome || outcome->cancelled) return Turn{true, {}};
    if (outcome->verdict == Verdict::TryLater) {
        const double share = std::uniform_real_distribution<double>(0.0, 1.0)(random_);
        const std::chrono::duration<double> wait = route.schedule.note_failure(
            *choice.name, outcome->status, outcome->retry_after, Clock::now(), share);
        last_trouble_ = outcome->message;
        spdlog::warn("{}: retrying in {:.1f} s: {}", *choice.name, wait.count(), outcome->message);
    } else {
        route.schedule.note_success(*choice.name);
        last_trouble_.clear();
        if (outcome->verdict == Verdict::Rejected) {
            spdlog::error("{}: rejected, kept in rejected/: {}", *choice.name, outcome->message);
        } else {
            spdlog::info("{}: {}", *choice.name, outcome->message);
        }
    }
    tell_systemd();
    return Turn{true, {}};
}

void Service::take_signals() {
    signalfd_siginfo signal{};
    while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGHUP) {
            reload_requested_ = true;
        } else if (!stop_requested_) {
            stop_requested_ = Clock::now();
            ::sd_notify(0, "STOPPING=1");
        }
    }
}

bool Service::keep_going() {
    take_signals();
    const TimePoint now = Clock::now();
    if (now - last_watchdog_ >= watchdog_interval) {
        last_watchdog_ = now;
        ::sd_notify(0, "WATCHDOG=1");
    }
    return !stop_requested_ || now - *stop_requested_ < grace;
}

void Service::wait_until(TimePoint wake) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now());
    std::array<pollfd, 2> descriptors{pollfd{signals_.get(), POLLIN, 0},
                                      pollfd{changes_.get(), POLLIN, 0}};
    const auto timeout_ms = std::clamp<std::chrono::milliseconds::rep>(wait.count(), 0, 3'600'000);
    ::poll(descriptors.data(), descriptors.size(), static_cast<int>(timeout_ms));
    if ((descriptors[1].revents & POLLIN) != 0) drain(changes_.get());
}

void Service::tidy() {
    last_tidy_ = Clock::now();
    const auto outcome =
        spool_.apply_retention(settings_.retention, std::chrono::system_clock::now());
    if (!outcome) {
        spdlog::error("retention: {}", outcome.error().message);
    } else if (retention_lock_.note(outcome->left_to_another, last_tidy_)) {
        spdlog::warn("cannot enforce the limits of the spool: {}, for more than a minute",
                     spool_.who_holds_retention());
    } else if (const std::string said = outcome->describe(); !said.empty()) {
        spdlog::warn("{}", said);
    }
}

void Service::reload() {
    reload_requested_ = false;
    auto fresh = reload_();
    if (!fresh) {
        spdlog::error("the new settings are invalid; the old settings stay in effect: {}",
                      fresh.error().message);
        return;
    }
    if (fresh->spool_path != settings_.spool_path) {
        spdlog::warn("the spool remains {} until a restart", settings_.spool_path);
        fresh->spool_path = settings_.spool_path;
    }
    settings_ = std::move(fresh).value();
    take_routes();
    without_spans_.clear();
    spdlog::info("settings reloaded");
}

void Service::tell_systemd() {
    const auto ready = spool_.list(spool::EntryState::Ready);
    const std::string state = fmt::format(
        "STATUS={} delivered, {} rejected, {} failed attempts, {} waiting, {} removed unsent{}{}",
        delivered_, rejected_, failed_, ready ? ready->size() : 0,
        spool_.unsent_removed() + spool_.unsent_batches_removed(),
        last_trouble_.empty() ? "" : "; ", last_trouble_);
    ::sd_notify(0, state.c_str());
}

Status Service::run() {
    if (settings_.target) {
        spdlog::info("sending from {} to {}", settings_.spool_path, settings_.target->url);
    } else {
        spdlog::warn("the settings have no <upload>: bundles stay in {}", settings_.spool_path);
    }
    if (settings_.collector)
        spdlog::info("sending delays as spans to {}", settings_.collector->url);
    ::sd_notify(0, "READY=1");
    while (!stop_requested_) {
        if (reload_requested_) reload();
        if (Clock::now() - last_tidy_ >= tidy_interval) tidy();
        TimePoint wake = std::min(last_tidy_ + tidy_interval, Clock::now() + watchdog_interval);
        if (::sd_watchdog_enabled(0, nullptr) <= 0) wake = last_tidy_ + tidy_interval;
        if (server_ || collector_) {
            const auto due = send_what_is_due();
            if (!due) note_spool_trouble(due.error());
            const std::optional<TimePoint> next = due ? *due : spool_pause_ends_;
            if (next) wake = std::min(wake, *next);
        }
        tell_systemd();
        if (!stop_requested_ && !reload_requested_) wait_until(wake);
        static_cast<void>(keep_going());
    }
    spdlog::info("stopped; {} delivered, {} rejected", delivered_, rejected_);
    return success();
}

}  // namespace lagtrap::uploader
