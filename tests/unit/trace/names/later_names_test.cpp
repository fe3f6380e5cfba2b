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
    EXPECT_EQ(names().problem, "it took too long");
    EXPECT_EQ(names().found_in, folder_.path() / "planted");
}

TEST_F(LaterNamesOfAProgram, HaveTheFunctionAndItsLine) {
    put("planted");
    module_.places.push_back({1, {}});  // no code is there
    const ModuleNames found = names().names;
    EXPECT_EQ(found.path, "/opt/app/planted");
    EXPECT_EQ(found.build_id, module_.build_id);
    ASSERT_THAT(found.places, SizeIs(1));
    EXPECT_EQ(found.places[0].address, module_.places[0].address);
    ASSERT_THAT(found.places[0].functions, testing::Not(IsEmpty()));
    const binaries::SourceFrame& outermost = found.places[0].functions.back();
    EXPECT_EQ(outermost.function, "outermost_function");
    EXPECT_TRUE(outermost.file.ends_with("/inlined.cpp")) << outermost.file;
    EXPECT_NE(outermost.line, 0U);
}

TEST_F(LaterNamesOfAProgram, KeepTheNameThatIsKnown) {
    put("planted");
    module_.places[0].name = "as_recorded";
    const ModuleNames found = names().names;
    ASSERT_THAT(found.places, SizeIs(1)) << "its line is new";
    EXPECT_EQ(found.places[0].functions.back().function, "as_recorded");
    EXPECT_NE(found.places[0].functions.back().line, 0U);
}

class LaterNamesOfAStrippedProgram : public LaterNamesOfAProgram {
  protected:
    void run(const std::string& command) const {
        ASSERT_EQ(::system(("cd '" + folder_.path().string() + "' && " + command).c_str()), 0);
    }
    // Debug information alone, where it is found by build id.
    [[nodiscard]] std::filesystem::path put_debug_file() const {
        const auto path = folder_.path() / "debug" / ".build-id" / module_.build_id.substr(0, 2) /
                          (module_.build_id.substr(2) + ".debug");
        std::filesystem::create_directories(path.parent_path());
        run("objcopy --only-keep-debug '" + planted_.string() + "' '" + path.string() + "'");
        return path;
    }
};

TEST_F(LaterNamesOfAStrippedProgram, ComeFromItsDebugFileAlone) {
    const auto debug_file = put_debug_file();
    const LaterNames found = names();
    EXPECT_EQ(found.problem, "");
    EXPECT_EQ(found.found_in, debug_file);
    ASSERT_THAT(found.names.places, SizeIs(1));
    const binaries::SourceFrame& outermost = found.names.places[0].functions.back();
    EXPECT_EQ(outermost.function, "outermost_function");
    EXPECT_NE(outermost.line, 0U);
}

TEST_F(LaterNamesOfAStrippedProgram, HaveLinesOfTheDebugFileBesidesTheProgram) {
    put("planted");
    run("objcopy --strip-all planted");
    const LaterNames without = names();
    EXPECT_THAT(without.names.places, IsEmpty());
    EXPECT_EQ(without.found_in, folder_.path() / "planted");
    const auto debug_file = put_debug_file();
    const LaterNames found = names();
    EXPECT_EQ(found.found_in, debug_file);
    ASSERT_THAT(found.names.places, SizeIs(1));
    EXPECT_EQ(found.names.places[0].functions.back().function, "outermost_function");
    EXPECT_NE(found.names.places[0].functions.back().line, 0U);
}

TEST_F(LaterNamesOfAStrippedProgram, WithoutLinesHaveTheFunctionUnlessItIsKnown) {
    put("planted");
    run("objcopy --strip-debug planted");
    const LaterNames found = names();
    ASSERT_THAT(found.names.places, SizeIs(1));
    ASSERT_THAT(found.names.places[0].functions, SizeIs(1));
    EXPECT_EQ(found.names.places[0].functions[0].function, "outermost_function");
    EXPECT_EQ(found.names.places[0].functions[0].file, "");
    EXPECT_EQ(found.problem, "");
    module_.places[0].name = "as_recorded";
    EXPECT_THAT(names().names.places, IsEmpty()) << "nothing is new";
}

TEST_F(LaterNamesOfAStrippedProgram, SayWhyTheyAreMissing) {
    put("planted");
    options_.limits.symbol_table_bytes = 1;
    const LaterNames small = names();
    EXPECT_NE(small.problem, "");
    options_.limits = {};
    options_.debug_info.file_bytes = 1;
    const LaterNames large = names();
    EXPECT_NE(large.problem, "");
    ASSERT_THAT(large.names.places, SizeIs(1)) << "the name alone";
    EXPECT_EQ(large.names.places[0].functions.back().function, "outermost_function");
    EXPECT_EQ(large.names.places[0].functions.back().line, 0U);
}

}  // namespace
}  // namespace lagtrap::trace::later_names_test
