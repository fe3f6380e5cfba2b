// The view of people who may see only part of the store.
#include <gmock/gmock.h>

#include "server/store/store.hpp"
#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::sight_contract_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Sight, PatternsHaveStars) {
    for (const auto& [pattern, text] :
         {std::pair("shop", "shop"), std::pair("shop.*", "shop."), std::pair("*", ""),
          std::pair("a*b*c", "axxbxbc"), std::pair("**", "x"),
          std::pair("*.service", "web.service"), std::pair("a*a", "aa")})
        EXPECT_TRUE(fits_pattern(pattern, text)) << pattern << " " << text;
    for (const auto& [pattern, text] :
         {std::pair("shop", "shops"), std::pair("shop.*", "shop"), std::pair("", "x"),
          std::pair("a*b", "abc"), std::pair("a*a", "a"), std::pair("Shop", "shop")})
        EXPECT_FALSE(fits_pattern(pattern, text)) << pattern << " " << text;
    EXPECT_FALSE((Sight{{}, {"*"}}.sees("open", "")));
    EXPECT_TRUE((Sight{{}, {"*"}}.sees("open", "web.service")));
}

class SightContract : public StoreTest {
  protected:
    // On host alpha `open` runs in web.service and db.service, `close` in db.service; on beta only
    // `open` in db.service.
    void add_runs() {
        BatchMaker alpha("alpha"), beta("beta");
        for (std::uint64_t i = 0; i < 4; ++i) {
            alpha.add(monday + i * second, 10 * ms).unit = "web.service";
            alpha.add(monday + hour + i * second, 10 * ms).unit = "db.service";
            alpha.add(monday + day + i * second, 10 * ms, "close").unit = "db.service";
            beta.add(monday + i * second, 10 * ms).unit = "db.service";
        }
        alpha.batch.runs.front().user = "web";
        beta.batch.runs.front().user = "secret";
        ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1), alpha.batch)), AddOutcome::New);
        ASSERT_EQ(must(store_->batches().add_batch(receipt_of(2), beta.batch)), AddOutcome::New);
    }
    // A bundle whose delay N ran in units[N - 1].
    std::string add_bundle(std::uint64_t number, const std::vector<std::string>& units,
                           const std::string& event = "open") {
        BundleRow row;
        row.digest = receipt_of(number).digest;
        EXPECT_EQ(must(store_->inventory().add(row, {"parse", row.digest, monday})),
                  AddOutcome::New);
        BundleFacts facts;
        facts.host = "alpha";
        facts.event = "the longest one's";
        facts.delays = static_cast<std::uint32_t>(units.size());
        std::vector<BundleDelay> delays(units.size());
        for (std::uint32_t i = 0; i < delays.size(); ++i) {
            delays[i].number = i + 1;
            delays[i].event = event;
            delays[i].begin_realtime_ns = monday + i * second;
            delays[i].duration_ns = (100 + i) * ms;
            delays[i].process = "in " + units[i];
            delays[i].unit = units[i];
            delays[i].profile = "p";
            delays[i].trace_id = "trace of " + event;
        }
        EXPECT_TRUE(must(store_->inventory().set_contents(row.digest, facts, {}, delays)));
        return row.digest;
    }
    static std::vector<std::pair<std::string, std::uint64_t>> names(const EventPage& page) {
        std::vector<std::pair<std::string, std::uint64_t>> list;
        for (const EventRow& row : page.events) list.emplace_back(row.event, row.runs);
        return list;
    }
};

TEST_F(SightContract, EventsAreSeenWholeAndUnitsInPart) {
    add_runs();
    auto whole = seen({"op*"}, {});
    EXPECT_THAT(names(must(whole.events().list({}, {}, 10, {}))),
                ElementsAre(std::pair("open", 12)));
    EXPECT_EQ(must(whole.events().list({}, {}, 10, {})).events[0].hosts, 2U);
    EXPECT_EQ(must(whole.summaries().summary(event_filter("close"))).counts.runs, 0U);
    auto web = seen({}, {"web.*"});
    EXPECT_THAT(names(must(web.events().list({}, {}, 10, {}))), ElementsAre(std::pair("open", 4)));
    EXPECT_EQ(must(web.events().list({}, {}, 10, {})).events[0].hosts, 1U);
    EXPECT_EQ(must(web.summaries().summary(event_filter())).counts.runs, 4U);
    EXPECT_THAT(must(web.runs().list(event_filter(), RunOrder::Newest, 100, {})).runs, SizeIs(4));
    auto both = seen({"close"}, {"web.*"});
    EXPECT_THAT(names(must(both.events().list({}, {}, 10, {}))),
                ElementsAre(std::pair("close", 4), std::pair("open", 4)));
    auto nothing = seen({}, {});
    EXPECT_THAT(must(nothing.events().list({}, {}, 10, {})).events, IsEmpty());
    EXPECT_THAT(must(nothing.choices().of_event({})).hosts, IsEmpty());
}

TEST_F(SightContract, ChoicesHaveNothingElse) {
    add_runs();
    for (const char* event : {"open", ""}) {
        const auto choices = must(seen({}, {"web.*"}).choices().of_event(event));
        EXPECT_THAT(choices.hosts, ElementsAre("alpha"));
        EXPECT_THAT(choices.units, ElementsAre("web.service"));
        EXPECT_THAT(choices.users, ElementsAre("ann", "web"));
        EXPECT_EQ(choices.from_realtime_ns, monday);
        EXPECT_EQ(choices.to_realtime_ns, monday + 3 * second + 1);
    }
    EXPECT_THAT(must(seen({"open"}, {}).choices().of_event({})).users,
                ElementsAre("ann", "secret", "web"));
    EXPECT_THAT(must(seen({"close"}, {}).choices().of_event("open")).hosts, IsEmpty());
}

TEST_F(SightContract, OneRunIsThereOrNot) {
    add_runs();
    const auto runs =
        must(everything().runs().list(event_filter(), RunOrder::Newest, 100, {})).runs;
    auto web = seen({}, {"web.service"});
    for (const StoredRun& run : runs) {
        EXPECT_EQ(must(web.runs().find_run(run.id)).has_value(), run.unit == "web.service");
        EXPECT_THAT(must(web.runs().find_runs({run.id})),
                    SizeIs(run.unit == "web.service" ? 1 : 0));
        const auto marked =
            must(web.marks().mark_dirty({{run.id, true, rule_by_hand, "why", "ann", monday}}));
        EXPECT_EQ(marked, run.unit == "web.service" ? 1U : 0U);
    }
}

TEST_F(SightContract, BundlesAreThoseWithADelayThatIsSeen) {
    const auto mixed = add_bundle(1, {"web.service", "db.service", "web.service"});
    const auto other = add_bundle(2, {"db.service"});
    auto web = seen({}, {"web.service"});
    EXPECT_FALSE(must(web.bundles().find(other)).has_value());
    const auto row = must(web.bundles().find(mixed));
    ASSERT_TRUE(row.has_value());
    EXPECT_EQ(row->facts.event, "open");
    EXPECT_EQ(row->facts.process, "in web.service");
    EXPECT_EQ(row->facts.delays, 2U);
    EXPECT_EQ(row->facts.longest_delay_ns, 102 * ms);
    EXPECT_THAT(must(web.bundles().list_filtered({}, 10, {})).bundles, SizeIs(1));
    EXPECT_THAT(must(web.delays().list_delays({}, mixed, RunOrder::Newest, 10, {})).delays,
                SizeIs(2));
    EXPECT_THAT(must(web.delays().list_delays({}, {}, RunOrder::Newest, 10, {})).delays, SizeIs(2));
    EXPECT_TRUE(must(web.delays().find_delay(mixed, 1)).has_value());
    EXPECT_FALSE(must(web.delays().find_delay(mixed, 2)).has_value());
    EXPECT_EQ(must(web.delays().summarise_delays(event_filter())).delays, 2U);
    std::uint32_t profiles = 0;
    ASSERT_TRUE(
        web.delays()
            .profiles(event_filter(), true, 100, [&](StoredDelay&&) { return ++profiles > 0; })
            .ok());
    EXPECT_EQ(profiles, 2U);
    EXPECT_FALSE(must(seen({"close"}, {}).bundles().find(mixed)).has_value());
}

TEST_F(SightContract, ATraceHasTheDelaysThatAreSeen) {
    add_bundle(1, {"web.service", "db.service"});
    const std::string other = add_bundle(2, {"web.service"}, "close");
    const auto found = [](const Evidence& evidence, const std::string& trace_id) {
        std::vector<std::string> list;
        for (const StoredDelay& stored : must(evidence.delays().of_trace(trace_id, 10)))
            list.push_back(stored.delay.event + " " + stored.delay.unit);
        return list;
    };
    EXPECT_THAT(found(store_->everything(), "trace of open"),
                ElementsAre("open db.service", "open web.service"));
    EXPECT_THAT(found(store_->everything(), "another"), IsEmpty());
    EXPECT_THAT(found(store_->everything(), ""), IsEmpty());
    EXPECT_THAT(found(seen({"open"}, {}), "trace of open"), SizeIs(2));
    EXPECT_THAT(found(seen({"close"}, {}), "trace of open"), IsEmpty());
    EXPECT_THAT(found(seen({}, {"web.*"}), "trace of open"), ElementsAre("open web.service"));
    EXPECT_EQ(must(store_->everything().delays().find_delay(other, 1))->delay.trace_id,
              "trace of close");
}

TEST_F(SightContract, CausesAreThoseOfDelaysThatAreSeen) {
    const auto mixed = add_bundle(1, {"web.service", "db.service"});
    const auto other = add_bundle(2, {"db.service"});
    const auto news = must(store_->found_causes().note_causes(
        "open",
        {{"lock",
          "waits",
          "blocked",
          "lock",
          "[]",
          {{mixed, 1, "alpha", "v1", monday, ms, {}}, {mixed, 2, "alpha", "v1", monday, ms, {}}},
          {}},
         {"disk",
          "reads",
          "blocked",
          "disk",
          "[]",
          {{other, 1, "beta", "v2", monday, ms, {}}},
          {}}},
        monday));
    ASSERT_THAT(news, SizeIs(2));
    auto web = seen({}, {"web.service"});
    const auto causes = must(web.causes().list({}, 10));
    ASSERT_THAT(causes, SizeIs(1));
    EXPECT_EQ(causes[0].signature, "lock");
    EXPECT_EQ(causes[0].delays, 1U);
    EXPECT_EQ(must(web.causes().find_cause(causes[0].id))->sightings.size(), 1U);
    const std::uint64_t hidden = news[0].id == causes[0].id ? news[1].id : news[0].id;
    EXPECT_FALSE(must(web.causes().find_cause(hidden)).has_value());
    CauseChange change;
    change.note = "mine";
    EXPECT_FALSE(must(web.causes().change_cause(hidden, change)));
    EXPECT_TRUE(must(web.causes().change_cause(causes[0].id, change)));
    change.root = hidden;
    EXPECT_FALSE(web.causes().change_cause(causes[0].id, change).ok());
    EXPECT_THAT(must(web.causes().cause_totals(10)), IsEmpty());
    EXPECT_THAT(must(seen({"open"}, {}).causes().list("open", 10)), SizeIs(2));
    EXPECT_THAT(must(seen({"open"}, {}).causes().cause_totals(10)), SizeIs(1));
    EXPECT_THAT(must(seen({"close"}, {}).causes().list({}, 10)), IsEmpty());
}

TEST_F(SightContract, SearchFindsNothingElse) {
    const auto news = [&](const std::string& event, const std::string& digest,
                          const std::string& frames) {
        const SightedCause cause{event,     "Waits_in " + event,
                                 "blocked", "disk",
                                 frames,    {{digest, 1, "alpha", "", monday, ms, {}}},
                                 {}};
        EXPECT_THAT(must(store_->found_causes().note_causes(event, {cause}, monday)), SizeIs(1));
    };
    news("open", add_bundle(1, {"web.service"}),
         R"([{"function":"Read%Table","module":"/usr/lib/libdb.so"}])");
    news("close", add_bundle(2, {"db.service"}, "close"), "[]");
    const auto found = [](const Evidence& evidence, const std::vector<std::string>& words) {
        std::vector<std::string> list;
        for (const CauseRecord& cause : must(evidence.causes().search(words, 10)))
            list.push_back(cause.event);
        return list;
    };
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"read%t"}, {"libdb"}, {"table", "in open"}, {"s_in open"}})
        EXPECT_THAT(found(store_->everything(), words), ElementsAre("open")) << words.front();
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"read_t"}, {"table", "close"}, {"%x%"}})
        EXPECT_THAT(found(store_->everything(), words), IsEmpty()) << words.front();
    EXPECT_THAT(found(store_->everything(), {"disk"}), SizeIs(2));
    EXPECT_THAT(found(seen({"close"}, {}), {"disk"}), ElementsAre("close"));
    EXPECT_THAT(found(seen({}, {"web.*"}), {"disk"}), ElementsAre("open"));
    EXPECT_THAT(must(store_->everything().events().names()), ElementsAre("close", "open"));
    EXPECT_THAT(must(seen({"close"}, {}).events().names()), ElementsAre("close"));
    EXPECT_THAT(must(seen({}, {"web.*"}).events().names()), ElementsAre("open"));
    EXPECT_THAT(must(seen({"other"}, {}).events().names()), IsEmpty());
}

TEST_F(SightContract, LossesAreThoseOfHostsWithSomethingThatIsSeen) {
    BatchMaker alpha("alpha"), beta("beta");
    alpha.add(monday, ms).unit = "web.service";
    beta.add(monday, ms, "close").unit = "db.service";
    alpha.batch.runs_lost = 3;
    beta.batch.runs_lost = 9;
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1), alpha.batch)), AddOutcome::New);
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(2), beta.batch)), AddOutcome::New);
    EXPECT_EQ(must(seen({}, {"web.service"}).events().losses({})).runs, 3U);
    EXPECT_EQ(must(seen({"close"}, {}).events().losses({})).runs, 9U);
    EXPECT_EQ(must(seen({"*"}, {}).events().losses({})).runs, 12U);
}

TEST_F(SightContract, BuildsAreThoseOfRunsThatAreSeen) {
    BatchMaker maker;
    maker.add(monday, ms).build_id = "ab12";
    maker.add(monday, ms, "close").build_id = "cd34";
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1), maker.batch)), AddOutcome::New);
    for (const char* build : {"ab12", "cd34"})
        ASSERT_TRUE(everything().builds().label_build({build, "v1", "ann", monday}).ok());
    const BuildStore builds = seen({"open"}, {}).builds();
    const auto labels = must(builds.build_labels());
    ASSERT_THAT(labels, SizeIs(1));
    EXPECT_EQ(labels[0].build, "ab12");
    EXPECT_TRUE(builds.label_build({"ab12", "v2", "ann", monday}).ok());
    EXPECT_EQ(builds.label_build({"cd34", "v2", "ann", monday}).error().kind, ErrorKind::Denied);
    EXPECT_EQ(builds.name_builds({{"ab12", "v3", "", monday}}).error().kind, ErrorKind::Denied);
}

TEST_F(SightContract, MarksAreThoseOfRunsThatAreSeen) {
    add_runs();
    const StoredRun hidden =
        must(everything().runs().list(event_filter("close"), RunOrder::Newest, 1, {})).runs.at(0);
    ASSERT_EQ(must(everything().marks().mark_dirty(
                  {{hidden.id, true, rule_by_hand, "why", "ann", monday}})),
              1U);
    EXPECT_THAT(must(everything().marks().dirty_marks(hidden.id)), SizeIs(1));
    EXPECT_THAT(must(seen({"open"}, {}).marks().dirty_marks(hidden.id)), IsEmpty());
}

TEST_F(SightContract, TeamsComeAndGo) {
    for (const char* name : {"ann", "bob"})
        ASSERT_EQ(must(store_->accounts().add_account({name, Role::Reader, "", 1, false})),
                  AddOutcome::New);
    EXPECT_FALSE(must(store_->teams().has_teams()));
    EXPECT_EQ(must(store_->teams().set_team({"shop", {"shop.*", "cart"}, {}, {"devs"}})),
              AddOutcome::New);
    EXPECT_TRUE(must(store_->teams().has_teams()));
    EXPECT_EQ(must(store_->teams().set_team({"all", {}, {}, {"*"}})), AddOutcome::New);
    EXPECT_EQ(must(store_->teams().set_team({"all", {}, {"*"}, {"*"}})), AddOutcome::Already);
    EXPECT_TRUE(must(store_->teams().join_team("shop", "ann")));
    EXPECT_FALSE(must(store_->teams().join_team("shop", "eve")));
    EXPECT_FALSE(must(store_->teams().join_team("none", "ann")));
    reopen();
    const auto of_ann = must(store_->teams().teams_of("ann"));
    ASSERT_THAT(of_ann, SizeIs(1));
    EXPECT_THAT(of_ann[0].events, ElementsAre("shop.*", "cart"));
    EXPECT_THAT(of_ann[0].groups, ElementsAre("devs"));
    ASSERT_TRUE(store_->teams().set_teams_by_groups("bob", {"devs"}).ok());
    EXPECT_THAT(must(store_->teams().teams_of("bob")), SizeIs(2));
    ASSERT_TRUE(store_->teams().set_teams_by_groups("bob", {}).ok());
    EXPECT_THAT(must(store_->teams().teams_of("bob")), SizeIs(1));
    // The end of a team must not leave its members seeing nothing, or everything if it was the last
    // team.
    EXPECT_EQ(store_->teams().remove_team("shop").error().kind, ErrorKind::Busy);
    ASSERT_TRUE(store_->teams().set_teams_by_groups("ann", {}).ok());
    EXPECT_TRUE(must(store_->teams().remove_team("shop")));
    EXPECT_FALSE(must(store_->teams().remove_team("shop")));
    EXPECT_TRUE(must(store_->teams().leave_team("all", "ann")));
    EXPECT_FALSE(must(store_->teams().leave_team("all", "ann")));
    ASSERT_TRUE(store_->accounts().remove_account("bob").ok());
    EXPECT_THAT(must(store_->teams().list())[0].members, IsEmpty());
}

}  // namespace
}  // namespace lagtrap::server::sight_contract_test
