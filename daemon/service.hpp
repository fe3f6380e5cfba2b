// The daemon as a whole: connects settings, event monitor, capture controller, control socket,
// signals, and the service manager.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include "core/log.hpp"
#include "core/result.hpp"
#include "daemon/budget_keeper.hpp"
#include "daemon/capture/capture_controller.hpp"
#include "daemon/control/client_link.hpp"
#include "daemon/control/control_server.hpp"
#include "daemon/merges/spool_keeper.hpp"
#include "daemon/pairing_reports.hpp"
#include "daemon/processes/inspector_pool.hpp"
#include "daemon/runs/run_reporter.hpp"
#include "daemon/settings_reader.hpp"
#include "daemon/status/status_report.hpp"
#include "daemon/temporary/temporary_events.hpp"
#include "daemon/thresholds/threshold_watch.hpp"
#include "daemon/tracing/call_traces.hpp"
#include "daemon/tracing/event_functions.hpp"
#include "settings/parser.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

class Service : private CaptureSurroundings, private ControlRequests, private ClientLink::Owner {
  public:
    struct Options {
        std::filesystem::path settings_path;
        std::string merge_program;
        std::string reader_program;
        InspectorPool* inspectors;  // reads data of processes; must outlive the service
        Log log{};
        // The service started this daemon for a temporary event (client_link.hpp); it ends with the
        // client. Otherwise it starts such daemons itself.
        bool for_client = false;
    };

    // `settings` were read from settings_path. Errors: BPF is refused, or spool or control socket
    // are unusable.
    [[nodiscard]] static Result<std::unique_ptr<Service>> create(const settings::Settings& settings,
                                                                 Options options);
    ~Service() override;

    // Runs until SIGTERM or SIGINT. SIGHUP reloads the settings.
    void run();

  private:
    explicit Service(Options options);
    // Applies settings: another thread attaches their markers, then calls `then` on this one.
    [[nodiscard]] Status arm(const settings::Settings& settings, std::function<void()> then);
    struct Arming;
    [[nodiscard]] EventMonitor::Options monitor_options(bool takes_over);
    void put_in_place(Arming& arming);
    void finish_arming();
    void say_ready();
    // What the event monitor reports.
    void take(const Breach& breach);
    void take(const AbortedRuns& aborted);
    void take(const EarlyRun& early);
    void take(const EarlyRunsOver& fact);
    void take(const FirstRoundOver& fact);
    void take(const EventArmed& armed);
    void take(const FileReplaced& fact);
    [[nodiscard]] static Result<RunSource> source_of(const EventMonitor& monitor,
                                                     const settings::Settings& settings);
    void reload();
    void finish_reload(const settings::ParseOutcome& outcome);
    void apply_when_idle(const settings::Settings& settings);
    void apply(const settings::Settings& settings);
    [[nodiscard]] Status listen(const settings::Control& control);
    void serve_client();
    void serve_temporary_events();
    void make_functions();
    [[nodiscard]] Status apply_settings(const settings::Settings& settings);
    void note_failure(const Status& put);
    void note_success();
    void await_signal();
    void end();
    void keep_watch();
    void keep_looking_at_files();
    void keep_room_for_watched();
    // Feeds the service manager's watchdog, but only while all threads respond.
    void feed_watchdog();

    [[nodiscard]] boost::json::object answer(const boost::json::object& request) override;
    [[nodiscard]] Result<bool> stream(const boost::json::object& request, const Caller* only_of,
                                      std::shared_ptr<AnswerStream> answer) override;
    [[nodiscard]] Result<bool> hand_over(const boost::json::object& request, const Caller& caller,
                                         int socket) override;
    [[nodiscard]] ClientLink::Answer answer_client(const boost::json::object& request) override;
    [[nodiscard]] std::uint64_t used_ppm() override;
    void client_gone() override;

    void session_changed(const std::string& session_id) override;
    void capture_begun(std::uint32_t event) override { thresholds_->note_capture(event); }
    void spool_changed() override;
    [[nodiscard]] std::vector<std::string> disabled_now() override;
    [[nodiscard]] Status begin_calls(CallRequest request,
                                     std::shared_ptr<AnswerLines> lines) override;
    [[nodiscard]] Status begin_functions(std::uint32_t event, std::uint32_t pid,
                                         std::shared_ptr<AnswerLines> lines) override;
    [[nodiscard]] Status begin_objects(ObjectRequest request,
                                       std::shared_ptr<AnswerLines> lines) override;

    Options options_;
    boost::asio::io_context context_{1};
    boost::asio::signal_set signals_;
    boost::asio::steady_timer watch_timer_;
    boost::asio::steady_timer file_timer_;
    boost::asio::steady_timer ready_timer_;
    settings::Settings settings_;
    ServiceFacts facts_;
    PairingReports pairing_reports_;
    ContainerNames names_;
    MappedFiles mapped_files_;               // outlives unwinder and event monitor
    std::unique_ptr<Unwinder> unwinder_;     // outlives the recorder in the capture controller
    std::unique_ptr<RunReporter> reporter_;  // outlives the event monitor in the capture controller
    std::unique_ptr<SpoolKeeper> keeper_;
    std::unique_ptr<CaptureController> controller_;
    std::unique_ptr<ThresholdWatch> thresholds_;  // controls the capture controller
    std::unique_ptr<BudgetKeeper> budgets_;       // controls capture controller and unwinder
    std::unique_ptr<ControlServer> control_;
    std::unique_ptr<ClientLink> client_;          // if this daemon watches a temporary event
    std::unique_ptr<TemporaryEvents> temporary_;  // if it does not
    std::unique_ptr<EventFunctions> functions_;
    std::unique_ptr<CallTraces> call_traces_;  // its threads use all the others
    // until the first arming round is over and the capture controller is idle
    std::unique_ptr<Arming> arming_;
    bool follower_missed_ = false;  // the warning was logged
    SettingsReader settings_reader_;
};

}  // namespace lagtrap::daemon
