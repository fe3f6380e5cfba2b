#include "cli/servers/bundle_fetch.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/servers/server_access.hpp"
#include "core/digest.hpp"
#include "core/files.hpp"
#include "tests/unit/cli/cli_test.hpp"
#include "tests/unit/uploader/scripted_server.hpp"

namespace lagtrap::cli::bundle_fetch_test {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using uploader::ScriptedServer;

constexpr const char* session = "0a1b2c3d-0000-4000-8000-0123456789ab";
const std::string content = "what a recording contains";

std::string answer_of(const std::string& body, const std::string& status = "200 OK") {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                       body.size(), body);
}

std::string row(const std::string& digest, const std::string& name = session) {
    return fmt::format(
        R"({{"digest":"{}","session":"{}","bytes":25,"host":"oak","event":"query","delays":1}})",
        digest, name);
}

std::string page(const std::string& rows, const std::string& next = "null") {
    return answer_of(fmt::format(R"({{"bundles":[{}],"next":{}}})", rows, next));
}

BundleFetch fetch_from(const ScriptedServer& server) {
    return {reach_server({server.url(), "", ""}, std::chrono::seconds(60)).value(), {}};
}

ServerBundle bundle_of(const std::string& text) {
    ServerBundle bundle;
    bundle.digest = sha256_of(text);
    bundle.session = session;
    bundle.bytes = text.size();
    return bundle;
}

std::vector<std::string> files_in(const fs::path& folder) {
    return list_folder(folder, 100).value();
}

TEST(BundleFetchTest, NamesAreThoseOfASpoolWhateverTheServerSays) {
    ServerBundle bundle = bundle_of(content);
    const std::string digits = bundle.digest.substr(0, 16);
    EXPECT_EQ(file_name_of(bundle), std::string(session) + "-" + digits + ".lagtrap.tar.zst");
    for (const char* odd : {"", "../../etc/passwd", "a/b", "-o"}) {
        bundle.session = odd;
        EXPECT_EQ(file_name_of(bundle), "bundle-" + digits + ".lagtrap.tar.zst");
    }
}

TEST(BundleFetchTest, RejectsOddLists) {
    for (const char* odd :
         {"", "[]", "{}", R"({"bundles":[1]})", R"({"bundles":[{"digest":"../x"}]})"})
        EXPECT_FALSE(read_bundle_page(odd).ok()) << odd;
}

TEST(BundleFetchTest, FindsTheBundlesOfACauseOnAllPages) {
    const std::string a(64, 'a'), b(64, 'b'), c(64, 'c');
    ScriptedServer server(
        {answer_of(
             R"({"causes":[{"id":"7","title":"Waiting for a Lock"},{"id":"8","title":"disk"}]})"),
         answer_of(fmt::format(R"({{"newest_delays":[{{"bundle":"{}"}},{{"bundle":null}},)"
                               R"({{"bundle":"{}"}}]}})",
                               a, c)),
         page(row(a) + "," + row(b), R"("x y")"), page(row(c))});
    BundleFilter filter;
    filter.event = "query & more";
    filter.cause = "lock";
    filter.since_realtime_ns = 5;
    const auto found = fetch_from(server).find(filter);
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_EQ(found->size(), 2U);
    EXPECT_EQ((*found)[0].digest, a);
    EXPECT_EQ((*found)[1].digest, c);
    EXPECT_THAT(
        server.requests(),
        ElementsAre(StartsWith("GET /api/v1/causes?limit=1000&event=query%20%26%20more "),
                    StartsWith("GET /api/v1/causes/7 "),
                    StartsWith("GET /api/v1/bundles?limit=500&event=query%20%26%20more&from=5 "),
                    AllOf(StartsWith("GET /api/v1/bundles?"), HasSubstr("&after=x%20y "))));
}

TEST(BundleFetchTest, SaysWhichCausesThereAre) {
    const std::string causes = R"({"causes":[{"id":"7","title":"waiting for a lock"}]})";
    EXPECT_THAT(matching_causes(causes, "7").value(), ElementsAre("7"));
    for (const char* part : {"a lock", "A LOCK", "Waiting"})
        EXPECT_THAT(matching_causes(causes, part).value(), ElementsAre("7")) << part;
    const auto none = matching_causes(causes, "swap");
    EXPECT_EQ(none.error().message,
              "no cause has \"swap\" in its title; there are\n  7  waiting for a lock");
    EXPECT_FALSE(
        matching_causes(R"({"causes":[{"id":"../bundles","title":"swap"}]})", "swap").ok());
}

TEST(BundleFetchTest, KeepsNothingThatIsDamaged) {
    TemporaryFolder folder;
    const ServerBundle bundle = bundle_of(content);
    std::string other = content;
    other[0] = 'W';
    ScriptedServer server({answer_of(other), answer_of(content + "!"),
                           answer_of("", "404 Not Found"), answer_of(content)});
    BundleFetch fetch = fetch_from(server);
    EXPECT_THAT(fetch.fetch(bundle, folder.path()).error().message, HasSubstr("another digest"));
    EXPECT_THAT(fetch.fetch(bundle, folder.path()).error().message,
                HasSubstr("longer than 25 bytes"));
    EXPECT_EQ(fetch.fetch(bundle, folder.path()).error().kind, ErrorKind::NotFound);
    EXPECT_THAT(files_in(folder.path()), testing::IsEmpty());
    EXPECT_EQ(fetch.fetch(bundle, folder.path()).value(), BundleFetch::Outcome::Fetched);
    EXPECT_THAT(files_in(folder.path()), ElementsAre(file_name_of(bundle)));
    EXPECT_EQ(fetch.fetch(bundle, folder.path()).value(), BundleFetch::Outcome::AlreadyThere);
}

TEST(BundleFetchTest, RefusesHugeBundlesBeforeTheyCome) {
    TemporaryFolder folder;
    ScriptedServer server({});
    ServerBundle bundle = bundle_of(content);
    bundle.bytes = BundleFetch::bundle_limit_bytes + 1;
    EXPECT_EQ(fetch_from(server).fetch(bundle, folder.path()).error().kind, ErrorKind::TooLarge);
    EXPECT_THAT(server.requests(), testing::IsEmpty());
}

TEST(BundleFetchTest, EachFieldOfABundleHasItsName) {
    const auto page = read_bundle_page(
        R"({"next":"more","bundles":[{"digest":")" + std::string(64, 'a') +
        R"(","session":"s","bytes":1,"host":"h","event":"e","delays":2,"longest_delay_ns":3,)"
        R"("bad_reason":"b"}]})");
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_EQ(page->next, "more");
    const ServerBundle& bundle = page->bundles.at(0);
    EXPECT_EQ(bundle.session + bundle.host + bundle.event + bundle.unreadable, "sheb");
    EXPECT_EQ(bundle.bytes, 1U);
    EXPECT_EQ(bundle.delays, 2U);
    EXPECT_EQ(bundle.longest_delay_ns, 3U);
}

TEST(BundleFetchTest, AsksOnlyForWhatIsWanted) {
    const std::string a(64, 'a'), b(64, 'b');
    const auto find = [&](const BundleFilter& filter, std::vector<std::string> answers) {
        ScriptedServer server(std::move(answers));
        auto found = fetch_from(server).find(filter);
        EXPECT_TRUE(found) << found.error().message;
        return std::pair(found ? found->size() : 0, server.requests());
    };
    BundleFilter filter;
    filter.host = "oak & elm";
    filter.limit = 1;
    auto [one, asked] = find(filter, {page(row(a) + "," + row(b), "\"x\"")});
    EXPECT_EQ(one, 1U);
    EXPECT_THAT(asked,
                ElementsAre(StartsWith("GET /api/v1/bundles?limit=500&host=oak%20%26%20elm ")));
    filter.limit = 2;
    const auto [two, asked_twice] = find(filter, {page(row(a), "\"x\""), page(row(b))});
    EXPECT_EQ(two, 2U);
    EXPECT_EQ(asked_twice.size(), 2U);
    filter.cause = "7";
    const auto [of_cause, asked_of_cause] =
        find(filter, {answer_of(R"({"causes":[{"id":"7","title":"lock"}]})"),
                      answer_of(R"({"newest_delays":[{"bundle":")" + a + R"("}]})"),
                      page(row(a), "\"x\"")});
    EXPECT_EQ(of_cause, 1U);
    EXPECT_EQ(asked_of_cause.size(), 3U) << "there are no others";
}

TEST(BundleFetchTest, ReadsAtMostFortyPages) {
    std::vector<std::string> answers(41, page("", "\"x\""));
    ScriptedServer server(answers);
    EXPECT_TRUE(fetch_from(server).find({}));
    EXPECT_EQ(server.requests().size(), 40U);
}

TEST(BundleFetchTest, NamesTheFirstFiveCauses) {
    const auto causes = [](int count) {
        std::string rows;
        for (int i = 0; i < count; ++i)
            rows += fmt::format(R"({}{{"id":"{}","title":"cause {}"}})", i > 0 ? "," : "", i, i);
        return matching_causes("{\"causes\":[" + rows + "]}", "swap\x1b").error().message;
    };
    EXPECT_EQ(causes(0), "the server has not found any cause yet");
    const std::string five =
        "no cause has \"swap\\x1b\" in its title; there are\n  0  cause 0\n  1  cause 1\n"
        "  2  cause 2\n  3  cause 3\n  4  cause 4";
    EXPECT_EQ(causes(5), five);
    EXPECT_EQ(causes(6), five + "\n  and 1 more");
    const auto of_id = [](const std::string& id) {
        return matching_causes(R"({"causes":[{"id":")" + id + R"(","title":"swap"}]})", "swap")
            .ok();
    };
    EXPECT_TRUE(of_id(std::string(20, '1')));
    EXPECT_FALSE(of_id(std::string(21, '1')));
    EXPECT_FALSE(of_id(""));
    EXPECT_FALSE(matching_causes(R"({"causes":[7]})", "swap"));
    EXPECT_FALSE(matching_causes("[]", "swap"));
}

TEST(BundleFetchTest, SaysHowMuchIsFetched) {
    const TemporaryFolder folder;
    ScriptedServer server({answer_of("", "404 Not Found")});
    ServerBundle bundle = bundle_of(content);
    bundle.bytes = BundleFetch::bundle_limit_bytes + 1;
    BundleFetch fetch = fetch_from(server);
    EXPECT_EQ(fetch.fetch(bundle, folder.path()).error().message,
              "the bundle has 1.00 GiB; at most 1.00 GiB are fetched");
    --bundle.bytes;
    EXPECT_EQ(fetch.fetch(bundle, folder.path()).error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace lagtrap::cli::bundle_fetch_test
