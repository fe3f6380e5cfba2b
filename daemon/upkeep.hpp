// What the daemon does again and again: feeds the service manager's watchdog, and looks for CPUs,
// files and losses that nothing reports.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/daemon_parts.hpp"
#include "daemon/settings_applier.hpp"

namespace lagtrap::daemon {

class Upkeep {
  public:
    // The references must outlive it.
    Upkeep(boost::asio::io_context& context, DaemonParts& parts, const SettingsApplier& applier);

    // Begins, on the io_context's thread.
    void begin();

  private:
    void keep_watch();
    void keep_looking_at_files();
    void keep_room_for_watched();
    // Only while all threads respond.
    void feed_watchdog();

    DaemonParts& parts_;
    const SettingsApplier& applier_;
    boost::asio::steady_timer watch_timer_;
    boost::asio::steady_timer file_timer_;
    bool follower_missed_ = false;  // the warning was logged
};

}  // namespace lagtrap::daemon
