// Each format's export of one recording, compared with the files of tests/data/formats.
// LAGTRAP_UPDATE_EXPECTED=1 rewrites them; read the difference.
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

#include "core/text.hpp"
#include "formats/encoders.hpp"
#include "formats/format_table.hpp"
#include "tests/unit/analysis/trace_builder.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::formats::exported_files_test {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

// Thread 10 computes, waits for a lock that thread 11 has, and waits for a CPU; context switches of
// thread 12 are missing. The first delay has stages; the second began before the recording.
TraceBuilder build() {
    TraceBuilder builder(120 * ms, 3);
    builder.process(10, "app --serve")
        .thread(10, 10, "app")
        .thread(10, 11, "work;er \"1\"")
        .thread(12, 12, "=else,");
    builder.switched(10 * ms, 0, 0, 0, 10)
        .samples(10 * ms, 20 * ms, 0, 10, 10, {"_start", "main@app.c:7", "k:getpid"});
    builder.samples(20 * ms, 40 * ms, 0, 10, 10,
                    {"_start", "main@app.c:7", "!/usr/lib/libplanted.so!burn"});
    builder.off_cpu(40 * ms, 10, 10,
                    {"_start", "main@app.c:9", "___pthread_mutex_lock", "k:futex_wait"}, 7);
    builder.switched(40 * ms, 0, 10, 1, 11);
    builder.samples(40 * ms, 60 * ms, 0, 10, 11, {"clone3", "hold@app.c:20"});
    builder.waking(60 * ms, 0, 11, 10).switched(63 * ms, 0, 11, 1, 10);
    builder.samples(63 * ms, 70 * ms, 0, 10, 10,
                    {"_start", "main@app.c:7", "?:/usr/lib/unnamed.so"});
    builder.switched(110 * ms, 0, 10, 0x10, 0);
    builder.switched(5 * ms, 1, 0, 0, 12)
        .samples(30 * ms, 33 * ms, 2, 12, 12, {"lost"})
        .switched(50 * ms, 2, 12, 1, 0);
    trace::Delay first =
        TraceBuilder::delay(1, "work <b>&\"q\"", 10 * ms, 100 * ms, 50 * ms, 10, 10);
    first.stages = {{"read", 1 * ms, 10}, {"", 30 * ms, 11}, {"answer", 99 * ms, 10}};
    first.first = true;
    first.trace.trace_id = "0af7651916cd43dd8448eb211c80319c";
    first.trace.parent_span_id = "b7ad6b7169203331";
    first.thread = "app";
    first.program_version = "1.2-3";
    builder.run(first);
    trace::Delay second = TraceBuilder::delay(2, "early", -20 * static_cast<std::int64_t>(ms),
                                              60 * ms, 20 * ms, 12, 12);
    second.no_trace = "0";
    builder.run(second);
    builder.run(TraceBuilder::delay(3, "fast", 12 * ms, 3 * ms, 20 * ms, 10, 11), false);
    builder.system.session_id = "0a1b2c3d-0000-4000-8000-0123456789ab";
    builder.system.host = "golden";
    builder.system.os_name = "Debian";
    builder.system.kernel_release = "6.1";
    builder.system.architecture = "x86_64";
    builder.system.started_realtime_ns = 1'700'000'000'000'000'123;
    builder.system.started_boottime_ns = TraceBuilder::begin_ns;
    return builder;
}

// Lines instead of one long line, and no version that changes.
std::string readable(std::string text) {
    for (const auto& [from, to] : {std::pair<std::string, std::string>{LAGTRAP_VERSION, "VERSION"},
                                   {"},{", "},\n{"},
                                   {"],[", "],\n["},
                                   {"],\"", "],\n\""},
                                   {"\r\n", "\n"}})
        for (std::size_t at = text.find(from); at != std::string::npos;
             at = text.find(from, at + to.size()))
            text.replace(at, from.size(), to);
    return text;
}

// A line per field, with the numbers of the fields around it.
void append_fields(protozero::pbf_reader message, const std::string& within, std::string& text) {
    static const std::set<std::string> messages{
        "1",     "1.1",     "1.1.1",     "1.1.1.2",     "1.2",      "1.2.1",
        "1.2.2", "1.2.2.9", "1.2.2.9.2", "1.2.2.9.2.5", "1.2.2.15", "1.2.2.9.2.5.1"};
    static const std::set<std::string> ids{"1.2.2.1", "1.2.2.2", "1.2.2.4"};
    while (message.next()) {
        const std::string field = within + std::to_string(message.tag());
        switch (message.wire_type()) {
            case protozero::pbf_wire_type::varint:
                text += field + " " + std::to_string(message.get_uint64()) + "\n";
                break;
            case protozero::pbf_wire_type::fixed64:
                text += field + " " + std::to_string(message.get_fixed64()) + "\n";
                break;
            case protozero::pbf_wire_type::length_delimited:
                if (messages.contains(field)) {
                    text += field + "\n";
                    append_fields(message.get_message(), field + ".", text);
                } else {
                    const std::string bytes = message.get_bytes();
                    text += field + " " +
                            (ids.contains(field) ? hexadecimal(bytes) : printable(bytes)) + "\n";
                }
                break;
            default: message.skip();
        }
    }
}

void expect_file(const std::string& text, const std::string& name) {
    const std::string path = test_data_folder() + "/formats/" + name;
    if (std::getenv("LAGTRAP_UPDATE_EXPECTED") != nullptr) std::ofstream(path) << text;
    std::ostringstream expected;
    expected << std::ifstream(path).rdbuf();
    EXPECT_EQ(text, expected.str()) << "expected: " << path;
}

class ExportedFile : public testing::TestWithParam<const char*> {};

TEST_P(ExportedFile, IsAsExpected) {
    const auto recording = build().decode();
    ASSERT_TRUE(recording);
    std::string text;
    for (const ProfileChoice& choice :
         {ProfileChoice{}, ProfileChoice{.delay = 1}, ProfileChoice{.delay = 2},
          ProfileChoice{.time = TimeChoice::OffCpu}}) {
        const auto profile = profile_of_recording(*recording, choice);
        ASSERT_TRUE(profile);
        text += "== " + profile->title + ", " + std::string(word_of(choice.time)) + "\n" +
                readable(find_format(GetParam())->encode(*profile));
    }
    expect_file(text, std::string(GetParam()) + ".txt");
}

INSTANTIATE_TEST_SUITE_P(Formats, ExportedFile,
                         testing::Values("folded", "speedscope", "firefox", "chrome", "csv",
                                         "perf"),
                         [](const auto& format) { return std::string(format.param); });

TEST(ExportedSpans, AreAsExpected) {
    const auto recording = build().decode();
    ASSERT_TRUE(recording);
    const auto all = encode_otlp(*recording, std::nullopt);
    ASSERT_TRUE(all);
    std::string text;
    append_fields(protozero::pbf_reader(*all), "", text);
    expect_file(readable(text), "otlp.txt");
    EXPECT_EQ(*encode_otlp(*recording, std::nullopt), *all) << "a delay has the same ids each time";
    EXPECT_FALSE(encode_otlp(*recording, 0).ok());
    EXPECT_EQ(encode_otlp(*recording, 3).error().message,
              "there is no delay 3; the recording has 2");
    std::string second;
    append_fields(protozero::pbf_reader(encode_otlp(*recording, 2).value()), "", second);
    EXPECT_THAT(second, testing::HasSubstr("early"));
    EXPECT_THAT(second, testing::Not(testing::HasSubstr("answer")));
}

TEST(ExportedSpans, StagesBelongToTheTraceOfTheirDelay) {
    auto recording = build().decode();
    ASSERT_TRUE(recording);
    recording->system.delays[0].trace = {};
    std::string text;
    append_fields(protozero::pbf_reader(encode_otlp(*recording, 1).value()), "", text);
    std::set<std::string> traces;
    std::size_t spans = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("1.2.2.1 ")) {
            ++spans;
            traces.insert(line);
        }
    EXPECT_GT(spans, 1U);
    EXPECT_EQ(traces.size(), 1U);
}

}  // namespace
}  // namespace lagtrap::formats::exported_files_test
