#include "daemon/applied_settings.hpp"

#include "daemon/capture/python_processes.hpp"
#include "daemon/events/watched_programs.hpp"

namespace lagtrap::daemon {

spool::RetentionLimits retention_of(const settings::Settings& settings) {
    return {settings.spool.size_limit_bytes, settings.spool.age_limit, 0,
            settings.spool.sent_runs_age};
}

CommandLines command_lines_of(const settings::Privacy& privacy) {
    if (privacy.command_lines == settings::CommandLines::Program) return CommandLines::Program;
    return privacy.command_lines == settings::CommandLines::All ? CommandLines::All
                                                                : CommandLines::Masked;
}

std::set<std::string> files_to_track(const settings::Settings& settings) {
    std::set<std::string> names = programs_to_find(settings);
    names.merge(python_file_names());
    return names;
}

std::vector<std::string> changes_at_restart(const settings::Settings& in_force,
                                            const settings::Settings& next) {
    std::vector<std::string> changes;
    if (next.spool.path != in_force.spool.path || next.control.socket != in_force.control.socket)
        changes.emplace_back("spool path and control socket change only when the daemon restarts");
    const settings::Unwinding &before = in_force.unwinding, &after = next.unwinding;
    if (after.memory_bytes != before.memory_bytes || after.cache_path != before.cache_path ||
        after.cache_limit_bytes != before.cache_limit_bytes)
        changes.emplace_back("<unwinding> changes only when the daemon restarts");
    return changes;
}

bool may_feed_watchdog(std::chrono::nanoseconds silent, std::uint64_t timeout_us) {
    constexpr std::uint64_t usual_timeout_us = 120'000'000;
    const std::chrono::microseconds timeout(timeout_us != 0 ? timeout_us : usual_timeout_us);
    return silent < timeout / 2;
}

}  // namespace lagtrap::daemon
