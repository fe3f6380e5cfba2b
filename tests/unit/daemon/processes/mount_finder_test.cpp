// Which mount a descriptor is on, with real mounts in the test's own namespace.
#include "daemon/processes/mount_finder.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::daemon::mount_finder_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* process = "/proc/thread-self";

TEST(MountFinder, MemoryThatIsExecutedIsLocal) {
    MountFinder finder;
    const UniqueFd memory(::memfd_create("code", MFD_CLOEXEC));
    EXPECT_TRUE(finder.check_local(memory.get(), process));
}

TEST(MountFinder, AKernelsOwnFileSystemIsNot) {
    MountFinder finder;
    const auto file = open_file("/proc/self/status", O_PATH);
    EXPECT_EQ(finder.mount_of(file->get(), process).value().type, "proc");
    EXPECT_FALSE(finder.check_local(file->get(), process));
}

// Runs on a thread whose namespace ends with it.
class MountFinderNamespaces : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root may make namespaces everywhere";
        std::string name = testing::TempDir() + "lagtrap-mounts-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override {
        if (!folder_.empty()) fs::remove(folder_);
    }
    void in_namespace(const std::function<void()>& work) {
        std::thread([&] {
            ASSERT_EQ(::unshare(CLONE_FS | CLONE_NEWNS), 0);
            ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
            work();
        }).join();
    }
    void mount(const char* type, unsigned long flags = 0) const {
        ASSERT_EQ(::mount("test", folder_.c_str(), type, flags, nullptr), 0) << errno;
    }
    void unmount() const { ASSERT_EQ(::umount2(folder_.c_str(), MNT_DETACH), 0); }
    [[nodiscard]] UniqueFd place() const { return open_file(folder_, O_PATH).value(); }

    fs::path folder_;
};

TEST_F(MountFinderNamespaces, KnowsAMountThatIsNewerThanTheLastLook) {
    in_namespace([this] {
        MountFinder finder;
        ASSERT_TRUE(finder.mount_of(place().get(), process));
        for (int i = 0; i < 20; ++i) {
            mount("tmpfs");
            const UniqueFd fd = place();
            const auto found = finder.mount_of(fd.get(), process);
            ASSERT_TRUE(found) << "mount " << i << ": " << found.error().message;
            EXPECT_EQ(found->point, folder_);
            EXPECT_TRUE(found->local);
            unmount();
        }
    });
}

// The kernel reuses a mount's number immediately.
TEST_F(MountFinderNamespaces, IsNotMisledByTheMountThatHadTheNumberBefore) {
    in_namespace([this] {
        MountFinder finder;
        std::uint64_t numbers_used_again = 0, last = 0;
        for (int i = 0; i < 20; ++i) {
            const bool local = i % 2 == 0;
            mount(local ? "tmpfs" : "proc");
            const UniqueFd fd = place();
            const auto found = finder.mount_of(fd.get(), process);
            ASSERT_TRUE(found) << found.error().message;
            EXPECT_EQ(found->local, local) << "mount " << i;
            EXPECT_EQ(static_cast<bool>(finder.check_local(fd.get(), process)), local);
            if (found->id == last) ++numbers_used_again;
            last = found->id;
            finder.end_request();
            unmount();
        }
        RecordProperty("numbers_used_again", static_cast<int>(numbers_used_again));
    });
}

TEST_F(MountFinderNamespaces, AMountThatWasTakenAwayIsJudgedByAnotherOfItsFileSystem) {
    in_namespace([this] {
        MountFinder finder;
        mount("tmpfs");
        const UniqueFd fd = place();
        unmount();
        EXPECT_EQ(finder.mount_of(fd.get(), process).error().kind, ErrorKind::NotFound);
        EXPECT_NE(finder.check_local(fd.get(), process).error().message.find("no longer mounted"),
                  std::string::npos);
        ASSERT_EQ(::mount("/tmp", folder_.c_str(), nullptr, MS_BIND, nullptr), 0);
        const UniqueFd bound = place();
        unmount();
        const auto found = finder.mount_of(bound.get(), process);
        ASSERT_TRUE(found);
        EXPECT_TRUE(found->local);
        EXPECT_FALSE(found->set_uid_counts) << "another mount's flags are not this one's";
    });
}

}  // namespace
}  // namespace lagtrap::daemon::mount_finder_test
