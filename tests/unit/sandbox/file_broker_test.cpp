// Both sides in one process: the client is a separate thread, so that requests go through the
// socket.
#include "sandbox/file_broker.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::file_broker_test {
namespace {

// Any program but /bin/false; below a folder, two without links.
class Programs : public BrokeredPrograms {
  public:
    explicit Programs(std::filesystem::path without_links)
        : without_links_(std::move(without_links)) {}
    ProgramAccess access(const std::filesystem::path& path) override {
        if (path == without_links_ / "link" || path == without_links_ / "real")
            return ProgramAccess::WithoutLinks;
        return path == "/bin/false" ? ProgramAccess::Refused : ProgramAccess::Allowed;
    }

  private:
    const std::filesystem::path without_links_;
};

class ReadableByName : public Programs {
  public:
    ReadableByName() : Programs("/absent") {}
    bool may_read(const std::filesystem::path& path) override {
        return path.native().starts_with("/etc/");
    }
};

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
        policy.programs = std::make_shared<Programs>(folder_ / "programs");
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

TEST_F(Broker, SaysWhyAFileIsNotOpened) {
    const auto kind = [&](const std::filesystem::path& path) {
        const auto opened = files_->open(path, O_RDONLY, 0);
        EXPECT_FALSE(opened);
        if (opened) return std::string();
        EXPECT_TRUE(opened.error().message.starts_with(path.string() + ": "));
        return std::to_string(opened.error().system_errno);
    };
    EXPECT_EQ(kind(folder_ / "capture" / "absent"), std::to_string(ENOENT));
    EXPECT_EQ(kind(folder_ / "secret"), std::to_string(EPERM));
    EXPECT_EQ(kind(folder_ / "capture" / "link"), std::to_string(ELOOP));
    EXPECT_EQ(kind("/proc/self/fd/x"), std::to_string(ENOENT));
    EXPECT_EQ(kind("/proc/self/fd/100000"), std::to_string(EBADF));
    EXPECT_EQ(files_->open(std::string(8193, 'x'), O_RDONLY, 0).error().system_errno, ENAMETOOLONG);
    const auto renamed = files_->rename(folder_ / "capture" / "absent", folder_ / "output" / "x");
    ASSERT_FALSE(renamed);
    EXPECT_TRUE(renamed.error().message.starts_with("rename: ")) << renamed.error().message;
    EXPECT_TRUE(opens(folder_ / "capture" / "user.log")) << "it still serves";
}

TEST_F(Broker, OpensDescriptorsOfItsOwnFromTheirBegin) {
    const UniqueFd own(::open((folder_ / "secret").c_str(), O_RDONLY | O_CLOEXEC));
    char byte = 0;
    ASSERT_EQ(::read(own.get(), &byte, 1), 1);
    const auto again = files_->open("/proc/self/fd/" + std::to_string(own.get()), O_RDONLY, 0);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*read_all(again->get(), 100), "secret");
    EXPECT_EQ(::fcntl(again->get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(Broker, MakesFilesThatOnlyOwnerAndGroupReach) {
    const auto mode_of = [](int fd) {
        struct stat facts {};
        EXPECT_EQ(::fstat(fd, &facts), 0);
        return facts.st_mode & 07777U;
    };
    const mode_t before = ::umask(0);
    const auto made = files_->open(folder_ / "capture" / "new", O_WRONLY | O_CREAT, 0777);
    std::string first = folder_ / "output" / ".session.XXXXXX", second = first;
    const auto one = files_->make_temporary(first), other = files_->make_temporary(second);
    ::umask(before);
    ASSERT_TRUE(made && one && other);
    EXPECT_EQ(mode_of(made->get()), 0660U);
    EXPECT_EQ(mode_of(one->get()), 0640U);
    EXPECT_NE(first, second);
    EXPECT_FALSE(first.ends_with("XXXXXX"));
    EXPECT_TRUE(std::filesystem::exists(first) && std::filesystem::exists(second));
    for (const char* name : {".session.XXXXX", ".other.XXXXXX", "XXXXXX"}) {
        std::string wrong = folder_ / "output" / name;
        EXPECT_FALSE(files_->make_temporary(wrong)) << name;
    }
    std::string outside = folder_ / "session.XXXXXX";
    EXPECT_FALSE(files_->make_temporary(outside));
}

TEST_F(Broker, ChangesNothingInSubfolders) {
    std::ofstream(folder_ / "capture" / "code" / "map") << "map";
    EXPECT_TRUE(opens(folder_ / "capture" / "code" / "map"));
    files_->remove(folder_ / "capture" / "code" / "map");
    EXPECT_FALSE(files_->rename(folder_ / "capture" / "code" / "map", folder_ / "capture" / "map"));
    EXPECT_FALSE(
        files_->rename(folder_ / "capture" / "user.log", folder_ / "capture" / "code" / "x"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "capture" / "code" / "map"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "capture" / "user.log"));
    EXPECT_FALSE(opens(folder_ / "capture" / "user.log", O_PATH)) << "an unknown flag";
}

// What a broker answers, asked from this thread; its policy is the test's.
class AskedBroker : public ::testing::Test {
  protected:
    void SetUp() override {
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
        own_.reset(ends[0]);
        other_.reset(ends[1]);
    }
    // Whether this path is opened.
    bool opens(BrokerPolicy policy, const std::string& path) {
        auto broker = FileBroker::create(std::move(policy));
        EXPECT_TRUE(broker);
        bool served = false;
        std::thread serving([&] { served = broker->serve(other_.get()); });
        BrokeredFiles files{UniqueFd(::dup(own_.get()))};
        const bool opened = files.open(path, O_RDONLY, 0).ok();
        serving.join();
        EXPECT_TRUE(served);
        return opened;
    }
    // Whether a message of these bytes is answered.
    bool answers(const std::string& bytes) {
        auto broker = FileBroker::create({});
        EXPECT_EQ(::send(own_.get(), bytes.data(), bytes.size(), 0),
                  static_cast<ssize_t>(bytes.size()));
        return broker->serve(other_.get());
    }
    UniqueFd own_, other_;
};

TEST_F(AskedBroker, OpensWhatItsPolicyCallsReadable) {
    BrokerPolicy policy;
    EXPECT_FALSE(opens({}, "/etc/passwd"));
    EXPECT_FALSE(opens({}, "/bin/true")) << "no program without a policy for them";
    policy.readable = {"/etc/passwd"};
    EXPECT_TRUE(opens(std::move(policy), "/etc/passwd"));
    const auto readable = [] {
        BrokerPolicy by_name;
        by_name.programs = std::make_shared<ReadableByName>();
        return by_name;
    };
    EXPECT_TRUE(opens(readable(), "/etc/passwd"));
    EXPECT_FALSE(opens(readable(), "/etc/../etc/passwd")) << "not in normal form";
    EXPECT_FALSE(opens(readable(), "/bin/false"));
}

// Opens another file in place of each program.
class OtherPrograms : public Programs {
  public:
    OtherPrograms() : Programs("/absent") {}
    Result<UniqueFd> open(const std::filesystem::path& path, ProgramAccess access) override {
        opened += path.string() + (access == ProgramAccess::Allowed ? " " : " without links ");
        return open_file("/etc/passwd", O_RDONLY);
    }
    std::string opened;
};

TEST_F(AskedBroker, LetsItsPolicyOpenPrograms) {
    const auto programs = std::make_shared<OtherPrograms>();
    BrokerPolicy policy;
    policy.programs = programs;
    EXPECT_TRUE(opens(policy, "/bin/./true"));
    EXPECT_FALSE(opens(policy, "bin/true")) << "not a whole path";
    EXPECT_FALSE(opens(policy, "/bin/false"));
    EXPECT_EQ(programs->opened, "/bin/true ");
}

TEST_F(AskedBroker, HangsUpOnWhatIsNoRequest) {
    const auto head = [](std::int32_t kind) {
        std::string bytes(12, '\0');
        std::memcpy(bytes.data(), &kind, sizeof kind);
        return bytes;
    };
    EXPECT_TRUE(answers(head(1) + "/etc/passwd"));
    EXPECT_TRUE(answers(head(4) + "/etc/passwd"));
    EXPECT_FALSE(answers(head(0) + "/etc/passwd"));
    EXPECT_FALSE(answers(head(5) + "/etc/passwd"));
    EXPECT_FALSE(answers(head(1))) << "no path";
    EXPECT_FALSE(answers(head(3) + std::string("a\0b\0c", 5))) << "three paths";
    EXPECT_FALSE(answers("short"));
    EXPECT_FALSE(answers(head(1) + std::string(9000, 'x'))) << "too long";
    own_.reset();
    auto broker = FileBroker::create({});
    EXPECT_FALSE(broker->serve(other_.get())) << "the other side is gone";
    BrokerPolicy absent;
    absent.folders = {{"/absent", ""}};
    EXPECT_FALSE(FileBroker::create(std::move(absent)));
}

}  // namespace
}  // namespace lagtrap::file_broker_test
