#include "daemon/probes/write_guard.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::daemon::write_guard_test {
namespace {

// A file of this user.
class GuardedFile : public testing::Test {
  protected:
    void SetUp() override {
        std::array<char, 32> name{"/tmp/write-guard-XXXXXX"};
        UniqueFd made(::mkstemp(name.data()));
        ASSERT_TRUE(made.valid());
        path_ = name.data();
    }
    void TearDown() override { ::unlink(path_.c_str()); }

    [[nodiscard]] std::shared_ptr<const WatchedFile> open() const {
        auto file = WatchedFile::open(path_);
        EXPECT_TRUE(file);
        return file ? *file : nullptr;
    }

    std::string path_;
};

TEST_F(GuardedFile, IsLeftBeforeTheWriterGoesOn) {
    std::atomic<bool> left{false};
    WriteGuard guard([&](const std::string& path) { left.store(path == path_); });
    ASSERT_EQ(guard.hold(open()), WriteGuard::Lease::Held);
    EXPECT_TRUE(guard.holds(path_));
    EXPECT_FALSE(guard.written(path_));
    const UniqueFd writer(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_TRUE(writer.valid());
    EXPECT_TRUE(left.load());
    EXPECT_TRUE(guard.written(path_));
    EXPECT_FALSE(guard.holds(path_));
}

TEST_F(GuardedFile, IsNotHeldWhileItIsOpenForWriting) {
    WriteGuard guard([](const std::string&) {});
    {
        const UniqueFd writer(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
        EXPECT_EQ(guard.hold(open()), WriteGuard::Lease::OpenForWriting);
        EXPECT_TRUE(guard.written(path_));
    }
    EXPECT_EQ(guard.hold(open()), WriteGuard::Lease::Held);
    EXPECT_FALSE(guard.written(path_));
}

TEST_F(GuardedFile, IsLetGoWithTheGuard) {
    const auto file = open();
    {
        WriteGuard guard([](const std::string&) { FAIL() << "nobody wrote"; });
        (void)guard.hold(file);
    }
    EXPECT_EQ(::fcntl(file->fd(), F_GETLEASE), F_UNLCK);
}

// If no signal can be queued, the kernel sends SIGIO, which kills a process that does not expect
// it.
TEST_F(GuardedFile, IsLeftWithoutRoomForASignal) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_SIGPENDING, &before), 0);
    std::promise<std::string> left;
    WriteGuard guard([&](const std::string& path) { left.set_value(path); });
    ASSERT_EQ(guard.hold(open()), WriteGuard::Lease::Held);
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_SIGPENDING, &none), 0);
    const UniqueFd writer(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_TRUE(writer.valid());
    EXPECT_EQ(left.get_future().get(), path_);
    EXPECT_EQ(::setrlimit(RLIMIT_SIGPENDING, &before), 0);
}

}  // namespace
}  // namespace lagtrap::daemon::write_guard_test
