#include "trace/processes/module_files.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/test_paths.hpp"
#include "tests/unit/trace/planted_program.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::module_files_test {
namespace {

namespace fs = std::filesystem;

class ModuleFiles : public testing::Test {
  protected:
    ModuleFiles() {
        fs::create_directories(proc("12") / "root/opt");
        fs::create_directories(proc("12") / "map_files");
        fs::create_directories(machine() / "opt");
    }
    [[nodiscard]] fs::path proc(const std::string& pid) const {
        return folder_.path() / "proc" / pid;
    }
    [[nodiscard]] fs::path machine() const { return folder_.path() / "machine"; }
    // A program with a build id.
    static fs::path program() { return build_folder() + "/trace/trace_planted_program"; }
    static void copy_program(const fs::path& to) { fs::copy_file(program(), to); }
    [[nodiscard]] RecordedModule module(const std::string& path) const {
        RecordedModule made;
        made.path = path;
        made.build_id = raw_build_id(program());
        made.users = {{11, 0x1000, 0x2000}, {12, 0x3000, 0x4f00}};
        EXPECT_FALSE(made.build_id.empty());
        return made;
    }
    // Where it is found, below the folder.
    [[nodiscard]] std::string found(const RecordedModule& wanted) const {
        const auto file = find_module_file(wanted, folder_.path() / "proc", {}, machine());
        return file ? file->path.lexically_relative(folder_.path()).string() : "nowhere";
    }
    TemporaryDirectory folder_;
};

TEST_F(ModuleFiles, AreLookedForAtEachPlaceInTurn) {
    const RecordedModule wanted = module("/opt/app");
    const std::string below = "proc/12/root";
    EXPECT_EQ(found(wanted), "nowhere");
    copy_program(machine() / "opt/app");
    EXPECT_EQ(found(wanted), "machine/opt/app");
    copy_program(proc("12") / "exe");
    EXPECT_EQ(found(wanted), "proc/12/exe");
    copy_program(proc("12") / "map_files/3000-4f00");
    EXPECT_EQ(found(wanted), "proc/12/map_files/3000-4f00");
    copy_program(proc("12") / "root/opt/app");
    EXPECT_EQ(found(wanted), below + "/opt/app");
    EXPECT_EQ(found(module("/opt/app (deleted)")), below + "/opt/app");
    EXPECT_EQ(found(module("opt/app")), "nowhere") << "no path";
    EXPECT_EQ(found(module("[vdso]")), "nowhere");
}

TEST_F(ModuleFiles, OfAnotherBuildAreNotUsed) {
    copy_program(machine() / "opt/app");
    ASSERT_TRUE(write_file(proc("12") / "root/opt/app", "replaced"));
    EXPECT_EQ(found(module("/opt/app")), "machine/opt/app");
    RecordedModule other = module("/opt/app");
    other.build_id[0] = static_cast<char>(other.build_id[0] ^ 1);
    EXPECT_EQ(found(other), "nowhere");
}

TEST_F(ModuleFiles, WithoutABuildIdAreKnownByTheirInode) {
    const fs::path path = machine() / "opt/text";
    ASSERT_TRUE(write_file(path, "text"));
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    RecordedModule wanted = module("/opt/text");
    wanted.build_id.clear();
    wanted.inode = facts.st_ino;
    wanted.device = std::uint64_t{major(facts.st_dev)} << 32 | minor(facts.st_dev);
    EXPECT_EQ(found(wanted), "machine/opt/text");
    ++wanted.inode;
    EXPECT_EQ(found(wanted), "nowhere");
    --wanted.inode;
    ++wanted.device;
    EXPECT_EQ(found(wanted), "nowhere");
}

TEST_F(ModuleFiles, StayTheSameWhenTheirPathIsReplaced) {
    copy_program(machine() / "opt/app");
    const auto file = find_module_file(module("/opt/app"), folder_.path() / "proc", {}, machine());
    ASSERT_TRUE(file);
    fs::remove(machine() / "opt/app");
    EXPECT_EQ(raw_build_id(file->opened()), raw_build_id(program()));
}

TEST(Vdso, IsThatOfTheFileOrThisProcess) {
    const TemporaryDirectory folder;
    ASSERT_TRUE(write_file(folder.path() / "vdso", "stored"));
    const auto stored = find_vdso(folder.path() / "vdso");
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->path, "[vdso]");
    EXPECT_EQ(read_file(stored->opened(), 100).value(), "stored");
    EXPECT_FALSE(find_vdso(folder.path() / "absent"));
    const auto own = find_vdso();
    ASSERT_TRUE(own);
    EXPECT_EQ(own->path, "[vdso]");
    EXPECT_TRUE(read_file(own->opened(), 1 << 20)
                    .value()
                    .starts_with("\x7f"
                                 "ELF"));
}

}  // namespace
}  // namespace lagtrap::trace::module_files_test
