#include "server/serve.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/unique_fd.hpp"
#include "server/accounts/token_file.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::serve_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Receives what the server tells systemd.
class Notices {
  public:
    explicit Notices(const std::filesystem::path& path)
        : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
        std::filesystem::remove(path);
        const timeval longest{60, 0};  // a server that does not start tells nothing
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
        EXPECT_EQ(
            ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    }
    ~Notices() { ::unsetenv("NOTIFY_SOCKET"); }
    // The next one that begins like this.
    [[nodiscard]] std::string next(const std::string& begin) const {
        for (;;) {
            char text[4096];
            const ssize_t got = ::recv(socket_.get(), text, sizeof(text), 0);
            if (got <= 0) return {};
            const std::string notice(text, static_cast<std::size_t>(got));
            if (notice.starts_with(begin)) return notice;
        }
    }

  private:
    UniqueFd socket_;
};

class Serving : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        options_.data = directory_;
        options_.http.listen = "127.0.0.1:0";
        options_.parsers = 0;
    }
    // The exit code of a server that does not start; its log is in `log_`.
    int code_of(Options options) {
        testing::internal::CaptureStderr();
        const int code = serve(options);
        log_ = testing::internal::GetCapturedStderr();
        return code;
    }
    // Serves while `during` runs with the address, then ends by a signal.
    template <typename During>
    int serve_during(const During& during, int signal = SIGTERM) {
        const Notices notices(directory_ / "notify");
        testing::internal::CaptureStderr();
        int code = -1;
        std::thread server([&] { code = serve(options_); });
        const std::string ready = notices.next("READY=1\nSTATUS=listening on http://");
        EXPECT_FALSE(ready.empty());
        if (!ready.empty()) {
            during(ready.substr(std::strlen("READY=1\nSTATUS=listening on ")));
            ::kill(::getpid(), signal);
            EXPECT_EQ(notices.next("STOPPING=1"), "STOPPING=1");
        }
        server.join();
        log_ = testing::internal::GetCapturedStderr();
        return code;
    }
    void put_admin() {
        ASSERT_EQ(store_->accounts().add_account({"boss", Role::Admin, "x", 5, false}).value(),
                  AddOutcome::New);
    }
    std::filesystem::path file_with(const std::string& name, const std::string& content) {
        std::ofstream(directory_ / name) << content;
        ::chmod((directory_ / name).c_str(), 0600);
        return directory_ / name;
    }

    Options options_;
    std::string log_;
};

TEST_F(Serving, WrongOptionsAreNamedAndNotTriedAgain) {
    struct Case {
        const char* option;
        std::function<void(Options&)> set;
    };
    for (const Case& one :
         {Case{"--header-timeout", [](Options& o) { o.header_timeout = "x"; }},
          Case{"--trusted-proxy", [](Options& o) { o.trusted_proxies = {"10.0.0.1"}; }},
          Case{"--max-bundle", [](Options& o) { o.bundle_limit = "x"; }},
          Case{"--upload-rate", [](Options& o) { o.upload_rate = "x"; }},
          Case{"--store", [](Options& o) { o.store = "postgresql://u:secret@h/d"; }},
          Case{"--store-cache", [](Options& o) { o.store_cache = "x"; }},
          Case{"--rule-interval", [](Options& o) { o.rule_interval = "x"; }},
          Case{"--base-path", [](Options& o) { o.base_path = "x"; }},
          Case{"--trace-viewer", [](Options& o) { o.trace_viewer = "x"; }},
          Case{"--public-url", [](Options& o) { o.oidc_file = "/missing-oidc"; }},
          Case{"missing-tokens", [](Options& o) { o.token_file = "/missing-tokens"; }},
          Case{"listen address", [](Options& o) { o.http.listen = "here"; }}}) {
        Options options = options_;
        one.set(options);
        EXPECT_EQ(code_of(options), wrong_options) << one.option;
        EXPECT_THAT(log_, HasSubstr(one.option));
        EXPECT_THAT(log_, Not(HasSubstr("secret")));
    }
}

TEST_F(Serving, WhatMayWorkLaterIsAFailure) {
    Options options = options_;
    options.data = file_with("file", "");
    EXPECT_EQ(code_of(options), failed);
    options = options_;
    options.http.tls_certificate = "/missing.pem";
    options.http.tls_key = "/missing.key";
    EXPECT_EQ(code_of(options), failed);
    EXPECT_THAT(log_, HasSubstr("/missing.pem"));
}

TEST_F(Serving, WithoutAccountsOnlyThisMachineIsServed) {
    Options options = options_;
    options.http.listen = "0.0.0.0:0";
    EXPECT_EQ(code_of(options), wrong_options);
    EXPECT_THAT(log_, HasSubstr("without accounts, tokens or --token-file, the server listens only "
                                "on loopback, not on 0.0.0.0:0; create an account with: "
                                "lagtrap-server user add NAME --role admin"));
    options = options_;
    options.http.behind_proxy = true;
    EXPECT_EQ(code_of(options), wrong_options) << "the proxy may let anybody in";
}

TEST_F(Serving, RunsUntilItIsToldToStop) {
    for (const int signal : {SIGTERM, SIGINT})
        EXPECT_EQ(serve_during(
                      [](const std::string& address) {
                          EXPECT_THAT(address, StartsWith("http://127.0.0.1:"));
                      },
                      signal),
                  done);
    EXPECT_THAT(log_, HasSubstr("listening on http://127.0.0.1:"));
    EXPECT_THAT(log_, HasSubstr(", data in " + directory_.string()));
    EXPECT_THAT(log_, HasSubstr("finishing running requests"));
    EXPECT_THAT(log_, HasSubstr("stopped"));
    EXPECT_THAT(log_, Not(HasSubstr("plain HTTP exposes tokens")));
}

TEST_F(Serving, TellsThatPlainHttpExposesTokens) {
    put_admin();
    options_.http.listen = "0.0.0.0:0";
    options_.base_path = "/tools";
    EXPECT_EQ(serve_during([](const std::string&) {}), done);
    EXPECT_THAT(log_, HasSubstr("/tools, data in"));
    EXPECT_THAT(log_, HasSubstr("plain HTTP exposes tokens; use --tls-certificate, or a proxy with "
                                "TLS and --behind-proxy"));
    options_.http.behind_proxy = true;
    EXPECT_EQ(serve_during([](const std::string&) {}), done);
    EXPECT_THAT(log_, Not(HasSubstr("plain HTTP exposes tokens")));
}

TEST_F(Serving, ReadsTheTokenFileAgain) {
    const std::string line = make_token("ci", Right::Upload).value().line + "\n";
    options_.token_file = file_with("tokens", line);
    EXPECT_EQ(serve_during([&](const std::string&) { ::kill(::getpid(), SIGHUP); }), done);
    EXPECT_THAT(log_, HasSubstr("read 1 token(s)"));
    EXPECT_EQ(serve_during([&](const std::string&) {
                  file_with("tokens", "nonsense\n");
                  ::kill(::getpid(), SIGHUP);
              }),
              done);
    EXPECT_THAT(log_, HasSubstr("the tokens are unchanged: "));
}

TEST_F(Serving, MendsWhatACrashLeft) {
    BundleRow row;
    row.digest = std::string(64, 'a');
    ASSERT_TRUE(store_->inventory().add(row, {"parse", row.digest, 5}).ok());
    EXPECT_EQ(serve_during([](const std::string&) {}), done);
    EXPECT_THAT(log_, HasSubstr("dropped 1 listed bundle(s) whose files are missing"));
    EXPECT_THAT(log_, Not(HasSubstr("stored unlisted")));
    EXPECT_TRUE(store_->inventory().digests()->empty());
}

}  // namespace
}  // namespace lagtrap::server::serve_test
