#include "server/ingest/delay_edges.hpp"

#include <gtest/gtest.h>

namespace lagtrap::server::delay_edges_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

// A delay that waited for one lock after the other, each held by another request.
analysis::DelayCauses held_by(std::uint64_t requests) {
    analysis::DelayCauses causes;
    causes.request.event = "checkout";
    causes.request.run_id = 1;
    causes.request.route = "/checkout";
    causes.request.attributes = {{"tenant", "bolt"}};
    causes.wall_ns = 100 * ms;
    for (std::uint64_t i = 0; i < requests; ++i) {
        analysis::DelayCause& cause = causes.causes.emplace_back();
        cause.doing.kind = analysis::TimeKind::Blocked;
        cause.doing.wait = analysis::WaitKind::Lock;
        cause.doing.time_ns = 30 * ms;
        analysis::CauseLink& link = cause.chain.emplace_back();
        link.who = {5, 6, "app", "worker", "app.service"};
        link.whole_ns = 30 * ms;
        link.doings.resize(1);
        link.doings[0].kind = analysis::TimeKind::OnCpu;
        link.doings[0].focus.place.function = "dumps";
        link.request.emplace();
        link.request->time_ns = 30 * ms;
        link.request->request.event = "report";
        link.request->request.run_id = 2 + i;
        link.request->request.key = 17;
        link.request->request.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
        link.request->request.route = std::string(1000, 'r');
        link.request->request.attributes.assign(9,
                                                {std::string(1000, 'n'), std::string(1000, 'v')});
    }
    return causes;
}

TEST(DelayEdges, HaveWhatTheStoreKeeps) {
    const std::vector<DelayEdge> edges = delay_edges(held_by(1));
    ASSERT_EQ(edges.size(), 1U);
    const DelayEdge& edge = edges[0];
    EXPECT_EQ(edge.event, "report");
    EXPECT_EQ(edge.route.size(), 256U);
    EXPECT_EQ(edge.delayed_route, "/checkout");
    EXPECT_EQ(edge.unit, "app.service");
    EXPECT_EQ(edge.process, "app");
    EXPECT_EQ(edge.thread, "worker");
    EXPECT_EQ(edge.pid, 5U);
    EXPECT_EQ(edge.tid, 6U);
    EXPECT_EQ(edge.key, 17U);
    EXPECT_EQ(edge.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_EQ(edge.how, "lock");
    EXPECT_EQ(edge.place, "dumps");
    EXPECT_EQ(edge.lost_ns, 30 * ms);
    ASSERT_EQ(edge.attributes.size(), edge_attributes_limit);
    EXPECT_EQ(edge.attributes[0].name.size(), 256U);
    EXPECT_EQ(edge.attributes[7].value.size(), 256U);
    EXPECT_EQ(edge.delayed_attributes, (std::vector<EdgeAttribute>{{"tenant", "bolt"}}));
    EXPECT_TRUE(delay_edges(held_by(0)).empty());
}

}  // namespace
}  // namespace lagtrap::server::delay_edges_test
