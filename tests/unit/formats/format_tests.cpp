// Exports: the sums of all formats agree, and each contains what its readers need.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "formats/format_table.hpp"
#include "tests/unit/analysis/trace_builder.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::formats::format_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

// 100 ms on a CPU, all within a run, with 90 of 100 samples in planted_cpu_burn.
TraceBuilder burner() {
    TraceBuilder builder(120 * ms, 2);
    builder.process(10, "app --burn").thread(10, 10, "app");
    builder.switched(10 * ms, 0, 0, 0, 10);
    builder.samples(10 * ms, 20 * ms, 0, 10, 10, {"_start", "main", "k:getpid"});
    builder.samples(20 * ms, 110 * ms, 0, 10, 10,
                    {"_start", "main@app.c:7", "!/usr/lib/libplanted.so!burn"});
    builder.switched(110 * ms, 0, 10, 1, 0)
        .off_cpu(110 * ms, 10, 10, {"_start", "main@app.c:7", "k:ep_poll"});
    builder.run(TraceBuilder::delay(1, "work", 10 * ms, 100 * ms, 50 * ms, 10, 10));
    return builder;
}

// Blocked from 10 to 30 ms, then waiting for a CPU until 31 ms.
TraceBuilder sleeper() {
    TraceBuilder builder(100 * ms);
    builder.thread(10, 10, "a;b")
        .switched(10 * ms, 0, 10, 1, 0)
        .off_cpu(10 * ms, 10, 10, {"main", "k:ep_poll"});
    builder.waking(30 * ms, 1, 0, 10, true).switched(31 * ms, 0, 0, 0, 10);
    builder.samples(31 * ms, 51 * ms, 0, 10, 10, {"main", "answer, \"quoted\""});
    builder.switched(51 * ms, 0, 10, 0x10, 0);
    return builder;
}

StackProfile profile_of(const TraceBuilder& builder, const ProfileChoice& choice = {}) {
    const auto recording = builder.decode();
    if (!recording) return {};
    auto profile = profile_of_recording(*recording, choice);
    EXPECT_TRUE(profile) << profile.error().message;
    return profile ? std::move(profile).value() : StackProfile{};
}

std::string written(const TraceBuilder& builder, std::string_view format,
                    const ProfileChoice& choice = {}) {
    return find_format(format)->encode(profile_of(builder, choice));
}

TEST(Folded, sums_stacks_in_microseconds) {
    EXPECT_EQ(written(burner(), "folded", {.time = TimeChoice::OnCpu}),
              "app;app;_start;main;burn 90000\n"
              "app;app;_start;main;getpid_[k] 10000\n");
    EXPECT_EQ(written(burner(), "folded", {.delay = 1, .time = TimeChoice::OnCpu}),
              written(burner(), "folded", {.time = TimeChoice::OnCpu}));
    EXPECT_EQ(written(burner(), "folded", {.delay = 1, .time = TimeChoice::OffCpu}), "");
}

TEST(Folded, time_off_a_cpu_ends_in_its_state) {
    EXPECT_EQ(written(sleeper(), "folded", {.time = TimeChoice::OffCpu}),
              "a:b;a:b;main;ep_poll_[k];blocked: events 20000\n"
              "a:b;a:b;main;ep_poll_[k];waits for a CPU 1000\n");
    EXPECT_EQ(written(sleeper(), "folded", {.time = TimeChoice::All}),
              "a:b;a:b;main;answer, \"quoted\" 30000\n"
              "a:b;a:b;main;ep_poll_[k];blocked: events 20000\n"
              "a:b;a:b;main;ep_poll_[k];waits for a CPU 1000\n");
}

TEST(StackProfile, parts_of_a_delay_add_up_to_it) {
    TraceBuilder builder = burner();
    builder.run(TraceBuilder::delay(2, "early", -50 * std::int64_t{ms}, 100 * ms, 50 * ms, 10, 10));
    const StackProfile profile = profile_of(builder, {.delay = 2});
    EXPECT_EQ(profile.weight_ns(), 100 * ms);
    std::uint64_t at_ns = 0;
    for (const Piece& piece : profile.threads.at(0).pieces) {
        EXPECT_EQ(piece.begin_ns, at_ns);
        at_ns += piece.length_ns;
    }
    EXPECT_EQ(at_ns, 100 * ms);
    EXPECT_EQ(state_words(profile, profile.threads[0].pieces[0]), "unknown: outside the recording");
}

TEST(StackProfile, chooses_threads_by_id_and_by_name) {
    TraceBuilder builder = burner();
    builder.thread(10, 11, "other")
        .switched(0, 1, 0, 0, 11)
        .samples(0, 5 * ms, 1, 10, 11, {"side"});
    builder.thread(10, 9, "sleeper").switched(6 * ms, 1, 11, 1, 9).switched(7 * ms, 1, 9, 1, 0);
    const StackProfile whole = profile_of(builder);
    ASSERT_EQ(whole.threads.size(), 3);
    EXPECT_EQ(whole.threads[0].name, "app");
    EXPECT_EQ(whole.threads[2].name, "sleeper");
    EXPECT_EQ(whole.threads[2].weight_ns(), whole.threads[0].weight_ns());
    for (const char* wanted : {"11", "other"}) {
        const StackProfile profile = profile_of(builder, {.thread = wanted});
        ASSERT_EQ(profile.threads.size(), 1);
        EXPECT_EQ(profile.threads[0].tid, 11);
        EXPECT_TRUE(profile.spans.empty());
    }
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_EQ(profile_of_recording(*recording, {.thread = "nobody"}).error().message,
              "no thread \"nobody\" in recording " + builder.system.session_id +
                  "; there are sleeper (9), app (10), other (11)");
    EXPECT_EQ(profile_of_recording(*recording, {.delay = 7}).error().message,
              "there is no delay 7; the recording has 1");
}

std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(source_folder() + "/" + file).rdbuf();
    return text.str();
}

TEST(FormatTable, manual_completion_and_api_have_the_table) {
    EXPECT_NE(text_of("docs/man/lagtrap.1").find(manual_of_formats()), std::string::npos)
        << "docs/man/lagtrap.1 must have this:\n"
        << manual_of_formats();
    std::string names;
    for (const Format& format : formats())
        if (format.encode != nullptr)
            names += (names.empty() ? "" : ", ") + std::string(format.name);
    EXPECT_NE(text_of("server/api/openapi.yaml").find("enum: [" + names + "]"), std::string::npos)
        << "server/api/openapi.yaml must have: enum: [" << names << "]";
    EXPECT_NE(text_of("packaging/bash-completion/lagtrap").find("lagtrap export --list-formats"),
              std::string::npos);
}

TEST(FormatTable, names_are_found) {
    for (const Format& format : formats()) EXPECT_EQ(find_format(format.name), &format);
    for (const char* other : {"gif", "", "p", "fold", "csv2", "CSV", "trace.json", "Chrome trace"})
        EXPECT_EQ(find_format(other), nullptr) << other;
    EXPECT_NE(list_formats().find("pprof       profile for go tool pprof"), std::string::npos);
}

TEST(FormatTable, is_listed_with_what_each_format_is_for) {
    EXPECT_EQ(list_formats(),
              "folded      stacks with their microseconds, for flame graph programs\n"
              "pprof       profile for go tool pprof and what reads its format\n"
              "speedscope  profile of each thread for speedscope\n"
              "firefox     profile with runs as markers for the Firefox Profiler\n"
              "chrome      JSON trace with calls as slices, for viewers of Chrome's traces\n"
              "csv         table with a row for each piece of a thread's time\n"
              "perf        text as perf script prints it, for scripts that read that\n"
              "otlp        delays as spans with their causes, for OpenTelemetry\n"
              "pftrace     the whole trace, for Perfetto\n"
              "system      system.xml: the delays, the machine, the quality of the recording\n");
    std::string titles;
    for (const Format& format : formats()) titles += std::string(format.title) + ", ";
    EXPECT_EQ(titles,
              "Folded stacks, pprof, speedscope, Firefox Profiler, Chrome trace, CSV, perf script, "
              "OTLP, Perfetto trace, System file, ");
}

TEST(FormatTable, each_format_has_its_file_type_and_choice) {
    using Row = std::tuple<std::string, std::string, std::string, TimeChoice, bool>;
    std::vector<Row> rows;
    for (const Format& format : formats())
        rows.emplace_back(format.name, format.suffix, format.media_type, format.time,
                          format.binary);
    const TimeChoice all = TimeChoice::All, on_cpu = TimeChoice::OnCpu;
    EXPECT_EQ(rows, (std::vector<Row>{
                        {"folded", "folded", "text/plain; charset=utf-8", on_cpu, false},
                        {"pprof", "pb.gz", "application/gzip", all, true},
                        {"speedscope", "speedscope.json", "application/json", all, false},
                        {"firefox", "firefox.json", "application/json", all, false},
                        {"chrome", "trace.json", "application/json", all, false},
                        {"csv", "csv", "text/csv; charset=utf-8", all, false},
                        {"perf", "perf.txt", "text/plain; charset=utf-8", on_cpu, false},
                        {"otlp", "otlp.pb", "application/x-protobuf", all, true},
                        {"pftrace", "pftrace", "application/octet-stream", all, true},
                        {"system", "xml", "application/xml", all, false},
                    }));
    for (const Format& format : formats()) {
        EXPECT_EQ(format.encode_delays != nullptr, format.name == "otlp");
        EXPECT_FALSE(format.title.empty());
    }
}

TEST(FormatTable, choices_of_time_have_words) {
    EXPECT_EQ(word_of(TimeChoice::All), "all");
    EXPECT_EQ(word_of(TimeChoice::OnCpu), "on-cpu");
    EXPECT_EQ(word_of(TimeChoice::OffCpu), "off-cpu");
    for (const TimeChoice time : {TimeChoice::All, TimeChoice::OnCpu, TimeChoice::OffCpu})
        EXPECT_EQ(time_of_word(word_of(time)), time);
    EXPECT_EQ(time_of_word("some"), std::nullopt);
    EXPECT_EQ(time_of_word(""), std::nullopt);
}

TEST(Csv, quotes_and_formulas_stay_text) {
    TraceBuilder builder = sleeper();
    builder.thread(10, 10, "=1+1");
    const std::string text = written(builder, "csv", {.time = TimeChoice::OnCpu});
    EXPECT_NE(text.find(",'=1+1,"), std::string::npos) << text;
    EXPECT_NE(text.find(",\"answer, \"\"quoted\"\"\",/usr/bin/app,"), std::string::npos) << text;
}

TEST(Json, hostile_names_stay_strings) {
    TraceBuilder builder = sleeper();
    builder.thread(10, 10, "a\"],\\");
    for (const char* format : {"speedscope", "chrome", "firefox"})
        EXPECT_NE(written(builder, format).find("a\\\"],\\\\"), std::string::npos) << format;
}

}  // namespace
}  // namespace lagtrap::formats::format_tests
