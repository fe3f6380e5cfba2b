#include "server/api/json_reply.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/list_file.hpp"

namespace lagtrap::server::json_reply_test {
namespace {

using testing::ElementsAre;

Route route_of(std::vector<std::pair<std::string, std::string>> query) {
    Route route;
    route.query = std::move(query);
    return route;
}

std::string header_of(const Reply& reply, const std::string& wanted) {
    for (const auto& [name, value] : reply.headers)
        if (name == wanted) return value;
    return {};
}

TEST(JsonReply, RefusalsSayWhatIsKnownAndNotTheCause) {
    Refusal refusal{401, "sign\x1b in", "use a token", std::chrono::seconds(7), "the cause"};
    Reply reply = reply_of(refusal);
    EXPECT_EQ(reply.status, 401U);
    EXPECT_EQ(reply.body, R"({"error":{"message":"sign\\x1b in","hint":"use a token"}})"
                          "\n");
    EXPECT_EQ(header_of(reply, "WWW-Authenticate"), "Bearer realm=\"lagtrap\"");
    EXPECT_EQ(header_of(reply, "Retry-After"), "7");
    reply = reply_of({403, "no"});
    EXPECT_EQ(reply.body, "{\"error\":{\"message\":\"no\"}}\n");
    EXPECT_TRUE(reply.headers.empty());
    EXPECT_EQ(json_reply(json::array{1}).body, "[1]\n");
    EXPECT_EQ(json_reply(json::array{1}).status, 200U);
    EXPECT_EQ(json_reply(nullptr, 201).status, 201U);
    EXPECT_EQ(empty_reply().status, 204U);
    EXPECT_EQ(empty_reply().body, "");
}

TEST(JsonReply, NumbersAreRoundedAndClamped) {
    const auto most = static_cast<std::int64_t>(json_number_limit);
    EXPECT_EQ(json_signed(1.5), 2);
    EXPECT_EQ(json_signed(-1.4), -1);
    EXPECT_EQ(json_signed(1e300), most);
    EXPECT_EQ(json_signed(-1e300), -most);
    EXPECT_EQ(json_signed(std::nan("")), 0);
    EXPECT_EQ(json_signed(HUGE_VAL), 0);
    EXPECT_EQ(json_digits(UINT64_MAX), "18446744073709551615");
    EXPECT_TRUE(digits_or_null(std::nullopt).is_null());
    EXPECT_EQ(digits_or_null(0), json::value("0"));
    EXPECT_TRUE(text_or_null("").is_null());
    EXPECT_EQ(text_or_null("a"), json::value("a"));
    EXPECT_EQ(read_digits("18446744073709551615"), UINT64_MAX);
    for (const char* wrong : {"", "-1", "+1", " 1", "1 ", "1x", "18446744073709551616"})
        EXPECT_FALSE(read_digits(wrong)) << wrong;
}

TEST(JsonReply, BodiesHaveAllAndOnlyTheirMembers) {
    const auto read = [](const std::string& body) -> std::string {
        Request request;
        request.body = body;
        const auto object = read_object(request, {"name", "(host)"});
        if (const auto* wrong = std::get_if<Refusal>(&object)) {
            EXPECT_EQ(wrong->status, 400U);
            return wrong->message;
        }
        return json::serialize(std::get<json::object>(object));
    };
    EXPECT_EQ(read(R"({"name":1})"), R"({"name":1})");
    EXPECT_EQ(read(R"({"name":1,"host":2})"), R"({"name":1,"host":2})");
    EXPECT_EQ(read(R"({"host":2})"), "the body has no \"name\"");
    EXPECT_EQ(read("{\"name\":1,\"(host)\":2}"), "the body has the unknown member \"(host)\"");
    EXPECT_EQ(read("{\"name\":1,\"" + std::string(100, 'x') + "\":2}"),
              "the body has the unknown member \"" + std::string(64, 'x') + "\"");
    for (const char* other : {"", "[]", "1", "{", "{\"name\":1}x"})
        EXPECT_EQ(read(other), "the body is not a JSON object") << other;
    const auto nested = [](std::size_t depth) {
        return "{\"name\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
    };
    EXPECT_EQ(read(nested(7)), nested(7));
    EXPECT_EQ(read(nested(8)), "the body is not a JSON object");
}

TEST(JsonReply, TextsAreLimitedAndWithoutZeros) {
    const json::object object{{"a", "1234"}, {"b", 5}, {"c", std::string("x\0y", 3)}};
    const auto read = [&](const char* name, std::size_t limit) {
        const auto text = read_text(object, name, limit);
        const auto* wrong = std::get_if<Refusal>(&text);
        return wrong != nullptr ? "wrong: " + wrong->message : std::get<std::string>(text);
    };
    EXPECT_EQ(read("a", 4), "1234");
    EXPECT_EQ(read("a", 3), "wrong: \"a\": expected at most 3 bytes");
    EXPECT_EQ(read("b", 3), "wrong: \"b\": expected a text");
    EXPECT_EQ(read("d", 3), "wrong: \"d\": expected a text");
    EXPECT_EQ(read("c", 3), "wrong: \"c\": expected a text without the letter U+0000");
}

TEST(JsonReply, FiltersTakeEachParameter) {
    const auto read = [](std::vector<std::pair<std::string, std::string>> query,
                         const std::string& event = {}) {
        return std::get<Filter>(read_filter(route_of(std::move(query)), event));
    };
    const Filter all = read({{"event", "open"},
                             {"from", "5"},
                             {"to", "9"},
                             {"host", "h1"},
                             {"host", ""},
                             {"host", "h2"},
                             {"user", "u"},
                             {"build", "b"},
                             {"process", "p"},
                             {"unit", "s"},
                             {"start", "cold"},
                             {"dirty", "only"},
                             {"outliers", "0"}});
    EXPECT_EQ(all.event, "open");
    EXPECT_EQ(all.from_ns, 5U);
    EXPECT_EQ(all.to_ns, 9U);
    EXPECT_THAT(all.host, ElementsAre("h1", "h2"));
    EXPECT_THAT(all.user, ElementsAre("u"));
    EXPECT_THAT(all.build, ElementsAre("b"));
    EXPECT_THAT(all.process, ElementsAre("p"));
    EXPECT_THAT(all.unit, ElementsAre("s"));
    EXPECT_EQ(all.start, trace::StartKind::Cold);
    EXPECT_TRUE(all.with_dirty && all.only_dirty && all.without_outliers);
    const Filter of_path = read({{"event", "other"}, {"start", "warm"}, {"dirty", "1"}}, "open");
    EXPECT_EQ(of_path.event, "open");
    EXPECT_EQ(of_path.start, trace::StartKind::Warm);
    EXPECT_TRUE(of_path.with_dirty);
    EXPECT_FALSE(of_path.only_dirty);
    const Filter nothing = read({{"event", ""}, {"from", ""}, {"to", ""}, {"start", ""}});
    EXPECT_FALSE(nothing.event || nothing.from_ns || nothing.to_ns || nothing.start);
    const Filter shown = read({{"dirty", "0"}, {"outliers", "1"}});
    EXPECT_FALSE(shown.with_dirty || shown.only_dirty || shown.without_outliers);
}

TEST(JsonReply, WrongParametersAreNamed) {
    const auto says = [](const std::string& name, const std::string& value) {
        const auto filter = read_filter(route_of({{name, value}}), {});
        const auto* wrong = std::get_if<Refusal>(&filter);
        if (wrong == nullptr) return std::string("fine");
        EXPECT_EQ(wrong->status, 400U);
        return wrong->message;
    };
    for (const std::string name : {"event", "host", "user", "build", "process", "unit"}) {
        EXPECT_EQ(says(name, std::string(256, 'x')), "fine");
        EXPECT_EQ(says(name, std::string(257, 'x')),
                  "\"" + name + "\": expected at most 256 bytes");
    }
    for (const std::string name : {"from", "to"})
        EXPECT_EQ(says(name, "today"),
                  "\"" + name + "\": expected nanoseconds since 1970, as digits");
    EXPECT_EQ(says("start", "hot"), "\"start\": expected cold or warm");
    EXPECT_EQ(says("dirty", "2"), "\"dirty\": expected 0, 1 or only");
    EXPECT_EQ(says("outliers", "only"), "\"outliers\": expected 0 or 1");
}

TEST(JsonReply, PagesHaveALimitAndAPlace) {
    const auto read = [](std::vector<std::pair<std::string, std::string>> query) {
        return read_page(route_of(std::move(query)), 100);
    };
    const auto usual = std::get<PageQuestion>(read({}));
    EXPECT_EQ(usual.limit, 100U);
    EXPECT_FALSE(usual.after);
    EXPECT_EQ(std::get<PageQuestion>(read({{"limit", "1"}})).limit, 1U);
    EXPECT_EQ(std::get<PageQuestion>(read({{"limit", "1000"}})).limit, 1000U);
    for (const char* wrong : {"0", "1001", "", "x"})
        EXPECT_EQ(std::get<Refusal>(read({{"limit", wrong}})).message,
                  "\"limit\": expected 1 to 1000");
    const auto after = std::get<PageQuestion>(read({{"after", "12-34"}})).after;
    ASSERT_TRUE(after);
    EXPECT_EQ(after->value, 12U);
    EXPECT_EQ(after->id, 34U);
    EXPECT_EQ(next_of(after), json::value("12-34"));
    EXPECT_TRUE(next_of(std::nullopt).is_null());
    for (const char* wrong : {"", "12", "12-", "-34", "1-2-3"})
        EXPECT_EQ(std::get<Refusal>(read({{"after", wrong}})).message,
                  "\"after\": expected the \"next\" of the part before");
}

std::string all_of(BodySource& source, std::size_t size) {
    std::string text, buffer(size, '\0');
    for (;;) {
        const auto got = source.read(buffer.data(), size);
        if (!got.ok()) return text + "(" + got.error().message + ")";
        if (*got == 0) return text;
        text.append(buffer, 0, *got);
    }
}

TEST(ListFile, FormatsAreCsvAndLines) {
    EXPECT_EQ(std::get<ListFormat>(read_list_format(route_of({}))), ListFormat::Csv);
    EXPECT_EQ(std::get<ListFormat>(read_list_format(route_of({{"format", "csv"}}))),
              ListFormat::Csv);
    EXPECT_EQ(std::get<ListFormat>(read_list_format(route_of({{"format", "ndjson"}}))),
              ListFormat::Lines);
    EXPECT_EQ(std::get<Refusal>(read_list_format(route_of({{"format", "json"}}))).message,
              "\"format\": expected csv or ndjson");
}

TEST(ListFile, PartsFollowEachOtherUpToTheLast) {
    // Three parts, of which the second is empty.
    std::vector<std::uint64_t> asked;
    const NextPart next = [&](std::optional<PageKey> after,
                              std::string& text) -> Result<std::optional<PageKey>> {
        asked.push_back(after ? after->id : 0);
        if (!after) {
            text += "one\r\n";
            return std::optional(PageKey{9, 1});
        }
        if (after->id == 1) return std::optional(PageKey{9, 2});
        text += "two\r\n";
        return std::optional<PageKey>();
    };
    const Reply csv = list_file(ListFormat::Csv, "runs", "id\r\n", next);
    EXPECT_EQ(csv.content_type, "text/csv; charset=utf-8");
    EXPECT_EQ(header_of(csv, "Content-Disposition"), "attachment; filename=\"runs.csv\"");
    EXPECT_FALSE(csv.announced_bytes);
    EXPECT_EQ(all_of(*csv.source, 2), "id\r\none\r\ntwo\r\n");
    EXPECT_THAT(asked, ElementsAre(0, 1, 2));
    const Reply lines = list_file(ListFormat::Lines, "runs", "id\r\n", next);
    EXPECT_EQ(lines.content_type, "application/x-ndjson");
    EXPECT_EQ(header_of(lines, "Content-Disposition"), "attachment; filename=\"runs.ndjson\"");
    EXPECT_EQ(all_of(*lines.source, 1000), "one\r\ntwo\r\n");
    const Reply failing = list_file(ListFormat::Csv, "runs", "id\r\n", [](auto, auto&) {
        return Result<std::optional<PageKey>>(make_error(ErrorKind::Busy, "locked"));
    });
    EXPECT_EQ(all_of(*failing.source, 1000), "id\r\n(locked)");
}

TEST(ListFile, CellsAreSafeForSpreadsheets) {
    std::string line;
    Cells cells(line);
    cells.add("plain text");
    cells.add("");
    cells.add("a,b");
    cells.add("say \"hi\"");
    cells.add("two\nlines");
    cells.add("a\rb");
    cells.add(5);
    cells.add(std::optional<std::uint64_t>());
    cells.add(std::optional<std::uint64_t>(7));
    EXPECT_EQ(line, "plain text,,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\"a\rb\",5,,7");
    for (const std::string formula : {"=1", "+1", "-1", "@x", "\tx", "\rx"}) {
        std::string alone;
        Cells(alone).add(formula);
        EXPECT_EQ(alone, "\"'" + formula + "\"");
    }
    std::string inside;
    Cells(inside).add("a=b-c");
    EXPECT_EQ(inside, "a=b-c");
}

}  // namespace
}  // namespace lagtrap::server::json_reply_test
