// Files that this process maps, with the real kernel behind them.
#include "daemon/events/copy_finder.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"
#include "core/files.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"

namespace lagtrap::daemon::copy_finder_test {
namespace {

// Describes one process with these texts.
class Described : public DirectInspector {
  public:
    Result<InspectedProcess> read(std::uint32_t pid, Code, const InspectionLimits&) override {
        ++reads;
        if (texts.empty()) return make_error(ErrorKind::Vanished, "it is gone");
        InspectedProcess found;
        lagtrap_process process{};
        process.header.type = LAGTRAP_RECORD_PROCESS;
        process.pid = pid;
        process.text_bytes = static_cast<std::uint32_t>(texts.size());
        found.records.append(&process, sizeof(process), texts);
        return found;
    }
    std::string texts;
    int reads = 0;
};

class CopyFinderTest : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        make(true);
        program_ = std::filesystem::read_symlink("/proc/self/exe").string();
        mapped_.mapping.path = program_;
        mapped_.mapping.mapping.pid = static_cast<std::uint32_t>(::getpid());
    }
    void make(bool wants_build_ids) {
        auto made = CopyFinder::make(inspector_, wants_build_ids, stopped_);
        ASSERT_TRUE(made) << made.error().message;
        finder_ = std::move(*made);
    }
    // The first mapping of this process's program.
    void find_mapping() {
        DirectInspector inspector;
        const auto process =
            inspector.read(mapped_.mapping.mapping.pid, ProcessInspector::Code::Read, {});
        ASSERT_TRUE(process) << process.error().message;
        process->records.for_each([&](const lagtrap_record* record) {
            if (record->type != LAGTRAP_RECORD_MAPPING) return;
            const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
            const std::string path(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes);
            if (path == program_ && mapped_.mapping.mapping.length == 0)
                mapped_.mapping.mapping = mapping;
        });
        ASSERT_NE(mapped_.mapping.mapping.length, 0U);
    }

    Described inspector_;
    const std::atomic<bool> stopped_{false};
    std::unique_ptr<CopyFinder> finder_;
    CopyFinder::MappedFile mapped_;
    std::string program_;
};

TEST_F(CopyFinderTest, APathIsTheMachinesInItsView) {
    const FileView view = finder_->view_of(mapped_);
    EXPECT_EQ(view.path, program_);
    EXPECT_TRUE(view.machines);
    EXPECT_EQ(inspector_.reads, 0);
    struct stat root {};
    ASSERT_EQ(::stat("/", &root), 0);
    EXPECT_TRUE(finder_->is_on_root(view, root.st_dev));
    EXPECT_FALSE(finder_->is_on_root(view, root.st_dev + 1));
    EXPECT_FALSE(finder_->is_on_root({program_, false}, root.st_dev));
    mapped_.mapping.mapping.pid = 0x7fffffff;
    EXPECT_FALSE(finder_->view_of(mapped_).machines) << "its view is not known";
}

// A fork of this process that waits where it went.
class Elsewhere {
  public:
    template <typename Go>
    explicit Elsewhere(const Go& go) {
        std::array<int, 2> pipe{};
        EXPECT_EQ(::pipe(pipe.data()), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            const char done = go() == 0 ? 'y' : 'n';
            if (::write(pipe[1], &done, 1) == 1)
                while (true) ::pause();
            ::_exit(1);
        }
        char done = 0;
        EXPECT_EQ(::read(pipe[0], &done, 1), 1);
        EXPECT_EQ(done, 'y');
        for (const int end : pipe) ::close(end);
    }
    ~Elsewhere() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Elsewhere(const Elsewhere&) = delete;
    Elsewhere& operator=(const Elsewhere&) = delete;
    [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

  private:
    pid_t pid_ = 0;
};

TEST_F(CopyFinderTest, APathElsewhereIsAsTheProcessSeesIt) {
    const Elsewhere same([] { return 0; });
    mapped_.mapping.mapping.pid = same.pid();
    EXPECT_TRUE(finder_->view_of(mapped_).machines);
    const Elsewhere other_mounts([] { return ::unshare(CLONE_NEWNS); });
    mapped_.mapping.mapping.pid = other_mounts.pid();
    EXPECT_EQ(finder_->view_of(mapped_).path, program_);
    EXPECT_FALSE(finder_->view_of(mapped_).machines);
    const Elsewhere other_root([] { return ::chroot("/usr"); });
    mapped_.mapping.mapping.pid = other_root.pid();
    mapped_.mapping.path = "/usr/bin/app";
    EXPECT_EQ(finder_->view_of(mapped_).path, "/bin/app");
    EXPECT_FALSE(finder_->view_of(mapped_).machines);
    mapped_.mapping.path = "/usrs/bin/app";
    EXPECT_EQ(finder_->view_of(mapped_).path, "/usrs/bin/app") << "it was opened outside";
}

TEST_F(CopyFinderTest, AProgramHasTheNameByWhichItWasStarted) {
    mapped_.started_as = "/usr/bin/shop-server";
    EXPECT_EQ(finder_->view_of(mapped_).path, "/usr/bin/shop-server");
    EXPECT_TRUE(finder_->view_of(mapped_).machines);
    mapped_.started_as.clear();
    mapped_.perhaps_started_as = true;
    EXPECT_EQ(finder_->view_of(mapped_).path, program_) << "the process is gone";
    const std::string other =
        (std::filesystem::path(program_).parent_path() / "shop-server").string();
    const auto texts_of = [&](const std::string& program) {
        return program + '\0' + "command" + '\0' + "/group" + '\0' + other;
    };
    inspector_.texts = texts_of(program_);
    EXPECT_EQ(finder_->view_of(mapped_).path, other);
    inspector_.texts = texts_of(program_ + "-2");
    EXPECT_EQ(finder_->view_of(mapped_).path, program_) << "the process runs another program";
}

TEST_F(CopyFinderTest, AFileIsKnownOnceItWasOpened) {
    find_mapping();
    const auto identity = finder_->identify(mapped_);
    ASSERT_TRUE(identity) << identity.error().message;
    struct stat facts {};
    ASSERT_EQ(::stat("/proc/self/exe", &facts), 0);
    EXPECT_EQ(std::get<1>(*identity), facts.st_ino);
    EXPECT_EQ(std::get<2>(*identity), static_cast<std::uint64_t>(facts.st_size));
    EXPECT_FALSE(finder_->known(*identity));
    const auto opened = finder_->open(mapped_, *identity);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_TRUE(opened->descriptor.valid());
    const auto program = binaries::ProgramFile::open("/proc/self/exe");
    ASSERT_TRUE(program);
    EXPECT_EQ(opened->file.build_id, program->build_id());
    EXPECT_EQ(opened->file.real, finder_->real_file_of(opened->descriptor.get()).value());
    ASSERT_TRUE(finder_->known(*identity));
    EXPECT_EQ(finder_->known(*identity)->build_id, program->build_id());
    auto another = *identity;
    ++std::get<3>(another);
    EXPECT_FALSE(finder_->known(another)) << "it was changed";

    mapped_.build_id = "c0ffee";
    EXPECT_EQ(finder_->open(mapped_, *identity)->file.build_id, "c0ffee") << "it is not read";
    mapped_.build_id.clear();
    make(false);
    EXPECT_EQ(finder_->open(mapped_, *identity)->file.build_id, "") << "nobody needs it";
}

}  // namespace
}  // namespace lagtrap::daemon::copy_finder_test
