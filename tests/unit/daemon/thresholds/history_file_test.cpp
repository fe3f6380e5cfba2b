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

}  // namespace
}  // namespace lagtrap::daemon::history_file_test
