#include "trace/names/named_files.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/unit/trace/synthetic_capture.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::named_files_test {
namespace {

using enum ProgramAccess;

std::string root_of(const std::string& pid) { return "/proc/" + pid + "/root"; }

class NamedFilesTest : public ::testing::Test {
  protected:
    void SetUp() override {
        {
            SyntheticCapture capture(folder_.path(), synthetic_session());
            capture.mapping(41, 1, 0x400000, 0x2000, 0, "/opt/app/bin/work", "");
            capture.mapping(41, 2, 0x7f0000000000, 0x1000, 0, "/usr/lib/libc.so.6", "");
            capture.mapping(42, 3, 0x600000, 0x1000, 0, "/srv/alice/old (deleted)", "");
            capture.mapping(43, 4, 0x700000, 0x1000, 0, "[vdso]", "");
            capture.mapping(44, 5, 0x700000, 0x1000, 0, "/bash", "");
            capture.flush();
        }
        auto named = NamedFiles::of_capture(folder_.path());
        ASSERT_TRUE(named) << named.error().message;
        named_ = std::move(*named);
    }
    TemporaryDirectory folder_;
    NamedFiles named_;
};

TEST_F(NamedFilesTest, GivesWhatWasMapped) {
    for (const std::string& path :
         std::vector<std::string>{"/opt/app/bin/work", root_of("41") + "/opt/app/bin/work",
                                  root_of("42") + "/usr/lib/libc.so.6", "/srv/alice/old"})
        EXPECT_EQ(named_.access(path), WithoutLinks) << path;
    for (const std::string& path : std::vector<std::string>{
             "/proc/41/exe", "/proc/41/map_files/400000-402000",
             "/proc/41/map_files/7f0000000000-7f0000001000", "/proc/42/map_files/600000-601000"})
        EXPECT_EQ(named_.access(path), Allowed) << path;
}

TEST_F(NamedFilesTest, GivesTheirDebugFiles) {
    EXPECT_EQ(named_.access("/usr/lib/debug/.build-id/ab/cdef.debug"), Allowed);
    EXPECT_EQ(named_.access("/usr/lib/debug/.dwz/x86_64-linux-gnu/bash.debug"), Allowed);
    for (const std::string& path : std::vector<std::string>{
             "/opt/app/bin/work.debug", "/opt/app/bin/.debug/other.dbg",
             "/opt/app/bin/.dwz/common.debug", root_of("41") + "/opt/app/bin/.debug/work.debug",
             "/bash.debug", "/.debug/bash.debug"})
        EXPECT_EQ(named_.access(path), WithoutLinks) << path;
}

TEST_F(NamedFilesTest, GivesNothingElse) {
    for (const std::string& path :
         std::vector<std::string>{"/usr/bin/bash",
                                  "/opt/app/bin/secret",
                                  "/opt/app/secret.debug",
                                  "/opt/app/bin/deeper/work.debug",
                                  "/usr/lib/debugger",
                                  "/var/crash/core",
                                  "/proc/1/exe",
                                  "/proc/43/exe",
                                  "/proc/41",
                                  "/proc/41/",
                                  "/proc/41/exe/",
                                  "/proc/41/root",
                                  "/proc/41/root/",
                                  root_of("41") + "/usr/bin/bash",
                                  "/proc/41/cwd/work",
                                  "/proc/41/fd/3",
                                  "/proc/41/map_files/400000-401000",
                                  "/proc/41/map_files/600000-601000",
                                  "/proc/41/map_files/400000-402000x",
                                  "/proc/41/map_files/400000-00402000",
                                  "/proc/0041/exe",
                                  "/proc/41/map_files/400000",
                                  "/proc/self/exe",
                                  root_of("41") + "/usr/lib/debug/.build-id/ab/cdef.debug",
                                  "/srv/alice/old (deleted)",
                                  "",
                                  "/"})
        EXPECT_EQ(named_.access(path), Refused) << path;
}

TEST_F(NamedFilesTest, NamesNothingWithoutALog) {
    const TemporaryDirectory empty;
    const auto named = NamedFiles::of_capture(empty.path());
    ASSERT_TRUE(named);
    EXPECT_EQ(named->access("/opt/app/bin/work"), Refused);
    std::ofstream(empty.path() / "rundown.log") << "torn";
    EXPECT_TRUE(NamedFiles::of_capture(empty.path()));
}

}  // namespace
}  // namespace lagtrap::trace::named_files_test
