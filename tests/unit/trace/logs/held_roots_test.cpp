#include "trace/logs/held_roots.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/trace/synthetic_capture.hpp"
#include "tests/unit/trace/temporary_directory.hpp"
#include "trace/names/named_files.hpp"
#include "trace/processes/module_files.hpp"

namespace lagtrap::trace::held_roots_test {
namespace {

using testing::IsEmpty;

class HeldRootsTest : public testing::Test {
  protected:
    TemporaryDirectory folder_;
};

TEST_F(HeldRootsTest, ToAFileAndBack) {
    const HeldRoots roots{77, {{1, 5}, {2, 5}, {3, 9}}};
    ASSERT_TRUE(write_held_roots(folder_.path(), roots));
    const HeldRoots back = read_held_roots(folder_.path());
    EXPECT_EQ(back.holder, 77);
    EXPECT_EQ(back.descriptors, roots.descriptors);
    EXPECT_EQ(back.find(2, "/usr/bin/app"), "/proc/77/fd/5/usr/bin/app");
    EXPECT_EQ(back.find(4, "/usr/bin/app"), std::nullopt);
    EXPECT_TRUE(back.holds(9));
    EXPECT_FALSE(back.holds(6));
}

TEST_F(HeldRootsTest, WhatMakesNoSenseHoldsNothing) {
    EXPECT_THAT(read_held_roots(folder_.path()).descriptors, IsEmpty());
    for (const char* text : {"", "x", "-1\n1 2\n", "7\n1 2\nx y\n", "7\n1 2\n3"}) {
        std::ofstream(folder_.path() / held_roots_name) << text;
        const HeldRoots roots = read_held_roots(folder_.path());
        EXPECT_TRUE(roots.descriptors.empty() ||
                    roots.descriptors == decltype(roots.descriptors)({{1, 2}}))
            << text;
    }
}

// No process has the file mapped any more, and its path leads elsewhere.
TEST_F(HeldRootsTest, FilesAreFoundBelowThem) {
    const auto root = folder_.path() / "root";
    std::filesystem::create_directories(root / "opt");
    std::filesystem::copy_file("/proc/self/exe", root / "opt" / "gone-elsewhere");
    const UniqueFd held(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    RecordedModule module;
    module.path = "/opt/gone-elsewhere";
    struct stat facts {};
    ASSERT_EQ(::stat((root / "opt" / "gone-elsewhere").c_str(), &facts), 0);
    module.inode = facts.st_ino;
    module.device = std::uint64_t{major(facts.st_dev)} << 32 | minor(facts.st_dev);
    module.users = {{4'194'304, 0x1000, 0x2000}};  // beyond valid process numbers
    EXPECT_FALSE(find_module_file(module, "/proc"));
    EXPECT_TRUE(
        find_module_file(module, "/proc", HeldRoots{::getpid(), {{4'194'304, held.get()}}}));
}

TEST_F(HeldRootsTest, TheOpenerGivesWhatIsNamedBelowThemAlone) {
    {
        SyntheticCapture capture(folder_.path(), synthetic_session());
        capture.mapping(41, 1, 0x400000, 0x2000, 0, "/opt/app", "");
        capture.flush();
    }
    ASSERT_TRUE(write_held_roots(folder_.path(), {77, {{41, 5}}}));
    const auto named = NamedFiles::of_capture(folder_.path(), 77);
    ASSERT_TRUE(named);
    EXPECT_EQ(named->access("/proc/77/fd/5/opt/app"), ProgramAccess::WithoutLinks);
    for (const char* path : {"/proc/77/fd/5", "/proc/77/fd/5/", "/proc/77/fd/6/opt/app",
                             "/proc/77/fd/05/opt/app", "/proc/77/fd/5/etc/shadow",
                             "/proc/78/fd/5/opt/app", "/proc/77/fd/5opt/app", "/proc/77/mem"})
        EXPECT_EQ(named->access(path), ProgramAccess::Refused) << path;
    // The descriptors of a daemon that has ended mean nothing.
    EXPECT_EQ(NamedFiles::of_capture(folder_.path(), 78)->access("/proc/77/fd/5/opt/app"),
              ProgramAccess::Refused);
    EXPECT_EQ(NamedFiles::of_capture(folder_.path())->access("/proc/77/fd/5/opt/app"),
              ProgramAccess::Refused);
}

}  // namespace
}  // namespace lagtrap::trace::held_roots_test
