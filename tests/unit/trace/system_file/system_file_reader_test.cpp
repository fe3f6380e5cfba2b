// What a reader of a system file requires of each attribute and list.
#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trace/full_system_file.hpp"

namespace lagtrap::trace::system_file_reader_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

struct Written {
    std::string element, name, value;
    std::size_t begin = 0, size = 0;  // ` name="value"` in the text
};

std::vector<Written> attributes_of(const std::string& text) {
    std::vector<Written> found;
    for (std::size_t at = text.find("<lagtrap-system"); (at = text.find("=\"", at)) < text.size();
         at += 2) {
        Written one;
        one.begin = text.rfind(' ', at);
        const std::size_t end = text.find('"', at + 2);
        one.name = text.substr(one.begin + 1, at - one.begin - 1);
        one.value = text.substr(at + 2, end - at - 2);
        one.size = end + 1 - one.begin;
        const std::size_t element = text.rfind('<', at) + 1;
        one.element = text.substr(element, text.find(' ', element) - element);
        found.push_back(one);
        at = end;
    }
    return found;
}

// Those for which a text with this change is read all the same, as "element name".
std::set<std::string> accepted_without(
    const std::function<std::optional<std::string>(const Written&)>& replacement) {
    const std::string text = write_system_file(full_file());
    std::set<std::string> accepted;
    for (const Written& one : attributes_of(text)) {
        const auto other = replacement(one);
        if (!other) continue;
        std::string changed = text;
        changed.replace(one.begin, one.size, *other);
        if (read_system_file(changed)) accepted.insert(one.element + " " + one.name);
    }
    return accepted;
}

std::string with_value(const Written& one, const std::string& value) {
    return " " + one.name + "=\"" + value + "\"";
}

bool is_number(const Written& one) {
    return !one.value.empty() && one.value.find_first_not_of("0123456789") == std::string::npos;
}

TEST(SystemFileReader, EachAttributeOfTheFirstVersionIsRequired) {
    EXPECT_THAT(
        accepted_without([](const Written&) { return ""; }),
        UnorderedElementsAre(
            "recording started", "recording trace-length-ns", "recording trace-length-limit-ns",
            "recording history-length-ns", "recording history-interval-ns", "recording end",
            "quality stack-copies", "quality stack-copies-left-out", "quality code-files-lost",
            "stacks delayed", "stacks delayed-late", "stacks on-cpu-late", "stacks off-cpu-late",
            "delay goroutine", "delay control-group", "delay unit", "delay user", "delay trace-id",
            "delay parent-span-id", "delay no-trace-id", "delay without-stages", "wait waker"));
}

TEST(SystemFileReader, NumbersAreNumbers) {
    const auto with = [](const std::string& value) {
        return accepted_without([&](const Written& one) {
            return is_number(one) ? std::optional(with_value(one, value)) : std::nullopt;
        });
    };
    for (const char* value : {"x", "", " 1", "1 ", "+1", "-1", "1.0", "18446744073709551616"}) {
        std::set<std::string> accepted = with(value);
        // texts that may be digits
        for (const char* text : {"delay program-build-id", "module build-id", "delay trace-id",
                                 "delay parent-span-id", "machine id"})
            accepted.erase(text);
        EXPECT_THAT(accepted, testing::IsEmpty()) << value;
    }
}

TEST(SystemFileReader, NumbersOf32BitsHaveTheirLimit) {
    std::set<std::string> all, accepted;
    all = accepted_without([](const Written& one) {
        return is_number(one) ? std::optional(with_value(one, "4294967295")) : std::nullopt;
    });
    accepted = accepted_without([](const Written& one) {
        return is_number(one) ? std::optional(with_value(one, "4294967296")) : std::nullopt;
    });
    std::set<std::string> refused;
    std::set_difference(all.begin(), all.end(), accepted.begin(), accepted.end(),
                        std::inserter(refused, refused.end()));
    EXPECT_THAT(refused, UnorderedElementsAre("machine cpus", "delay begin-pid", "delay begin-tid",
                                              "delay end-pid", "delay end-tid", "stage tid",
                                              "so-far tid", "wait waker-pid", "wait waker-tid",
                                              "functions pid", "function line"));
}

TEST(SystemFileReader, FlagsAreTrueOrFalse) {
    const auto with = [](const std::string& value) {
        return accepted_without([&](const Written& one) {
            const bool flag = one.value == "true" || one.value == "false";
            return flag ? std::optional(with_value(one, value)) : std::nullopt;
        });
    };
    const auto flags =
        UnorderedElementsAre("recording partial", "quality truncated-by-size", "delay open",
                             "delay first", "delay earlier-begin", "delay without-stages");
    EXPECT_THAT(with("true"), flags);
    EXPECT_THAT(with("false"), flags);
    for (const char* value : {"1", "yes", "True", ""})
        EXPECT_THAT(with(value), testing::IsEmpty()) << value;
}

TEST(SystemFileReader, EachFlagIsItsOwn) {
    const auto flags_of = [](const std::string& name) {
        std::string text = write_system_file(full_file());
        for (const char* flag :
             {"open", "first", "earlier-begin", "without-stages", "partial", "truncated-by-size"}) {
            const std::string given = std::string(" ") + flag + "=\"true\"";
            const std::size_t at = text.find(given);
            EXPECT_NE(at, std::string::npos) << flag;
            if (flag != name)
                text.replace(at, given.size(), std::string(" ") + flag + "=\"false\"");
        }
        const SystemFile file = read_system_file(text).value();
        const Delay& delay = file.delays.at(0);
        std::string set;
        if (delay.open) set += "open";
        if (delay.first) set += "first";
        if (delay.earlier_begin) set += "earlier-begin";
        if (delay.without_stages) set += "without-stages";
        if (file.partial) set += "partial";
        if (file.quality.truncated_by_size) set += "truncated-by-size";
        return set;
    };
    for (const char* flag :
         {"open", "first", "earlier-begin", "without-stages", "partial", "truncated-by-size"})
        EXPECT_EQ(flags_of(flag), flag);
    EXPECT_EQ(flags_of("none"), "");
}

// A file with this in place of the first `found`.
Result<SystemFile> read_with(const std::string& found, const std::string& replacement) {
    std::string text = write_system_file(full_file());
    const std::size_t at = text.find(found);
    EXPECT_NE(at, std::string::npos) << found;
    text.replace(at, found.size(), replacement);
    return read_system_file(text);
}

std::string problem_with(const std::string& found, const std::string& replacement) {
    const auto file = read_with(found, replacement);
    return file ? "" : file.error().message;
}

TEST(SystemFileReader, TextsAreUpTo4096Bytes) {
    EXPECT_EQ(problem_with("db7", std::string(4096, 'x')), "");
    EXPECT_EQ(problem_with("db7", std::string(4097, 'x')),
              "system file: machine has host=\"" + std::string(40, 'x') +
                  "\"; allowed is a text of at most 4096 bytes");
}

TEST(SystemFileReader, IdsHaveTheirDigits) {
    const std::string id = "4bf92f3577b34da6a3ce929d0e0e4736";
    EXPECT_EQ(problem_with(id, id.substr(1)),
              "system file: delay has trace-id=\"" + id.substr(1) +
                  "\"; allowed is 32 lower-case hexadecimal digits");
    EXPECT_THAT(problem_with(id, id + "0"), HasSubstr("at most 32 lower-case hexadecimal digits"));
    EXPECT_THAT(problem_with("00f067aa0ba902b7", "00f067aa0ba902b"),
                HasSubstr("delay has parent-span-id=\"00f067aa0ba902b\"; allowed is 16 "));
    EXPECT_THAT(problem_with("00f067aa0ba902b7", "00f067aa0ba902B7"), HasSubstr("at most 16 "));
    EXPECT_EQ(problem_with("\"00ff\"", "\"" + std::string(64, 'f') + "\""), "");
    EXPECT_THAT(
        problem_with("\"00ff\"", "\"" + std::string(65, 'f') + "\""),
        HasSubstr("program-build-id=\"" + std::string(65, 'f') + "\"; allowed is at most 64"));
    EXPECT_THAT(problem_with("\"ab12\"", "\"AB\""), HasSubstr("module has build-id=\"AB\""));
    EXPECT_EQ(problem_with("\"ab12\"", "\"" + std::string(64, '0') + "\""), "");
}

TEST(SystemFileReader, ReasonsAreKnown) {
    for (const char* reason : {"deadline", "end", "manual"})
        EXPECT_EQ(read_with("reason=\"deadline\"", std::string("reason=\"") + reason + "\"")
                      .value()
                      .trigger_reason,
                  reason);
    EXPECT_THAT(problem_with("reason=\"deadline\"", "reason=\"\""),
                HasSubstr("trigger has reason=\"\"; allowed is deadline, end or manual"));
    EXPECT_EQ(read_with(" end=\"limit\"", " end=\"unheard-of\"").value().end,
              RecordingEnd::Unknown);
    EXPECT_EQ(read_with(" end=\"limit\"", " end=\"size\"").value().end, RecordingEnd::Size);
}

// `element` as often as this, before the first `place`.
std::string problem_with_many(const std::string& place, const std::string& element,
                              std::size_t count) {
    std::string many;
    for (std::size_t i = 0; i < count; ++i) many += element;
    return problem_with(place, many + place);
}

TEST(SystemFileReader, ListsHaveTheirLimits) {
    struct List {
        std::string place, element;
        std::size_t room;  // for more elements than the file has
        std::string problem;
    };
    const std::string stage = "<stage name=\"s\" offset-ns=\"1\" tid=\"1\"/>";
    const std::string wait = "<wait class=\"lock\" offset-ns=\"1\" length-ns=\"1\"/>";
    const std::string function =
        "<function name=\"f\" module=\"m\" source=\"\" line=\"0\" calls=\"1\" left=\"0\" "
        "own-ns=\"0\" longest-ns=\"0\"/>";
    for (const List& list :
         {List{"<stage ", stage, 14, "a delay has more than 16 stages"},
          List{"<wait ", wait, 5, "more than 8 elements \"wait\""},
          List{"<blocked ", "<blocked class=\"lock\" ns=\"1\"/>", 12,
               "more than 13 elements \"blocked\""},
          List{"<marker ", "<marker stage=\"\" text=\"\"/>", 15,
               "more than 18 elements \"marker\""},
          List{"<stop ", "<stop module=\"\" reason=\"gap\" on-cpu=\"1\" off-cpu=\"0\"/>", 998,
               "more than 1000 elements \"stop\""},
          List{"<function ", function, 198, "more than 200 elements \"function\""},
          List{"<caller ", "<caller name=\"c\"/>", 14, "more than 16 elements \"caller\""},
          List{"<line ", "<line json=\"{}\"/>", 14, "more than 16 elements \"line\""},
          List{"<module ", "<module path=\"/x\" build-id=\"\"/>", 99'998,
               "more than 100000 elements \"module\""},
          List{"<event ", "<event name=\"e\" runs=\"1\" delays=\"0\"/>", 99'998,
               "more than 100000 elements \"event\""}}) {
        EXPECT_EQ(problem_with_many(list.place, list.element, list.room), "") << list.place;
        EXPECT_EQ(problem_with_many(list.place, list.element, list.room + 1),
                  "system file: " + list.problem)
            << list.place;
    }
}

TEST(SystemFileReader, OmissionsHaveTheirLimit) {
    SystemFile file = full_file();
    for (std::size_t i = 0; i < omitted_limit + 1; ++i)
        file.quality.omitted.push_back("sentence " + std::to_string(i));
    const std::string text = write_system_file(file);
    const SystemFile read = read_system_file(text).value();
    ASSERT_EQ(read.quality.omitted.size(), 64U) << "writers leave out the rest";
    EXPECT_EQ(read.quality.omitted.back(), "sentence 63");
    std::string earlier = text;
    for (std::size_t at = 0; (at = earlier.find("<omitted ")) != std::string::npos;)
        earlier.replace(at, 9, "<shed ");
    EXPECT_EQ(read_system_file(earlier).value().quality.omitted.size(), 64U);
    std::string more = text;
    more.insert(more.find("<omitted "), "<omitted text=\"x\"/>");
    const auto refused = read_system_file(more);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(refused.error().message, "system file: more than 64 elements \"omitted\"");
}

TEST(SystemFileReader, WaitsAreSortedAndKeepTheirWakers) {
    SystemFile file = full_file();
    std::reverse(file.delays[0].so_far.waits.begin(), file.delays[0].so_far.waits.end());
    const RunSoFar so_far = read_system_file(write_system_file(file)).value().delays[0].so_far;
    ASSERT_EQ(so_far.waits.size(), 3U);
    EXPECT_EQ(so_far.waits[0].offset_ns, 11U);
    EXPECT_EQ(so_far.waits[0].length_ns, 12U);
    EXPECT_EQ(so_far.waits[0].waker_pid, 21U);
    EXPECT_EQ(so_far.waits[1].offset_ns, 30U);
    EXPECT_EQ(so_far.waits[2].offset_ns, 40U);
    EXPECT_EQ(so_far.blocked_ns[LAGTRAP_WAIT_LOCK], 13U);
    EXPECT_EQ(so_far.earlier.blocked_ns[LAGTRAP_WAIT_STOPPED], 9U);
    EXPECT_EQ(so_far.tid, 2U);
    EXPECT_EQ(so_far.from_offset_ns, 10U);
    EXPECT_EQ(so_far.until_offset_ns, 65U);
}

TEST(SystemFileReader, TheFileItselfHasLimits) {
    const std::string text = write_system_file(full_file());
    const std::size_t limit = 16 << 20;
    EXPECT_TRUE(read_system_file(text + std::string(limit - text.size(), ' ')));
    const auto large = read_system_file(text + std::string(limit + 1 - text.size(), ' '));
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(large.error().message, "system file of 16777217 bytes; at most 16777216 are allowed");
    const auto elements = [](std::size_t count) {
        std::string many = "<a>";
        for (std::size_t i = 1; i < count; ++i) many += "<b/>";
        return read_system_file(many).error().message;
    };
    EXPECT_THAT(elements(1'000'001), HasSubstr("more than 1000000 elements"));
    EXPECT_THAT(elements(1'000'000), HasSubstr("not XML"));
    const auto zero = read_system_file(text + std::string(1, '\0'));
    ASSERT_FALSE(zero);
    EXPECT_EQ(zero.error().message, "system file: holds NUL bytes");
}

TEST(SystemFileReader, OnlyItsOwnRootAndVersionAreRead) {
    EXPECT_EQ(read_system_file("<other/>").error().message,
              "system file: its root is not \"lagtrap-system\"");
    EXPECT_THAT(read_system_file("<lagtrap-system").error().message,
                testing::StartsWith("system file: not XML: "));
    const auto later = read_with("version=\"1\" session", "version=\"2\" session");
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().kind, ErrorKind::Unsupported);
    EXPECT_EQ(later.error().message, "system file of version 2; this program reads version 1");
    EXPECT_EQ(problem_with("session=\"0f8fad5b", "session=\"0f8fad5"),
              "system file: lagtrap-system has session=\"0f8fad5-d9cb-469f-a165-70867728950e\"; "
              "allowed is a UUID");
    EXPECT_THAT(problem_with("version=\"1\" session", "session"), HasSubstr("has no \"version\""));
}

TEST(SystemFileReader, FunctionsWereCalled) {
    EXPECT_EQ(problem_with("calls=\"9\"", "calls=\"0\""),
              "system file: function has calls=\"0\"; allowed is a number from 1");
    EXPECT_EQ(problem_with("calls=\"9\"", "calls=\"1\""), "");
}

}  // namespace
}  // namespace lagtrap::trace::system_file_reader_test
