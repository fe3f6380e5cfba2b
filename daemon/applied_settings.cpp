#include "daemon/applied_settings.hpp"

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

}  // namespace lagtrap::daemon
