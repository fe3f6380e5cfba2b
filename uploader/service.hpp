// The uploader at work: takes bundles from the spool, sends one at a time, waits for more.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "settings/settings.hpp"
#include "spool/spool.hpp"
#include "uploader/schedule.hpp"
#include "uploader/transfer.hpp"

namespace lagtrap::uploader {

// What the service needs from settings and command line.
struct ServiceSettings {
    std::string spool_path;
    spool::RetentionLimits retention;
    std::optional<Target> target;     // nothing: bundles wait, and retention alone works
    std::optional<Target> collector;  // of spans; nothing: none are made
    std::string lagtrap_program;      // that makes them
};

// One thread. Signals SIGTERM, SIGINT and SIGHUP must be blocked before it is made; it takes them by descriptor.
class Service {
  public:
    using Reload = std::function<Result<ServiceSettings>()>;

    // Opens the spool, takes its lock and puts back what an earlier uploader left half sent.
    [[nodiscard]] static Result<Service> create(ServiceSettings settings, Reload reload);

    // Tries each ready bundle once and prints a line for each to standard output. After an answer that asks
    // everybody to wait, the rest is not tried. True if all were delivered.
    [[nodiscard]] Result<bool> run_once();

    // Works until SIGTERM or SIGINT; a transfer that runs then has `grace` left, after which its bundle goes back
    // into ready/. A spool that cannot be worked on is told of, and tried again after 1 s to 60 s. SIGHUP reads the settings again: a bad file is logged and leaves the old ones in force.
    [[nodiscard]] Status run();

    static constexpr std::chrono::seconds grace{10};

  private:
    Service(ServiceSettings settings, Reload reload, spool::Spool spool);
    // Where entries of some kinds go.
    struct Route {
        Target target;
        Transfer transfer;
        Schedule schedule{};
    };
    void take_routes();
    [[nodiscard]] Route* route_of(const std::string& name);
    // The entries in ready/ that have a route, with the spans that had to be made first.
    Result<std::vector<std::string>> ready_names();
    Status add_missing_spans(const std::vector<spool::SpoolEntry>& ready);
    // Claims, sends and files one bundle away. Nothing if it was no longer there.
    Result<std::optional<TransferOutcome>> send(const std::string& name);
    // Sends what this route has to send now, one entry; the wake-up of what is due later. Nothing sent and nothing due: nullopt.
    struct Turn {
        bool sent = false;
        std::optional<TimePoint> wake;
    };
    Result<Turn> take_turn(Route& route, const std::vector<std::string>& names);
    Status file_away(const std::string& name, const TransferOutcome& outcome);
    Result<std::optional<TimePoint>> send_what_is_due();
    void note_spool_trouble(const Error& error);
    void wait_until(TimePoint wake);
    void take_signals();
    void reload();
    void tidy();
    void tell_systemd();
    bool keep_going();

    ServiceSettings settings_;
    Reload reload_;
    spool::Spool spool_;
    UniqueFd lock_;
    UniqueFd signals_;
    UniqueFd changes_;  // inotify on ready/
    std::optional<Route> server_, collector_;
    std::set<std::string> without_spans_;  // bundles of which none could be made
    std::mt19937_64 random_{std::random_device{}()};
    std::optional<TimePoint> stop_requested_;
    bool reload_requested_ = false;
    TimePoint last_tidy_{};
    spool::RetentionLock retention_lock_;
    TimePoint last_watchdog_{};
    std::uint64_t delivered_ = 0;
    std::uint64_t rejected_ = 0;
    std::uint64_t failed_ = 0;
    std::string last_trouble_;
    bool left_behind_ = false;  // something may lie in sending/ that nobody sends
    std::chrono::seconds spool_pause_{};
    TimePoint spool_pause_ends_{};
};

}  // namespace lagtrap::uploader
