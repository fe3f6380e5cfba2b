#include "daemon/status/untrusted_parties.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "daemon/status/party_report.hpp"
#include "sandbox/other_writers.hpp"

namespace lagtrap::daemon::untrusted_parties_test {
namespace {

using boost::json::object;
using boost::json::value;

constexpr Party container = first_container_party + 5;

TEST(PartyReport, NamesAUserOrAContainer) {
    const auto reported = [](Party party) {
        object entry;
        add_party(entry, party);
        return entry;
    };
    EXPECT_EQ(reported(1000), (object{{"uid", 1000U}}));
    EXPECT_EQ(reported(root_party), (object{{"uid", 0U}}));
    EXPECT_EQ(reported(first_container_party - 1), (object{{"uid", first_container_party - 1}}));
    EXPECT_EQ(reported(first_container_party), (object{{"namespace", first_container_party}}));
    EXPECT_EQ(reported(container), (object{{"namespace", container}}));
    EXPECT_EQ(reported(unknown_party), (object{{"uid", nullptr}}));
}

TEST(LimitedLooks, NameWhoIsLimited) {
    object report;
    add_limited_looks(report, {{4'123'456, 7, 3}, {container, 5, 1}});
    EXPECT_EQ(report["limited_looks"],
              (value{{{"looks", 7U}, {"put_off", 3U}, {"user", user_text(4'123'456)}},
                     {{"looks", 5U}, {"put_off", 1U}, {"namespace", container}}}));
    add_limited_looks(report, {});
    EXPECT_EQ(report["limited_looks"], boost::json::array{});
}

TEST(WatchedFiles, AreThoseWithSomethingToReport) {
    WatchedFileStatus quiet, written, rearmed, slow;
    quiet.path = "/quiet";
    quiet.again_in = std::chrono::seconds(9);
    written.path = "/written\n";
    written.owner = 4'123'456;
    written.other_writers = "user\t7";
    rearmed.path = "/rearmed";
    rearmed.rearmed = 1;
    rearmed.again_in = std::chrono::seconds(30);
    slow.path = "/slow";
    slow.slow = true;
    object report;
    add_watched_files(report, {quiet, written, rearmed, slow});
    const auto& files = report["watched_files"].as_array();
    ASSERT_EQ(files.size(), 3U);
    EXPECT_EQ(files[0], (value{{"path", "/written\\x0a"},
                               {"owner", user_text(4'123'456)},
                               {"other_writers", "user\\x097"},
                               {"rearmed", 0U},
                               {"again_in_seconds", 0},
                               {"slow", false}}));
    EXPECT_EQ(files[1].at("path"), "/rearmed");
    EXPECT_EQ(files[1].at("rearmed"), 1U);
    EXPECT_EQ(files[1].at("again_in_seconds"), 30);
    EXPECT_EQ(files[2].at("path"), "/slow");
    EXPECT_EQ(files[2].at("slow"), true);
}

}  // namespace
}  // namespace lagtrap::daemon::untrusted_parties_test
