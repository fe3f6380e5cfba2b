#include "server/ingest/parsed_bundle.hpp"

#include <gtest/gtest.h>

#include "server/ingest/delay_details.hpp"
#include "server/ingest/delay_edges.hpp"
#include "server/ingest/parse_worker.hpp"

namespace lagtrap::server::parsed_bundle_test {
namespace {

TEST(ParsedBundle, ComesBackAsItWent) {
    ParsedBundle parsed;
    parsed.facts = {"session", "db1", "query", "postgres", 7, 81'000'000, 2};
    BundleDelay delay;
    delay.number = 1;
    delay.event = "query";
    delay.begin_realtime_ns = 5;
    delay.duration_ns = 81'000'000;
    delay.threshold_ns = 50;
    delay.pid = 3;
    delay.tid = 4;
    delay.process = "postgres";
    delay.thread = "worker\x1b[1m";
    delay.build = "ab";
    delay.unit = "container web";
    delay.program_version = "1.2-3";
    delay.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    delay.profile = std::string("\0\1\2", 3);
    delay.details = "{}";
    DelayEdge edge;
    edge.event = "report";
    edge.route = "/report";
    edge.delayed_route = "/query";
    edge.unit = "app.service";
    edge.process = "app";
    edge.thread = "worker\x1b[1m";
    edge.pid = 5;
    edge.tid = 6;
    edge.key = UINT64_MAX;
    edge.trace_id = delay.trace_id;
    edge.how = "lock";
    edge.place = "dumps";
    edge.lost_ns = 40'000'000;
    edge.attributes.assign(edge_attributes_limit + 1, {"tenant", "a\x1b"});
    edge.delayed_attributes = {{"tenant", "bolt"}};
    delay.edges = {edge};
    parsed.delays = {delay, delay};
    parsed.delays[1].delayed = false;
    parsed.delays[1].edges.assign(edges_limit + 1, edge);
    parsed.delays[1].edges[0].trace_id = "4BF92F";
    parsed.delays[1].trace_id = "4BF92F";
    const auto back = read_parsed_bundle(write_parsed_bundle(parsed));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(back->facts.host, "db1");
    EXPECT_EQ(back->facts.longest_delay_ns, 81'000'000U);
    ASSERT_EQ(back->delays.size(), 2U);
    EXPECT_EQ(back->delays[0].profile, delay.profile);
    EXPECT_EQ(back->delays[0].thread, "worker\\x1b[1m");
    EXPECT_EQ(back->delays[0].tid, 4U);
    EXPECT_EQ(back->delays[0].unit, "container web");
    EXPECT_EQ(back->delays[0].program_version, "1.2-3");
    EXPECT_EQ(back->delays[0].trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_EQ(back->delays[1].trace_id, "");
    ASSERT_EQ(back->delays[0].edges.size(), 1U);
    const DelayEdge& back_edge = back->delays[0].edges[0];
    EXPECT_EQ(back_edge.event, "report");
    EXPECT_EQ(back_edge.route, "/report");
    EXPECT_EQ(back_edge.delayed_route, "/query");
    EXPECT_EQ(back_edge.unit, "app.service");
    EXPECT_EQ(back_edge.process, "app");
    EXPECT_EQ(back_edge.thread, "worker\\x1b[1m");
    EXPECT_EQ(back_edge.pid, 5U);
    EXPECT_EQ(back_edge.tid, 6U);
    EXPECT_EQ(back_edge.key, UINT64_MAX);
    ASSERT_EQ(back_edge.attributes.size(), edge_attributes_limit);
    EXPECT_EQ(back_edge.attributes[0], (EdgeAttribute{"tenant", "a\\x1b"}));
    EXPECT_EQ(back_edge.delayed_attributes, (std::vector<EdgeAttribute>{{"tenant", "bolt"}}));
    EXPECT_EQ(back_edge.trace_id, delay.trace_id);
    EXPECT_EQ(back_edge.how, "lock");
    EXPECT_EQ(back_edge.place, "dumps");
    EXPECT_EQ(back_edge.lost_ns, 40'000'000U);
    EXPECT_EQ(back->delays[1].edges.size(), edges_limit);
    EXPECT_EQ(back->delays[1].edges[0].trace_id, "");
    EXPECT_TRUE(back->delays[0].delayed);
    EXPECT_FALSE(back->delays[1].delayed);
}

TEST(ParsedBundle, IsBounded) {
    ParsedBundle parsed;
    BundleDelay large;
    large.profile = std::string(profile_limit_bytes, 'x');
    large.details = std::string(profile_limit_bytes + 1, 'x');
    parsed.delays.assign(100, large);
    const std::string bytes = write_parsed_bundle(parsed);
    EXPECT_LE(bytes.size(), parsed_bytes_limit);
    const auto back = read_parsed_bundle(bytes);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->delays.size(), 100U);
    EXPECT_EQ(back->delays.front().profile.size(), profile_limit_bytes);
    EXPECT_TRUE(back->delays.front().details.empty());
    EXPECT_TRUE(back->delays.back().profile.empty());
    EXPECT_FALSE(read_parsed_bundle("\x0a\xff").ok());
    EXPECT_FALSE(read_parsed_bundle(std::string(parsed_bytes_limit + 1, '\0')).ok());
}

TEST(ParsedBundle, TextsAreShortenedBetweenLetters) {
    EXPECT_EQ(shortened("abcde", 5), "abcde");
    EXPECT_EQ(shortened("abcdef", 5), "ab…");
    EXPECT_EQ(shortened("aä", 3), "aä");
    EXPECT_EQ(shortened("aäbc", 4), "a…");
    EXPECT_EQ(shortened("aäbcd", 5), "a…");
    EXPECT_EQ(shortened("aäbcde", 6), "aä…");
}

TEST(ParseTask, IsReadAsItIsWritten) {
    for (const ParseTask& task :
         {ParseTask{ParseTask::Kind::Bundle}, ParseTask{ParseTask::Kind::SystemFile},
          ParseTask{ParseTask::Kind::Quality}, ParseTask{ParseTask::Kind::Trace},
          ParseTask{ParseTask::Kind::Timeline, 12},
          ParseTask{
              ParseTask::Kind::Machine, 3, {}, formats::TimeChoice::All, {-5, 1'000'000, 800}},
          ParseTask{ParseTask::Kind::Export, 7, "pprof", formats::TimeChoice::OffCpu}}) {
        const auto back = ParseTask::parse(task.text());
        ASSERT_TRUE(back.ok()) << task.text();
        EXPECT_EQ(back->kind, task.kind);
        EXPECT_EQ(back->delay, task.delay);
        EXPECT_EQ(back->format, task.format);
        EXPECT_EQ(back->time, task.time);
        EXPECT_EQ(back->window.from_ns, task.window.from_ns);
        EXPECT_EQ(back->window.to_ns, task.window.to_ns);
        EXPECT_EQ(back->window.columns, task.window.columns);
    }
    for (const char* wrong : {"", "bundles", "timeline", "timeline:", "timeline:x", "timeline:1x",
                              "timeline:1:", "machine:1", "machine:1:0:5", "machine:1:5:5:10",
                              "machine:1:0:5:0", "machine:1:0:5:10:", "export:1",
                              "export:1:gif:all", "export:1:pprof:none", "export:1:pprof:all:x"})
        EXPECT_FALSE(ParseTask::parse(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace lagtrap::server::parsed_bundle_test
