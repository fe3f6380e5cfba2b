#include "daemon/thresholds/history_file.hpp"

#include <sys/stat.h>

#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/binaries/support.hpp"

namespace lagtrap::daemon::history_file_test {
namespace {

using testing::HasSubstr;

std::map<std::string, EventRuns> some_runs() {
    return {
        {"query", {"0123456789abcdef", 7, {{494'000, {{80, 3}, {91, 1}}}, {494'002, {{79, 12}}}}}},
        {"call", {}}};
}

std::map<std::string, ThresholdState> some_states() {
    return {{"query", {"p99.9 x 3", 84'000'000, 494'002, 168'000'000, 5, {1, 2, 3}}}};
}

TEST(HistoryFile, ReadsWhatItWrote) {
    const auto read = parse_history(history_text(some_runs(), some_states()));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->runs, some_runs());
    EXPECT_EQ(read->thresholds, some_states());
}

TEST(HistoryFile, IsKeptInAFile) {
    const binaries::test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "history";
    const auto none = read_history(file);
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_TRUE(none->runs.empty());
    ASSERT_TRUE(write_history(file, history_text(some_runs(), some_states())));
    struct stat facts {};
    ASSERT_EQ(::stat(file.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0640U);
    const auto read = read_history(file);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->runs, some_runs());
    std::ofstream(file) << "{";
    EXPECT_FALSE(read_history(file));
}

std::string replaced(const std::string& from, const std::string& to) {
    std::string text = history_text(some_runs(), some_states());
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(HistoryFile, RefusesWhatIsDamaged) {
    for (const std::string& text :
         {std::string(), std::string("[]"), std::string("{}"), std::string("null"),
          replaced("lagtrap-run-history", "other"), replaced("\"events\":[", "\"event\":["),
          replaced("\"name\":\"query\"", "\"name\":7"),
          replaced("\"since_ns\":7", "\"since_ns\":-7"), replaced("494000", "494002"),
          replaced("494002", "1e30"), replaced("494002", "18446744073709551615"),
          replaced("[80,3,91,1]", "[80,3,91]"), replaced("[80,3,91,1]", "[91,3,80,1]"),
          replaced("[80,3,91,1]", "[80,3,160,1]"),
          replaced("[80,3,91,1]", "[80,18446744073709551615]"),
          replaced("\"base_ns\":84000000", "\"base_ns\":3600000000001"),
          replaced("\"captures_ns\":[1,2,3]", "\"captures_ns\":[1,18446744073709551615]"),
          replaced("\"identity\":\"\"", "\"identity\":\"" + std::string(300, 'x') + "\"")}) {
        const auto read = parse_history(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().kind, ErrorKind::Invalid) << text;
    }
    EXPECT_THAT(parse_history(replaced("\"version\":1", "\"version\":2")).error().message,
                HasSubstr("version is 2; expected 1"));
}

TEST(HistoryFile, AllowsWhatIsJustWithinItsLimits) {
    const std::string latest = std::to_string(1ULL << 62);
    const std::string later = std::to_string((1ULL << 62) + 1);
    const std::string last_hour = std::to_string((1ULL << 62) / RunHistory::hour_ns);
    const std::string next_hour = std::to_string((1ULL << 62) / RunHistory::hour_ns + 1);
    struct Case {
        std::string from, good, bad;
    };
    const std::vector<Case> cases{
        {"\"hour\":494002", "\"hour\":494001", "\"hour\":494000"},
        {"\"hour\":494002", "\"hour\":" + last_hour, "\"hour\":" + next_hour},
        {"[80,3,91,1]", "[80,3,159,1]", "[80,3,160,1]"},
        {"[80,3,91,1]", "[80,3,81,1]", "[80,3,80,1]"},
        {"[80,3,91,1]", "[80,1125899906842624]", "[80,1125899906842625]"},
        {"\"base_ns\":84000000", "\"base_ns\":3600000000000", "\"base_ns\":3600000000001"},
        {"\"raised_ns\":168000000", "\"raised_ns\":3600000000000", "\"raised_ns\":3600000000001"},
        {"\"base_hour\":494002", "\"base_hour\":" + last_hour, "\"base_hour\":" + next_hour},
        {"\"raised_at_ns\":5", "\"raised_at_ns\":" + latest, "\"raised_at_ns\":" + later},
        {"[1,2,3]", "[" + latest + "]", "[" + later + "]"},
        {"\"identity\":\"\"", "\"identity\":\"" + std::string(255, 'x') + "\"",
         "\"identity\":\"" + std::string(256, 'x') + "\""}};
    for (const Case& one : cases) {
        const auto good = parse_history(replaced(one.from, one.good));
        EXPECT_TRUE(good) << one.good << ": " << (good ? "" : good.error().message);
        EXPECT_FALSE(parse_history(replaced(one.from, one.bad))) << one.bad;
    }
}

TEST(HistoryFile, AnEventHasALimitedNumberOfCaptures) {
    auto states = some_states();
    states["query"].captures_ns.assign(1000, 1);
    EXPECT_TRUE(parse_history(history_text(some_runs(), states)));
    states["query"].captures_ns.push_back(1);
    EXPECT_FALSE(parse_history(history_text(some_runs(), states)));
}

TEST(HistoryFile, IsHiddenInTheSpool) {
    EXPECT_EQ(history_file_of("/var/spool/lagtrap"), "/var/spool/lagtrap/.run-history.json");
}

}  // namespace
}  // namespace lagtrap::daemon::history_file_test
