#include "daemon/temporary/temporary_settings.hpp"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "settings/parser.hpp"

namespace lagtrap::daemon::temporary_settings_test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* good =
    "  <event name=\"shop-buy\" threshold=\"50ms\" binary=\"/usr/bin/shop\">\n"
    "    <function name=\"buy\"/>\n  </event>\n";

std::string error_of(const std::string& text) {
    const auto name = name_of_temporary_event(text);
    return name ? std::string() : name.error().message;
}

std::string with(const std::string& attributes, const std::string& children) {
    return "<event name=\"a\" threshold=\"1s\" binary=\"/usr/bin/shop\" " + attributes +
           "><function name=\"buy\"/>" + children + "</event>";
}

TEST(TemporarySettings, AnEventHasAName) {
    EXPECT_EQ(name_of_temporary_event(good).value(), "shop-buy");
}

TEST(TemporarySettings, OnlyOneEventIsTaken) {
    const std::string event = with("", "");
    EXPECT_THAT(error_of(event + event), HasSubstr("event:1:"));
    for (const char* const more : {"<control socket=\"/tmp/s\"/>", "<upload url=\"https://x\"/>",
                                   "<confirm/>", "</lagtrap>"})
        EXPECT_NE(error_of(event + more), "") << more;
    EXPECT_NE(error_of("<lagtrap version=\"1\">" + event + "</lagtrap>"), "");
    EXPECT_NE(error_of(""), "");
    EXPECT_NE(error_of("<!DOCTYPE event>" + event), "");
    EXPECT_NE(error_of(event + "<!-- "), "") << "a comment cannot hide what follows";
}

TEST(TemporarySettings, APresetIsNamedByItsName) {
    EXPECT_EQ(name_of_temporary_event("  <use preset=\"nginx\" threshold=\"1s\">\n"
                                      "    <scope pid=\"7\"/>\n  </use>\n")
                  .value(),
              "nginx");
    const std::string use = "<use preset=\"nginx\"/>";
    EXPECT_THAT(error_of(use + use), HasSubstr("event:1:"));
    EXPECT_THAT(error_of(use + "<upload url=\"https://x\"/>"), HasSubstr("event:1:"));
    EXPECT_THAT(error_of("<use preset=\"../nginx\"/>"), HasSubstr("../nginx"))
        << "the administrator's presets only";
    EXPECT_THAT(error_of("<use preset=\"nginx\" record=\"runs\"/>"), HasSubstr("delays only"));
}

TEST(TemporarySettings, AnEventOnlyWatches) {
    EXPECT_THAT(error_of(with("", "<calls/>")), HasSubstr("a temporary event has no <calls>"));
    EXPECT_THAT(error_of(with("", "<functions/>")), HasSubstr("has no <functions>"));
    EXPECT_THAT(error_of(with("", "<object class=\"Item\"/>")), HasSubstr("has no <object>"));
    EXPECT_THAT(error_of(with("record=\"runs\"", "")), HasSubstr("delays only"));
    EXPECT_THAT(error_of(with("tresholds=\"1s\"", "")), HasSubstr("tresholds"))
        << "the vocabulary of settings";
}

TEST(TemporarySettings, ALongEventIsRefused) {
    const auto name = name_of_temporary_event(std::string(temporary_event_limit_bytes + 1, ' '));
    ASSERT_FALSE(name);
    EXPECT_EQ(name.error().kind, ErrorKind::TooLarge);
}

TEST(TemporarySettings, FollowTheServiceAndStayInTheFolder) {
    settings::Settings service;
    service.privacy.command_lines = settings::CommandLines::Program;
    service.recording.sample_interval = 4ms;
    service.recording.scheduling = false;
    service.budget.recording_share_ppm = 150'000;
    service.budget.disable = {settings::BudgetPart::History, settings::BudgetPart::Events};
    service.history.length = 0s;
    service.unwinding.memory_bytes = 16 << 20;
    service.unwinding.cache_path = "/var/cache/a&b";
    service.control.group = "staff";
    service.upload.emplace().url = "https://server";
    const auto made = settings::parse_settings(
        temporary_settings(good, "/spool/clients/w", service, 12'349), settings::BinaryCheck::Skip);
    ASSERT_TRUE(made.ok()) << settings::format_diagnostics("", made.settings.source_text,
                                                           made.diagnostics);
    const settings::Settings& own = made.settings;
    ASSERT_EQ(own.events.size(), 1U);
    EXPECT_EQ(own.events.front().name, "shop-buy");
    EXPECT_EQ(own.privacy.command_lines, settings::CommandLines::Program);
    EXPECT_EQ(own.recording.sample_interval, 4ms);
    EXPECT_EQ(own.recording.cool_down, 0s);
    EXPECT_FALSE(own.recording.scheduling);
    EXPECT_EQ(own.budget.share_ppm, 12'340U) << "three digits after the point";
    EXPECT_EQ(own.budget.recording_share_ppm, 150'000U);
    EXPECT_EQ(own.budget.disable, service.budget.disable);
    EXPECT_EQ(own.budget.open_runs, 7168U) << "not a share of the machine's memory";
    EXPECT_EQ(own.history.length, 0s);
    EXPECT_EQ(own.unwinding.memory_bytes, 16U << 20);
    EXPECT_EQ(own.unwinding.cache_path, "/var/cache/a&b");
    EXPECT_EQ(own.spool.path, "/spool/clients/w/spool");
    EXPECT_EQ(own.control.socket, "/spool/clients/w/control.sock");
    EXPECT_EQ(own.control.group, "") << "only the client uses it";
    EXPECT_FALSE(own.upload || own.otlp || own.confirm);
}

settings::Settings made_for(const settings::Settings& service) {
    auto made = settings::parse_settings(temporary_settings(good, "/w", service, 1000),
                                         settings::BinaryCheck::Skip);
    EXPECT_TRUE(made.ok()) << settings::format_diagnostics("", made.settings.source_text,
                                                           made.diagnostics);
    return std::move(made.settings);
}

TEST(TemporarySettings, EachSettingOfTheServiceIsPassed) {
    settings::Settings service;
    service.recording.sample_interval = 5ms;
    service.recording.capture_size_limit_bytes = 100 << 20;
    service.recording.merge_limit = 7min;
    service.recording.stack_copies_bytes = 8'192;
    service.recording.scheduling = true;
    service.history.length = 6s;
    service.history.sample_interval = 12ms;
    service.history.early_share_ppm = 3'000;
    service.history.times = false;
    service.budget.recording_share_ppm = 70'000;
    service.budget.interval = 9s;
    service.budget.pause = 11min;
    service.budget.open_runs = 2'048;
    service.unwinding.memory_bytes = 17 << 20;
    service.unwinding.cache_limit_bytes = 100 << 20;
    const settings::Settings own = made_for(service);
    EXPECT_EQ(own.recording.sample_interval, 5ms);
    EXPECT_EQ(own.recording.capture_size_limit_bytes, 100U << 20);
    EXPECT_EQ(own.recording.merge_limit, 7min);
    EXPECT_EQ(own.recording.stack_copies_bytes, 8'192U);
    EXPECT_TRUE(own.recording.scheduling);
    EXPECT_EQ(own.recording.captures_per_hour, 3'600U) << "its client alone waits for them";
    EXPECT_EQ(own.history.length, 6s);
    EXPECT_EQ(own.history.sample_interval, 12ms);
    EXPECT_EQ(own.history.early_share_ppm, 3'000U);
    EXPECT_FALSE(own.history.times);
    EXPECT_EQ(own.budget.recording_share_ppm, 70'000U);
    EXPECT_EQ(own.budget.interval, 9s);
    EXPECT_EQ(own.budget.pause, 11min);
    EXPECT_EQ(own.budget.open_runs, 2'048U);
    EXPECT_EQ(own.unwinding.memory_bytes, 17U << 20);
    EXPECT_EQ(own.unwinding.cache_limit_bytes, 100U << 20);
    service.history.times = true;
    EXPECT_TRUE(made_for(service).history.times);
    for (const auto lines : {settings::CommandLines::All, settings::CommandLines::Program,
                             settings::CommandLines::Masked}) {
        service.privacy.command_lines = lines;
        EXPECT_EQ(made_for(service).privacy.command_lines, lines);
    }
    using enum settings::BudgetPart;
    service.budget.disable = {Switches, Samples, History, Times, Stacks, Stages, Events};
    EXPECT_EQ(made_for(service).budget.disable, service.budget.disable);
}

TEST(TemporarySettings, OneEventTakesLessThanAService) {
    settings::Settings service;
    service.recording.capture_size_limit_bytes = 1ULL << 30;
    service.unwinding.memory_bytes = 64 << 20;
    service.budget.open_runs = 8'192;
    const settings::Settings own = made_for(service);
    EXPECT_EQ(own.recording.capture_size_limit_bytes, 256U << 20);
    EXPECT_EQ(own.unwinding.memory_bytes, 32U << 20);
    EXPECT_EQ(own.budget.open_runs, 7'168U);
    EXPECT_EQ(own.spool.size_limit_bytes, 512U << 20);
}

TEST(TemporarySettings, TheDefaultsOfAServicePass) {
    settings::Settings service;
    service.budget.disable.clear();
    const auto made = settings::parse_settings(temporary_settings(good, "/w", service, 1000),
                                               settings::BinaryCheck::Skip);
    ASSERT_TRUE(made.ok()) << settings::format_diagnostics("", made.settings.source_text,
                                                           made.diagnostics);
    EXPECT_TRUE(made.settings.budget.disable.empty());
}

}  // namespace
}  // namespace lagtrap::daemon::temporary_settings_test
