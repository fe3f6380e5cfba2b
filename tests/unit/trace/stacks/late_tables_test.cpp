#include "trace/stacks/late_tables.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstring>

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/binaries/unwind_support.hpp"
#include "tests/unit/test_paths.hpp"
#include "tests/unit/trace/planted_program.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::late_tables_test {
namespace {

using Kind = CodeRule::Kind;

class LateTablesTest : public testing::Test {
  protected:
    LateTablesTest() {
        std::filesystem::copy_file(build_folder() + "/trace/trace_planted_program",
                                   folder_.path() / "planted");
        options_.proc_root = folder_.path() / "no-processes";
        options_.machine = folder_.path();
    }
    ModuleId module(const std::string& path) {
        return modules_.intern(path, raw_build_id(folder_.path() / "planted"), 0, 0, {1, 0, 0});
    }
    // Where its code is in the file.
    [[nodiscard]] std::uint64_t code_offset() const {
        const PlantedProgram planted(folder_.path() / "planted");
        return planted.offset();
    }
    CodeRule rule_at(const CodePlace& place) {
        LateTables tables(modules_, options_);
        return tables.rule_at(place);
    }

    TemporaryDirectory folder_;
    ModuleTable modules_;
    LateTables::Options options_;
};

TEST_F(LateTablesTest, CodeOfAFileHasARule) {
    const ModuleId planted = module("/planted");
    const CodeRule known = rule_at({planted, 0, code_offset()});
    EXPECT_EQ(known.kind, Kind::Rule);
    const lagtrap_unwind_rule none{};
    EXPECT_NE(std::memcmp(&known.rule, &none, sizeof(none)), 0);
    const CodeRule outside = rule_at({planted, 0, 1ULL << 40});
    EXPECT_EQ(outside.kind, Kind::Rule);
    EXPECT_EQ(std::memcmp(&outside.rule, &none, sizeof(none)), 0) << "in no code";
}

TEST_F(LateTablesTest, AFileIsReadOnce) {
    const ModuleId planted = module("/planted");
    const std::uint64_t offset = code_offset();
    LateTables tables(modules_, options_);
    EXPECT_EQ(tables.rule_at({planted, 0, offset}).kind, Kind::Rule);
    std::filesystem::remove(folder_.path() / "planted");
    EXPECT_EQ(tables.rule_at({planted, 0, offset}).kind, Kind::Rule);
    EXPECT_EQ(rule_at({planted, 0, offset}).kind, Kind::NoTable) << "it is gone";
}

TEST_F(LateTablesTest, OtherCodeHasNoTable) {
    EXPECT_EQ(rule_at({unknown_module, 7, 1}).kind, Kind::NoCode);
    EXPECT_EQ(rule_at({kernel_module, 7, 1}).kind, Kind::NoCode);
    EXPECT_EQ(rule_at({jit_module, 7, 1}).kind, Kind::RunTime);
    EXPECT_EQ(rule_at({module("planted"), 0, 1}).kind, Kind::NoTable) << "no path";
    options_.open_programs = false;
    EXPECT_EQ(rule_at({module("/planted"), 0, 1}).kind, Kind::NoTable);
}

TEST_F(LateTablesTest, AFileWithoutUnwindInformationIsLikeCodeMadeAtRunTime) {
    const auto path = folder_.path() / "code";
    ASSERT_TRUE(write_file(path, binaries::test::TestFile().bytes()));
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    const std::uint64_t device = std::uint64_t{major(facts.st_dev)} << 32 | minor(facts.st_dev);
    const ModuleId code = modules_.intern("/code", "", device, facts.st_ino, {1, 0, 0});
    EXPECT_EQ(rule_at({code, 0, 0x1000}).kind, Kind::RunTime);
    ASSERT_TRUE(write_file(path, "no program"));
    EXPECT_EQ(rule_at({code, 0, 0x1000}).kind, Kind::NoTable);
}

TEST_F(LateTablesTest, TheVdsoIsThatOfTheRecordedBoot) {
    const ModuleId vdso = modules_.intern("[vdso]", "", 0, 0, {1, 0, 0});
    options_.open_programs = false;
    EXPECT_EQ(rule_at({vdso, 0, 0}).kind, Kind::Rule);
    options_.vdso = folder_.path() / "absent";
    EXPECT_EQ(rule_at({vdso, 0, 0}).kind, Kind::NoTable);
    options_.vdso.clear();
    options_.this_boot = false;
    EXPECT_EQ(rule_at({vdso, 0, 0}).kind, Kind::NoTable);
}

TEST_F(LateTablesTest, TablesHaveLimits) {
    const ModuleId planted = module("/planted");
    const ModuleId vdso = modules_.intern("[vdso]", "", 0, 0, {1, 0, 0});
    options_.limits.table_bytes = 1;
    LateTables small(modules_, options_);
    EXPECT_EQ(small.rule_at({planted, 0, 0}).kind, Kind::Rule) << "the first may exceed it";
    EXPECT_EQ(small.rule_at({vdso, 0, 0}).kind, Kind::NoTable);
    options_.limits = {};
    options_.limits.time = std::chrono::seconds(0);
    EXPECT_EQ(rule_at({planted, 0, 0}).kind, Kind::NoTable);
}

}  // namespace
}  // namespace lagtrap::trace::late_tables_test
