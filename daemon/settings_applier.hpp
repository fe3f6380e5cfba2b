// Puts settings into effect, at the start and when they are read again. Another thread attaches
// their markers meanwhile, and the previous settings stay in effect until that is done.
#pragma once

#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/result.hpp"
#include "daemon/daemon_parts.hpp"
#include "daemon/settings_reader.hpp"
#include "settings/parser.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// For the io_context's thread. Tells the service manager when settings are in effect.
class SettingsApplier {
  public:
    // The references must outlive it.
    SettingsApplier(boost::asio::io_context& context, DaemonParts& parts);
    ~SettingsApplier();
    SettingsApplier(const SettingsApplier&) = delete;
    SettingsApplier& operator=(const SettingsApplier&) = delete;

    // Begins to apply settings. The first ones are in effect at once. Errors: BPF is refused.
    [[nodiscard]] Status arm(const settings::Settings& settings);
    // Reads the file again and applies it: after the settings that are being applied, and after the
    // recording that is running. Invalid settings change nothing.
    void reload();
    [[nodiscard]] bool is_arming() const { return arming_ != nullptr; }
    // Of the settings that are being applied, or else in effect.
    [[nodiscard]] const EventMonitor& newest_monitor() const;

  private:
    struct Arming;
    [[nodiscard]] EventMonitor::Options monitor_options(bool takes_over);
    void put_in_place(Arming& arming);
    void finish_arming();
    // What the event monitor reports.
    void take(const Breach& breach);
    void take(const AbortedRuns& aborted);
    void take(const EarlyRun& early);
    void take(const EarlyRunsOver& fact);
    void take(const FirstRoundOver& fact);
    void take(const EventArmed& armed);
    void take(const FileReplaced& fact);
    void finish_reload(const settings::ParseOutcome& outcome);
    void apply_when_idle(const settings::Settings& settings);
    void apply(const settings::Settings& settings);
    [[nodiscard]] Status apply_settings(const settings::Settings& settings);

    boost::asio::io_context& context_;
    DaemonParts& parts_;
    boost::asio::steady_timer ready_timer_;
    // until the first arming round is over and the capture controller is idle
    std::unique_ptr<Arming> arming_;
    SettingsReader reader_;
};

}  // namespace lagtrap::daemon
