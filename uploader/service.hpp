// The running uploader: takes bundles from the spool, sends them one at a time, and waits for more.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "spool/spool.hpp"
#include "uploader/missing_spans.hpp"
#include "uploader/routes.hpp"
#include "uploader/schedule.hpp"
#include "uploader/service_settings.hpp"
#include "uploader/service_signals.hpp"
#include "uploader/spool_pause.hpp"
#include "uploader/spool_tidying.hpp"
#include "uploader/transfer.hpp"

namespace lagtrap::uploader {

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

    // Runs until SIGTERM or SIGINT. A transfer in progress then has ServiceSignals::grace to
    // finish; after that its bundle goes back to ready/. If the spool is unusable, logs that and
    // retries (SpoolPause). SIGHUP rereads the settings; if they are invalid, logs that and keeps
    // the old ones.
    [[nodiscard]] Status run();

  private:
    Service(ServiceSettings settings, Reload reload, spool::Spool spool, UniqueFd lock,
            ServiceSignals signals);
    // The entries in ready/ that have a route, after making missing spans.
    Result<std::vector<std::string>> ready_names();
    // Claims, sends and files one bundle. nullopt if it was no longer there.
    Result<std::optional<TransferOutcome>> send(const std::string& name);
    // Result of take_turn(), which sends at most one entry. If it sent none, `wake` is when the
    // next one is due; nullopt if none is.
    struct Turn {
        bool sent = false;
        std::optional<TimePoint> wake;
    };
    Result<Turn> take_turn(Route& route, const std::vector<std::string>& names);
    void note_outcome(Schedule& schedule, const std::string& name, const TransferOutcome& outcome);
    Status file_away(const std::string& name, const TransferOutcome& outcome);
    Result<std::optional<TimePoint>> send_what_is_due();
    void note_spool_failure(const Error& error);
    void wait_until(TimePoint wake);
    void reload();
    void tell_systemd();

    struct Progress {
        std::uint64_t delivered = 0, rejected = 0, failed = 0;
        std::string last_problem;
    };

    ServiceSettings settings_;
    Reload reload_;
    spool::Spool spool_;
    UniqueFd lock_;
    ServiceSignals signals_;
    UniqueFd changes_;  // inotify on ready/
    Routes routes_;
    MissingSpans spans_;
    SpoolTidying tidying_;
    SpoolPause pause_;
    Progress progress_;
    std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace lagtrap::uploader
