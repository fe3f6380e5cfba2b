#include "binaries/reader/name_messages.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/binaries/reader/whole_message.hpp"

namespace lagtrap::binaries::test::name_messages_test {
namespace {

TEST(NameMessages, QuestionsAreKept) {
    PlaceNamesRequest request;
    request.path = "/usr/bin/app";
    request.offsets = {1, 2, 3};
    request.symbol_table_bytes = 4;
    request.read_bytes = 5;
    request.debug_info.file_bytes = 6;
    request.debug_info.memory_bytes = 7;
    request.cpu_time = std::chrono::milliseconds(8);
    const std::string message = encode_names_request(request);
    expect_whole(message, decode_names_request);
    const PlaceNamesRequest read = decode_names_request(message).value();
    EXPECT_EQ(read.path, "/usr/bin/app");
    EXPECT_EQ(read.offsets, request.offsets);
    EXPECT_EQ(read.symbol_table_bytes, 4U);
    EXPECT_EQ(read.read_bytes, 5U);
    EXPECT_EQ(read.debug_info.file_bytes, 6U);
    EXPECT_EQ(read.debug_info.memory_bytes, 7U);
    EXPECT_EQ(read.cpu_time, std::chrono::milliseconds(8));
}

TEST(NameMessages, AnswersAreOnePerPlace) {
    PlaceNames names;
    names.left_out = true;
    names.places.resize(2);
    names.places[0].symbol = "work";
    names.places[0].frames = {{"inner", "/src/a.h", 7}, {"outer", "/src/a.c", 9}};
    const auto decode = [](const std::string& message) { return decode_names(message, 2); };
    const std::string message = encode_names(names);
    expect_whole(message, decode);
    const PlaceNames read = decode(message).value();
    EXPECT_TRUE(read.left_out);
    EXPECT_EQ(read.places[0].symbol, "work");
    ASSERT_EQ(read.places[0].frames.size(), 2U);
    EXPECT_EQ(read.places[0].frames[0].function, "inner");
    EXPECT_EQ(read.places[0].frames[0].file, "/src/a.h");
    EXPECT_EQ(read.places[0].frames[0].line, 7U);
    EXPECT_EQ(read.places[0].frames[1].line, 9U);
    EXPECT_TRUE(read.places[1].frames.empty());
    EXPECT_FALSE(decode_names(message, 1));
    names.left_out = false;
    names.places[0].symbol = std::string(70'000, 's');
    names.places[0].frames.assign(5000, {std::string(), std::string(), 1});
    const PlaceNames cut = decode(encode_names(names)).value();
    EXPECT_FALSE(cut.left_out);
    EXPECT_EQ(cut.places[0].symbol.size(), 65'536U);
    EXPECT_EQ(cut.places[0].frames.size(), 4096U);
}

}  // namespace
}  // namespace lagtrap::binaries::test::name_messages_test
