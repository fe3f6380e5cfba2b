#include "uploader/service.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace lagtrap::uploader {
namespace {

using Clock = std::chrono::steady_clock;

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

Service::Service(ServiceSettings settings, Reload reload, spool::Spool spool, UniqueFd lock,
                 ServiceSignals signals)
    : settings_(std::move(settings)),
      reload_(std::move(reload)),
      spool_(std::move(spool)),
      lock_(std::move(lock)),
      signals_(std::move(signals)),
      routes_(settings_) {}

Result<std::vector<std::string>> Service::ready_names() {
    TRY_ASSIGN(auto ready, spool_.list(spool::EntryState::Ready));
    if (routes_.has_collector()) {
        TRY(spans_.add(spool_, ready, settings_.lagtrap_program,
                       [this] { return signals_.keep_going() && !signals_.stop_requested(); }));
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
        if (routes_.of(entry.name) != nullptr) names.push_back(entry.name);
    return names;
}

Result<Service> Service::create(ServiceSettings settings, Reload reload) {
    TRY_ASSIGN(spool::Spool spool, spool::Spool::open(settings.spool_path));
    TRY_ASSIGN(UniqueFd lock, spool.lock_for_sending());
    TRY_ASSIGN(ServiceSignals signals, ServiceSignals::open());
    Service service(std::move(settings), std::move(reload), std::move(spool), std::move(lock),
                    std::move(signals));
    const auto left = service.spool_.recover();
    if (!left) service.note_spool_failure(left.error());
    if (left && *left > 0) spdlog::info("{} interrupted upload(s) will be sent again", *left);
    TRY_ASSIGN(service.changes_, watch_folder(service.spool_.folder(spool::EntryState::Ready)));
    return service;
}

Status Service::file_away(const std::string& name, const TransferOutcome& outcome) {
    switch (outcome.verdict) {
        case Verdict::Delivered:
            ++progress_.delivered;
            return spool_.mark_sent(name, settings_.retention.sent_batch_age.count() > 0
                                              ? spool::Spool::SentBatch::Keep
                                              : spool::Spool::SentBatch::Delete);
        case Verdict::Rejected:
            ++progress_.rejected;
            return spool_.mark_rejected(name, outcome.message);
        case Verdict::TryLater: break;
    }
    if (!outcome.cancelled) ++progress_.failed;
    return spool_.put_back(name);
}

Result<std::optional<TransferOutcome>> Service::send(const std::string& name) {
    if (const auto claimed = spool_.claim(name); !claimed) {
        if (claimed.error().kind == ErrorKind::NotFound) return std::optional<TransferOutcome>();
        return claimed.error();
    }
    const auto path = spool_.path_of(spool::EntryState::Sending, name);
    const TransferOutcome outcome = routes_.of(name)->transfer.send(
        path, *spool::parse_entry_name(name), [this] { return signals_.keep_going(); });
    TRY(file_away(name, outcome));
    return std::optional(outcome);
}

Result<bool> Service::run_once() {
    if (routes_.all().empty())
        return make_error(ErrorKind::Invalid,
                          "no server configured: set <upload url=...>, <otlp url=...> or --url");
    TRY_ASSIGN(const auto ready, ready_names());
    if (ready.empty())
        fmt::print("nothing to send in {}\n", spool_.folder(spool::EntryState::Ready).string());
    bool all_delivered = true;
    std::map<Route*, std::chrono::seconds> asked_to_wait;
    for (const std::string& name : ready) {
        const auto asked = asked_to_wait.find(routes_.of(name));
        if (asked != asked_to_wait.end() || signals_.stop_requested()) {
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
            if (outcome->retry_after) asked_to_wait[routes_.of(name)] = *outcome->retry_after;
        const char* word = outcome->verdict == Verdict::Delivered  ? "delivered"
                           : outcome->verdict == Verdict::Rejected ? "rejected"
                                                                   : "try later";
        fmt::print("{}: {}: {}\n", name, word, outcome->message);
        std::fflush(stdout);
    }
    tidying_.tidy(spool_, settings_.retention);
    return all_delivered;
}

// After the pause, whatever is in sending/ is sent again.
void Service::note_spool_failure(const Error& error) {
    const auto pause = pause_.note_failure(Clock::now());
    progress_.last_problem = error.message;
    spdlog::error("cannot use the spool, retrying in {} s: {}", pause.count(), error.message);
}

Result<std::optional<TimePoint>> Service::send_what_is_due() {
    // Putting an entry back also wakes the service, so check the pause first.
    if (Clock::now() < pause_.ends_at()) return std::optional(pause_.ends_at());
    if (pause_.recovery_due()) {
        TRY(spool_.recover());
        pause_.note_recovery();
    }
    while (!signals_.stop_requested() && !signals_.reload_requested()) {
        TRY_ASSIGN(const auto names, ready_names());
        bool sent = false;
        std::optional<TimePoint> wake;
        for (Route* const route : routes_.all()) {
            TRY_ASSIGN(const Turn turn, take_turn(*route, names));
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
                 [&](const std::string& name) { return routes_.of(name) == &route; });
    const auto choice = route.schedule.choose(names, Clock::now());
    if (!choice.name) return Turn{false, choice.wake};
    TRY_ASSIGN(const auto outcome, send(*choice.name));
    pause_.note_success();
    if (outcome && !outcome->cancelled) {
        note_outcome(route.schedule, *choice.name, *outcome);
        tell_systemd();
    }
    return Turn{true, {}};
}

void Service::note_outcome(Schedule& schedule, const std::string& name,
                           const TransferOutcome& outcome) {
    if (outcome.verdict == Verdict::TryLater) {
        const double share = std::uniform_real_distribution<double>(0.0, 1.0)(random_);
        const std::chrono::duration<double> wait =
            schedule.note_failure(name, outcome.status, outcome.retry_after, Clock::now(), share);
        progress_.last_problem = outcome.message;
        spdlog::warn("{}: retrying in {:.1f} s: {}", name, wait.count(), outcome.message);
        return;
    }
    schedule.note_success(name);
    progress_.last_problem.clear();
    if (outcome.verdict == Verdict::Rejected)
        spdlog::error("{}: rejected, kept in rejected/: {}", name, outcome.message);
    else
        spdlog::info("{}: {}", name, outcome.message);
}

void Service::wait_until(TimePoint wake) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now());
    std::array<pollfd, 2> descriptors{pollfd{signals_.fd(), POLLIN, 0},
                                      pollfd{changes_.get(), POLLIN, 0}};
    const auto timeout_ms = std::clamp<std::chrono::milliseconds::rep>(wait.count(), 0, 3'600'000);
    ::poll(descriptors.data(), descriptors.size(), static_cast<int>(timeout_ms));
    if ((descriptors[1].revents & POLLIN) != 0) drain(changes_.get());
}

void Service::reload() {
    signals_.note_reload();
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
    routes_ = Routes(settings_);
    spans_.forget_failures();
    spdlog::info("settings reloaded");
}

void Service::tell_systemd() {
    const auto ready = spool_.list(spool::EntryState::Ready);
    const std::string state = fmt::format(
        "STATUS={} delivered, {} rejected, {} failed attempts, {} waiting, {} removed unsent{}{}",
        progress_.delivered, progress_.rejected, progress_.failed, ready ? ready->size() : 0,
        spool_.unsent_removed() + spool_.unsent_batches_removed(),
        progress_.last_problem.empty() ? "" : "; ", progress_.last_problem);
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
    while (!signals_.stop_requested()) {
        if (signals_.reload_requested()) reload();
        if (Clock::now() >= tidying_.due_at()) tidying_.tidy(spool_, settings_.retention);
        TimePoint wake = tidying_.due_at();
        if (::sd_watchdog_enabled(0, nullptr) > 0)
            wake = std::min(wake, Clock::now() + ServiceSignals::watchdog_interval);
        if (!routes_.all().empty()) {
            const auto due = send_what_is_due();
            if (!due) note_spool_failure(due.error());
            const std::optional<TimePoint> next = due ? *due : pause_.ends_at();
            if (next) wake = std::min(wake, *next);
        }
        tell_systemd();
        if (!signals_.stop_requested() && !signals_.reload_requested()) wait_until(wake);
        static_cast<void>(signals_.keep_going());
    }
    spdlog::info("stopped; {} delivered, {} rejected", progress_.delivered, progress_.rejected);
    return success();
}

}  // namespace lagtrap::uploader
