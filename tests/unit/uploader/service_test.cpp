#include "uploader/service.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/digest.hpp"
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

}  // namespace
}  // namespace lagtrap::uploader::service_test
