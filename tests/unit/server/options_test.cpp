#include "server/options.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::options_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

// What a reader of options says about them; "fine" if nothing.
template <typename Read>
std::string complaint(const Read& read, const Options& options) {
    const auto done = read(options);
    if (done.ok()) return "fine";
    EXPECT_EQ(done.error().kind, ErrorKind::Invalid);
    return done.error().message;
}

TEST(ServerOptions, TimeoutsAreAtLeastAMillisecond) {
    Options options;
    options.header_timeout = "1ms";
    options.body_timeout = "1.5s";
    ASSERT_TRUE(read_timeouts(options).ok());
    EXPECT_EQ(options.http.header_timeout, milliseconds(1));
    EXPECT_EQ(options.http.body_timeout, milliseconds(1500));
    options.header_timeout = "999us";
    const Status header = read_timeouts(options);
    ASSERT_FALSE(header.ok());
    EXPECT_EQ(header.error().message, "--header-timeout: expected at least 1ms");
    options.header_timeout = "1s";
    options.body_timeout = "0s";
    const Status body = read_timeouts(options);
    ASSERT_FALSE(body.ok());
    EXPECT_EQ(body.error().message, "--body-timeout: expected at least 1ms");
    options.body_timeout = "5";
    const Status without_unit = read_timeouts(options);
    ASSERT_FALSE(without_unit.ok());
    EXPECT_THAT(without_unit.error().message, StartsWith("--body-timeout"));
}

TEST(ServerOptions, ProxiesAreTrustedOnlyBehindAProxy) {
    Options options;
    EXPECT_TRUE(read_proxies(options).ok());
    EXPECT_TRUE(options.http.trusted_proxies.empty());
    options.http.behind_proxy = true;
    EXPECT_TRUE(read_proxies(options).ok());
    options.trusted_proxies = {"10.0.0.0/8"};
    ASSERT_TRUE(read_proxies(options).ok());
    EXPECT_FALSE(options.http.trusted_proxies.empty());
    options.http.behind_proxy = false;
    const Status alone = read_proxies(options);
    ASSERT_FALSE(alone.ok());
    EXPECT_EQ(alone.error().message, "--trusted-proxy needs --behind-proxy");
    options.trusted_proxies = {"somewhere"};
    const Status wrong = read_proxies(options);
    ASSERT_FALSE(wrong.ok());
    EXPECT_THAT(wrong.error().message, StartsWith("--trusted-proxy"));
}

TEST(ServerOptions, EachLimitOfIngestHasItsOwnOption) {
    Options options;
    const auto usual = read_ingest_limits(options);
    ASSERT_TRUE(usual.ok());
    EXPECT_EQ(usual->bundle_bytes, 1ULL << 30);
    EXPECT_FALSE(usual->keep_bytes || usual->keep_for || usual->keep_runs_bytes ||
                 usual->keep_runs_for);
    options.bundle_limit = "1MiB";
    options.keep_size = "2MiB";
    options.keep_for = "3h";
    options.keep_runs_size = "4MiB";
    options.keep_runs_for = "5h";
    const auto set = read_ingest_limits(options);
    ASSERT_TRUE(set.ok());
    EXPECT_EQ(set->bundle_bytes, 1ULL << 20);
    EXPECT_EQ(set->keep_bytes, 2ULL << 20);
    EXPECT_EQ(set->keep_for, hours(3));
    EXPECT_EQ(set->keep_runs_bytes, 4ULL << 20);
    EXPECT_EQ(set->keep_runs_for, hours(5));
    for (const auto& [member, option] : {std::pair(&Options::bundle_limit, "--max-bundle"),
                                         std::pair(&Options::keep_size, "--keep-size"),
                                         std::pair(&Options::keep_for, "--keep-for"),
                                         std::pair(&Options::keep_runs_size, "--keep-runs-size"),
                                         std::pair(&Options::keep_runs_for, "--keep-runs-for")}) {
        Options wrong = options;
        wrong.*member = "much";
        EXPECT_THAT(complaint(read_ingest_limits, wrong), StartsWith(std::string(option) + ": "));
    }
    options.bundle_limit.clear();
    EXPECT_THAT(complaint(read_ingest_limits, options), HasSubstr("--max-bundle"));
}

TEST(ServerOptions, SendersHaveBurstsAboveTheirRates) {
    Options options;
    const auto usual = read_sender_limits(options);
    ASSERT_TRUE(usual.ok());
    EXPECT_EQ(usual->requests.per_second, 500);
    EXPECT_EQ(usual->requests.burst, 2000);
    EXPECT_EQ(usual->upload_bytes.per_second, 0);
    EXPECT_EQ(usual->upload_bytes.burst, 0);
    EXPECT_EQ(usual->daily_upload_bytes, 0U);
    EXPECT_EQ(usual->uploads_at_once, 512U);
    options.requests_per_second = 2.5;
    options.uploads_at_once = 3;
    options.upload_rate = "10B";
    options.daily_quota = "7MiB";
    const auto set = read_sender_limits(options);
    ASSERT_TRUE(set.ok());
    EXPECT_EQ(set->requests.per_second, 2.5);
    EXPECT_EQ(set->requests.burst, 10);
    EXPECT_EQ(set->upload_bytes.per_second, 10);
    EXPECT_EQ(set->upload_bytes.burst, 600);
    EXPECT_EQ(set->daily_upload_bytes, 7ULL << 20);
    EXPECT_EQ(set->uploads_at_once, 3U);
    options.daily_quota = "7";
    EXPECT_THAT(complaint(read_sender_limits, options), StartsWith("--daily-quota: "));
    options.upload_rate = "10";
    EXPECT_THAT(complaint(read_sender_limits, options), StartsWith("--upload-rate: "));
}

TEST(ServerOptions, ViewersAreWebAddressesWithoutQueries) {
    Options options;
    const auto says = [&](const std::string& address) {
        options.trace_viewer = address;
        return complaint(read_trace_viewer, options);
    };
    for (const std::string& good :
         {std::string(), std::string("https://ui.perfetto.dev"), std::string("http://viewer:8080/"),
          "https://" + std::string(192, 'a')}) {
        EXPECT_EQ(says(good), "fine");
        EXPECT_EQ(read_trace_viewer(options).value(), good);
    }
    EXPECT_EQ(says("ftp://viewer"),
              "--trace-viewer is \"ftp://viewer\"; expected an address such as "
              "https://ui.perfetto.dev, or nothing for no viewer");
    for (const std::string& bad :
         {"https://" + std::string(193, 'a'), std::string("viewer"), std::string("https://a b"),
          std::string("https://a<"), std::string("https://a>"), std::string("https://a\""),
          std::string("https://a'"), std::string("https://a?x"), std::string("https://a#x"),
          std::string("https://a;x"), std::string("https://a,x"), std::string("https://a\x1b")})
        EXPECT_THAT(says(bad), StartsWith("--trace-viewer is \"")) << bad;
}

TEST(ServerOptions, AlertsAreLookedForBetweenEachSecondAndEachDay) {
    Options options;
    const auto usual = read_alert_options(options);
    ASSERT_TRUE(usual.ok());
    EXPECT_EQ(usual->interval, seconds(60));
    EXPECT_EQ(usual->public_url, "");
    EXPECT_EQ(usual->receivers, Receivers::NotLocal);
    options.allow_local_receivers = true;
    options.public_url = "https://lagtrap.example/x//";
    for (const auto& [text, interval] :
         {std::pair("1s", seconds(1)), std::pair("24h", seconds(86'400))}) {
        options.rule_interval = text;
        const auto set = read_alert_options(options);
        ASSERT_TRUE(set.ok());
        EXPECT_EQ(set->interval, interval);
        EXPECT_EQ(set->public_url, "https://lagtrap.example/x");
        EXPECT_EQ(set->receivers, Receivers::Any);
    }
    for (const std::string text : {"999ms", "86401s", "0s"}) {
        options.rule_interval = text;
        EXPECT_EQ(complaint(read_alert_options, options),
                  "--rule-interval is \"" + text + "\"; expected 1s to 24h");
    }
    options.rule_interval = "often";
    EXPECT_THAT(complaint(read_alert_options, options), StartsWith("--rule-interval: "));
    options.public_url = "lagtrap.example";
    EXPECT_EQ(complaint(read_alert_options, options),
              "--public-url is \"lagtrap.example\"; expected an address such as "
              "https://lagtrap.example");
}

TEST(ServerOptions, AProviderNeedsTheAddressOfThePages) {
    Options options;
    const auto without = read_provider(options);
    ASSERT_TRUE(without.ok());
    EXPECT_EQ(*without, nullptr);
    options.oidc_file = "/nonexistent/oidc.yaml";
    EXPECT_EQ(complaint(read_provider, options),
              "--oidc-file needs --public-url: the provider sends users back to that address");
    options.public_url = "https://lagtrap.example";
    const auto missing = read_provider(options);
    ASSERT_FALSE(missing.ok());
    EXPECT_THAT(missing.error().message, StartsWith("--oidc-file"));
}

TEST(ServerOptions, TheAddressOfThePagesEndsWithTheirPath) {
    Options options;
    options.base_path = "/lagtrap";
    const auto base = read_base_path(options);
    ASSERT_TRUE(base.ok());
    EXPECT_EQ(base->text(), "/lagtrap");
    options.public_url = "https://tools.example/lagtrap//";
    EXPECT_EQ(complaint(read_base_path, options), "fine");
    options.public_url = "https://tools.example/";
    EXPECT_EQ(complaint(read_base_path, options),
              "--public-url is https://tools.example, but the pages are below /lagtrap; expected "
              "an address that ends with it, such as https://tools.example/lagtrap");
    options.base_path = "/";
    EXPECT_EQ(complaint(read_base_path, options), "fine");
    options.base_path = "lagtrap";
    EXPECT_THAT(complaint(read_base_path, options), StartsWith("--base-path"));
}

TEST(ServerOptions, CachesHaveAMebibyteToATebibyte) {
    Options options;
    EXPECT_EQ(store_cache_bytes(options).value(), 128ULL << 20);
    for (const auto& [text, bytes] :
         {std::pair("1MiB", 1ULL << 20), std::pair("1024GiB", 1ULL << 40)}) {
        options.store_cache = text;
        EXPECT_EQ(store_cache_bytes(options).value(), bytes);
    }
    for (const std::string text : {"1048575B", "1025GiB"}) {
        options.store_cache = text;
        EXPECT_EQ(complaint(store_cache_bytes, options),
                  "--store-cache is \"" + text + "\"; expected 1MiB to 1024GiB");
    }
    options.store_cache = "";
    EXPECT_THAT(complaint(store_cache_bytes, options), StartsWith("--store-cache: "));
}

class ServerOptionsFiles : public StoreFixture {};

TEST_F(ServerOptionsFiles, TheStoreHasOneAddressWithoutAPassword) {
    Options options;
    options.data = "/somewhere";
    EXPECT_EQ(store_address(options).value(), "/somewhere/lagtrap.sqlite");
    EXPECT_EQ(blobs_address(options), "/somewhere");
    options.blobs = "s3://bucket";
    EXPECT_EQ(blobs_address(options), "s3://bucket");
    options.store = "sqlite:/elsewhere/a.sqlite";
    EXPECT_EQ(store_address(options).value(), "/elsewhere/a.sqlite");
    options.store = "postgresql://db.example/lagtrap";
    EXPECT_EQ(store_address(options).value(), options.store);
    options.store = "postgresql://ann:secret@db.example/lagtrap";
    const std::string refused = complaint(store_address, options);
    EXPECT_THAT(refused, StartsWith("--store contains a password"));
    EXPECT_THAT(refused, testing::Not(HasSubstr("secret@")));
    options.store = "mysql://db";
    EXPECT_THAT(complaint(store_address, options), StartsWith("--store is \"mysql://db\""));
    const auto file = directory_ / "store";
    std::ofstream(file) << "postgresql://ann:secret@db.example/lagtrap\n";
    ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
    options.store_file = file;
    EXPECT_EQ(complaint(store_address, options), "--store and --store-file exclude each other");
    options.store.clear();
    EXPECT_EQ(store_address(options).value(), "postgresql://ann:secret@db.example/lagtrap");
    std::ofstream(file) << "nothing\n";
    EXPECT_THAT(complaint(store_address, options), StartsWith("--store-file"));
}

TEST_F(ServerOptionsFiles, OpeningMakesTheDataFolder) {
    Options options;
    options.data = directory_ / "new" / "data";
    const auto blobs = open_chosen_blobs(options);
    ASSERT_TRUE(blobs.ok()) << blobs.error().message;
    struct stat facts {};
    ASSERT_EQ(::stat(options.data.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0027, 0U);
    options.data = directory_ / "other";
    const auto store = open_chosen_store(options);
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_TRUE(std::filesystem::exists(directory_ / "other" / "lagtrap.sqlite"));
    options.data = directory_ / "third";
    options.store_cache = "1kB";
    EXPECT_FALSE(open_chosen_store(options).ok());
    EXPECT_FALSE(std::filesystem::exists(options.data));
}

TEST_F(ServerOptionsFiles, ATokenFileIsReadOnlyIfNamed) {
    Options options;
    EXPECT_FALSE(read_token_file(options).value().has_value());
    options.token_file = directory_ / "missing";
    EXPECT_FALSE(read_token_file(options).ok());
}

}  // namespace
}  // namespace lagtrap::server::options_test
