#include <map>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::runs_contract_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RunsContract : public RunsStoreTest {};

TEST_F(RunsContract, ABatchCountsOnce) {
    BatchMaker maker;
    maker.add(monday, 10 * ms);
    add(1, maker.batch);
    EXPECT_EQ(must(store_->batches().add_batch(receipt_of(1), maker.batch)), AddOutcome::Already);
    EXPECT_TRUE(must(store_->batches().has_batch(receipt_of(1).digest)));
    EXPECT_FALSE(must(store_->batches().has_batch(receipt_of(2).digest)));
    reopen();
    EXPECT_EQ(must(store_->batches().add_batch(receipt_of(1), maker.batch)), AddOutcome::Already);
    EXPECT_EQ(must(summaries().count_runs(event_filter())).records, 1U);
    EXPECT_THAT(must(store_->upkeep().check()), IsEmpty());
}

TEST_F(RunsContract, ARunSaysWhetherItsStagesWereWatched) {
    BatchMaker maker;
    for (const unsigned flags : {0U, 1U, 2U, 3U}) {
        trace::RecordedRun& run = maker.add(monday + flags * second, ms);
        run.aborted = (flags & 1) != 0;
        run.without_stages = (flags & 2) != 0;
        if (run.without_stages) run.stages.clear();
    }
    add(1, maker.batch);
    const auto runs = must(everything().runs().list(event_filter(), RunOrder::Newest, 10, {})).runs;
    ASSERT_THAT(runs, SizeIs(4));
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned flags = 3 - i;
        EXPECT_EQ(runs[i].aborted, (flags & 1) != 0) << flags;
        EXPECT_EQ(runs[i].without_stages, (flags & 2) != 0) << flags;
        EXPECT_EQ(runs[i].stages.empty(), (flags & 2) != 0) << flags;
    }
}

TEST_F(RunsContract, ARunComesBackAsItWas) {
    BatchMaker maker("al\x1bpha");
    trace::RecordedRun& run = maker.add(monday + 5, 100 * ms);
    run.key = UINT64_MAX;
    run.weight = 3;
    run.aborted = true;
    run.user = std::string(3000, 'u');
    trace::RunTimes& times = run.times.emplace();
    times.parts = {1 * ms, 20 * ms, 5 * ms, {}};
    times.parts.blocked_ns[LAGTRAP_WAIT_STOPPED] = 60 * ms;
    times.handed_over_ns = 19 * ms;
    add(1, maker.batch);
    const auto page = must(everything().runs().list(event_filter(), RunOrder::Newest, 10, {}));
    ASSERT_THAT(page.runs, SizeIs(1));
    const auto found = must(everything().runs().find_run(page.runs[0].id));
    ASSERT_TRUE(found.has_value());
    const StoredRun& stored = found->run;
    EXPECT_EQ(stored.event, "open");
    EXPECT_EQ(stored.begin_realtime_ns, monday + 5);
    EXPECT_EQ(stored.duration_ns, 100 * ms);
    EXPECT_EQ(stored.threshold_ns, 50 * ms);
    EXPECT_EQ(stored.key, UINT64_MAX);
    EXPECT_EQ(stored.host, "al\\x1bpha");
    EXPECT_EQ(stored.user, std::string(1024, 'u'));
    EXPECT_EQ(stored.build, "cd34");
    EXPECT_EQ(stored.process, "demo");
    EXPECT_EQ(stored.executable, "/usr/bin/demo");
    EXPECT_EQ(stored.thread, "worker");
    EXPECT_EQ(stored.pid, 100U);
    EXPECT_EQ(stored.begin_tid, 101U);
    EXPECT_EQ(stored.start, trace::StartKind::Warm);
    EXPECT_TRUE(stored.delay);
    EXPECT_TRUE(stored.aborted);
    EXPECT_EQ(stored.weight, 3U);
    EXPECT_FALSE(stored.bundle.has_value());
    EXPECT_FALSE(stored.dirty.has_value());
    EXPECT_EQ(stored.times, maker.batch.runs[0].times);
    ASSERT_THAT(stored.stages, SizeIs(2));
    EXPECT_EQ(stored.stages[0].name, "initialised");
    EXPECT_EQ(stored.stages[0].duration_ns, 25 * ms);
    EXPECT_EQ(stored.stages[1].duration_ns, 50 * ms);
    ASSERT_THAT(found->markers, SizeIs(4));
    EXPECT_EQ(found->markers[0].stack, maker.batch.stacks[0]);
    EXPECT_THAT(found->markers[1].stack, IsEmpty());
    EXPECT_EQ(found->markers[2].name, "loaded");
    EXPECT_EQ(found->markers[2].stack, maker.batch.stacks[0]);
    EXPECT_EQ(found->markers[3].at_ns, 100 * ms);
    EXPECT_FALSE(must(everything().runs().find_run(stored.id + 1)).has_value());
}

TEST_F(RunsContract, PagesCoverEveryRunOnce) {
    BatchMaker maker;
    for (std::uint64_t i = 0; i < 25; ++i)
        maker.add(monday + (i % 5) * 20 * hour, (i % 7 + 1) * ms);
    add(1, maker.batch);
    for (const RunOrder order : {RunOrder::Newest, RunOrder::Slowest}) {
        std::set<std::uint64_t> seen;
        std::optional<PageKey> after;
        std::uint64_t last = UINT64_MAX;
        do {
            const auto page = must(everything().runs().list(event_filter(), order, 4, after));
            ASSERT_THAT(page.runs, testing::Not(IsEmpty()));
            for (const StoredRun& run : page.runs) {
                const auto value =
                    order == RunOrder::Newest ? run.begin_realtime_ns : run.duration_ns;
                EXPECT_LE(value, last);
                last = value;
                EXPECT_TRUE(seen.insert(run.id).second);
            }
            after = page.next;
        } while (after);
        EXPECT_EQ(seen.size(), 25U);
    }
}

TEST_F(RunsContract, EachPartOfAFilterSelects) {
    BatchMaker alpha, beta("beta");
    alpha.add(monday, 1 * ms);
    alpha.add(monday + hour / 2, 2 * ms).user = "bob";
    alpha.add(monday + hour, 3 * ms).build_id = "ef56";
    alpha.add(monday + 2 * hour, 4 * ms).process = "other";
    alpha.add(monday + 3 * hour, 5 * ms).start = trace::StartKind::Cold;
    alpha.add(monday + 3 * hour, 6 * ms, "close");
    beta.add(monday + day, 7 * ms);
    add(1, alpha.batch);
    add(2, beta.batch);
    const auto only = [&](auto change) {
        Filter filter = event_filter();
        change(filter);
        const auto found = durations(filter), slowest = durations(filter, RunOrder::Slowest);
        EXPECT_EQ(std::multiset(found.begin(), found.end()),
                  std::multiset(slowest.begin(), slowest.end()));
        EXPECT_EQ(must(summaries().count_runs(filter)).records, found.size());
        const auto summary = must(summaries().summary(filter));
        EXPECT_EQ(summary.durations.count(), found.size());
        std::uint64_t in_hours = 0;
        for (const HourCount& one : summary.hours) in_hours += one.runs;
        EXPECT_EQ(in_hours, found.size());
        return found;
    };
    EXPECT_THAT(only([](Filter& f) { f.host = {"beta"}; }), ElementsAre(7 * ms));
    EXPECT_THAT(only([](Filter& f) { f.user = {"bob"}; }), ElementsAre(2 * ms));
    EXPECT_THAT(only([](Filter& f) { f.build = {"ef56"}; }), ElementsAre(3 * ms));
    EXPECT_THAT(only([](Filter& f) { f.process = {"other"}; }), ElementsAre(4 * ms));
    EXPECT_THAT(only([](Filter& f) { f.start = trace::StartKind::Cold; }), ElementsAre(5 * ms));
    EXPECT_THAT(only([](Filter& f) { f.event = "close"; }), ElementsAre(6 * ms));
    EXPECT_THAT(only([](Filter& f) { f.host = {"nobody"}; }), IsEmpty());
    EXPECT_THAT(only([](Filter& f) {
                    f.from_ns = monday + hour / 2;
                    f.to_ns = monday + 2 * hour;
                }),
                ElementsAre(3 * ms, 2 * ms));
    EXPECT_THAT(only([](Filter& f) { f.from_ns = monday + 2 * hour + 1; }),
                ElementsAre(7 * ms, 5 * ms));
    EXPECT_THAT(only([](Filter& f) { f.to_ns = monday + 1; }), ElementsAre(1 * ms));
    EXPECT_THAT(only([](Filter& f) {
                    f.from_ns = monday - 3 * day + 7;
                    f.to_ns = monday + 5 * day + 7;
                }),
                SizeIs(6));
}

TEST_F(RunsContract, OfSeveralNamesInAFilterAnyOneFits) {
    const std::array<const char*, 3> hosts{"alpha", "beta", "gamma"},
        builds{"ab12", "cd34", "ef56"};
    for (std::size_t host = 0; host < 3; ++host) {
        BatchMaker maker(hosts[host]);
        for (std::size_t build = 0; build < 3; ++build) {
            auto& run =
                maker.add(monday + 50 * hour * host + build * hour, (host * 10 + build + 1) * ms);
            run.build_id = builds[build];
            run.user = build == 0 ? "ann" : "bob";
            run.process = build == 1 ? "other" : "demo";
            run.unit = "unit-" + std::to_string(build) + ".service";
        }
        add(host + 1, maker.batch);
    }
    const auto found = [&](auto change) {
        Filter filter = event_filter();
        change(filter);
        auto listed = durations(filter);
        std::sort(listed.begin(), listed.end());
        EXPECT_EQ(must(summaries().count_runs(filter)).records, listed.size());
        EXPECT_EQ(must(summaries().summary(filter)).durations.count(), listed.size());
        std::uint64_t in_trend = 0;
        for (const TrendPoint& point : must(summaries().trend(filter))) in_trend += point.runs;
        EXPECT_EQ(in_trend, listed.size());
        for (std::uint64_t& duration : listed) duration /= ms;
        return listed;
    };
    // By roll-ups (builds have them), and by the runs themselves.
    EXPECT_THAT(found([](Filter& f) {
                    f.build = {"ab12", "ef56"};
                }),
                ElementsAre(1, 3, 11, 13, 21, 23));
    EXPECT_THAT(found([](Filter& f) {
                    f.host = {"alpha", "gamma"};
                }),
                ElementsAre(1, 2, 3, 21, 22, 23));
    EXPECT_THAT(found([](Filter& f) {
                    f.host = {"alpha", "gamma"};
                    f.build = {"cd34", "ef56"};
                }),
                ElementsAre(2, 3, 22, 23));
    EXPECT_THAT(found([](Filter& f) { f.user = {"ann", "bob"}; }), SizeIs(9));
    EXPECT_THAT(found([](Filter& f) {
                    f.process = {"other", "unheard of"};
                }),
                ElementsAre(2, 12, 22));
    EXPECT_THAT(found([](Filter& f) {
                    f.unit = {"unit-0.service", "unit-2.service"};
                }),
                ElementsAre(1, 3, 11, 13, 21, 23));
    EXPECT_THAT(found([](Filter& f) { f.build = {"nobody's", "no one's"}; }), IsEmpty());
    // A pattern stands for all names that it matches.
    EXPECT_THAT(found([](Filter& f) { f.host = {"*a"}; }), SizeIs(9));
    EXPECT_THAT(found([](Filter& f) {
                    f.host = {"al*", "gamma"};
                    f.unit = {"unit-*.service"};
                }),
                ElementsAre(1, 2, 3, 21, 22, 23));
    EXPECT_THAT(found([](Filter& f) { f.build = {"*d3*"}; }), ElementsAre(2, 12, 22));
    EXPECT_THAT(found([](Filter& f) { f.host = {"x*"}; }), IsEmpty());
    Filter two;
    two.host = {"alpha", "beta"};
    const auto events = must(everything().events().list(two, "", 10, {})).events;
    ASSERT_THAT(events, SizeIs(1));
    EXPECT_EQ(events[0].runs, 6U);
    EXPECT_EQ(events[0].hosts, 2U);
}

TEST_F(RunsContract, APatternMatchesMoreNamesThanAStatementHasParameters) {
    BatchMaker maker;
    for (std::uint64_t unit = 0; unit < 150; ++unit)
        maker.add(monday + unit * second, ms).unit = "job-" + std::to_string(unit) + ".service";
    add(1, maker.batch);
    Filter filter = event_filter();
    filter.unit = {"job-*"};
    EXPECT_EQ(must(summaries().count_runs(filter)).records, 150U);
}

TEST_F(RunsContract, RunsAreToldApartByHostBuildAndUnit) {
    BatchMaker alpha("alpha"), beta("beta");
    for (std::uint64_t i = 0; i < 20; ++i) {
        auto& run = alpha.add(monday + i * hour / 10, 10 * ms);
        run.build_id = i < 10 ? "ab12" : "cd34";
        run.unit = i % 2 == 0 ? "" : "shop.service";
    }
    beta.add(monday + 90 * 60 * second, 900 * ms).weight = 3;
    beta.add(monday, 10 * ms).dirty_reasons = static_cast<std::uint32_t>(trace::DirtySuspended);
    add(1, alpha.batch);
    add(2, beta.batch);
    const SplitRuns hosts =
        must(everything().splits().split(event_filter(), SplitBy::Host, ActivityUnit::Hour, 1000));
    EXPECT_EQ(hosts.runs_read, 21U);
    EXPECT_EQ(hosts.from_ns, monday);
    ASSERT_THAT(hosts.parts, SizeIs(2));
    EXPECT_EQ(hosts.parts[0].name, "beta");  // it has the delays
    EXPECT_EQ(hosts.parts[0].whole.runs, 3U);
    EXPECT_EQ(hosts.parts[0].whole.delays, 3U);
    ASSERT_THAT(hosts.parts[0].points, SizeIs(1));
    EXPECT_EQ(hosts.parts[0].points.begin()->first, monday + hour);
    EXPECT_EQ(hosts.parts[1].whole.runs, 20U);
    ASSERT_THAT(hosts.parts[1].points, SizeIs(2));
    EXPECT_EQ(hosts.parts[1].points.at(monday).durations.count(), 10U);
    EXPECT_NEAR(static_cast<double>(hosts.parts[1].points.at(monday).durations.quantile_ns(0.5)),
                10e6, 0.1e6);

    Filter of_alpha = event_filter();
    of_alpha.host = {"alpha"};
    const SplitRuns builds =
        must(everything().splits().split(of_alpha, SplitBy::Build, ActivityUnit::Day, 15));
    EXPECT_EQ(builds.runs_read, 15U);  // the newest
    EXPECT_EQ(builds.from_ns, monday + 5 * hour / 10);
    ASSERT_THAT(builds.parts, SizeIs(2));
    EXPECT_EQ(builds.parts[0].name, "cd34");
    EXPECT_EQ(builds.parts[1].whole.runs, 5U);
    EXPECT_EQ(builds.parts[1].points.begin()->first, monday);
    const SplitRuns units =
        must(everything().splits().split(of_alpha, SplitBy::Unit, ActivityUnit::Day, 1000));
    ASSERT_THAT(units.parts, SizeIs(2));
    EXPECT_EQ(units.parts[0].name, "");
    EXPECT_EQ(units.parts[1].name, "shop.service");
    EXPECT_FALSE(everything().splits().split({}, SplitBy::Host, ActivityUnit::Day, 10).ok());

    const RunGroups groups = must(everything().splits().run_groups(event_filter(), false, 1000));
    EXPECT_EQ(groups.runs_read, 21U);
    EXPECT_EQ(groups.from_ns, monday);
    std::uint64_t runs = 0, of_beta = 0;
    for (const RunGroup& group : groups.groups) {
        runs += group.runs.runs;
        if (group.host == "beta") of_beta += group.runs.delays;
        EXPECT_EQ(group.runs.durations.count(), group.runs.runs);
    }
    EXPECT_EQ(runs, 23U);
    EXPECT_EQ(of_beta, 3U);
    EXPECT_EQ(must(everything().splits().run_groups(event_filter(), false, 5)).runs_read, 5U);
    EXPECT_THAT(must(everything().splits().run_groups(event_filter(), true, 5)).groups,
                IsEmpty());  // no bundles
    EXPECT_FALSE(everything().splits().run_groups({}, false, 10).ok());
}

TEST_F(RunsContract, RollUpsAndRunsGiveTheSameSummary) {
    BatchMaker maker;
    for (std::uint64_t i = 0; i < 400; ++i) {
        auto& run = maker.add(monday + i * 11 * 60 * second, (i * i % 97 + 1) * ms);
        run.weight = static_cast<std::uint32_t>(i % 3 + 1);
        run.build_id = i % 2 == 0 ? "even" : "odd";
        run.dirty_reasons = i % 50 == 0 ? static_cast<std::uint32_t>(trace::DirtySuspended) : 0U;
    }
    add(1, maker.batch);
    Filter rolled = event_filter();
    rolled.from_ns = monday + 90 * 60 * second;
    rolled.to_ns = monday + 2 * day + 30 * 60 * second;
    Filter scanned = rolled;
    scanned.host = {"alpha"};
    for (const bool with_dirty : {false, true}) {
        rolled.with_dirty = scanned.with_dirty = with_dirty;
        const auto a = must(summaries().summary(rolled)), b = must(summaries().summary(scanned));
        EXPECT_GT(a.counts.records, 200U);
        EXPECT_EQ(a.counts.records, b.counts.records);
        EXPECT_EQ(a.counts.runs, b.counts.runs);
        EXPECT_EQ(a.counts.delays, b.counts.delays);
        EXPECT_EQ(a.counts.hidden, b.counts.hidden);
        EXPECT_GT(a.counts.hidden, 0U);
        EXPECT_EQ(a.longest_ns, b.longest_ns);
        EXPECT_EQ(a.durations, b.durations);
        EXPECT_EQ(a.durations.count(), a.counts.runs);
        EXPECT_EQ(a.delay_durations, b.delay_durations);
        ASSERT_EQ(a.hours.size(), b.hours.size());
        for (std::size_t i = 0; i < a.hours.size(); ++i) {
            EXPECT_EQ(a.hours[i].hour_ns, b.hours[i].hour_ns);
            EXPECT_EQ(a.hours[i].runs, b.hours[i].runs);
            EXPECT_EQ(a.hours[i].delays, b.hours[i].delays);
        }
        const auto trend = must(summaries().trend(rolled)),
                   trend_scanned = must(summaries().trend(scanned));
        ASSERT_EQ(trend.size(), 6U);  // three days, two builds
        ASSERT_EQ(trend.size(), trend_scanned.size());
        for (std::size_t i = 0; i < trend.size(); ++i)
            EXPECT_EQ(trend[i].durations, trend_scanned[i].durations);
    }
}

TEST_F(RunsContract, EventsAreListedNewestFirstSearchedAndPaged) {
    BatchMaker alpha, beta("beta");
    alpha.add(monday, 60 * ms, "open file").weight = 4;
    alpha.add(monday + hour, 1 * ms, "close file");
    beta.add(monday + 2 * hour, 60 * ms, "open file");
    beta.add(monday + 3 * hour, 60 * ms, "Save");
    add(1, alpha.batch);
    add(2, beta.batch);
    const auto all = must(everything().events().list({}, "", 10, {}));
    ASSERT_THAT(all.events, SizeIs(3));
    EXPECT_FALSE(all.next.has_value());
    EXPECT_EQ(all.events[0].event, "Save");
    EXPECT_EQ(all.events[1].event, "open file");
    EXPECT_EQ(all.events[1].last_realtime_ns, monday + 2 * hour);
    EXPECT_EQ(all.events[1].runs, 5U);
    EXPECT_EQ(all.events[1].delays, 5U);
    EXPECT_EQ(all.events[1].hosts, 2U);
    EXPECT_EQ(all.events[2].delays, 0U);
    EXPECT_THAT(must(everything().events().list({}, "FILE", 10, {})).events, SizeIs(2));
    const auto first = must(everything().events().list({}, "", 2, {}));
    ASSERT_TRUE(first.next.has_value());
    const auto second_page = must(everything().events().list({}, "", 2, first.next));
    ASSERT_THAT(second_page.events, SizeIs(1));
    EXPECT_EQ(second_page.events[0].event, "close file");
    Filter early;
    early.to_ns = monday + 90 * 60 * second;
    const auto some = must(everything().events().list(early, "", 10, {}));
    ASSERT_THAT(some.events, SizeIs(2));
    EXPECT_EQ(some.events[1].runs, 4U);
    Filter host;
    host.host = {"beta"};
    EXPECT_THAT(must(everything().events().list(host, "", 10, {})).events, SizeIs(2));
    const auto choices = must(everything().choices().of_event("open file"));
    EXPECT_THAT(choices.hosts, ElementsAre("alpha", "beta"));
    EXPECT_THAT(choices.builds, ElementsAre("cd34"));
    EXPECT_EQ(choices.from_realtime_ns, monday);
    EXPECT_EQ(choices.to_realtime_ns, monday + 2 * hour + 1);
    EXPECT_THAT(must(everything().choices().of_event("")).processes, ElementsAre("demo"));
    BatchMaker soon;
    soon.add(monday + 2 * hour + 10 * second, ms, "open file");
    add(3, soon.batch);
    EXPECT_EQ(must(everything().choices().of_event("open file")).to_realtime_ns,
              monday + 2 * hour + 10 * second + 1);
}

TEST_F(RunsContract, StacksOfAStage) {
    BatchMaker maker;
    for (std::uint64_t i = 1; i <= 4; ++i) maker.add(monday + i, i * 8 * ms);
    maker.batch.runs[3].stages[1].stack = 0;
    add(1, maker.batch);
    const auto loaded = must(everything().runs().stage_stacks(event_filter(), "loaded", 1000));
    EXPECT_EQ(loaded.runs_read, 4U);
    ASSERT_THAT(loaded.stacks, SizeIs(2));
    EXPECT_EQ(loaded.stacks[0].frames, maker.batch.stacks[0]);
    EXPECT_EQ(loaded.stacks[0].hits, 3U);
    EXPECT_EQ(loaded.stacks[0].median_ns, 8 * ms);
    EXPECT_EQ(loaded.stacks[0].longest_ns, 12 * ms);
    EXPECT_EQ(
        must(everything().runs().stage_stacks(event_filter(), "begin", 1000)).stacks.at(0).hits,
        4U);
    EXPECT_THAT(must(everything().runs().stage_stacks(event_filter(), "unheard of", 1000)).stacks,
                IsEmpty());
}

TEST_F(RunsContract, TimesOfTheNewestRunsThatHaveThem) {
    BatchMaker maker;
    for (std::uint64_t i = 1; i <= 4; ++i) {
        trace::RecordedRun& run = maker.add(monday + i, i * 8 * ms);
        if (i == 2) continue;
        run.times.emplace().parts.on_cpu_ns = i * ms;
        run.weight = static_cast<std::uint32_t>(i);
    }
    add(1, maker.batch);
    const auto timed = must(everything().runs().run_times(event_filter(), 3));
    EXPECT_EQ(timed.runs_read, 3U);
    std::vector<std::uint64_t> on_cpu_ns;
    for (const TimedRun& run : timed.runs) {
        on_cpu_ns.push_back(run.times.parts.on_cpu_ns);
        EXPECT_EQ(run.duration_ns, run.times.parts.on_cpu_ns * 8);
        EXPECT_EQ(run.weight * ms, run.times.parts.on_cpu_ns);
    }
    EXPECT_THAT(on_cpu_ns, testing::UnorderedElementsAre(3 * ms, 4 * ms));
}

TEST_F(RunsContract, RefusesRunsOfAnotherTime) {
    BatchMaker future, past;
    future.add(monday + 40 * day, ms);
    past.add(monday - 500 * day, ms);
    for (const auto* maker : {&future, &past}) {
        const auto outcome = store_->batches().add_batch(receipt_of(1), maker->batch);
        ASSERT_FALSE(outcome.ok());
        EXPECT_EQ(outcome.error().kind, ErrorKind::Invalid);
    }
    EXPECT_FALSE(must(store_->batches().has_batch(receipt_of(1).digest)));
}

TEST_F(RunsContract, LossesAreToldByHostAndTimeOfTheBatch) {
    const auto add_losing = [&](std::uint64_t number, const std::string& host, std::uint64_t lost,
                                std::uint64_t at_ns) {
        BatchMaker maker(host);
        maker.batch.runs_lost = lost;  // without a run, and nothing else happened
        EXPECT_EQ(must(store_->batches().add_batch(receipt_of(number, at_ns), maker.batch)),
                  AddOutcome::New);
    };
    EXPECT_EQ(must(everything().events().losses({})).runs, 0U);
    add_losing(1, "alpha", 5, monday + 10);
    add_losing(2, "beta", 40, monday + 20);
    add_losing(3, "alpha", 7, monday + 30);
    add_losing(4, "gamma", 0, monday + 30);
    EXPECT_EQ(
        must(store_->batches().add_batch(receipt_of(3, monday + 40), BatchMaker("alpha").batch)),
        AddOutcome::Already);
    const Losses all = must(everything().events().losses({}));
    EXPECT_EQ(all.runs, 52U);
    ASSERT_THAT(all.hosts, SizeIs(2));
    EXPECT_EQ(all.hosts[0].host, "beta");
    EXPECT_EQ(all.hosts[1].host, "alpha");
    EXPECT_EQ(all.hosts[1].runs, 12U);
    EXPECT_EQ(all.hosts[1].last_realtime_ns, monday + 30);
    EXPECT_EQ(must(store_->upkeep().size()).lost, 52U);
    Filter filter;
    filter.host = {"alpha"};
    filter.from_ns = monday + 10;
    filter.to_ns = monday + 30;
    EXPECT_EQ(must(everything().events().losses(filter)).runs, 5U);
    filter.event = "of which is not known";
    EXPECT_EQ(must(everything().events().losses(filter)).runs, 5U);
    filter.host = {"unheard of"};
    EXPECT_EQ(must(everything().events().losses(filter)).runs, 0U);
    for (std::uint64_t host = 0; host < 30; ++host)
        add_losing(100 + host, "host" + std::to_string(host), 1, monday);
    EXPECT_EQ(must(everything().events().losses({})).runs, 82U);
    EXPECT_THAT(must(everything().events().losses({})).hosts, SizeIs(20));
}

TEST_F(RunsContract, ManyWritersAtOnceLoseAndDoubleNothing) {
    std::vector<std::thread> writers;
    for (unsigned writer = 0; writer < 6; ++writer)
        writers.emplace_back([this, writer] {
            for (std::uint64_t i = 0; i < 15; ++i) {
                BatchMaker maker("host" + std::to_string(writer % 3));
                for (std::uint64_t run = 0; run < 20; ++run)
                    maker.add(monday + run * hour, (run + 1) * ms);
                // Each batch is sent by two writers.
                const auto outcome =
                    store_->batches().add_batch(receipt_of(writer % 3 * 100 + i), maker.batch);
                EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message);
            }
        });
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(must(summaries().count_runs(event_filter())).records, 3U * 15 * 20);
    Filter scanned = event_filter();
    scanned.process = {"demo"};
    EXPECT_EQ(must(summaries().summary(scanned)).durations,
              must(summaries().summary(event_filter())).durations);
    EXPECT_THAT(must(store_->upkeep().check()), IsEmpty());
}

// Anybody who may upload runs can use any names.
TEST_F(RunsContract, NamesAreBounded) {
    ASSERT_TRUE(
        backend_
            ->script("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                     "9999) INSERT INTO label(kind, text) SELECT 1, 'event ' || i FROM n")
            .ok());
    BatchMaker maker;
    for (const char* event : {"one of many", "one more", "and more"})
        maker.add(monday, 10 * ms, event);
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1), maker.batch)), AddOutcome::New);
    std::map<std::string, std::uint64_t> runs;
    for (const EventRow& row : must(everything().events().list({}, {}, 10, {})).events)
        runs[row.event] = row.runs;
    EXPECT_EQ(runs,
              (std::map<std::string, std::uint64_t>{{"(further names)", 2}, {"and more", 1}}));
    // A known name stays known, and the same names get the same number again.
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(2), maker.batch)), AddOutcome::New);
    EXPECT_EQ(must(summaries().summary(event_filter("(further names)"))).counts.runs, 4U);
    EXPECT_EQ(must(summaries().summary(event_filter("and more"))).counts.runs, 2U);
    EXPECT_EQ(must(summaries().summary(event_filter("one more"))).counts.runs, 0U);
}

TEST_F(RunsContract, OneSenderCannotFillTheNamesForOthers) {
    ASSERT_TRUE(
        backend_
            ->script(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2499) "
                "INSERT INTO label(kind, text, sender) SELECT 1, 'event ' || i, 'token' FROM n")
            .ok());
    BatchMaker maker;
    for (const char* event : {"a", "b", "c"}) maker.add(monday, 10 * ms, event);
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1), maker.batch)), AddOutcome::New);
    const auto runs_of = [&](const char* event) {
        return must(summaries().summary(event_filter(event))).counts.runs;
    };
    EXPECT_EQ(runs_of("a"), 1U);
    EXPECT_EQ(runs_of("b"), 0U);
    EXPECT_EQ(runs_of("(further names)"), 2U);
    Receipt other = receipt_of(2);
    other.sender = "another token";
    ASSERT_EQ(must(store_->batches().add_batch(other, maker.batch)), AddOutcome::New);
    EXPECT_EQ(runs_of("a"), 2U);
    EXPECT_EQ(runs_of("b"), 1U);
    EXPECT_EQ(runs_of("c"), 1U);
}

}  // namespace
}  // namespace lagtrap::server::runs_contract_test
