// Delays as spans, decoded again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

#include "core/text.hpp"
#include "formats/encoders.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::formats::encode_otlp_test {
namespace {

using protozero::pbf_reader;
using testing::Contains;
using testing::Pair;
constexpr std::uint64_t ms = 1'000'000;
using Attributes = std::map<std::string, std::string>;

struct Link {
    std::string trace_id, span_id;
    Attributes attributes;
};

struct Span {
    std::string trace_id, span_id, parent, name, status;
    std::uint64_t begin_ns = 0, end_ns = 0, kind = 0, code = 0;
    Attributes attributes;
    std::vector<Link> links;
};

struct Group {
    Attributes resource;
    std::string scope, version;
    std::vector<Span> spans;
};

std::string text_of_value(pbf_reader any) {
    std::string text;
    while (any.next()) {
        if (any.tag() == 1) {
            text = any.get_string();
        } else if (any.tag() == 2) {
            text = any.get_bool() ? "true" : "false";
        } else if (any.tag() == 3) {
            text = std::to_string(any.get_int64());
        } else if (any.tag() == 5) {
            pbf_reader array = any.get_message();
            while (array.next(1)) text += "[" + text_of_value(array.get_message()) + "]";
        } else {
            any.skip();
        }
    }
    return text;
}

void add_attribute(pbf_reader pair, Attributes& attributes) {
    std::string key;
    while (pair.next()) {
        if (pair.tag() == 1) {
            key = pair.get_string();
        } else {
            attributes[key] = text_of_value(pair.get_message());
        }
    }
}

Link link_of(pbf_reader message) {
    Link link;
    while (message.next()) {
        switch (message.tag()) {
            case 1: link.trace_id = hexadecimal(message.get_bytes()); break;
            case 2: link.span_id = hexadecimal(message.get_bytes()); break;
            case 4: add_attribute(message.get_message(), link.attributes); break;
            default: message.skip();
        }
    }
    return link;
}

Span span_of(pbf_reader message) {
    Span span;
    while (message.next()) {
        switch (message.tag()) {
            case 1: span.trace_id = hexadecimal(message.get_bytes()); break;
            case 2: span.span_id = hexadecimal(message.get_bytes()); break;
            case 4: span.parent = hexadecimal(message.get_bytes()); break;
            case 5: span.name = message.get_string(); break;
            case 6: span.kind = message.get_uint64(); break;
            case 7: span.begin_ns = message.get_fixed64(); break;
            case 8: span.end_ns = message.get_fixed64(); break;
            case 9: add_attribute(message.get_message(), span.attributes); break;
            case 13: span.links.push_back(link_of(message.get_message())); break;
            case 15:
                for (pbf_reader status = message.get_message(); status.next();) {
                    if (status.tag() == 2) {
                        span.status = status.get_string();
                    } else {
                        span.code = status.get_uint64();
                    }
                }
                break;
            default: message.skip();
        }
    }
    return span;
}

Group group_of(pbf_reader message) {
    Group group;
    while (message.next()) {
        const bool is_resource = message.tag() == 1;
        pbf_reader part = message.get_message();
        if (is_resource) {
            while (part.next(1)) add_attribute(part.get_message(), group.resource);
            continue;
        }
        while (part.next()) {
            if (part.tag() == 2) {
                group.spans.push_back(span_of(part.get_message()));
                continue;
            }
            for (pbf_reader scope = part.get_message(); scope.next();) {
                std::string& text = scope.tag() == 1 ? group.scope : group.version;
                text = scope.get_string();
            }
        }
    }
    return group;
}

analysis::Recording recording_of(std::vector<trace::Delay> delays) {
    analysis::Recording recording;
    recording.begin_ns = 5'000 * ms;
    recording.end_ns = 6'000 * ms;
    recording.system.session_id = "session";
    recording.system.host = "db1";
    recording.system.architecture = "x86_64";
    recording.system.os_name = "Debian 12";
    recording.system.kernel_release = "6.1";
    recording.system.started_boottime_ns = 5'000 * ms;
    recording.system.started_realtime_ns = 1'700'000'000'000 * ms;
    recording.system.delays = std::move(delays);
    return recording;
}

trace::Delay delay_of(std::uint64_t id, std::uint32_t pid) {
    trace::Delay delay;
    delay.run_id = id;
    delay.event = "query";
    delay.threshold_ns = 50 * ms;
    delay.begin_ns = 5'100 * ms;
    delay.duration_ns = 200 * ms;
    delay.begin_pid = delay.end_pid = pid;
    delay.begin_tid = delay.end_tid = pid + 1;
    return delay;
}

// A checkout waits 60 ms for the lock that a report has while it computes.
test::TraceBuilder held_up() {
    test::TraceBuilder builder(200 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 11, "first").thread(10, 12, "second");
    builder.switched(5 * ms, 0, 0, 0, 11).switched(5 * ms, 1, 0, 0, 12);
    builder.samples(5 * ms, 20 * ms, 0, 10, 11, {"main", "checkout"});
    builder.samples(5 * ms, 80 * ms, 1, 10, 12, {"main", "report", "dumps"});
    builder.switched(20 * ms, 0, 11, 1, 0);
    builder.off_cpu(20 * ms, 10, 11, {"main", "checkout", "pthread_mutex_lock", "k:futex_wait"});
    builder.waking(80 * ms, 1, 12, 11);
    builder.switched(80 * ms, 0, 0, 0, 11);
    builder.switched(95 * ms, 0, 11, 1, 0).switched(95 * ms, 1, 12, 1, 0);
    builder.run(test::TraceBuilder::delay(1, "checkout", 10 * ms, 80 * ms, 50 * ms, 10, 11));
    builder.run(test::TraceBuilder::delay(2, "report", 6 * ms, 86 * ms, 50 * ms, 10, 12));
    return builder;
}

std::vector<Group> groups_of(const analysis::Recording& recording,
                             std::optional<std::size_t> delay = {}) {
    const auto bytes = encode_otlp(recording, delay);
    EXPECT_TRUE(bytes);
    std::vector<Group> groups;
    if (!bytes) return groups;
    for (pbf_reader request(*bytes); request.next(1);)
        groups.push_back(group_of(request.get_message()));
    return groups;
}

TEST(Otlp, AProcessIsAResource) {
    trace::Delay delay = delay_of(1, 10);
    delay.process = "app";
    delay.program = "/usr/bin/app";
    delay.program_version = "1.2";
    delay.program_build_id = "abcd";
    delay.control_group = "/system.slice/app.service";
    const auto groups = groups_of(recording_of({delay}));
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(groups[0].resource, (Attributes{{"service.name", "app"},
                                              {"service.version", "1.2"},
                                              {"process.pid", "10"},
                                              {"process.executable.path", "/usr/bin/app"},
                                              {"process.executable.build_id.gnu", "abcd"},
                                              {"process.linux.cgroup", "/system.slice/app.service"},
                                              {"host.name", "db1"},
                                              {"host.arch", "x86_64"},
                                              {"os.type", "linux"},
                                              {"os.description", "Debian 12"},
                                              {"os.version", "6.1"}}));
    EXPECT_EQ(groups[0].scope, "lagtrap");
    EXPECT_EQ(groups[0].version, LAGTRAP_VERSION);
    const auto unknown = groups_of(recording_of({delay_of(1, 10)}));
    EXPECT_EQ(unknown.at(0).resource.count("service.version"), 0U);
}

TEST(Otlp, DelaysOfOneProcessAreTogether) {
    const auto recording = recording_of({delay_of(1, 20), delay_of(2, 10), delay_of(3, 20)});
    const auto groups = groups_of(recording);
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_THAT(groups[0].resource, Contains(Pair("process.pid", "10")));
    EXPECT_EQ(groups[0].spans.size(), 1U);
    EXPECT_EQ(groups[1].spans.size(), 2U);
    const auto last = groups_of(recording, 3);
    ASSERT_EQ(last.size(), 1U);
    ASSERT_EQ(last[0].spans.size(), 1U);
    EXPECT_THAT(last[0].spans[0].attributes, Contains(Pair("lagtrap.run", "3")));
    for (const std::size_t number : {0U, 4U}) {
        const auto missing = encode_otlp(recording, number);
        ASSERT_FALSE(missing);
        EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
        EXPECT_EQ(missing.error().message,
                  "there is no delay " + std::to_string(number) + "; the recording has 3");
    }
    EXPECT_EQ(encode_otlp(recording_of({}), {}).value(), "");
}

TEST(Otlp, ADelayIsASpanInWallClockTime) {
    trace::Delay delay = delay_of(7, 10);
    delay.thread = "worker";
    delay.no_trace = "abc";
    const Span span = groups_of(recording_of({delay})).at(0).spans.at(0);
    EXPECT_EQ(span.name, "query");
    EXPECT_EQ(span.begin_ns, 1'700'000'000'100 * ms);
    EXPECT_EQ(span.end_ns, 1'700'000'000'300 * ms);
    EXPECT_EQ(span.kind, 1U);
    EXPECT_EQ(span.code, 2U);
    EXPECT_EQ(span.status, "longer than its threshold");
    EXPECT_EQ(span.parent, "");
    EXPECT_EQ(span.trace_id.size(), 32U);
    EXPECT_EQ(span.span_id.size(), 16U);
    for (const auto& pair : Attributes{{"lagtrap.session", "session"},
                                       {"lagtrap.run", "7"},
                                       {"lagtrap.threshold_ns", "50000000"},
                                       {"lagtrap.open", "false"},
                                       {"lagtrap.no_trace_id", "abc"},
                                       {"thread.id", "11"},
                                       {"thread.name", "worker"},
                                       {"lagtrap.on_cpu_ns", "0"},
                                       {"lagtrap.runnable_ns", "0"},
                                       {"lagtrap.blocked_ns", "0"},
                                       {"lagtrap.unknown_ns", "200000000"}})
        EXPECT_THAT(span.attributes, Contains(Pair(pair.first, pair.second)));
    EXPECT_EQ(span.attributes.at("lagtrap.causes"),
              "[For 200 ms (100 %), there is no record of what the thread did.]");
    delay.open = true;
    EXPECT_THAT(groups_of(recording_of({delay})).at(0).spans.at(0).attributes,
                Contains(Pair("lagtrap.open", "true")));
}

TEST(Otlp, ASpanHasTheTraceThatItsMarkerCarried) {
    trace::Delay delay = delay_of(7, 10);
    delay.trace.trace_id = "0af7651916cd43dd8448eb211c80319c";
    delay.trace.parent_span_id = "b7ad6b7169203331";
    delay.stages = {{"read", 0, 11}};
    const auto spans = groups_of(recording_of({delay})).at(0).spans;
    ASSERT_EQ(spans.size(), 2U);
    EXPECT_EQ(spans[0].parent, "b7ad6b7169203331");
    EXPECT_EQ(spans[1].parent, spans[0].span_id);
    for (const Span& span : spans) EXPECT_EQ(span.trace_id, "0af7651916cd43dd8448eb211c80319c");
    EXPECT_NE(spans[0].span_id, spans[1].span_id);
}

TEST(Otlp, IdsAreThoseOfTheRun) {
    const auto span = [](const std::string& session, std::uint64_t run) {
        auto recording = recording_of({delay_of(run, 10)});
        recording.system.session_id = session;
        return groups_of(recording).at(0).spans.at(0);
    };
    EXPECT_EQ(span("a", 1).trace_id, span("a", 1).trace_id);
    EXPECT_NE(span("a", 1).trace_id, span("a", 2).trace_id);
    EXPECT_NE(span("a", 1).trace_id, span("b", 1).trace_id);
    EXPECT_NE(span("a", 1).span_id, span("a", 2).span_id);
    EXPECT_NE(span("a", 1).trace_id.substr(0, 16), span("a", 1).span_id);
}

TEST(Otlp, StagesLastUntilTheNextOne) {
    trace::Delay delay = delay_of(7, 10);
    delay.stages = {{"read", 10 * ms, 11}, {"", 50 * ms, 12}, {"late", 300 * ms, 13}};
    const auto spans = groups_of(recording_of({delay})).at(0).spans;
    ASSERT_EQ(spans.size(), 4U);
    const std::uint64_t begin_ns = spans[0].begin_ns;
    const auto expect = [&](const Span& span, const std::string& name, std::uint64_t from_ms,
                            std::uint64_t to_ms, const std::string& tid) {
        EXPECT_EQ(span.name, name);
        EXPECT_EQ(span.begin_ns, begin_ns + from_ms * ms);
        EXPECT_EQ(span.end_ns, begin_ns + to_ms * ms);
        EXPECT_EQ(span.attributes, (Attributes{{"thread.id", tid}}));
        EXPECT_EQ(span.code, 0U);
    };
    expect(spans[1], "read", 10, 50, "11");
    expect(spans[2], "stage", 50, 200, "12");
    expect(spans[3], "late", 200, 200, "13");
    EXPECT_NE(spans[1].span_id, spans[2].span_id);
}

TEST(Otlp, AStageEndsNotBeforeItBegins) {
    trace::Delay delay = delay_of(7, 10);
    delay.stages = {{"second", 60 * ms, 11}, {"first", 40 * ms, 11}};
    const auto spans = groups_of(recording_of({delay})).at(0).spans;
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_EQ(spans[1].begin_ns, spans[0].begin_ns + 60 * ms);
    EXPECT_EQ(spans[1].end_ns, spans[1].begin_ns);
}

TEST(Otlp, NumbersBeyondTheFormatAreTheLargest) {
    trace::Delay delay = delay_of(UINT64_MAX, 10);
    delay.threshold_ns = INT64_MAX;
    const Span span = groups_of(recording_of({delay})).at(0).spans.at(0);
    EXPECT_THAT(span.attributes, Contains(Pair("lagtrap.run", "9223372036854775807")));
    EXPECT_THAT(span.attributes, Contains(Pair("lagtrap.threshold_ns", "9223372036854775807")));
}

TEST(Otlp, ALinkLeadsToTheRequestThatHeldItUp) {
    test::TraceBuilder builder = held_up();
    auto recording = builder.decode();
    ASSERT_TRUE(recording);
    std::vector<Group> groups = groups_of(*recording);
    ASSERT_EQ(groups.size(), 1U);
    ASSERT_EQ(groups[0].spans.size(), 2U);
    const Span& report = groups[0].spans[1];
    ASSERT_EQ(groups[0].spans[0].links.size(), 1U);
    const Link& link = groups[0].spans[0].links[0];
    EXPECT_EQ(link.trace_id, report.trace_id);
    EXPECT_EQ(link.span_id, report.span_id);
    EXPECT_EQ(link.attributes, (Attributes{{"lagtrap.held_by", "lock"},
                                           {"lagtrap.lost_ns", std::to_string(60 * ms)},
                                           {"lagtrap.place", "dumps"},
                                           {"lagtrap.event", "report"}}));
    EXPECT_TRUE(report.links.empty());
}

TEST(Otlp, ALinkLeadsToThePublishedSpan) {
    test::TraceBuilder builder = held_up();
    builder.context(6 * ms, 12, "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7",
                    {{"http.route", "/report"}, {"tenant", "B"}});
    builder.context(6 * ms, 11, "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331",
                    {{"http.route", "/checkout"}, {"tenant", "A"}});
    auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const std::vector<Group> groups = groups_of(*recording, 1);
    ASSERT_EQ(groups.size(), 1U);
    const Span& checkout = groups[0].spans[0];
    EXPECT_THAT(checkout.attributes, Contains(Pair("http.route", "/checkout")));
    EXPECT_THAT(checkout.attributes, Contains(Pair("tenant", "A")));
    ASSERT_EQ(checkout.links.size(), 1U);
    const Link& link = checkout.links[0];
    EXPECT_EQ(link.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_EQ(link.span_id, "00f067aa0ba902b7");
    EXPECT_THAT(link.attributes, Contains(Pair("http.route", "/report")));
    EXPECT_THAT(link.attributes, Contains(Pair("tenant", "B")));
}

}  // namespace
}  // namespace lagtrap::formats::encode_otlp_test
