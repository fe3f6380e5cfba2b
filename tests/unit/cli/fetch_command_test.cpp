// `lagtrap fetch` from a server with prepared answers.
#include <boost/json.hpp>
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "core/clock.hpp"
#include "core/digest.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "tests/unit/uploader/scripted_server.hpp"

namespace lagtrap::cli::fetch_command_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using uploader::ScriptedServer;

constexpr const char* session = "0a1b2c3d-0000-4000-8000-0123456789ab";

std::string answer_of(const std::string& body, const std::string& status = "200 OK") {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                       body.size(), body);
}

std::string row(const std::string& content, const std::string& more = R"("delays":2)") {
    return fmt::format(
        R"({{"digest":"{}","session":"{}","bytes":{},"host":"oak","event":"query",{}}})",
        sha256_of(content), session, content.size(), more);
}

std::string page(const std::string& rows) {
    return answer_of("{\"bundles\":[" + rows + "],\"next\":null}");
}

class FetchCommand : public testing::Test {
  protected:
    test::Outcome fetch(std::vector<std::string> answers, std::vector<std::string> words = {}) {
        ScriptedServer server(std::move(answers));
        words.insert(words.begin(), {"fetch", "--server", server.url(), "-o", folder()});
        auto outcome = test::run_lagtrap(words);
        requests_ = server.requests();
        return outcome;
    }
    [[nodiscard]] std::string folder() const { return folder_.string("new/bundles"); }
    [[nodiscard]] std::string file_of(const std::string& content) const {
        return folder() + "/" + session + "-" + sha256_of(content).substr(0, 16) +
               ".lagtrap.tar.zst";
    }
    // Not readable by every user, which would be refused.
    void write_token() const {
        const std::string file = folder_.string("token");
        test::write_text(file, "lt_0123456789abcdef0123456789abcdef\n");
        fs::permissions(file, fs::perms::owner_read);
    }
    test::TemporaryFolder folder_;
    std::vector<std::string> requests_;
};

TEST_F(FetchCommand, SavesBundlesAndShowsThem) {
    const auto outcome = fetch({page(row("one", R"("delays":2,"longest_delay_ns":250000000)") +
                                     "," + row("other", R"("delays":0)")),
                                answer_of("one"), answer_of("other")});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(test::text_of_file(file_of("one")), "one");
    EXPECT_EQ(test::text_of_file(file_of("other")), "other");
    EXPECT_EQ(outcome.out, file_of("one") + "  3 B  oak  query, 2 delays, longest 250 ms\n" +
                               file_of("other") + "  5 B  oak  query, 0 delays\n");
    EXPECT_EQ(outcome.err, "");
    const auto again = fetch({page(row("one"))});
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_THAT(again.out, testing::EndsWith("2 delays, longest 0 ns  already there\n"));
}

TEST_F(FetchCommand, JsonHasEveryBundleAndItsState) {
    fs::create_directories(folder());
    test::write_text(file_of("two"), "two");
    const auto outcome = fetch({page(row("one", R"("delays":2,"longest_delay_ns":5)") + "," +
                                     row("two") + "," + row("bad")),
                                answer_of("one"), answer_of("BAD")},
                               {"--json"});
    EXPECT_EQ(outcome.code, 1);
    const auto rows = boost::json::parse(outcome.out).at("bundles").as_array();
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0], (boost::json::object{{"file", file_of("one")},
                                            {"state", "fetched"},
                                            {"problem", nullptr},
                                            {"digest", sha256_of("one")},
                                            {"bytes", 3},
                                            {"host", "oak"},
                                            {"event", "query"},
                                            {"delays", 2},
                                            {"longest_delay_ns", 5}}));
    EXPECT_EQ(rows[1].at("state"), "already there");
    EXPECT_EQ(rows[2].at("state"), "failed");
    EXPECT_THAT(std::string(rows[2].at("problem").as_string()), HasSubstr("another digest"));
}

TEST_F(FetchCommand, OneFailureIsSaidAndTheOthersCome) {
    const auto outcome =
        fetch({page(row("bad") + "," + row("one")), answer_of("BAD"), answer_of("one")});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, AllOf(StartsWith("lagtrap: " + file_of("bad") + ": "),
                                   HasSubstr("another digest")));
    EXPECT_THAT(outcome.out, StartsWith(file_of("one")));
    EXPECT_FALSE(fs::exists(file_of("bad")));
}

TEST_F(FetchCommand, ShowsWhatTheServerCannotRead) {
    const auto outcome =
        fetch({page(row("one", R"("delays":1,"bad_reason":"it is damaged")")), answer_of("one")});
    EXPECT_THAT(outcome.out, HasSubstr("1 delay, longest 0 ns  (the server cannot read it: "
                                       "it is damaged)\n"));
}

TEST_F(FetchCommand, AsksForWhatTheOptionsSay) {
    const std::uint64_t before_ns = ClockSnapshot::take().realtime_ns;
    write_token();
    (void)fetch({page("")}, {"--event", "query", "--host", "oak", "--since", "1h", "--token-file",
                             folder_.string("token")});
    const std::uint64_t after_ns = ClockSnapshot::take().realtime_ns;
    ASSERT_EQ(requests_.size(), 1U);
    EXPECT_THAT(requests_[0], AllOf(HasSubstr("event=query"), HasSubstr("host=oak"),
                                    HasSubstr("lt_0123456789abcdef0123456789abcdef")));
    const auto at = requests_[0].find("from=");
    ASSERT_NE(at, std::string::npos);
    const std::uint64_t from_ns = std::stoull(requests_[0].substr(at + 5));
    constexpr std::uint64_t hour_ns = 3'600'000'000'000;
    EXPECT_GE(from_ns, before_ns - hour_ns);
    EXPECT_LE(from_ns, after_ns - hour_ns);
    const auto cause =
        fetch({answer_of(R"({"causes":[{"id":"7","title":"slow disk"}]})")}, {"--cause", "swap"});
    EXPECT_THAT(requests_.at(0), StartsWith("GET /api/v1/causes?"));
    EXPECT_EQ(cause.err,
              "lagtrap: no cause has \"swap\" in its title; there are\n  7  slow disk\n");
    (void)fetch({page("")});
    for (const char* part : {"from=", "event=", "host=", "lt_"})
        EXPECT_THAT(requests_[0], testing::Not(HasSubstr(part)));
}

TEST_F(FetchCommand, TakesNoMoreThanTheLimit) {
    const std::string three = row("one") + "," + row("two") + "," + row("three");
    EXPECT_EQ(fetch({page(three), answer_of("one"), answer_of("two"), answer_of("three")},
                    {"--limit", "2"})
                  .code,
              0);
    EXPECT_TRUE(fs::exists(file_of("two")));
    EXPECT_FALSE(fs::exists(file_of("three")));
}

TEST_F(FetchCommand, SaysWhatIsWrong) {
    const auto none = fetch({page("")});
    EXPECT_EQ(none.code, 1);
    EXPECT_EQ(none.err, "lagtrap: the server has no such bundle\n");
    EXPECT_FALSE(fs::exists(folder()));
    EXPECT_THAT(fetch({}, {"--since", "x"}).err, StartsWith("lagtrap: --since: "));
    EXPECT_THAT(fetch({answer_of("", "401 Unauthorized")}).err,
                HasSubstr("; use --token-file with a token that has the scope read"));
    write_token();
    EXPECT_THAT(
        fetch({answer_of("", "403 Forbidden")}, {"--token-file", folder_.string("token")}).err,
        HasSubstr("; --token-file needs a token with the scope read"));
    EXPECT_EQ(fetch({}, {"--token-file", folder_.string("none")}).code, 1);
    ScriptedServer server(std::vector<std::string>{""});
    const std::string address = "https" + server.url().substr(4);
    EXPECT_THAT(
        test::run_lagtrap({"fetch", "--server", address, "--ca", folder_.string("none.pem")}).err,
        HasSubstr(folder_.string("none.pem")));
    test::write_text(folder_.string("new"), "no folder");
    EXPECT_EQ(fetch({page(row("one"))}).code, 1);
}

}  // namespace
}  // namespace lagtrap::cli::fetch_command_test
