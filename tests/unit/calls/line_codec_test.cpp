#include "calls/line_codec.hpp"

#include <gtest/gtest.h>

namespace lagtrap::calls::line_codec_test {

enum class Kind : std::uint8_t { First, Second };

struct Row {
    std::string name;
    std::int32_t change = 0;
    Kind kind = Kind::First;
    bool good = false;
    std::string place;
};

template <typename Io>
void columns(Io& io, Of<Io, Row>& one) {
    io(one.name, one.change, one.kind, one.good);
    if (io.continues(!one.place.empty())) io(one.place);
    io.require(one.kind <= Kind::Second, "an unknown kind");
}

struct Answer {
    std::uint64_t count = 0;
    std::vector<Row> rows;
    double scale = 1;
    std::uint32_t recent = 0;
};

template <typename Io>
void fields(Io& io, Of<Io, Answer>& one) {
    io("count", one.count);
    io("rows", one.rows);
    io.unless(1.0, "scale", one.scale);
    io.added("recent", one.recent);
}

struct Message {
    std::optional<Answer> answer;
    std::optional<std::vector<Row>> rows;
};

namespace {

constexpr LineErrors errors{"unknown", "malformed", "several"};

Result<Message> parse(const std::string& line) {
    return parse_line<Message>(line, errors, [](FieldReader& io, Message& one) {
        return io("answer", one.answer) + io("rows", one.rows);
    });
}

std::string error_of(const std::string& line) {
    const auto message = parse(line);
    return message ? "none" : message.error().message;
}

TEST(LineCodecTest, FieldsKeepTheirOrderAndUsualOnesAreLeftOut) {
    Answer answer{1, {{"a", -2, Kind::Second, true, ""}, {"b", 3, Kind::First, false, "c"}}, 1, 4};
    EXPECT_EQ(
        boost::json::serialize(first_line_of("answer", answer)),
        R"({"ok":true,"answer":{"count":1,"rows":[["a",-2,1,1],["b",3,0,0,"c"]],"recent":4}})");
    answer.scale = 2;
    EXPECT_EQ(boost::json::serialize(line_of("answer", answer)),
              R"({"answer":{"count":1,"rows":[["a",-2,1,1],["b",3,0,0,"c"]],"scale":2E0,)"
              R"("recent":4}})");
}

TEST(LineCodecTest, ALineIsReadAsItWasWritten) {
    const auto read = parse(R"({"answer":{"count":1,"rows":[["a",-2,1,1],["b",3,0,0,"c"]]}})");
    ASSERT_TRUE(read && read->answer && !read->rows);
    EXPECT_EQ(read->answer->count, 1U);
    ASSERT_EQ(read->answer->rows.size(), 2U);
    const Row &first = read->answer->rows[0], &second = read->answer->rows[1];
    EXPECT_EQ(first.name, "a");
    EXPECT_EQ(first.change, -2);
    EXPECT_EQ(first.kind, Kind::Second);
    EXPECT_TRUE(first.good);
    EXPECT_EQ(second.place, "c");
    EXPECT_EQ(read->answer->scale, 1);
    EXPECT_EQ(read->answer->recent, 0U);
}

TEST(LineCodecTest, TextsArePrintable) {
    const auto read = parse(R"({"rows":[["a\u001b[2J",0,0,0]]})");
    ASSERT_TRUE(read && read->rows);
    EXPECT_EQ(read->rows->at(0).name, "a\\x1b[2J");
    EXPECT_EQ(error_of(R"({"ok":false,"error":"a\u001b[2J"})"), "a\\x1b[2J");
}

TEST(LineCodecTest, ABadLineSaysWhatIsWrong) {
    EXPECT_EQ(error_of(R"({"rows":[]})"), "none");
    EXPECT_EQ(error_of(R"({"other":[]})"), "unknown");
    EXPECT_EQ(error_of(R"({"rows":[],"answer":{"count":1,"rows":[]}})"), "several");
    for (const char* line :
         {"", "[]", R"({"rows":5})", R"({"rows":[["a",0,0]]})", R"({"rows":[[1,0,0,0]]})",
          R"({"rows":[["a",0,2,0]]})", R"({"rows":[["a",3000000000,0,0]]})",
          R"({"answer":{"rows":[]}})", R"({"ok":1})", R"({"ok":false})"})
        EXPECT_EQ(error_of(line), "malformed") << line;
}

TEST(LineCodecTest, SeveralPartsAreAllowedWithoutAMessageAboutThem) {
    const auto read =
        parse_line<Message>(R"({"rows":[],"answer":{"count":1,"rows":[]}})",
                            {"unknown", "malformed"}, [](FieldReader& io, Message& one) {
                                return io("answer", one.answer) + io("rows", one.rows);
                            });
    EXPECT_TRUE(read && read->answer && read->rows);
}

}  // namespace
}  // namespace lagtrap::calls::line_codec_test
