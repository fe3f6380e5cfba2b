// The running uploader: takes bundles from the spool, sends them one at a time, and waits for more.
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

// What the service needs from the settings and the command line.
struct ServiceSettings {
    std::string spool_path;
    spool::RetentionLimits retention;
    std::optional<Target> target;     // nullopt: bundles wait, and only retention runs
    std::optional<Target> collector;  // receives spans; nullopt: no spans are made
    std::string lagtrap_program;      // makes the spans
};

// Single-threaded. Block SIGTERM, SIGINT and SIGHUP before creating it; it receives them through a
// descriptor.
class Service {
  public:
    using Reload = std::function<Result<ServiceSettings>()>;

    // Opens the spool, takes its lock, and puts back what an earlier uploader left in sending/.
    [[nodiscard]] static Result<Service> create(ServiceSettings settings, Reload reload);

    // Tries each ready bundle once and prints a line for each to standard output. Once a server
    // asks all senders to wait, skips the rest of its bundles. Returns true if all were delivered.
    [[nodiscard]] Result<bool> run_once();

    // Runs until SIGTERM or SIGINT. A transfer in progress then has `grace` to finish; after that
    // its bundle goes back to ready/. If the spool is unusable, logs that and retries after 1 s to
    // 60 s. SIGHUP rereads the settings; if they are invalid, logs that and keeps the old ones.
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
    // The entries in ready/ that have a route, after making missing spans.
    Result<std::vector<std::string>> ready_names();
    Status add_missing_spans(const std::vector<spool::SpoolEntry>& ready);
    // Claims, sends and files one bundle. nullopt if it was no longer there.
    Result<std::optional<TransferOutcome>> send(const std::string& name);
    // Result of take_turn(), which sends at most one entry. If it sent none, `wake` is when the
    // next one is due; nullopt if none is.
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
    std::set<std::string> without_spans_;  // bundles whose spans could not be made
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
    bool left_behind_ = false;  // sending/ may contain an entry that nobody is sending
    std::chrono::seconds spool_pause_{};
    TimePoint spool_pause_ends_{};
};

}  // namespace lagtrap::uploader
