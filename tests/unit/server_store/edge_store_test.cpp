#include "server/store/edge_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::edge_store_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t day = 24 * hour;

class EdgeStoreTest : public DelaysStoreTest {
  protected:
    static DelayEdge edge(const std::string& event, std::uint64_t lost_ns) {
        DelayEdge made;
        made.event = event;
        made.process = "demo";
        made.thread = "worker";
        made.how = "lock";
        made.lost_ns = lost_ns;
        return made;
    }
    static BundleDelay held_up(std::uint32_t number, std::uint64_t begin_ns,
                               std::vector<DelayEdge> edges, const std::string& event = "open") {
        BundleDelay made = delay(number, begin_ns);
        made.event = event;
        made.edges = std::move(edges);
        return made;
    }
    EdgeSummary summary(const Filter& filter = {}, const std::string& culprit = "") const {
        return must(everything().edges().summarise({filter, culprit, {}, 100}));
    }
    EdgeSummary split_by(EdgeSplit::By by, const std::string& attribute = "") const {
        return must(everything().edges().summarise({{}, "", {by, attribute}, 100}));
    }
};

TEST_F(EdgeStoreTest, AnEdgeComesBackAsItWas) {
    DelayEdge made = edge("report", 40 * ms);
    made.route = "/report";
    made.delayed_route = "/open";
    made.unit = "app.service";
    made.thread = "wor\x1bker";
    made.pid = 7;
    made.tid = 8;
    made.key = UINT64_MAX;
    made.trace_id = "0123456789abcdef0123456789abcdef";
    made.how = "interpreter-lock";
    made.place = "dumps";
    made.attributes = {{"tenant", "a\tcme"}, {"empty", ""}};
    made.delayed_attributes = {{"tenant", "B"}};
    EXPECT_FALSE(must(everything().edges().has_edges()));
    add_bundle(1, {held_up(3, monday + 5, {made})}, "beta");
    EXPECT_TRUE(must(everything().edges().has_edges()));
    const EdgeSummary found = summary();
    EXPECT_EQ(found.edges, 1U);
    EXPECT_EQ(found.edges_read, 1U);
    ASSERT_THAT(found.groups, SizeIs(1));
    const EdgeGroup& group = found.groups[0];
    EXPECT_EQ(group.culprit, (RequestKind{"report", "/report", ""}));
    EXPECT_EQ(group.delayed, (RequestKind{"open", "/open", ""}));
    EXPECT_EQ(group.how, "interpreter-lock");
    ASSERT_THAT(group.examples, SizeIs(1));
    const StoredEdge& example = group.examples[0];
    EXPECT_EQ(example.bundle, digest_of(1));
    EXPECT_EQ(example.number, 3U);
    EXPECT_EQ(example.host, "beta");
    EXPECT_EQ(example.begin_realtime_ns, monday + 5);
    EXPECT_EQ(example.edge.unit, "app.service");
    EXPECT_EQ(example.edge.process, "demo");
    EXPECT_EQ(example.edge.thread, "wor\\x1bker");
    EXPECT_EQ(example.edge.pid, 7U);
    EXPECT_EQ(example.edge.tid, 8U);
    EXPECT_EQ(example.edge.key, UINT64_MAX);
    EXPECT_EQ(example.edge.trace_id, made.trace_id);
    EXPECT_EQ(example.edge.place, "dumps");
    EXPECT_EQ(example.edge.lost_ns, 40 * ms);
    const std::vector<EdgeAttribute> printable{{"tenant", "a\\x09cme"}, {"empty", ""}};
    EXPECT_EQ(example.edge.attributes, printable);
    EXPECT_EQ(example.edge.delayed_attributes, made.delayed_attributes);
    EXPECT_THAT(found.attributes, testing::ElementsAre("empty", "tenant"));
}

TEST_F(EdgeStoreTest, EdgesAreAddedUpByKindAndDay) {
    add_bundle(1, {held_up(1, monday, {edge("report", 10 * ms), edge("flush", 5 * ms)}),
                   held_up(2, monday + hour, {edge("report", 30 * ms)}),
                   held_up(3, monday + day, {edge("report", 20 * ms)}),
                   held_up(4, monday, {edge("open", 7 * ms)}, "report"), delay(5, monday)});
    const EdgeSummary found = summary();
    EXPECT_EQ(found.edges, 5U);
    ASSERT_THAT(found.groups, SizeIs(3));
    const EdgeGroup& most = found.groups[0];
    EXPECT_EQ(most.culprit.event, "report");
    EXPECT_EQ(most.delayed.event, "open");
    EXPECT_EQ(most.delays, 3U);
    EXPECT_EQ(most.lost_ns, 60 * ms);
    EXPECT_EQ(most.longest_ns, 30 * ms);
    ASSERT_THAT(most.days, SizeIs(2));
    EXPECT_EQ(most.days[0].from_ns, monday / day * day);
    EXPECT_EQ(most.days[0].delays, 2U);
    EXPECT_EQ(most.days[0].lost_ns, 40 * ms);
    EXPECT_EQ(most.days[1].delays, 1U);
    ASSERT_THAT(most.examples, SizeIs(3));
    EXPECT_EQ(most.examples[0].number, 2U);
    EXPECT_EQ(most.examples[1].number, 3U);
    EXPECT_EQ(most.examples[2].number, 1U);
    EXPECT_EQ(found.groups[1].culprit.event, "open");
    EXPECT_EQ(found.groups[1].delayed.event, "report");
    EXPECT_EQ(found.groups[2].culprit.event, "flush");
}

TEST_F(EdgeStoreTest, RequestsAreDistinguishedByUnitHostOrAttribute) {
    using By = EdgeSplit::By;
    DelayEdge of_acme = edge("report", 9 * ms);
    of_acme.unit = "report.service";
    of_acme.attributes = {{"tenant", "acme"}};
    of_acme.delayed_attributes = {{"tenant", "bolt"}};
    DelayEdge of_bolt = of_acme;
    of_bolt.lost_ns = 4 * ms;
    of_bolt.attributes[0].value = "bolt";
    BundleDelay delayed = held_up(1, monday, {of_acme, of_bolt});
    delayed.unit = "shop.service";
    add_bundle(1, {delayed});
    add_bundle(2, {held_up(1, monday, {edge("report", 2 * ms)})}, "beta");

    const auto parts = [](const EdgeSummary& found) {
        std::vector<std::string> texts;
        for (const EdgeGroup& group : found.groups)
            texts.push_back(group.culprit.part + " > " + group.delayed.part);
        return texts;
    };
    using testing::ElementsAre;
    EXPECT_THAT(parts(split_by(By::Nothing)), ElementsAre(" > "));
    EXPECT_THAT(parts(split_by(By::Unit)), ElementsAre("report.service > shop.service", " > "));
    EXPECT_THAT(parts(split_by(By::Host)), ElementsAre("alpha > alpha", "beta > beta"));
    EXPECT_THAT(parts(split_by(By::Attribute, "tenant")),
                ElementsAre("acme > bolt", "bolt > bolt", " > "));
    EXPECT_THAT(parts(split_by(By::Attribute, "region")), ElementsAre(" > "));
}

TEST_F(EdgeStoreTest, NamesOfAttributesAreLimited) {
    DelayEdge made = edge("report", ms);
    std::vector<DelayEdge> edges;
    for (std::size_t i = 0; i <= attribute_names_limit; ++i) {
        made.attributes = {{"name-" + std::to_string(i), "x"}};
        edges.push_back(made);
    }
    add_bundle(1, {held_up(1, monday, edges)});
    EXPECT_THAT(summary().attributes, SizeIs(attribute_names_limit));
}

TEST_F(EdgeStoreTest, TheLongestExamplesAreKeptInWhateverOrderTheyCame) {
    std::vector<BundleDelay> delays;
    for (const std::uint32_t lost : {4U, 7U, 1U, 6U, 2U, 5U, 3U}) {
        DelayEdge made = edge("report", lost * ms);
        made.how = lost == 7 ? "cpu" : "lock";
        delays.push_back(held_up(lost, monday + lost, {made}));
    }
    add_bundle(1, delays);
    const EdgeSummary found = summary();
    ASSERT_THAT(found.groups, SizeIs(1));
    std::vector<std::uint32_t> examples;
    for (const StoredEdge& one : found.groups[0].examples) examples.push_back(one.number);
    EXPECT_THAT(examples, testing::ElementsAre(7, 6, 5, 4, 3));
    EXPECT_EQ(found.groups[0].how, "cpu") << "of the longest";
    EXPECT_EQ(found.groups[0].longest_ns, 7 * ms);
    EXPECT_EQ(found.groups[0].delays, 7U);
}

TEST_F(EdgeStoreTest, OnlyTheLongestExamplesAndLargestGroupsAreKept) {
    std::vector<BundleDelay> delays;
    for (std::uint32_t i = 1; i <= 7; ++i)
        delays.push_back(held_up(i, monday + i, {edge("report", i * ms), edge("flush", 1)}));
    add_bundle(1, delays);
    const EdgeSummary found = must(everything().edges().summarise({{}, "", {}, 1}));
    EXPECT_EQ(found.groups_left_out, 1U);
    ASSERT_THAT(found.groups, SizeIs(1));
    ASSERT_THAT(found.groups[0].examples, SizeIs(5));
    EXPECT_EQ(found.groups[0].examples[0].number, 7U);
    EXPECT_EQ(found.groups[0].examples[4].number, 3U);
}

TEST_F(EdgeStoreTest, TheFilterIsForDelayedRequests) {
    add_bundle(1, {held_up(1, monday, {edge("report", 10 * ms)}),
                   held_up(2, monday + day, {edge("flush", 5 * ms)})});
    add_bundle(2, {held_up(1, monday, {edge("report", 3 * ms)}, "query")}, "beta");
    const auto count = [&](const Filter& filter, const std::string& culprit = "") {
        return summary(filter, culprit).edges;
    };
    EXPECT_EQ(count({}), 3U);
    Filter filter;
    filter.event = "query";
    EXPECT_EQ(count(filter), 1U);
    filter.event = "report";
    EXPECT_EQ(count(filter), 0U);
    filter = {};
    filter.host = {"alpha"};
    EXPECT_EQ(count(filter), 2U);
    filter = {};
    filter.from_ns = monday + hour;
    EXPECT_EQ(count(filter), 1U);
    EXPECT_EQ(count({}, "report"), 2U);
    EXPECT_EQ(count({}, "unknown"), 0U);
}

TEST_F(EdgeStoreTest, BothRequestsAreVisible) {
    BundleDelay in_unit = held_up(2, monday, {edge("report", 5 * ms)});
    in_unit.unit = in_unit.edges[0].unit = "app.service";
    add_bundle(1, {held_up(1, monday, {edge("report", 10 * ms)}), in_unit});
    const auto count = [&](const std::vector<std::string>& events,
                           const std::vector<std::string>& units) {
        const EdgeStore edges = seen(events, units).edges();
        const std::uint64_t found = must(edges.summarise({{}, "", {}, 100})).edges;
        EXPECT_EQ(must(edges.has_edges()), found > 0);
        return found;
    };
    EXPECT_EQ(count({"open"}, {}), 0U);
    EXPECT_EQ(count({"report"}, {}), 0U);
    EXPECT_EQ(count({"open", "report"}, {}), 2U);
    EXPECT_EQ(count({}, {"app.service"}), 1U);
    EXPECT_EQ(count({"open"}, {"app.service"}), 1U);
}

TEST_F(EdgeStoreTest, EdgesGoWithTheirBundle) {
    add_bundle(1, {held_up(1, monday, {edge("report", 10 * ms)})});
    ASSERT_TRUE(store_->inventory().set_contents(digest_of(1), {}, {},
                                                 {held_up(1, monday, {edge("flush", 5 * ms)})}));
    ASSERT_THAT(summary().groups, SizeIs(1));
    EXPECT_EQ(summary().groups[0].culprit.event, "flush");
    ASSERT_TRUE(store_->inventory().remove(digest_of(1)));
    EXPECT_THAT(summary().groups, IsEmpty());
    EXPECT_TRUE(holds("(SELECT count(*) FROM delay_edge) = 0"));
}

}  // namespace
}  // namespace lagtrap::server::edge_store_test
