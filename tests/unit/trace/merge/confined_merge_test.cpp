// Each merge runs in a child, because a sandbox cannot be undone.
#include "trace/merge/confined_merge.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <new>

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "sandbox/machine_root.hpp"
#include "tests/unit/test_paths.hpp"
#include "tests/unit/trace/synthetic_capture.hpp"
#include "tests/unit/trace/temporary_directory.hpp"
#include "trace/logs/awaited_file.hpp"

namespace lagtrap::trace::confined_merge_test {
namespace {

constexpr int not_begun = 255;

bool opens(const std::filesystem::path& path, int flags = O_RDONLY) {
    return open_file(path, flags, 0640).ok();
}

class ConfinedMerge : public testing::Test {
  protected:
    ConfinedMerge() {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.mapping(own_pid_, 1, 0x400000, 0x2000, 0, program_, "");
        capture.flush();
    }
    // How the process ended that merges like this.
    int status_of(const std::function<int()>& merge, Programs programs = Programs::Opened) {
        const pid_t child = ::fork();
        if (child == 0) {
            const auto ended =
                merge_confined(capture_.path(), output_.path(), "s1", programs, merge);
            ::_exit(ended ? *ended : not_begun);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return status;
    }
    int code_of(const std::function<int()>& merge, Programs programs = Programs::Opened) {
        const int status = status_of(merge, programs);
        EXPECT_TRUE(WIFEXITED(status));
        return WEXITSTATUS(status);
    }
    // The first byte is 0 while the merge waits for no file.
    [[nodiscard]] std::string last_note() const {
        std::ifstream file(capture_.path() / "awaited-file", std::ios::binary);
        const std::string page(std::istreambuf_iterator<char>(file), {});
        return page.substr(0, page.find('\0', 1));
    }

    const std::uint32_t own_pid_ = static_cast<std::uint32_t>(::getpid());
    const std::string program_ = build_folder() + "/trace/lagtrap-merge";
    TemporaryDirectory capture_, output_;
};

TEST_F(ConfinedMerge, EndsAsTheMergeDid) {
    EXPECT_EQ(code_of([] { return 0; }), 0);
    EXPECT_EQ(code_of([] { return 7; }), 7);
    testing::internal::CaptureStderr();
    EXPECT_EQ(code_of([]() -> int { throw std::bad_alloc(); }), 1);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "lagtrap-merge: the capture takes more memory than allowed\n");
    const int status = status_of([] { return ::raise(SIGKILL); });
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(ConfinedMerge, ReachesItsCaptureAndItsBundle) {
    std::ofstream(output_.path() / "s2.old") << "x";
    const TemporaryDirectory other;
    std::ofstream(other.path() / "s1") << "x";
    const int refused = code_of([&] {
        int bits = 0;
        if (!opens(capture_.path() / log_file_name(LogKind::Rundown))) bits |= 1;
        if (!opens(output_.path() / "made-s1", O_WRONLY | O_CREAT)) bits |= 2;
        if (opens(output_.path() / "s2.new", O_WRONLY | O_CREAT)) bits |= 4;
        if (opens(output_.path() / "s2.old")) bits |= 8;
        if (opens(other.path() / "s1")) bits |= 16;
        if (!opens("/proc/self/maps")) bits |= 32;
        return bits;
    });
    EXPECT_EQ(refused, 0) << "a bit for each file with another outcome";
    EXPECT_TRUE(std::filesystem::exists(output_.path() / "made-s1"));
    EXPECT_FALSE(std::filesystem::exists(output_.path() / "s2.new"));
}

TEST_F(ConfinedMerge, OpensProgramsOfItsCaptureUnlessTold) {
    const auto merge = [&] { return opens(program_) ? 1 : 0; };
    EXPECT_EQ(code_of(merge, Programs::Opened), 1);
    EXPECT_EQ(code_of(merge, Programs::LeftAlone), 0);
    const auto other = [] { return opens("/proc/self/exe") ? 1 : 0; };
    EXPECT_EQ(code_of(other, Programs::Opened), 0);
}

TEST_F(ConfinedMerge, ReadsTheFactsOfTheMachine) {
    std::vector<std::filesystem::path> facts{"/proc/self/maps", "/sys/kernel/notes",
                                             "/proc/kallsyms", "/proc/sys/kernel/random/boot_id"};
    for (const char* const name :
         {"etc/machine-id", "etc/os-release", "etc/passwd", "proc/cpuinfo", "proc/meminfo"})
        facts.push_back(machine_root() / name);
    // Containers lack some of them.
    std::erase_if(facts, [](const auto& path) { return !opens(path); });
    ASSERT_GE(facts.size(), 4U);
    const auto refused = [&] {
        int count = 0;
        for (const auto& path : facts) count += opens(path) ? 0 : 1;
        if (opens("/etc/hosts")) count += 100;
        return count;
    };
    EXPECT_EQ(code_of(refused, Programs::Opened), 0);
    EXPECT_EQ(code_of(refused, Programs::LeftAlone), 0);
}

TEST_F(ConfinedMerge, ReadsListsOfPackagesIfItOpensPrograms) {
    const std::filesystem::path status = machine_root() / "var/lib/dpkg/status";
    if (!std::filesystem::exists(status)) GTEST_SKIP() << "no dpkg here";
    const auto merge = [&] { return opens(status) ? 1 : 0; };
    EXPECT_EQ(code_of(merge, Programs::Opened), 1);
    EXPECT_EQ(code_of(merge, Programs::LeftAlone), 0);
}

TEST_F(ConfinedMerge, NotesAFileOnlyWhileItWaitsForIt) {
    EXPECT_EQ(code_of([&] { return opens(program_) ? 1 : 0; }), 1);
    EXPECT_EQ(last_note(), '\0' + program_);
    EXPECT_FALSE(read_awaited_file(capture_.path()));
}

TEST_F(ConfinedMerge, NotesTheUserOfAProcessWhoseFileItOpens) {
    const std::string exe = "/proc/" + std::to_string(own_pid_) + "/exe";
    EXPECT_NE(code_of([&] { return opens(exe) ? 1 : 0; }), not_begun);
    const std::string whole = std::to_string(::geteuid()) + " " + exe;
    EXPECT_EQ(last_note(), '\0' + whole.substr(1));
}

}  // namespace
}  // namespace lagtrap::trace::confined_merge_test
