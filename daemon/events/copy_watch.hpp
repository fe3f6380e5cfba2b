// Attaches the markers of armed events to copies of their files when processes map them, and
// detaches them when none does.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "core/result.hpp"
#include "daemon/events/arming_steps.hpp"
#include "daemon/events/copy_arming.hpp"
#include "daemon/events/marker_attachments.hpp"
#include "daemon/events/settings_files.hpp"
#include "daemon/probes/write_guard.hpp"
#include "daemon/unwinding/mapped_files.hpp"

namespace lagtrap::daemon {

class CopyWatch {
  public:
    // What it uses; all must outlive it.
    struct Parts {
        CopyArming& copies;
        MappedFiles& mapped_files;
        SettingsFiles& files;
        MarkerAttachments& attachments;
        ArmingSteps& steps;
        WriteGuard& guard;
        boost::asio::thread_pool& arming_thread;
    };
    explicit CopyWatch(const Parts& parts);
    // Looks whenever processes map other files. Call it once, before stop().
    void start();

    // The following is thread-safe.

    // Checks on the arming thread whether processes map copies that are not watched, and whether
    // watched ones are still mapped.
    void look();
    // Somebody writes to the file of this name: detaches its markers.
    void leave(const std::string& path);
    // See EventMonitor::copies_are_armed().
    [[nodiscard]] bool is_done() const { return !wanted_.load() && parts_.copies.is_done(); }

    // What look() does. Call it on the arming thread.
    void look_now();
    // Stops looking. Then stop the arming thread, and call wait().
    void stop();
    // Waits for detaching to finish.
    void wait() { leaving_pool_.join(); }

  private:
    void detach(std::vector<CopyArming::Leaving> leaving);
    [[nodiscard]] Status attach_one(std::uint32_t event, std::uint32_t copy, const EventPlan& plan);
    void detach_one(std::uint32_t event, std::uint32_t copy);

    const Parts parts_;
    std::atomic<bool> wanted_{false};
    std::atomic<bool> stopped_{false};
    // detaches markers from copies that no process maps any more
    boost::asio::thread_pool leaving_pool_{1};
    boost::asio::steady_timer timer_;
    std::uint64_t subscription_ = 0;
};

}  // namespace lagtrap::daemon
