#include "uploader/service.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "core/digest.hpp"
#include "core/unique_fd.hpp"
#include "tests/unit/uploader/scripted_server.hpp"

namespace lagtrap::uploader::service_test {
namespace {

namespace fs = std::filesystem;
using spool::EntryState;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* session = "0a1b2c3d-0000-4000-8000-0123456789ab";
constexpr const char* other_session = "0a1b2c3d-0000-4000-8000-0123456789ac";
const std::string content = "what a recording contains";

std::string answer_of(const std::string& status, const std::string& headers = "") {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: 0\r\nConnection: close\r\n{}\r\n", status,
                       headers);
}
const std::string refusal = answer_of("400 Bad Request");

// The service receives its signals through a descriptor.
class ServiceTest : public testing::Test {
  protected:
    void SetUp() override {
        sigset_t signals;
        ::sigemptyset(&signals);
        for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, number);
        ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &signals, &before_), 0);
        std::string pattern = fs::temp_directory_path() / "lagtrap-service-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        root_ = pattern;
        auto made = spool::Spool::create(root_);
        ASSERT_TRUE(made) << made.error().message;
        spool_ = *made;
    }
    void TearDown() override {
        fs::remove_all(root_);
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

    void add_bundle(const char* id = session) const {
        const std::string name = spool::make_bundle_name(id, sha256_of(content));
        std::ofstream(root_ / "new") << content;
        fs::rename(root_ / "new", spool_->path_of(EntryState::Ready, name));
    }
    [[nodiscard]] ServiceSettings settings(const ScriptedServer& server) const {
        ServiceSettings made;
        made.spool_path = root_;
        made.retention.size_bytes = 1 << 30;
        made.retention.age = std::chrono::hours(24);
        made.target = Target{};
        made.target->url = server.url();
        made.target->timeout = std::chrono::seconds(60);
        return made;
    }
    [[nodiscard]] std::size_t count_in(EntryState state) const {
        const auto entries = spool_->list(state);
        return entries ? entries->size() : 0;
    }
    // Runs the service until this many bundles were refused.
    void run_until_rejected(Service& service, std::size_t bundles) const {
        std::thread ending([&] {
            while (count_in(EntryState::Rejected) < bundles)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            ::kill(::getpid(), SIGTERM);
        });
        EXPECT_TRUE(service.run());
        ending.join();
    }

    sigset_t before_{};
    fs::path root_;
    std::optional<spool::Spool> spool_;
};

TEST_F(ServiceTest, SendsToTheAddressOfReloadedSettings) {
    ScriptedServer old_server({refusal, refusal}), new_server({refusal, refusal});
    auto service = Service::create(settings(old_server), [&]() -> Result<ServiceSettings> {
        add_bundle();
        return settings(new_server);
    });
    ASSERT_TRUE(service) << service.error().message;
    ::kill(::getpid(), SIGHUP);
    run_until_rejected(*service, 1);
    EXPECT_THAT(old_server.requests(), IsEmpty());
    EXPECT_THAT(new_server.requests(), testing::Not(IsEmpty()));
}

TEST_F(ServiceTest, KeepsItsSettingsIfTheNewOnesAreWrong) {
    ScriptedServer server({refusal, refusal});
    auto service = Service::create(settings(server), [&]() -> Result<ServiceSettings> {
        add_bundle();
        return make_error(ErrorKind::Invalid, "no settings");
    });
    ASSERT_TRUE(service) << service.error().message;
    ::kill(::getpid(), SIGHUP);
    run_until_rejected(*service, 1);
    EXPECT_THAT(server.requests(), testing::Not(IsEmpty()));
}

TEST_F(ServiceTest, OnceTriesNoMoreBundlesWhenTheServerAsksAllToWait) {
    ScriptedServer server({answer_of("503 Service Unavailable", "Retry-After: 7\r\n"), refusal});
    add_bundle();
    add_bundle(other_session);
    auto service = Service::create(settings(server), [&]() -> Result<ServiceSettings> {
        return make_error(ErrorKind::Invalid, "no settings");
    });
    ASSERT_TRUE(service) << service.error().message;
    testing::internal::CaptureStdout();
    const auto all_delivered = service->run_once();
    const std::string said = testing::internal::GetCapturedStdout();
    ASSERT_TRUE(all_delivered);
    EXPECT_FALSE(*all_delivered);
    EXPECT_THAT(said, HasSubstr("not tried: the server asks to wait 7 s"));
    EXPECT_EQ(count_in(EntryState::Ready), 2U);
    EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST_F(ServiceTest, OnceSaysThatThereIsNoServerOrNothingToSend) {
    ScriptedServer server({});
    const auto reload = [&]() -> Result<ServiceSettings> { return settings(server); };
    ServiceSettings without = settings(server);
    without.target.reset();
    {
        auto service = Service::create(without, reload);
        ASSERT_TRUE(service) << service.error().message;
        const auto done = service->run_once();
        ASSERT_FALSE(done);
        EXPECT_THAT(done.error().message, HasSubstr("no server configured"));
    }
    auto service = Service::create(settings(server), reload);
    ASSERT_TRUE(service) << service.error().message;
    testing::internal::CaptureStdout();
    const auto done = service->run_once();
    EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("nothing to send in"));
    ASSERT_TRUE(done);
    EXPECT_TRUE(*done);
}

// Also the lines of the log, and the status that systemd gets.
class ServiceReports : public ServiceTest {
  protected:
    void SetUp() override {
        ServiceTest::SetUp();
        before_log_ = spdlog::default_logger();
        auto logger = std::make_shared<spdlog::logger>(
            "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_));
        logger->set_pattern("%l: %v");
        spdlog::set_default_logger(logger);
        systemd_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string path = root_ / "notify";
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        ASSERT_EQ(::bind(systemd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
                  0);
        ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    }
    void TearDown() override {
        ::unsetenv("NOTIFY_SOCKET");
        spdlog::set_default_logger(before_log_);
        ServiceTest::TearDown();
    }
    // What systemd was told so far. Its queue is short, so it is emptied while the service runs.
    const std::vector<std::string>& told() {
        std::array<char, 4096> text{};
        for (ssize_t got = 0; (got = ::recv(systemd_.get(), text.data(), text.size(), 0)) > 0;)
            told_.emplace_back(text.data(), static_cast<std::size_t>(got));
        return told_;
    }
    Result<Service> create(const ServiceSettings& made) {
        return Service::create(made, [made]() -> Result<ServiceSettings> { return made; });
    }
    // The output of run_once(); fails if it does.
    std::string once(Service& service, bool& all_delivered) {
        testing::internal::CaptureStdout();
        const auto done = service.run_once();
        std::string said = testing::internal::GetCapturedStdout();
        EXPECT_TRUE(done);
        all_delivered = done && *done;
        return said;
    }
    // Runs the service until something holds.
    void run_until(Service& service, const std::function<bool()>& holds) {
        std::thread ending([&] {
            while (told(), !holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            ::kill(::getpid(), SIGTERM);
        });
        EXPECT_TRUE(service.run());
        ending.join();
    }
    void add(const std::string& name) const {
        std::ofstream(root_ / "new") << content;
        fs::rename(root_ / "new", spool_->path_of(EntryState::Ready, name));
    }
    // A program that makes these spans, or fails.
    [[nodiscard]] std::string program(const std::string& commands) const {
        const fs::path path = root_ / "lagtrap";
        std::ofstream(path) << "#!/bin/sh\n" << commands << "\n";
        fs::permissions(path, fs::perms::owner_all);
        return path;
    }

    std::ostringstream log_;
    std::shared_ptr<spdlog::logger> before_log_;
    UniqueFd systemd_;
    std::vector<std::string> told_;
};

const std::string there = answer_of("200 OK", "X-Lagtrap-Digest: " + sha256_of(content) + "\r\n");
const std::string absent = answer_of("404 Not Found");
const std::string bundle = spool::make_bundle_name(session, sha256_of(content));

TEST_F(ServiceReports, OnceSaysWhatBecameOfABundle) {
    bool all = false;
    {
        ScriptedServer server({there});
        add_bundle();
        auto service = create(settings(server));
        ASSERT_TRUE(service) << service.error().message;
        EXPECT_EQ(once(*service, all),
                  bundle + ": delivered: the server already has it; nothing sent\n");
        EXPECT_TRUE(all);
        EXPECT_EQ(count_in(EntryState::Sent), 1U);
    }
    {
        ScriptedServer server({absent, answer_of("422 No")});
        add_bundle();
        auto service = create(settings(server));
        ASSERT_TRUE(service) << service.error().message;
        EXPECT_EQ(once(*service, all), bundle + ": rejected: HTTP 422\n");
        EXPECT_FALSE(all);
        const auto rejected = spool_->list(EntryState::Rejected);
        ASSERT_TRUE(rejected && rejected->size() == 1);
        EXPECT_EQ(rejected->front().reason, "HTTP 422");
    }
    ScriptedServer server({absent, answer_of("500 Broken")});
    add_bundle();
    auto service = create(settings(server));
    ASSERT_TRUE(service) << service.error().message;
    EXPECT_EQ(once(*service, all), bundle + ": try later: HTTP 500\n");
    EXPECT_FALSE(all);
    EXPECT_EQ(count_in(EntryState::Ready), 1U);
}

TEST_F(ServiceReports, OnceStopsWhenItIsAskedTo) {
    ScriptedServer server({there, there});
    add_bundle();
    auto service = create(settings(server));
    ASSERT_TRUE(service) << service.error().message;
    add_bundle(other_session);
    ::kill(::getpid(), SIGTERM);
    bool all = true;
    const std::string said = once(*service, all);
    EXPECT_THAT(said, HasSubstr(": delivered: "));
    EXPECT_THAT(said, HasSubstr(": not tried: stopped\n"));
    EXPECT_FALSE(all);
    EXPECT_THAT(told(), testing::Contains("STOPPING=1"));
}

TEST_F(ServiceReports, BatchesAreKeptForAWhileIfTheSettingsSaySo) {
    for (const bool kept : {true, false}) {
        ScriptedServer server({there});
        add(spool::make_batch_name(kept ? session : other_session, sha256_of(content)));
        ServiceSettings made = settings(server);
        if (kept) made.retention.sent_batch_age = std::chrono::hours(1);
        auto service = create(made);
        ASSERT_TRUE(service) << service.error().message;
        bool all = false;
        EXPECT_THAT(once(*service, all), HasSubstr(": delivered: "));
        EXPECT_EQ(count_in(EntryState::Sent), kept ? 1U : 0U);
        EXPECT_EQ(count_in(EntryState::Ready), 0U);
        fs::remove_all(spool_->folder(EntryState::Sent));
        fs::create_directory(spool_->folder(EntryState::Sent));
    }
}

TEST_F(ServiceReports, SystemdIsToldWhatWasDone) {
    ScriptedServer server({there, absent, answer_of("422 No"), absent,
                           answer_of("429 Too Many", "Retry-After: 3600\r\n")});
    add_bundle();
    auto service = create(settings(server));
    ASSERT_TRUE(service) << service.error().message;
    run_until(*service, [&, step = 0]() mutable {
        if (step == 0 && count_in(EntryState::Sent) == 1) {
            step = 1;
            add_bundle(other_session);
        } else if (step == 1 && count_in(EntryState::Rejected) == 1) {
            step = 2;
            add_bundle("0a1b2c3d-0000-4000-8000-0123456789ad");
        }
        return step == 2 && told_.back().find("1 failed") != std::string::npos;
    });
    const std::vector<std::string>& all = told();
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front(), "READY=1");
    // The next bundle may have come already.
    for (const char* rejected : {"0", "1"})
        EXPECT_THAT(all, testing::Contains(testing::MatchesRegex(
                             fmt::format("STATUS=1 delivered, {} rejected, 0 failed attempts, "
                                         "[01] waiting, 0 removed unsent",
                                         rejected))));
    EXPECT_THAT(all, testing::Contains("STATUS=1 delivered, 1 rejected, 1 failed attempts, 1 "
                                       "waiting, 0 removed unsent; HTTP 429; retry after 3600 s"));
    EXPECT_THAT(all, testing::Contains("STOPPING=1"));
    const std::string log = log_.str();
    EXPECT_THAT(log, HasSubstr("info: sending from " + root_.string() + " to " + server.url()));
    EXPECT_THAT(log, HasSubstr("info: " + bundle + ": the server already has it; nothing sent\n"));
    EXPECT_THAT(log, HasSubstr(": rejected, kept in rejected/: HTTP 422\n"));
    EXPECT_THAT(log, HasSubstr(": retrying in 3600.0 s: HTTP 429; retry after 3600 s\n"));
    EXPECT_THAT(log, HasSubstr("info: stopped; 1 delivered, 1 rejected\n"));
}

TEST_F(ServiceReports, SpansGoToTheCollectorAlone) {
    ScriptedServer collector({answer_of("200 OK")});
    add_bundle();
    ServiceSettings made = settings(collector);
    made.collector = std::exchange(made.target, std::nullopt);
    made.lagtrap_program = program("echo \"spans of $4\"");
    auto service = create(made);
    ASSERT_TRUE(service) << service.error().message;
    bool all = false;
    EXPECT_THAT(once(*service, all), HasSubstr(".otlp.pb: delivered: sent\n"));
    EXPECT_TRUE(all);
    EXPECT_EQ(count_in(EntryState::Ready), 1U) << "the bundle waits for a server";
    EXPECT_EQ(count_in(EntryState::Sent), 1U);
    const std::string again = once(*service, all);
    EXPECT_THAT(again, HasSubstr("nothing to send in")) << "the spans are made once";
    ASSERT_THAT(collector.requests(), SizeIs(1));
    EXPECT_THAT(collector.requests()[0], testing::StartsWith("POST /v1/traces "));
    EXPECT_THAT(collector.requests()[0],
                testing::EndsWith("spans of " +
                                  spool_->path_of(EntryState::Ready, bundle).string() + "\n"));
}

TEST_F(ServiceReports, ABundleWithoutSpansIsSentAllTheSame) {
    // The first attempt fails, so that there is a second round.
    ScriptedServer server({absent, answer_of("500 Broken"), there}), collector({});
    add_bundle();
    ServiceSettings made = settings(server);
    made.collector = made.target;
    made.collector->url = collector.url();
    made.lagtrap_program =
        program("echo x >> " + (root_ / "calls").string() + "; echo no such format >&2; exit 1");
    auto service = create(made);
    ASSERT_TRUE(service) << service.error().message;
    run_until(*service, [&] { return count_in(EntryState::Sent) == 1; });
    EXPECT_THAT(log_.str(),
                HasSubstr("error: " + bundle + ": no spans for the collector: no such format\n"));
    EXPECT_THAT(log_.str(), HasSubstr("sending delays as spans to " + collector.url()));
    EXPECT_EQ(fs::file_size(root_ / "calls"), 2U) << "tried once";
}

TEST_F(ServiceReports, WhatAnEarlierUploaderLeftIsSentAgain) {
    ScriptedServer server({there});
    add_bundle();
    ASSERT_TRUE(spool_->claim(bundle));
    auto service = create(settings(server));
    ASSERT_TRUE(service) << service.error().message;
    EXPECT_EQ(log_.str(), "info: 1 interrupted upload(s) will be sent again\n");
    bool all = false;
    EXPECT_THAT(once(*service, all), HasSubstr(": delivered: "));
    const auto second = create(settings(server));
    ASSERT_FALSE(second) << "one uploader per spool";
    EXPECT_EQ(second.error().kind, ErrorKind::Busy);
}

TEST_F(ServiceReports, WithoutAServerOnlyTheLimitsAreEnforced) {
    ScriptedServer server({});
    add_bundle();
    ServiceSettings made = settings(server);
    made.target.reset();
    made.retention.size_bytes = 1;
    auto service = create(made);
    ASSERT_TRUE(service) << service.error().message;
    run_until(*service, [&] { return count_in(EntryState::Ready) == 0; });
    EXPECT_THAT(log_.str(), HasSubstr("warning: the settings have no <upload>: bundles stay in " +
                                      root_.string() + "\n"));
    EXPECT_THAT(log_.str(),
                HasSubstr("warning: removed bundles to enforce the limits of the spool: 1 "
                          "never sent (25 B)\n"));
    EXPECT_THAT(told(), testing::Contains("STATUS=0 delivered, 0 rejected, 0 failed attempts, 0 "
                                          "waiting, 1 removed unsent"));
}

TEST_F(ServiceReports, ReloadedSettingsKeepTheSpool) {
    ScriptedServer server({there});
    ServiceSettings other = settings(server);
    other.spool_path = "/elsewhere";
    auto service = Service::create(settings(server), [&]() -> Result<ServiceSettings> {
        add_bundle();
        return other;
    });
    ASSERT_TRUE(service) << service.error().message;
    ::kill(::getpid(), SIGHUP);
    run_until(*service, [&] { return count_in(EntryState::Sent) == 1; });
    EXPECT_THAT(log_.str(),
                HasSubstr("warning: the spool remains " + root_.string() + " until a restart\n"));
    EXPECT_THAT(log_.str(), HasSubstr("info: settings reloaded\n"));
}

}  // namespace
}  // namespace lagtrap::uploader::service_test
