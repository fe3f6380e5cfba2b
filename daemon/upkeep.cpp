#include "daemon/upkeep.hpp"

#include <systemd/sd-daemon.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "core/heap.hpp"
#include "daemon/applied_settings.hpp"
#include "daemon/processes/reader_state.hpp"

namespace lagtrap::daemon {
namespace {

// How often the watchdog is fed.
constexpr std::chrono::seconds watch_interval{10};
// How often to check whether watched binaries were replaced. A new version is not watched until
// then.
constexpr std::chrono::seconds file_interval{5};

}  // namespace

Upkeep::Upkeep(boost::asio::io_context& context, DaemonParts& parts, const SettingsApplier& applier)
    : parts_(parts), applier_(applier), watch_timer_(context), file_timer_(context) {}

void Upkeep::begin() {
    keep_watch();
    keep_looking_at_files();
}

void Upkeep::feed_watchdog() {
    std::uint64_t timeout_us = 0;
    if (::sd_watchdog_enabled(0, &timeout_us) <= 0) timeout_us = 0;
    const auto silent = parts_.unwinder->silent_for();
    const bool missed = !may_feed_watchdog(silent, timeout_us);
    if (!missed) ::sd_notify(0, "WATCHDOG=1");
    if (missed && !follower_missed_)
        parts_.options.log.warn(
            fmt::format("the thread that tracks processes has been stuck for {} s; the watchdog "
                        "will restart the daemon",
                        std::chrono::duration_cast<std::chrono::seconds>(silent).count()));
    follower_missed_ = missed;
}

void Upkeep::keep_watch() {
    feed_watchdog();
    watch_timer_.expires_after(watch_interval);
    watch_timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        restart_failed_reader();
        if (const auto came = parts_.controller->look_at_cpus(); !came.empty())
            parts_.options.log.inform(
                fmt::format("CPUs came online: {}; they are recorded", fmt::join(came, ", ")));
        for (const std::string& one :
             parts_.pairing_reports.take(parts_.controller->monitor().status()))
            parts_.options.log.warn(one);
        parts_.thresholds->look();
        return_free_memory();
        keep_watch();
    });
}

void Upkeep::keep_looking_at_files() {
    file_timer_.expires_after(file_interval);
    file_timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        // If no reader is available, keep what is armed; the next check finds the same changes.
        if (!parts_.controller->busy() && !applier_.is_arming() && can_read_programs())
            parts_.controller->monitor().look_at_files();
        keep_room_for_watched();
        keep_looking_at_files();
    });
}

// Reserve capacity for watched programs, so that other users' files cannot keep the daemon from
// inspecting them.
void Upkeep::keep_room_for_watched() {
    std::set<std::uint32_t> pids;
    for (std::uint32_t event = 0; event < parts_.controller->monitor().events().size(); ++event)
        pids.merge(parts_.controller->monitor().processes_of(event));
    parts_.options.inspectors->keep_room_for(std::move(pids));
}

}  // namespace lagtrap::daemon
