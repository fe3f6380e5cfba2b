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

}  // namespace
}  // namespace lagtrap::binaries::test::place_names_test
