#include "binaries/dwarf/place_names.hpp"

#include <fcntl.h>

#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"
#include "core/files.hpp"
#include "tests/unit/binaries/support.hpp"

namespace lagtrap::binaries::test::place_names_test {
namespace {

class PlaceNamesTest : public testing::Test {
  protected:
    PlaceNamesTest() {
        request_.path = store_folder / "libstore.so";
        const auto file = ProgramFile::open(request_.path);
        EXPECT_TRUE(file);
        const auto found = file->find_functions("plain_function");
        EXPECT_TRUE(found && found->size() == 1);
        request_.offsets = {1, found->front().file_offset};
    }
    [[nodiscard]] PlaceNames named() const {
        const auto program = open_file(request_.path, O_RDONLY);
        EXPECT_TRUE(program);
        auto names = name_places(*program, request_);
        EXPECT_TRUE(names) << names.error().message;
        return names ? std::move(*names) : PlaceNames();
    }
    PlaceNamesRequest request_;
};

TEST_F(PlaceNamesTest, AreInTheOrderOfTheQuestions) {
    const PlaceNames names = named();
    ASSERT_EQ(names.places.size(), 2U);
    EXPECT_EQ(names.places[0].symbol, "");
    EXPECT_EQ(names.places[1].symbol, "plain_function");
    EXPECT_FALSE(names.left_out);
}

TEST_F(PlaceNamesTest, SayThatSymbolsWereLeftOut) {
    request_.symbol_table_bytes = 10;
    const PlaceNames names = named();
    ASSERT_EQ(names.places.size(), 2U);
    EXPECT_EQ(names.places[1].symbol, "");
    EXPECT_TRUE(names.left_out);
}

TEST_F(PlaceNamesTest, OfAFileWithoutSymbolsAreEmpty) {
    const TemporaryFolder folder;
    request_.path = folder.path() / "text";
    write(request_.path, "no program");
    const PlaceNames names = named();
    ASSERT_EQ(names.places.size(), 2U);
    EXPECT_EQ(names.places[1].symbol, "");
    EXPECT_FALSE(names.left_out);
}

// The same for a program with DWARF.
class PlaceNamesWithLines : public PlaceNamesTest {
  protected:
    PlaceNamesWithLines() {
        request_.path = build_folder() + "/binaries/inlines/inlines_gcc_dwarf5";
        const auto file = ProgramFile::open(request_.path);
        EXPECT_TRUE(file);
        const auto found = file->find_functions("main");
        EXPECT_TRUE(found && found->size() == 1);
        request_.offsets = {found->front().file_offset, 1};
    }
    // The symbol of main is there with each limit; whether there is also a line.
    [[nodiscard]] bool has_lines() const {
        const PlaceNames names = named();
        EXPECT_EQ(names.places.size(), 2U);
        EXPECT_EQ(names.places.at(0).symbol, "main");
        EXPECT_FALSE(names.left_out);
        return !names.places.at(0).frames.empty();
    }
};

TEST_F(PlaceNamesWithLines, HaveFunctionFileAndLine) {
    const PlaceNames names = named();
    ASSERT_EQ(names.places.size(), 2U);
    EXPECT_EQ(names.places[0].symbol, "main");
    ASSERT_FALSE(names.places[0].frames.empty());
    EXPECT_EQ(names.places[0].frames.back().function, "main");
    EXPECT_TRUE(names.places[0].frames.back().file.ends_with("main.cpp"));
    EXPECT_NE(names.places[0].frames.back().line, 0U);
    EXPECT_TRUE(names.places[1].frames.empty());
    EXPECT_EQ(names.places[1].symbol, "");
}

TEST_F(PlaceNamesWithLines, HaveLimits) {
    EXPECT_TRUE(has_lines());
    request_.read_bytes = 100;
    EXPECT_FALSE(has_lines());
    request_.read_bytes = 1 << 30;
    request_.debug_info.file_bytes = 100;
    EXPECT_FALSE(has_lines());
    request_.debug_info = {};
    request_.debug_info.memory_bytes = 100;
    EXPECT_FALSE(has_lines());
    request_.debug_info = {};
    request_.cpu_time = std::chrono::milliseconds(0);
    EXPECT_FALSE(has_lines());
    request_.cpu_time = std::chrono::milliseconds(60'000);
    EXPECT_TRUE(has_lines());
}

TEST_F(PlaceNamesWithLines, LinesMayBeInADebugFileBesideTheProgram) {
    const TemporaryFolder folder;
    const auto program = folder.path() / "program";
    const auto debug_file = folder.path() / "program.debug";
    std::filesystem::copy_file(request_.path, program);
    output_of("objcopy --only-keep-debug " + program.string() + " " + debug_file.string());
    output_of("objcopy --strip-debug --add-gnu-debuglink=" + debug_file.string() + " " +
              program.string());
    request_.path = program;
    EXPECT_TRUE(has_lines());
    std::filesystem::remove(debug_file);
    EXPECT_FALSE(has_lines());
}

}  // namespace
}  // namespace lagtrap::binaries::test::place_names_test
