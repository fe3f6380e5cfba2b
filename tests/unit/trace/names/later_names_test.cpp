#include "trace/names/later_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"
#include "tests/unit/test_paths.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::later_names_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// The recorded program is no longer at its path; a folder may have it.
class LaterNamesOfAProgram : public testing::Test {
  protected:
    void SetUp() override {
        const auto program = binaries::ProgramFile::open(planted_);
        ASSERT_TRUE(program) << program.error().message;
        const auto found = program->find_functions("outermost_function");
        ASSERT_TRUE(found && found->size() == 1);
        const std::uint64_t address = program->address_of(found->front().file_offset).value();
        module_.path = "/opt/app/planted";
        module_.build_id = program->build_id();
        module_.load_bias = address - found->front().file_offset;
        module_.places = {{address, {}}};
        options_.program_folders = {folder_.path()};
        options_.search.folders = {folder_.path() / "debug"};
    }
    void put(const std::filesystem::path& name) {
        std::filesystem::create_directories((folder_.path() / name).parent_path());
        std::filesystem::copy_file(planted_, folder_.path() / name);
    }
    [[nodiscard]] LaterNames names() const { return find_later_names(module_, options_); }

    const std::filesystem::path planted_ = build_folder() + "/trace/trace_planted_program";
    TemporaryDirectory folder_;
    UnnamedModule module_;
    LaterNamesOptions options_;
};

TEST_F(LaterNamesOfAProgram, AreFoundUnderItsFileName) {
    EXPECT_THAT(names().names.places, IsEmpty());
    put("planted");
    const LaterNames found = names();
    EXPECT_EQ(found.problem, "");
    EXPECT_EQ(found.found_in, folder_.path() / "planted");
    ASSERT_THAT(found.names.places, SizeIs(1));
    EXPECT_EQ(found.names.path, module_.path);
}

TEST_F(LaterNamesOfAProgram, AreFoundUnderItsPath) {
    put("opt/app/planted");
    EXPECT_EQ(names().found_in, folder_.path() / "opt/app/planted");
}

TEST_F(LaterNamesOfAProgram, AreFoundIfItsFileWasDeletedDuringTheRecording) {
    module_.path += " (deleted)";
    put("planted");
    EXPECT_THAT(names().names.places, SizeIs(1));
}

TEST_F(LaterNamesOfAProgram, ComeFromNoOtherBuild) {
    module_.build_id[0] = module_.build_id[0] == '0' ? '1' : '0';
    put("planted");
    EXPECT_THAT(names().names.places, IsEmpty());
    EXPECT_EQ(names().found_in, "");
}

TEST_F(LaterNamesOfAProgram, StopWhenTheirTimeIsOver) {
    put("planted");
    options_.limits.cpu_time = std::chrono::milliseconds(0);
    EXPECT_THAT(names().names.places, IsEmpty());
    EXPECT_NE(names().problem, "");
}

}  // namespace
}  // namespace lagtrap::trace::later_names_test
