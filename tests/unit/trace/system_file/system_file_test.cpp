#include "trace/system_file/system_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/expected_file.hpp"
#include "tests/unit/test_paths.hpp"
#include "tests/unit/trace/full_system_file.hpp"

namespace lagtrap::trace::system_file_test {
namespace {

using testing::HasSubstr;

TEST(SystemFile, GivesBackWhatWasWritten) {
    const std::string text = write_system_file(full_file());
    auto read = read_system_file(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    // All fields are in the text again, so equal texts mean equal files.
    EXPECT_EQ(write_system_file(*read), text);
    EXPECT_EQ(read->cpu_model, "A <CPU> & \"more\"");
    EXPECT_EQ(read->quality.daemon_cpu_ns, 9U);
    EXPECT_EQ(read->quality.stack_copies_left_out, 12U);
    EXPECT_EQ(read->stacks.on_cpu.late, 2U);
    EXPECT_EQ(read->stacks.delayed.complete, 6U);
    EXPECT_EQ(read->stacks.frames_named, 7U);
    EXPECT_EQ(read->quality.code_files_lost, 10U);
    EXPECT_EQ(read->stacks.stops.at(0).reason, "gap");
    EXPECT_EQ(read->stacks.other_stops.off_cpu, 13U);
    EXPECT_EQ(read->stacks.naming.lines_left_out, 25U);
    EXPECT_EQ(read->runs.at("query").runs, 10'000U);
    ASSERT_EQ(read->delays.size(), 2U);
    EXPECT_EQ(read->delays[0].key, ~0ULL);
    EXPECT_TRUE(read->delays[0].in_go);
    EXPECT_TRUE(read->delays[0].without_stages);
    EXPECT_EQ(read->delays[0].trace,
              (TraceContext{"4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"}));
    EXPECT_EQ(read->delays[0].no_trace, "x<y");
    EXPECT_EQ(read->delays[1].trace, TraceContext{});
    EXPECT_FALSE(read->delays[1].without_stages);
    EXPECT_EQ(read->delays[0].goroutine, 34);
    EXPECT_TRUE(read->delays[0].open);
    EXPECT_EQ(read->delays[0].stages[1].name, "execute");
    EXPECT_EQ(read->delays[0].program_version, "15.8-0");
    EXPECT_EQ(read->delays[0].user, "postgres");
    const RunSoFar& so_far = read->delays[0].so_far;
    EXPECT_EQ(so_far.total_ns(), 48U);
    EXPECT_EQ(so_far.earlier.total_ns(), 9U);
    ASSERT_EQ(so_far.waits.size(), 3U);
    EXPECT_EQ(so_far.waits[0].waker_thread, "holder <1>");
    EXPECT_EQ(so_far.waits[0].waker_tid, 22U);
    EXPECT_EQ(so_far.waits[1].waker, static_cast<std::uint32_t>(LAGTRAP_WAKER_SOFTIRQ));
    EXPECT_EQ(so_far.waits[2].waker, static_cast<std::uint32_t>(LAGTRAP_WAKER_UNKNOWN));
    EXPECT_FALSE(read->delays[1].so_far.known());
    EXPECT_EQ(read->modules[0].build_id, "ab12");
    EXPECT_EQ(read->objects, full_file().objects);
    ASSERT_TRUE(read->functions);
    EXPECT_EQ(read->functions->others_own_ns, 8U);
    ASSERT_EQ(read->functions->functions.size(), 2U);
    EXPECT_EQ(read->functions->functions[0].name, "parse<int>");
    EXPECT_EQ(read->functions->functions[0].path, (std::vector<std::string>{"main", "serve"}));
    EXPECT_THAT(text, HasSubstr("started=\"2026-11-"));
}

TEST(SystemFile, FunctionsAreCheckedToo) {
    std::string text = write_system_file(full_file());
    const std::string calls = "calls=\"9\"";
    text.replace(text.find(calls), calls.size(), "calls=\"0\"");
    const auto read = read_system_file(text);
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().message,
                HasSubstr("function has calls=\"0\"; allowed is a number from 1"));
    SystemFile without = full_file();
    without.functions.reset();
    EXPECT_FALSE(read_system_file(write_system_file(without)).value().functions);
}

TEST(SystemFile, EachValueHasItsAttribute) {
    SystemFile file = full_file();
    file.quality.omitted = {"every 2nd sample alone was taken", "calls of <f> are missing"};
    file.functions->others = 9;
    expect_text_of_file(test_data_folder() + "/trace/full_system_file.xml",
                        write_system_file(file));
}

// As written before stack walks recorded why they ended.
TEST(SystemFile, QualityOfStacksMayBeMissing) {
    std::string text = write_system_file(full_file());
    text.erase(text.find("<stacks"), text.find("</stacks>") + 9 - text.find("<stacks"));
    text.erase(text.find("<names"), text.find("/>", text.find("<names")) + 2 - text.find("<names"));
    text.erase(text.find(" code-files-lost=\"10\""), 21);
    auto read = read_system_file(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->quality.code_files_lost, 0U);
    EXPECT_EQ(read->stacks.user_stacks_complete, 9U);
    EXPECT_EQ(read->stacks.on_cpu.stacks, 0U);
    EXPECT_TRUE(read->stacks.stops.empty());
}

TEST(SystemFile, TextsThatAreTooLongAreCut) {
    SystemFile file = full_file();
    file.modules[0].path = "/" + std::string(2000, '\xff');
    file.stacks.stops[0].module = "/" + std::string(5000, 'x');
    auto read = read_system_file(write_system_file(file));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->modules[0].path.size(), 4096U);
    EXPECT_EQ(read->stacks.stops[0].module.size(), 4096U);
}

TEST(SystemFile, HoldsNoByteThatXmlForbids) {
    SystemFile file = full_file();
    file.delays[0].process = std::string("a\x01\x1b[31m\xff\xc0\x80z\0y", 13);
    const std::string text = write_system_file(file);
    for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    auto read = read_system_file(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->delays[0].process, "a\\x01\\x1b[31m\\xff\\xc0\\x80z\\x00y");
}

TEST(SystemFile, CutAnywhereIsAnError) {
    const std::string text = write_system_file(full_file());
    const std::size_t end = text.rfind('>');
    for (std::size_t length = 0; length < end; ++length)
        ASSERT_FALSE(read_system_file(std::string_view(text).substr(0, length)).ok()) << length;
}

TEST(SystemFile, SaysWhatIsWrong) {
    struct Case {
        std::string found;
        std::string replacement;
        const char* message;
    };
    const std::string good = write_system_file(full_file());
    for (const auto& [found, replacement, message] :
         {Case{"cpus=\"4\"", "cpus=\"four\"",
               "machine has cpus=\"four\"; allowed is a whole number"},
          Case{"cpus=\"4\"", "cpus=\"4294967296\"", "up to 4294967295"},
          Case{"cpus=\"4\"", "cpus=\"-1\"", "machine has cpus=\"-1\""},
          Case{"cpus=\"4\"", "", "machine has no \"cpus\""},
          Case{"reason=\"gap\" on-cpu=\"3\"", "reason=\"gap\" on-cpu=\"x\"",
               "stop has on-cpu=\"x\""},
          Case{"frames-located=\"6\"", "", "names has no \"frames-located\""},
          Case{"partial=\"true\"", "partial=\"yes\"", "true or false"},
          Case{"reason=\"deadline\"", "reason=\"none\"", "deadline, end or manual"},
          Case{"0f8fad5b-d9cb-469f-a165-70867728950e", "../../../etc", "allowed is a UUID"},
          Case{"program-build-id=\"00ff\"", "program-build-id=\"&lt;script>\"",
               "lower-case hexadecimal digits"},
          Case{"host=\"db7\"", "host=\"" + std::string(5000, 'x') + "\"", "at most 4096 bytes"},
          Case{"lagtrap-system version=\"1\"", "lagtrap-system version=\"2\"",
               "this program reads version 1"},
          Case{"<lagtrap-system", "<!DOCTYPE a [<!ENTITY b \"c\">]><lagtrap-system",
               "document type definition"},
          Case{"<machine", "<other", "machine has no"}}) {
        std::string bad = good;
        ASSERT_NE(bad.find(found), std::string::npos) << found;
        bad.replace(bad.find(found), found.size(), replacement);
        if (replacement == "<other")
            bad = good.substr(0, good.find("<machine")) + good.substr(good.find("<recording"));
        auto read = read_system_file(bad);
        ASSERT_FALSE(read.ok()) << message;
        EXPECT_THAT(read.error().message,
                    HasSubstr(std::string(message) == "machine has no" ? "has no" : message));
    }
}

TEST(SystemFile, HostileSizesAreRefused) {
    EXPECT_EQ(read_system_file(std::string((16 << 20) + 1, ' ')).error().kind, ErrorKind::TooLarge);
    std::string elements = "<lagtrap-system>";
    for (int i = 0; i < 1'100'000; ++i) elements += "<a/>";
    EXPECT_EQ(read_system_file(elements).error().kind, ErrorKind::TooLarge);
    std::string deep;
    for (int i = 0; i < 900'000; ++i) deep += "<a>";
    EXPECT_FALSE(read_system_file(deep).ok());
    EXPECT_FALSE(read_system_file(std::string_view("<lagtrap-system\0/>", 18)).ok());
    const std::string good = write_system_file(full_file());
    std::string stages = good;
    for (int i = 0; i < 20; ++i)
        stages.insert(stages.find("<stage"), "<stage name=\"s\" offset-ns=\"1\" tid=\"1\"/>");
    EXPECT_EQ(read_system_file(stages).error().kind, ErrorKind::TooLarge);
    std::string stops = good;
    std::string many_stops;
    for (int i = 0; i < 1001; ++i)
        many_stops += "<stop module=\"\" reason=\"gap\" on-cpu=\"1\" off-cpu=\"0\"/>";
    stops.insert(stops.find("<stop "), many_stops);
    EXPECT_EQ(read_system_file(stops).error().kind, ErrorKind::TooLarge);
    std::string modules = good;
    std::string many;
    for (int i = 0; i < 100'001; ++i) many += "<module path=\"/x\" build-id=\"\"/>";
    modules.insert(modules.find("<module "), many);
    EXPECT_EQ(read_system_file(modules).error().kind, ErrorKind::TooLarge);
}

}  // namespace
}  // namespace lagtrap::trace::system_file_test
