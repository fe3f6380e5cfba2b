#include "daemon/temporary/temporary_log.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::temporary_log_test {
namespace {

TEST(TemporaryLog, HasTheErrorsAlone) {
    EXPECT_EQ(reason_in_log("2026-11-29T10:26:40.230 info: lagtrapd watches 1 events\n"
                            "2026-11-29T10:26:40.231 error: BPF is refused\n",
                            "/w"),
              "BPF is refused");
}

TEST(TemporaryLog, NamesNoFileOfTheService) {
    EXPECT_EQ(reason_in_log("/w/settings.xml:3:9: share is \"x\"; expected a share\n  <budget "
                            "share=\"x\"/>\n          ^\n"
                            "  hint: write a share with a % sign\n/w/settings.xml:4:1: unknown\n",
                            "/w"),
              "3:9: share is \"x\"; expected a share; 4:1: unknown");
}

TEST(TemporaryLog, IsOneShortPrintableLine) {
    EXPECT_EQ(reason_in_log("no\x1bthing", "/w"), "no\\x1bthing");
    EXPECT_EQ(reason_in_log("", "/w"), "lagtrapd ended without a message");
    EXPECT_EQ(reason_in_log("2026-11-29T10:26:40.230 info: stopping\n", "/w"),
              "lagtrapd ended without a message");
    EXPECT_EQ(reason_in_log(std::string(5000, 'a'), "/w").size(), 1000U);
}

TEST(TemporaryLog, KeepsTheLastWordsOfMany) {
    const std::string reason = reason_in_log(std::string(999, 'a') + "bcd", "/w");
    EXPECT_EQ(reason.size(), 1000U);
    EXPECT_TRUE(reason.ends_with("abcd"));
    EXPECT_EQ(reason_in_log(std::string(1000, 'a'), "/w"), std::string(1000, 'a'));
}

TEST(TemporaryLog, ALineWithoutATimeIsAnError) {
    EXPECT_EQ(reason_in_log("cannot run: /usr/sbin/lagtrapd", "/w"),
              "cannot run: /usr/sbin/lagtrapd");
    EXPECT_EQ(reason_in_log("2026-11-29T10:26:40.230", "/w"), "2026-11-29T10:26:40.230");
    EXPECT_EQ(reason_in_log("2026-11-29T10:26:40.230 warning: error: x\n", "/w"),
              "lagtrapd ended without a message");
    EXPECT_EQ(reason_in_log("a\n\nb\n", "/w"), "a; b");
}

}  // namespace
}  // namespace lagtrap::daemon::temporary_log_test
