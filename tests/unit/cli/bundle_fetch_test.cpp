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

}  // namespace
}  // namespace lagtrap::cli::bundle_fetch_test
