// Both sides in one process: the client is a separate thread, so that requests go through the
// socket.
#include "sandbox/file_broker.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::file_broker_test {
namespace {

class Broker : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ =
            std::filesystem::path(::testing::TempDir()) / ("broker-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_ / "capture" / "code");
        std::filesystem::create_directories(folder_ / "output");
        std::ofstream(folder_ / "capture" / "user.log") << "log";
        std::ofstream(folder_ / "secret") << "secret";
        std::ofstream(folder_ / "output" / "other-bundle") << "other";
        std::filesystem::create_symlink(folder_ / "secret", folder_ / "capture" / "link");
        std::filesystem::create_directory_symlink(folder_, folder_ / "capture" / "up");
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
        files_ = std::make_unique<BrokeredFiles>(UniqueFd(ends[1]));
        BrokerPolicy policy;
        policy.folders = {{folder_ / "capture", ""}, {folder_ / "output", "session"}};
        policy.readable = {"/etc/os-release"};
        policy.program_access = [this](const std::filesystem::path& path) {
            if (path == folder_ / "programs" / "link" || path == folder_ / "programs" / "real")
                return ProgramAccess::WithoutLinks;
            return path == "/bin/false" ? ProgramAccess::Refused : ProgramAccess::Allowed;
        };
        auto broker = FileBroker::create(std::move(policy));
        ASSERT_TRUE(broker);
        serving_ = std::thread([own = UniqueFd(ends[0]), served = std::move(*broker)]() mutable {
            served.serve_all(own.get());
        });
    }
    void TearDown() override {
        files_.reset();
        serving_.join();
        std::filesystem::remove_all(folder_);
    }
    bool opens(const std::filesystem::path& path, int flags = O_RDONLY) {
        return files_->open(path, flags, 0644).ok();
    }

    std::filesystem::path folder_;
    std::unique_ptr<BrokeredFiles> files_;
    std::thread serving_;
};

TEST_F(Broker, GivesWhatTheTaskNeeds) {
    const auto log = files_->open(folder_ / "capture" / "user.log", O_RDONLY | O_NOFOLLOW, 0);
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_EQ(*read_all(log->get(), 100), "log");
    EXPECT_TRUE(opens(folder_ / "capture", O_RDONLY | O_DIRECTORY));
    EXPECT_TRUE(opens("/etc/os-release"));
    EXPECT_TRUE(opens("/proc/self/exe"));
    std::string name = folder_ / "output" / ".session.XXXXXX";
    const auto made = files_->make_temporary(name);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(write_all(made->get(), "x", 1));
    struct stat facts {};
    ASSERT_EQ(::fstat(made->get(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U & ~0640U, 0U);
    EXPECT_TRUE(files_->rename(name, folder_ / "output" / "session-bundle"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "output" / "session-bundle"));
    files_->remove(folder_ / "output" / "session-bundle");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "output" / "session-bundle"));
}

TEST_F(Broker, GivesNothingElse) {
    EXPECT_FALSE(opens(folder_ / "secret"));
    EXPECT_FALSE(opens("/etc/passwd")) << "is no program";
    EXPECT_FALSE(opens("/etc/os-release", O_RDWR));
    EXPECT_FALSE(opens("/bin/false")) << "is not allowed by name";
    EXPECT_FALSE(opens("/bin/true", O_WRONLY));
    EXPECT_FALSE(opens(folder_ / "new", O_WRONLY | O_CREAT));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
}

TEST_F(Broker, GivesNoCoreDump) {
    std::string head = read_file("/bin/true", 1 << 20)->substr(0, 64);
    for (const auto& [type, given] :
         {std::pair(ET_NONE, false), std::pair(ET_REL, true), std::pair(ET_EXEC, true),
          std::pair(ET_DYN, true), std::pair(ET_CORE, false), std::pair(0xfe00, false)}) {
        head[16] = static_cast<char>(type & 0xff);
        head[17] = static_cast<char>(type >> 8);
        std::ofstream(folder_ / "dump") << head;
        EXPECT_EQ(opens(folder_ / "dump"), given) << type;
    }
    // Of a machine with the other byte order.
    head[EI_DATA] = ELFDATA2MSB;
    head[16] = 0;
    head[17] = ET_CORE;
    std::ofstream(folder_ / "dump") << head;
    EXPECT_FALSE(opens(folder_ / "dump"));
    std::ofstream(folder_ / "dump") << head.substr(0, 17);
    EXPECT_FALSE(opens(folder_ / "dump"));
}

TEST_F(Broker, FollowsNoLinkWhereItMustNot) {
    std::filesystem::create_directories(folder_ / "programs");
    std::filesystem::create_symlink("/bin/true", folder_ / "programs" / "link");
    std::filesystem::create_symlink("/bin/true", folder_ / "programs" / "other-link");
    std::filesystem::copy_file("/bin/true", folder_ / "programs" / "real");
    EXPECT_FALSE(opens(folder_ / "programs" / "link"));
    EXPECT_TRUE(opens(folder_ / "programs" / "real"));
    EXPECT_TRUE(opens(folder_ / "programs" / "other-link"));
}

TEST_F(Broker, StaysInItsFolders) {
    EXPECT_FALSE(opens(folder_ / "capture" / "link"));
    EXPECT_FALSE(opens(folder_ / "capture" / "up" / "secret"));
    EXPECT_FALSE(opens((folder_ / "capture").string() + "/../secret"));
    EXPECT_FALSE(opens((folder_ / "capture").string() + "/code/../../secret"));
    EXPECT_FALSE(files_->rename(folder_ / "capture" / "user.log", folder_ / "secret"));
    files_->remove(folder_ / "secret");
    EXPECT_TRUE(std::filesystem::exists(folder_ / "secret"));
}

TEST_F(Broker, LeavesOtherBundlesAlone) {
    EXPECT_FALSE(opens(folder_ / "output" / "other-bundle"));
    EXPECT_FALSE(
        files_->rename(folder_ / "output" / "other-bundle", folder_ / "output" / "session-bundle"));
    files_->remove(folder_ / "output" / "other-bundle");
    EXPECT_TRUE(std::filesystem::exists(folder_ / "output" / "other-bundle"));
}

}  // namespace
}  // namespace lagtrap::file_broker_test
