#include "server/ingest/event_counters.hpp"

#include <gmock/gmock.h>

namespace lagtrap::server::event_counters_test {
namespace {

using testing::HasSubstr;
using testing::Not;

trace::RunBatch batch_of(const std::string& event, std::uint64_t duration_ns, bool delay = false) {
    trace::RunBatch batch;
    trace::RecordedRun run;
    run.event = event;
    run.duration_ns = duration_ns;
    run.delay = delay;
    batch.runs.push_back(run);
    return batch;
}

TEST(EventCounters, CountsRunsIntoBucketsThatAddUp) {
    EventCounters counters;
    counters.add(batch_of("open", 1'000'000));
    counters.add(batch_of("open", 1'000'001));
    counters.add(batch_of("open", 90'000'000'000, true));
    auto weighted = batch_of("open", 200'000, true);
    weighted.runs[0].weight = 5;
    counters.add(weighted);
    auto dirty = batch_of("open", 1);
    dirty.runs[0].dirty_reasons = trace::DirtySuspended;
    counters.add(dirty);
    const std::string text = counters.text();
    EXPECT_THAT(text, HasSubstr("_bucket{event=\"open\",unit=\"\",le=\"0.0001\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("_bucket{event=\"open\",unit=\"\",le=\"0.00025\"} 5\n"));
    EXPECT_THAT(text, HasSubstr("_bucket{event=\"open\",unit=\"\",le=\"0.001\"} 6\n"));
    EXPECT_THAT(text, HasSubstr("_bucket{event=\"open\",unit=\"\",le=\"0.0025\"} 7\n"));
    EXPECT_THAT(text, HasSubstr("_bucket{event=\"open\",unit=\"\",le=\"50\"} 7\n"));
    EXPECT_THAT(text, HasSubstr("_bucket{event=\"open\",unit=\"\",le=\"+Inf\"} 8\n"));
    EXPECT_THAT(text, HasSubstr("_count{event=\"open\",unit=\"\"} 8\n"));
    EXPECT_THAT(text, HasSubstr("lagtrap_event_delays_total{event=\"open\",unit=\"\"} 6\n"));
}

TEST(EventCounters, NamesAreEscapedAndTheirNumberIsBounded) {
    EventCounters counters;
    counters.add(batch_of("a \"b\"\\\n", 1));
    EXPECT_THAT(counters.text(),
                HasSubstr("_count{event=\"a \\\"b\\\"\\\\\\\\x0a\",unit=\"\"} 1\n"));
    for (std::size_t i = 0; i < 2 * counted_events_limit; ++i)
        counters.add(batch_of("event " + std::to_string(i), 1));
    EXPECT_THAT(counters.text(), HasSubstr("_count{event=\"event 0\",unit=\"\"} 1\n"));
    EXPECT_THAT(counters.text(), Not(HasSubstr("event 300")));
    EXPECT_THAT(counters.text(), HasSubstr("_count{event=\"\",unit=\"\"} 201\n"));
}

trace::RunBatch batch_of_unit(const std::string& event, const std::string& unit) {
    trace::RunBatch batch = batch_of(event, 1, true);
    batch.runs[0].unit = unit;
    return batch;
}

TEST(EventCounters, UnitsAreToldApartAndTheirNumberIsBounded) {
    EventCounters counters;
    counters.add(batch_of_unit("open", "web.service"));
    counters.add(batch_of_unit("open", "web.service"));
    counters.add(batch_of_unit("open", "container db"));
    EXPECT_THAT(counters.text(), HasSubstr("_count{event=\"open\",unit=\"web.service\"} 2\n"));
    EXPECT_THAT(counters.text(),
                HasSubstr("delays_total{event=\"open\",unit=\"container db\"} 1\n"));
    for (std::size_t i = 0; i < counted_units_limit; ++i)
        counters.add(batch_of_unit("open", "job" + std::to_string(i)));
    EXPECT_THAT(counters.text(), HasSubstr("_count{event=\"open\",unit=\"job17\"} 1\n"));
    EXPECT_THAT(counters.text(), Not(HasSubstr("job18")));
    EXPECT_THAT(counters.text(), HasSubstr("_count{event=\"open\",unit=\"other\"} 2\n"));
}

TEST(EventCounters, UnitsOfAllEventsTogetherAreBounded) {
    EventCounters counters;
    for (int event = 0; event < 100; ++event)
        for (int unit = 0; unit < 15; ++unit)
            counters.add(
                batch_of_unit("event " + std::to_string(event), "job" + std::to_string(unit)));
    const std::string text = counters.text();
    std::size_t histograms = 0;
    for (auto at = text.find("_count{"); at != std::string::npos; at = text.find("_count{", at + 1))
        ++histograms;
    // 33 events and five units of the next have their own
    EXPECT_EQ(histograms, counted_pairs_limit + 67);
    EXPECT_THAT(text, HasSubstr("_count{event=\"event 33\",unit=\"other\"} 10\n"));
    EXPECT_THAT(text, HasSubstr("_count{event=\"event 99\",unit=\"other\"} 15\n"));
}

}  // namespace
}  // namespace lagtrap::server::event_counters_test
