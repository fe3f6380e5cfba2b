#include "server/ingest/parse_bundle.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/run_profile.hpp"
#include "core/files.hpp"
#include "server/ingest/parsed_bundle.hpp"
#include "tests/unit/analysis/trace_builder.hpp"
#include "tests/unit/expected_file.hpp"
#include "tests/unit/server/store_fixture.hpp"
#include "tests/unit/test_paths.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::server::parse_bundle_test {
namespace {

using lagtrap::test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

std::string text_of(const BundleDelay& delay) {
    const auto profile = analysis::read_run_profile(delay.profile);
    return fmt::format(
        "{} {} {} begin {} duration {} threshold {} pid {} tid {} process \"{}\" thread \"{}\" "
        "user \"{}\" build \"{}\" unit \"{}\" version \"{}\" trace \"{}\" {}{}\n",
        delay.number, delay.delayed ? "delay" : "normal run", delay.event, delay.begin_realtime_ns,
        delay.duration_ns, delay.threshold_ns, delay.pid, delay.tid, delay.process, delay.thread,
        delay.user, delay.build, delay.unit, delay.program_version, delay.trace_id,
        delay.details.empty() ? "without details" : "with details",
        profile.ok() ? fmt::format(", profile of {} ns", profile->duration_ns) : "");
}

std::string text_of(const ParsedBundle& parsed) {
    const BundleFacts& facts = parsed.facts;
    std::string text =
        fmt::format("session {} host {} event {} process {} started {} longest {} delays {}\n",
                    facts.session_id, facts.host, facts.event, facts.process,
                    facts.started_realtime_ns, facts.longest_delay_ns, facts.delays);
    for (const BundleDelay& delay : parsed.delays) text += text_of(delay);
    return text;
}

class ParseBundle : public StoreFixture {
  protected:
    // Two delays of "work" and one of "load", and a normal run of each.
    static TraceBuilder build() {
        TraceBuilder builder(1000 * ms);
        builder.process(100, "/usr/bin/app").thread(100, 100, "app").thread(100, 101, "worker");
        builder.process(200, "/usr/bin/other").thread(200, 200, "other");
        builder.unit(100, "app.service").unit(200, "other.service");
        builder.system.session_id = "0b5f4f0a-4f5c-4a57-9d53-111111111111";
        builder.system.host = "web-1";
        builder.system.trigger_event = "trigger";
        builder.system.started_realtime_ns = 1'790'000'000'000'000'000;
        builder.system.started_boottime_ns = TraceBuilder::begin_ns + 5;
        trace::Delay first = TraceBuilder::delay(1, "work", 100 * ms, 200 * ms, 50 * ms, 100, 101);
        first.process = "app";
        first.thread = "worker";
        first.user = "shop";
        first.program_build_id = "ab12";
        first.program_version = "2.1-3";
        first.trace.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
        builder.run(first);
        trace::Delay longest =
            TraceBuilder::delay(2, "load", 400 * ms, 300 * ms, 60 * ms, 200, 200);
        longest.process = "other";
        longest.thread = "other";
        longest.program_build_id = "cd34";
        builder.run(longest);
        trace::Delay last = TraceBuilder::delay(3, "work", 750 * ms, 90 * ms, 50 * ms, 100, 100);
        last.program_build_id = "ab12";
        builder.run(last);
        builder.run(TraceBuilder::delay(4, "work", 20 * ms, 10 * ms, 50 * ms, 100, 101), false);
        builder.run(TraceBuilder::delay(5, "load", 30 * ms, 20 * ms, 60 * ms, 200, 200), false);
        return builder;
    }
    // The descriptor of a bundle of it; `trace` instead of its trace.
    UniqueFd bundle_of(const TraceBuilder& builder, const std::string& trace) {
        const std::filesystem::path place = directory_ / std::to_string(++bundles_);
        const std::filesystem::path folder = place / "capture";
        std::filesystem::create_directories(folder);
        EXPECT_TRUE(write_file_durably(folder / "trace.pftrace", trace).ok());
        EXPECT_TRUE(
            write_file_durably(folder / "system.xml", trace::write_system_file(builder.system))
                .ok());
        EXPECT_TRUE(write_file_durably(folder / "settings.xml", "<lagtrap/>").ok());
        const auto bundle = trace::write_bundle(folder, builder.system.session_id, place);
        EXPECT_TRUE(bundle.ok());
        auto file = open_file(bundle->path, O_RDONLY);
        EXPECT_TRUE(file.ok());
        return file.ok() ? std::move(file).value() : UniqueFd();
    }
    static std::string described(const UniqueFd& file) {
        const auto text = describe_bundle(file.get());
        if (!text) return text.error().message + "\n";
        const auto parsed = read_parsed_bundle(*text);
        EXPECT_TRUE(parsed.ok());
        return parsed.ok() ? text_of(*parsed) : "";
    }

    int bundles_ = 0;
};

TEST_F(ParseBundle, ABundleIsDescribedWithAllItsDelaysAndNormalRuns) {
    const TraceBuilder builder = build();
    std::string text = described(bundle_of(builder, builder.trace()));
    text += "== with a trace that is torn\n";
    text += described(bundle_of(builder, "\x0a\xff"));
    TraceBuilder manual = build();
    manual.system.delays.clear();
    text += "== without delays\n";
    text += described(bundle_of(manual, manual.trace()));
    expect_text_of_file(test_data_folder() + "/server/parsed_bundles.txt", text);
}

TEST_F(ParseBundle, ANormalRunHasTheBuildAndUserThatTheDelaysOfItsProcessTell) {
    TraceBuilder builder = build();
    builder.process(300, "/usr/bin/third", 1, 0, 1001).thread(300, 300, "third");
    trace::Delay known = TraceBuilder::delay(6, "copy", 100 * ms, 80 * ms, 50 * ms, 300, 300);
    known.program_build_id = "ef56";
    trace::Delay unknown = TraceBuilder::delay(7, "copy", 200 * ms, 90 * ms, 50 * ms, 300, 300);
    builder.run(known).run(unknown);
    builder.run(TraceBuilder::delay(8, "copy", 10 * ms, 10 * ms, 50 * ms, 300, 300), false);
    const auto text = describe_bundle(bundle_of(builder, builder.trace()).get());
    ASSERT_TRUE(text.ok());
    const auto parsed = read_parsed_bundle(*text);
    ASSERT_TRUE(parsed.ok());
    const auto normal =
        std::find_if(parsed->delays.begin(), parsed->delays.end(),
                     [](const BundleDelay& one) { return !one.delayed && one.event == "copy"; });
    ASSERT_NE(normal, parsed->delays.end());
    EXPECT_EQ(normal->build, "ef56");
    EXPECT_EQ(normal->user, "1001") << "no delay says the name of this user";
}

TEST_F(ParseBundle, ADelayThatIsNotThereIsSaid) {
    const TraceBuilder builder = build();
    const UniqueFd file = bundle_of(builder, builder.trace());
    const auto from_begin = [&] {
        EXPECT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
        return file.get();
    };
    for (const std::uint32_t number : {0U, 4U}) {
        const auto timeline = describe_timeline(from_begin(), number);
        ASSERT_FALSE(timeline.ok());
        EXPECT_EQ(timeline.error().kind, ErrorKind::NotFound);
        EXPECT_EQ(timeline.error().message, "it has no delay " + std::to_string(number));
        EXPECT_FALSE(describe_machine(from_begin(), number, {0, 5, 10}).ok());
    }
    EXPECT_TRUE(describe_timeline(from_begin(), 3).ok());
    EXPECT_TRUE(describe_machine(from_begin(), 1, {0, 5, 10}).ok());
    const auto form = delay_in_form(from_begin(), 1, "poem", formats::TimeChoice::All);
    ASSERT_FALSE(form.ok());
    EXPECT_EQ(form.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(form.error().message, "delays have no form \"poem\"");
}

}  // namespace
}  // namespace lagtrap::server::parse_bundle_test
