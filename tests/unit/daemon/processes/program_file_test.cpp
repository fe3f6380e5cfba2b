// With real mounts in the test's own namespace.
#include "daemon/processes/program_file.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace lagtrap::daemon::program_file_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* process = "/proc/thread-self";

// What the kernel reports about the test's own program, which it has mapped.
TEST(ProgramFile, IsTheFileThatTheKernelMaps) {
    const auto found = program_file_at("/proc/self/exe");
    ASSERT_TRUE(found) << found.error().message;
    std::ifstream maps("/proc/self/maps");
    std::string range, rights, offset, device;
    std::uint64_t inode = 0;
    maps >> range >> rights >> offset >> device >> inode;
    EXPECT_EQ(found->inode, inode);
    const std::size_t colon = device.find(':');
    EXPECT_EQ(found->device, std::stoul(device.substr(0, colon), nullptr, 16) << 20 |
                                 std::stoul(device.substr(colon + 1), nullptr, 16));
}

TEST(ProgramFile, IsNoneWithoutAFile) {
    const auto found = program_file_at("/nonexistent/program");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::NotFound);
}

// The program of an overlay whose layers are in two file systems. For it, stat(2) reports a device
// that belongs to no mount.
TEST(ProgramFile, HasTheDeviceOfItsMount) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may make namespaces everywhere";
    std::string name = testing::TempDir() + "lagtrap-program-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    std::thread([&] {
        ASSERT_EQ(::unshare(CLONE_FS | CLONE_NEWNS), 0);
        ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        ASSERT_EQ(::mount("test", name.c_str(), "tmpfs", 0, nullptr), 0);
        for (const char* folder : {"/lower", "/other", "/all"}) fs::create_directory(name + folder);
        ASSERT_EQ(::mount("test", (name + "/lower").c_str(), "tmpfs", 0, nullptr), 0);
        ASSERT_EQ(::mount("test", (name + "/other").c_str(), "tmpfs", 0, nullptr), 0);
        std::ofstream(name + "/lower/program") << "program";
        const std::string layers = "xino=off,lowerdir=" + name + "/other:" + name + "/lower";
        ASSERT_EQ(::mount("test", (name + "/all").c_str(), "overlay", MS_RDONLY, layers.c_str()),
                  0);
        struct stat root {};
        struct stat program {};
        ASSERT_EQ(::stat((name + "/all").c_str(), &root), 0);
        ASSERT_EQ(::stat((name + "/all/program").c_str(), &program), 0);
        EXPECT_NE(program.st_dev, root.st_dev) << "the test needs a file system that is like that";
        const auto found = program_file_at(name + "/all/program", process);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(found->device, major(root.st_dev) << 20 | minor(root.st_dev));
        EXPECT_EQ(found->inode, program.st_ino);
    }).join();
    fs::remove(name);
}

}  // namespace
}  // namespace lagtrap::daemon::program_file_test
