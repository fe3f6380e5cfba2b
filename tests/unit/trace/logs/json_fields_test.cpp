#include "trace/logs/json_fields.hpp"

#include <gtest/gtest.h>

namespace lagtrap::trace::json_fields_test {
namespace {

const boost::json::object object = boost::json::parse(R"({"count": 7, "flag": true, "text": "a",
    "list": [1, 2, 3], "inner": {"count": -1}})")
                                       .as_object();

// Reads, and returns the error; empty if there is none.
template <typename Read>
std::string error_of(Read read) {
    std::optional<Error> error;
    read(JsonFields(object, "", error));
    return error ? error->message : "";
}

TEST(JsonFields, TakeWhatIsThere) {
    std::uint32_t count = 0;
    bool flag = false;
    std::string text;
    std::size_t elements = 0;
    EXPECT_EQ(error_of([&](JsonFields fields) {
                  fields.number("count", count);
                  fields.flag("flag", flag);
                  fields.string("text", text);
                  fields.list("list", 3, [&](const auto&, const auto&) { ++elements; });
              }),
              "");
    EXPECT_EQ(count, 7U);
    EXPECT_TRUE(flag);
    EXPECT_EQ(text, "a");
    EXPECT_EQ(elements, 3U);
}

TEST(JsonFields, NameWhatIsMissingOrWrong) {
    std::uint8_t count = 0;
    bool flag = false;
    std::string text;
    EXPECT_EQ(error_of([&](JsonFields fields) { fields.number("none", count); }),
              "\"none\" is missing");
    EXPECT_EQ(error_of([&](JsonFields fields) { fields.number("text", count); }),
              "\"text\" is not a whole number of 0 or more");
    EXPECT_EQ(error_of([&](JsonFields fields) { fields.number("count", count, std::uint8_t{6}); }),
              "\"count\" is 7; at most 6 is allowed");
    EXPECT_EQ(error_of([&](JsonFields fields) { fields.flag("count", flag); }),
              "\"count\" is neither true nor false");
    EXPECT_EQ(error_of([&](JsonFields fields) { fields.string("count", text); }),
              "\"count\" is not a text");
    EXPECT_EQ(error_of([&](JsonFields fields) {
                  fields.list("list", 2, [](const auto&, const auto&) {});
              }),
              "\"list\" has 3 elements; at most 2 are allowed");
}

TEST(JsonFields, KeepTheFirstErrorWithItsPlace) {
    std::uint32_t count = 5;
    std::string text;
    EXPECT_EQ(error_of([&](JsonFields fields) {
                  fields.object("inner", [&](JsonFields inner) { inner.number("count", count); });
                  fields.string("text", text);
                  fields.string("none", text);
              }),
              "\"inner.count\" is not a whole number of 0 or more");
    EXPECT_EQ(count, 5U);
    EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace lagtrap::trace::json_fields_test
