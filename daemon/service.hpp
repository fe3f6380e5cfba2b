// The daemon as a whole: settings, listener, collector, control socket, signals, the service manager.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "daemon/collector.hpp"
#include "daemon/control_server.hpp"
#include "daemon/memory_watch.hpp"
#include "daemon/overhead_watch.hpp"
#include "daemon/pairing.hpp"
#include "daemon/run_reporter.hpp"
#include "daemon/spool_keeper.hpp"
#include "daemon/status_report.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

class Service {
  public:
    struct Options {
        std::filesystem::path settings_path;
        std::string merge_program;
        Say inform;
        Say warn;
    };

    // `settings` were read from settings_path. Errors: BPF refused, spool or control socket unusable.
    [[nodiscard]] static Result<std::unique_ptr<Service>> create(const settings::Settings& settings, Options options);
    ~Service();

    // Until SIGTERM or SIGINT. SIGHUP reads the settings anew.
    void run();

  private:
    explicit Service(Options options);
    // Puts settings in force: their markers are attached by a thread of its own, then `then` is called.
    [[nodiscard]] Status arm(const settings::Settings& settings, std::function<void()> then);
    struct Arming;
    void put_in_place(Arming& arming);
    void finish_arming();
    void stop_arming();
    [[nodiscard]] static Result<RunSource> source_of(const Listener& listener, const settings::Settings& settings);
    void reload();
    void apply_when_idle(const settings::Settings& settings);
    void apply(const settings::Settings& settings);
    void watch_memory();
    [[nodiscard]] Status put_in_force(const settings::Settings& settings);
    void note_failure(const Status& put);
    void note_success();
    void await_signal();
    void keep_watch();
    // Says once of each event what is wrong with its begins and ends.
    void tell_pairing();
    [[nodiscard]] boost::json::object answer(const boost::json::object& request);

    Options options_;
    boost::asio::io_context context_{1};
    boost::asio::signal_set signals_;
    boost::asio::steady_timer watch_timer_;
    settings::Settings settings_;
    ServiceFacts facts_;
    std::set<std::pair<std::string, PairingFinding::Kind>> told_pairing_;  // since the settings came into force
    std::unique_ptr<Unwinder> unwinder_;                                   // outlives the recorder in the collector
    std::unique_ptr<RunReporter> reporter_;                                // outlives the listener in the collector
    std::unique_ptr<SpoolKeeper> keeper_;
    std::unique_ptr<Collector> collector_;
    std::unique_ptr<OverheadWatch> overhead_;  // looks at the collector's listener
    std::unique_ptr<MemoryWatch> memory_;      // tells collector and unwinder
    std::unique_ptr<ControlServer> control_;
    std::unique_ptr<Arming> arming_;  // while there is a thread that attaches, and up to the next idle moment
    bool reload_wanted_ = false;      // SIGHUP came meanwhile
};

}  // namespace lagtrap::daemon
