#include "daemon/applied_settings.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::applied_settings_test {
namespace {

using namespace std::chrono_literals;

TEST(AppliedSettings, TheSpoolIsKeptWithinItsLimits) {
    settings::Settings settings;
    settings.spool.size_limit_bytes = 1;
    settings.spool.age_limit = 2h;
    settings.spool.sent_runs_age = 3h;
    const spool::RetentionLimits limits = retention_of(settings);
    EXPECT_EQ(limits.size_bytes, 1U);
    EXPECT_EQ(limits.age, 2h);
    EXPECT_EQ(limits.shortage_bytes, 0U);
    EXPECT_EQ(limits.sent_batch_age, 3h);
}

TEST(AppliedSettings, CommandLinesAreShownAsWanted) {
    settings::Privacy privacy;
    privacy.command_lines = settings::CommandLines::Program;
    EXPECT_EQ(command_lines_of(privacy), CommandLines::Program);
    privacy.command_lines = settings::CommandLines::All;
    EXPECT_EQ(command_lines_of(privacy), CommandLines::All);
    privacy.command_lines = settings::CommandLines::Masked;
    EXPECT_EQ(command_lines_of(privacy), CommandLines::Masked);
}

settings::Settings usual() {
    settings::Settings settings;
    settings.spool.path = "/var/spool/one";
    settings.control.socket = "/run/one";
    return settings;
}

TEST(AppliedSettings, SomeChangeOnlyWhenTheDaemonRestarts) {
    const auto warned = [](void (*change)(settings::Settings&)) {
        settings::Settings next = usual();
        change(next);
        std::string lines;
        for (const std::string& line : changes_at_restart(usual(), next)) lines += line + "\n";
        return lines;
    };
    const std::string paths =
                          "spool path and control socket change only when the daemon restarts\n",
                      unwinding = "<unwinding> changes only when the daemon restarts\n";
    EXPECT_EQ(warned([](settings::Settings&) {}), "");
    EXPECT_EQ(warned([](settings::Settings& next) { next.spool.size_limit_bytes += 1; }), "");
    EXPECT_EQ(warned([](settings::Settings& next) { next.spool.path = "/other"; }), paths);
    EXPECT_EQ(warned([](settings::Settings& next) { next.control.socket = "/other"; }), paths);
    EXPECT_EQ(warned([](settings::Settings& next) { next.unwinding.memory_bytes += 1; }),
              unwinding);
    EXPECT_EQ(warned([](settings::Settings& next) { next.unwinding.cache_path = "/other"; }),
              unwinding);
    EXPECT_EQ(warned([](settings::Settings& next) { next.unwinding.cache_limit_bytes += 1; }),
              unwinding);
    EXPECT_EQ(warned([](settings::Settings& next) {
                  next.spool.path = "/other";
                  next.unwinding.memory_bytes += 1;
              }),
              paths + unwinding);
}

TEST(AppliedSettings, TheWatchdogIsFedUntilHalfOfItsTimeout) {
    EXPECT_TRUE(may_feed_watchdog(0s, 10'000'000));
    EXPECT_TRUE(may_feed_watchdog(4'999ms, 10'000'000));
    EXPECT_FALSE(may_feed_watchdog(5s, 10'000'000));
    EXPECT_TRUE(may_feed_watchdog(59s, 0)) << "without a timeout, two minutes";
    EXPECT_FALSE(may_feed_watchdog(60s, 0));
}

}  // namespace
}  // namespace lagtrap::daemon::applied_settings_test
