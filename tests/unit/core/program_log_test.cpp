// What a program that logs writes to standard error.
#include "core/program_log.hpp"

#include <cstdlib>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace lagtrap::program_log_test {
namespace {

void log_all(const char* journal) {
    if (journal == nullptr) {
        ::unsetenv("JOURNAL_STREAM");
    } else {
        ::setenv("JOURNAL_STREAM", journal, 1);
    }
    start_program_log();
    spdlog::trace("hidden");
    spdlog::debug("hidden");
    spdlog::info("started {}", 7);
    spdlog::warn("a warning");
    spdlog::error("an error");
    spdlog::critical("the end");
    std::_Exit(0);
}

TEST(ProgramLogDeathTest, TheJournalGetsPriorities) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(log_all("8:1"), ::testing::ExitedWithCode(0),
                "<6>started 7\n<4>a warning\n<3>an error\n<2>the end\n");
}

TEST(ProgramLogDeathTest, OthersGetTheTime) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    const std::string time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3} ";
    EXPECT_EXIT(log_all(nullptr), ::testing::ExitedWithCode(0),
                time + "info: started 7\n" + time + "warning: a warning\n" + time +
                    "error: an error\n" + time + "critical: the end\n");
}

void log_debug() {
    ::setenv("JOURNAL_STREAM", "8:1", 1);
    start_program_log();
    spdlog::set_level(spdlog::level::trace);
    spdlog::debug("a detail");
    spdlog::trace("a smaller one");
    std::_Exit(0);
}

TEST(ProgramLogDeathTest, DetailsHaveTheLeastPriority) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(log_debug(), ::testing::ExitedWithCode(0), "<7>a detail\n<7>a smaller one\n");
}

}  // namespace
}  // namespace lagtrap::program_log_test
