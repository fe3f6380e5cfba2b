#include "server/command_line.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "server/accounts/names.hpp"
#include "server/accounts/token_file.hpp"
#include "server/serve.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::command_line_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// What the command line says; the error if it is wrong.
struct Parsed {
    CLI::App app;
    Options options;
    Command command;
    std::string error;
};

std::unique_ptr<Parsed> parse(std::vector<std::string> arguments) {
    auto parsed = std::make_unique<Parsed>();
    add_server_options(parsed->app, parsed->options);
    add_commands(parsed->app, parsed->options, parsed->command);
    std::reverse(arguments.begin(), arguments.end());
    try {
        parsed->app.parse(arguments);
    } catch (const CLI::ParseError& error) {
        parsed->error = error.what();
    }
    return parsed;
}

TEST(ServerCommandLine, EachOptionHasItsPlace) {
    const auto parsed = parse({"--listen",
                               "[::1]:99",
                               "--data",
                               "/d",
                               "--store",
                               "sqlite:/s",
                               "--store-file",
                               "/sf",
                               "--store-cache",
                               "1MiB",
                               "--blobs",
                               "s3://b",
                               "--token-file",
                               "/t",
                               "--tls-certificate",
                               "/c",
                               "--tls-key",
                               "/k",
                               "--behind-proxy",
                               "--trusted-proxy",
                               "10.0.0.1,10.0.0.2",
                               "--trusted-proxy",
                               "10.0.0.3",
                               "--max-bundle",
                               "2GiB",
                               "--keep-size",
                               "3GiB",
                               "--keep-for",
                               "4d",
                               "--keep-runs-size",
                               "5GiB",
                               "--keep-runs-for",
                               "6d",
                               "--max-connections",
                               "7",
                               "--max-connections-of-address",
                               "8",
                               "--max-uploads",
                               "9",
                               "--requests-per-second",
                               "10.5",
                               "--upload-rate",
                               "11MiB",
                               "--daily-quota",
                               "12GiB",
                               "--parsers",
                               "13",
                               "--public-url",
                               "https://p",
                               "--base-path",
                               "/b",
                               "--trace-viewer",
                               "https://v",
                               "--oidc-file",
                               "/o",
                               "--rule-interval",
                               "14s",
                               "--allow-local-receivers",
                               "--header-timeout",
                               "15s",
                               "--body-timeout",
                               "16s"});
    EXPECT_EQ(parsed->error, "");
    EXPECT_FALSE(parsed->command) << "no command is chosen";
    const Options& options = parsed->options;
    EXPECT_EQ(options.http.listen, "[::1]:99");
    EXPECT_EQ(options.data, "/d");
    EXPECT_EQ(options.store, "sqlite:/s");
    EXPECT_EQ(options.store_file, "/sf");
    EXPECT_EQ(options.store_cache, "1MiB");
    EXPECT_EQ(options.blobs, "s3://b");
    EXPECT_EQ(options.token_file, "/t");
    EXPECT_EQ(options.http.tls_certificate, "/c");
    EXPECT_EQ(options.http.tls_key, "/k");
    EXPECT_TRUE(options.http.behind_proxy);
    EXPECT_THAT(options.trusted_proxies, ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.3"));
    EXPECT_EQ(options.bundle_limit, "2GiB");
    EXPECT_EQ(options.keep_size, "3GiB");
    EXPECT_EQ(options.keep_for, "4d");
    EXPECT_EQ(options.keep_runs_size, "5GiB");
    EXPECT_EQ(options.keep_runs_for, "6d");
    EXPECT_EQ(options.http.connections, 7U);
    EXPECT_EQ(options.http.connections_of_address, 8U);
    EXPECT_EQ(options.uploads_at_once, 9U);
    EXPECT_EQ(options.requests_per_second, 10.5);
    EXPECT_EQ(options.upload_rate, "11MiB");
    EXPECT_EQ(options.daily_quota, "12GiB");
    EXPECT_EQ(options.parsers, 13U);
    EXPECT_EQ(options.public_url, "https://p");
    EXPECT_EQ(options.base_path, "/b");
    EXPECT_EQ(options.trace_viewer, "https://v");
    EXPECT_EQ(options.oidc_file, "/o");
    EXPECT_EQ(options.rule_interval, "14s");
    EXPECT_TRUE(options.allow_local_receivers);
    EXPECT_EQ(options.header_timeout, "15s");
    EXPECT_EQ(options.body_timeout, "16s");
}

TEST(ServerCommandLine, WithoutOptionsTheDefaultsHold) {
    const auto parsed = parse({});
    EXPECT_EQ(parsed->error, "");
    EXPECT_FALSE(parsed->command);
    EXPECT_EQ(parsed->options.http.listen, "127.0.0.1:7788");
    EXPECT_EQ(parsed->options.data, "/var/lib/lagtrap-server");
    EXPECT_FALSE(parsed->options.http.behind_proxy);
    EXPECT_FALSE(parsed->options.allow_local_receivers);
    EXPECT_THAT(parsed->options.trusted_proxies, IsEmpty());
}

TEST(ServerCommandLine, NumbersHaveRanges) {
    const auto is_right = [](const std::string& option, const std::string& value) {
        return parse({option + "=" + value})->error.empty();
    };
    for (const char* option :
         {"--max-connections", "--max-connections-of-address", "--max-uploads"}) {
        for (const char* right : {"1", "100000"}) EXPECT_TRUE(is_right(option, right)) << option;
        for (const char* wrong : {"0", "100001", "x", "-1"})
            EXPECT_FALSE(is_right(option, wrong)) << option << wrong;
    }
    for (const char* right : {"0", "64"}) EXPECT_TRUE(is_right("--parsers", right)) << right;
    for (const char* wrong : {"65", "-1", "x"}) EXPECT_FALSE(is_right("--parsers", wrong)) << wrong;
    for (const char* right : {"0", "0.5", "1000000"})
        EXPECT_TRUE(is_right("--requests-per-second", right)) << right;
    for (const char* wrong : {"-1", "x"})
        EXPECT_FALSE(is_right("--requests-per-second", wrong)) << wrong;
    EXPECT_FALSE(parse({"--nonsense"})->error.empty());
    EXPECT_FALSE(parse({"nonsense"})->error.empty());
}

TEST(ServerCommandLine, CommandsNeedTheirArguments) {
    const std::vector<std::vector<std::string>> wrong{
        {"user"},
        {"user", "nonsense"},
        {"user", "add"},
        {"user", "add", "ann"},
        {"user", "add", "--role", "reader"},
        {"user", "remove"},
        {"user", "password"},
        {"user", "role", "ann"},
        {"token", "add", "--scope", "read"},
        {"token", "add", "ci"},
        {"token", "revoke"},
        {"team"},
        {"team", "set"},
        {"team", "remove"},
        {"team", "join", "shop"},
        {"team", "leave", "shop"},
        {"backup"},
    };
    for (const auto& arguments : wrong)
        EXPECT_FALSE(parse(arguments)->error.empty()) << testing::PrintToString(arguments);
    const std::vector<std::vector<std::string>> right{
        {"user", "list"},
        {"user", "add", "ann", "--role", "reader"},
        {"user", "password", "ann"},
        {"token", "ci"},
        {"token", "list"},
        {"team", "list"},
        {"label"},
        {"check"},
        {"user", "list", "--data", "/elsewhere"},
    };
    for (const auto& arguments : right) {
        const auto parsed = parse(arguments);
        EXPECT_EQ(parsed->error, "") << testing::PrintToString(arguments);
        EXPECT_TRUE(parsed->command) << testing::PrintToString(arguments);
    }
    EXPECT_EQ(parse(right.back())->options.data, "/elsewhere");
}

// Runs commands on the fixture's store.
class ServerCommands : public StoreFixture {
  protected:
    // The exit code, then standard output.
    std::pair<int, std::string> run(std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), {"--data", directory_.string()});
        const auto parsed = parse(arguments);
        EXPECT_EQ(parsed->error, "");
        if (!parsed->command) return {-1, ""};
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int code = parsed->command();
        complaint_ = testing::internal::GetCapturedStderr();
        return {code, testing::internal::GetCapturedStdout()};
    }
    // Runs it with this on standard input.
    std::pair<int, std::string> run_with(const std::string& input,
                                         const std::vector<std::string>& arguments) {
        std::ofstream(directory_ / "input") << input;
        const UniqueFd before(::dup(STDIN_FILENO));
        const auto file = open_file(directory_ / "input", O_RDONLY);
        EXPECT_TRUE(file.ok());
        ::dup2(file->get(), STDIN_FILENO);
        auto outcome = run(arguments);
        ::dup2(before.get(), STDIN_FILENO);
        return outcome;
    }
    std::string role_of(const std::string& name) {
        const auto account = store_->accounts().find_account(name).value();
        return account ? role_name(account->role) : "nobody";
    }
    void put_accounts() {
        for (const auto& [name, role] :
             {std::pair("boss", Role::Admin), std::pair("ann", Role::Reader)})
            ASSERT_EQ(store_->accounts().add_account({name, role, "x", 5, false}).value(),
                      AddOutcome::New);
    }
    std::string complaint_;
};

TEST_F(ServerCommands, ManageAccounts) {
    EXPECT_EQ(
        run_with("correct horse battery\n", {"user", "add", "eve", "--role", "uploader"}).first,
        done);
    EXPECT_EQ(role_of("eve"), "uploader");
    put_accounts();
    EXPECT_THAT(run({"user", "list"}).second, HasSubstr("eve "));
    EXPECT_EQ(run({"user", "role", "ann", "admin"}).first, done);
    EXPECT_EQ(role_of("ann"), "admin");
    const auto hash = [&] { return store_->accounts().find_account("ann").value()->password_hash; };
    EXPECT_EQ(run_with("another horse battery\n", {"user", "password", "ann"}).first, done);
    EXPECT_NE(hash(), "x");
    EXPECT_EQ(run({"user", "remove", "ann"}).first, done);
    EXPECT_EQ(role_of("ann"), "nobody");
}

TEST_F(ServerCommands, SayWhyTheyFailAndByTheirExitCodeWhoIsToBlame) {
    put_accounts();
    EXPECT_EQ(run({"user", "role", "ann", "chief"}).first, wrong_options);
    EXPECT_EQ(complaint_,
              "lagtrap-server: role is \"chief\"; expected reader, uploader or admin\n");
    EXPECT_EQ(run({"user", "remove", "nobody"}).first, failed);
    EXPECT_EQ(complaint_, "lagtrap-server: no account \"nobody\"\n");
    EXPECT_EQ(run({"label", "cd34"}).first, wrong_options);
    EXPECT_EQ(complaint_, "lagtrap-server: label: expected a name after the build, such as v1.2\n");
    EXPECT_EQ(run({"user", "list", "--store", "postgresql://u:secret@h/d"}).first, wrong_options);
}

TEST_F(ServerCommands, MakeLinesForTheTokenFile) {
    const auto [code, said] = run({"token", "ci", "--scope", "upload"});
    EXPECT_EQ(code, done);
    EXPECT_THAT(said, StartsWith("token, for its owner's token file (shown once):\n"));
    EXPECT_THAT(said, HasSubstr("\nline for the server's --token-file:\nci upload "));
    EXPECT_THAT(store_->tokens().list().value(), IsEmpty()) << "the store does not know it";
    EXPECT_EQ(run({"token", "ci", "--scope", "all"}).first, wrong_options);
    EXPECT_THAT(complaint_, StartsWith("lagtrap-server token: "));
    EXPECT_EQ(run({"token", "c i", "--scope", "read"}).first, wrong_options);
    EXPECT_THAT(complaint_, StartsWith("lagtrap-server token: "));
}

TEST_F(ServerCommands, ManageTokensOfTheStore) {
    const auto [code, said] = run({"token", "add", "ci", "--scope", "upload", "--host", "web1",
                                   "--group", "web", "--expires", "90d", "--quiet"});
    EXPECT_EQ(code, done);
    EXPECT_THAT(said, StartsWith("ltu_"));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << "only the token";
    const auto tokens = store_->tokens().list().value();
    ASSERT_EQ(tokens.size(), 1U);
    EXPECT_EQ(tokens[0].name, "ci");
    EXPECT_EQ(tokens[0].scopes, static_cast<std::uint32_t>(ScopeUpload));
    EXPECT_EQ(tokens[0].host, "web1");
    EXPECT_THAT(run({"token", "list"}).second, HasSubstr("ci"));
    EXPECT_EQ(run({"token", "revoke", "ci"}).first, done);
    EXPECT_THAT(store_->tokens().list().value(), IsEmpty());
    EXPECT_EQ(run({"token", "add", "ci", "--scope", "read"}).first, done);
}

TEST_F(ServerCommands, ManageTeams) {
    put_accounts();
    EXPECT_EQ(run({"team", "set", "shop", "--event", "checkout.*", "--event", "cart", "--unit",
                   "shop.service", "--group", "shoppers"})
                  .first,
              done);
    auto teams = store_->teams().list().value();
    ASSERT_EQ(teams.size(), 1U);
    EXPECT_EQ(teams[0].name, "shop");
    EXPECT_THAT(teams[0].events, testing::UnorderedElementsAre("checkout.*", "cart"));
    EXPECT_THAT(teams[0].units, ElementsAre("shop.service"));
    EXPECT_THAT(teams[0].groups, ElementsAre("shoppers"));
    EXPECT_THAT(run({"team", "list"}).second, HasSubstr("shop"));
    EXPECT_EQ(run({"team", "join", "shop", "ann"}).first, done);
    EXPECT_EQ(store_->teams().teams_of("ann")->size(), 1U);
    EXPECT_EQ(run({"team", "leave", "shop", "ann"}).first, done);
    EXPECT_THAT(store_->teams().teams_of("ann").value(), IsEmpty());
    EXPECT_EQ(run({"team", "remove", "shop"}).first, done);
    EXPECT_THAT(store_->teams().list().value(), IsEmpty());
}

TEST_F(ServerCommands, NameBuilds) {
    constexpr std::uint64_t begin_ns = 20'003ULL * 86'400'000'000'000;
    trace::RunBatch batch;
    batch.host = "alpha";
    trace::RecordedRun ran;
    ran.event = "open";
    ran.begin_realtime_ns = begin_ns;
    ran.duration_ns = 5;
    ran.build_id = "cd34ab";
    batch.runs = {ran};
    const auto added =
        store_->batches().add_batch({std::string(64, '1'), 9, begin_ns, "rack"}, batch);
    ASSERT_TRUE(added.ok()) << added.error().message;
    EXPECT_EQ(run({"label", "cd34", "v1.2"}).first, done);
    EXPECT_THAT(run({"label"}).second, HasSubstr("v1.2"));
    EXPECT_EQ(run({"label", "cd34", ""}).first, done);
    EXPECT_THAT(run({"label"}).second, testing::Not(HasSubstr("v1.2")));
}

TEST_F(ServerCommands, BackUpAndCheck) {
    const auto copy = directory_ / "copy.sqlite";
    EXPECT_EQ(run({"backup", copy.string()}).first, done);
    EXPECT_TRUE(open_store(copy.string()).ok());
    EXPECT_EQ(run({"check"}).first, done);
    BundleRow row;
    row.digest = std::string(64, 'a');
    ASSERT_TRUE(store_->inventory().add(row, {"parse", row.digest, 5}).ok());
    EXPECT_NE(run({"check"}).first, done) << "a bundle without data";
}

}  // namespace
}  // namespace lagtrap::server::command_line_test
