#include "server/api/bundle_routes.hpp"

#include <fcntl.h>

#include <array>
#include <fstream>
#include <optional>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "formats/format_table.hpp"
#include "server/ingest/ingest.hpp"
#include "server/ingest/parse_bundle.hpp"
#include "server/ingest/parsed_bundle.hpp"
#include "tests/unit/analysis/trace_builder.hpp"
#include "tests/unit/server/store_fixture.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::server::bundle_routes_test {
namespace {

namespace json = boost::json;
using test::TraceBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t received_ns = 20'003ULL * 86'400'000 * ms;
constexpr const char* session = "0b5f4f0a-4f5c-4a57-9d53-111111111111";
using Query = std::vector<std::pair<std::string, std::string>>;

Route route_of(std::vector<std::string> arguments, Query query = {}) {
    Route route;
    route.arguments = std::move(arguments);
    route.query = std::move(query);
    return route;
}

std::string error_of(const Reply& reply) {
    json::error_code failed;
    const json::value body = json::parse(reply.body, failed);
    if (failed || !body.is_object() || !body.as_object().contains("error")) return "no error";
    return std::to_string(reply.status) + " " +
           json::value_to<std::string>(body.at("error").at("message"));
}

std::string header_of(const Reply& reply, std::string_view name) {
    for (const auto& [key, value] : reply.headers)
        if (key == name) return value;
    return {};
}

// Reads a streamed body in small pieces.
std::string text_of(const Reply& reply) {
    if (!reply.source) return {};
    std::string text;
    std::array<char, 1000> buffer{};
    for (;;) {
        const auto got = reply.source->read(buffer.data(), buffer.size());
        EXPECT_TRUE(got.ok()) << got.error().message;
        if (!got || *got == 0) return text;
        text.append(buffer.data(), *got);
    }
}

// A bundle with two delays of 400 and 300 ms, which has been read; and what a download needs.
class BundleRoutes : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        audit_.emplace(store_->audit(), [](const std::string&) {});
        principal_.kind = Principal::Kind::Session;
        principal_.name = "ann";
        request_.sender = "10.0.0.7";
        TraceBuilder builder(700 * ms);
        builder.process(100, "/usr/bin/app").thread(100, 100, "app");
        builder.samples(60 * ms, 440 * ms, 0, 100, 100, {"main", "busy_function"});
        builder.run(TraceBuilder::delay(1, "query", 50 * ms, 400 * ms, 20 * ms, 100, 100));
        builder.run(TraceBuilder::delay(2, "query", 60 * ms, 300 * ms, 20 * ms, 100, 100));
        builder.system.session_id = session;
        bundle_ = put(builder);
    }
    // The bundle's digest.
    std::string put(TraceBuilder& builder) {
        const std::filesystem::path folder = directory_ / "capture";
        std::filesystem::create_directories(folder);
        EXPECT_TRUE(write_file_durably(folder / "trace.pftrace", builder.trace()).ok());
        EXPECT_TRUE(
            write_file_durably(folder / "system.xml", trace::write_system_file(builder.system))
                .ok());
        EXPECT_TRUE(write_file_durably(folder / "settings.xml", "<lagtrap/>").ok());
        const auto written = trace::write_bundle(folder, builder.system.session_id, directory_);
        EXPECT_TRUE(written.ok());
        content_ = read_file(written->path, 1 << 24).value();
        const std::string digest = put_bytes(content_);
        const auto file = open_file(written->path, O_RDONLY);
        const auto parsed = read_parsed_bundle(describe_bundle(file->get()).value());
        EXPECT_TRUE(
            store_->inventory().set_contents(digest, parsed->facts, {}, parsed->delays).value());
        return digest;
    }
    std::string put_bytes(const std::string& bytes) {
        Ingest ingest(*blobs_, *store_, {}, [] {});
        auto blob = ingest.begin();
        EXPECT_TRUE(blob.ok() && blob->write(bytes.data(), bytes.size()).ok());
        const std::string digest = sha256_of(bytes);
        EXPECT_TRUE(std::holds_alternative<Stored>(
            ingest.finish_bundle(std::move(blob).value(), digest, {"tester", {}}, received_ns)));
        return digest;
    }
    Evidence evidence() { return store_->everything(); }
    DownloadParts download() { return {places_, sender_, *audit_, principal_, request_}; }
    json::value delays(Query query = {}, Neighbours neighbours = Neighbours::Shown) {
        const Reply reply =
            list_delays(evidence(), *blobs_, route_of({bundle_}, std::move(query)), neighbours);
        EXPECT_EQ(reply.status, 200U) << reply.body;
        return json::parse(reply.body);
    }
    Reply exported(const std::string& number, Query query) {
        return export_delay(evidence(), *blobs_, route_of({bundle_, number}, std::move(query)),
                            download());
    }
    Reply machine(Query query, const std::string& number = "1") {
        return get_machine(evidence(), *blobs_, route_of({bundle_, number}, std::move(query)));
    }
    std::vector<std::string> notes() {
        std::vector<std::string> all;
        const auto entries = store_->audit().list(20, {}, AuditPart::All).value();
        for (const AuditEntry& entry : entries)
            all.insert(all.begin(),
                       entry.who + "|" + entry.action + "|" + entry.object + "|" + entry.detail);
        return all;
    }
    // Replies of all routes that read a bundle.
    std::vector<Reply> all_replies(const std::string& digest) {
        const Route whole = route_of({digest}), one = route_of({digest, "1"});
        const Route form = route_of({digest, "1"}, {{"format", "folded"}});
        return {list_delays(evidence(), *blobs_, whole, Neighbours::Shown),
                get_system_file(evidence(), *blobs_, whole, download()),
                get_trace(evidence(), *blobs_, whole, download()),
                get_timeline(evidence(), *blobs_, one),
                get_machine(evidence(), *blobs_, one),
                export_delay(evidence(), *blobs_, form, download())};
    }

    std::string bundle_, content_;
    PlacesOfSenders places_{1};
    std::string sender_ = "10.0.0.7";
    std::optional<Audit> audit_;
    Principal principal_;
    Request request_;
};

TEST_F(BundleRoutes, BundlesAreListedWithWhatIsInThem) {
    const auto list = [&](Query query) {
        return list_bundles(evidence().bundles(), route_of({}, std::move(query)));
    };
    const json::value answer = json::parse(list({}).body);
    ASSERT_EQ(answer.at("bundles").as_array().size(), 1U);
    EXPECT_TRUE(answer.at("next").is_null());
    const json::object& row = answer.at("bundles").at(0).as_object();
    EXPECT_EQ(row.at("digest"), json::value(bundle_));
    EXPECT_EQ(row.at("bytes"), json::value(content_.size()));
    EXPECT_EQ(row.at("received_ns"), json::value(std::to_string(received_ns)));
    EXPECT_EQ(row.at("event"), json::value("query"));
    EXPECT_EQ(row.at("delays"), json::value(2));
    EXPECT_EQ(row.at("longest_delay_ns"), json::value(400 * ms));
    EXPECT_TRUE(row.at("bad_reason").is_null());
    EXPECT_EQ(row.at("parsed"), json::value(true));
    EXPECT_EQ(row.at("session"), json::value(session));
    EXPECT_EQ(row.at("sender"), json::value("tester"));
    BundleFacts facts;
    facts.host = "alpha";
    facts.process = "app";
    facts.started_realtime_ns = 5;
    const std::string bad = put_bytes("no bundle");
    ASSERT_TRUE(store_->inventory().set_contents(bad, facts, "no zstd", {}).value());
    const json::value page = json::parse(list({{"limit", "1"}}).body);
    const json::object& newest = page.at("bundles").at(0).as_object();
    EXPECT_EQ(newest.at("digest"), json::value(bad));
    EXPECT_EQ(newest.at("bad_reason"), json::value("no zstd"));
    EXPECT_EQ(newest.at("host"), json::value("alpha"));
    EXPECT_EQ(newest.at("process"), json::value("app"));
    EXPECT_EQ(newest.at("started_ns"), json::value("5"));
    const json::value rest =
        json::parse(list({{"after", json::value_to<std::string>(page.at("next"))}}).body);
    ASSERT_EQ(rest.at("bundles").as_array().size(), 1U);
    EXPECT_EQ(rest.at("bundles").at(0).at("digest"), json::value(bundle_));
    EXPECT_THAT(json::parse(list({{"event", "other"}}).body).at("bundles").as_array(), IsEmpty());
    EXPECT_EQ(error_of(list({{"limit", "0"}})), "400 \"limit\": expected 1 to 1000");
    EXPECT_EQ(list({{"from", "x"}}).status, 400U);
}

TEST_F(BundleRoutes, ABundleThatHasJustComeHasNoBeginYet) {
    const std::string fresh = put_bytes("fresh");
    const json::value row =
        json::parse(list_bundles(evidence().bundles(), route_of({}, {{"limit", "1"}})).body)
            .at("bundles")
            .at(0);
    EXPECT_EQ(row.at("digest"), json::value(fresh));
    EXPECT_TRUE(row.at("started_ns").is_null());
    EXPECT_EQ(row.at("parsed"), json::value(false));
}

TEST_F(BundleRoutes, ABundleIsDownloadedUnderANameOfItsSession) {
    const Reply head = has_bundle(evidence().bundles(), route_of({bundle_}));
    EXPECT_EQ(head.status, 200U);
    EXPECT_EQ(head.content_type, "application/zstd");
    EXPECT_EQ(header_of(head, "X-Lagtrap-Digest"), bundle_);
    EXPECT_EQ(header_of(head, "Content-Disposition"), std::string("attachment; filename=\"") +
                                                          session + "-" + bundle_.substr(0, 16) +
                                                          ".lagtrap.tar.zst\"");
    EXPECT_EQ(head.announced_bytes, content_.size());
    EXPECT_EQ(head.source, nullptr);
    const Reply whole = get_bundle(evidence(), *blobs_, route_of({bundle_}), download());
    EXPECT_EQ(whole.headers, head.headers);
    EXPECT_EQ(whole.announced_bytes, content_.size());
    EXPECT_EQ(text_of(whole), content_);
    EXPECT_THAT(notes(), ElementsAre("ann|download bundle|" + bundle_ + "|from 10.0.0.7"));
}

TEST_F(BundleRoutes, NamesOfFilesHaveLettersDigitsAndDashesAlone) {
    BundleFacts facts;
    facts.session_id = "a/../\"b-1";
    const std::string odd = put_bytes("odd"), none = put_bytes("none");
    ASSERT_TRUE(store_->inventory().set_contents(odd, facts, {}, {}).value());
    ASSERT_TRUE(store_->inventory().set_contents(none, {}, {}, {}).value());
    const auto name_of = [&](const std::string& digest) {
        return header_of(has_bundle(evidence().bundles(), route_of({digest})),
                         "Content-Disposition");
    };
    EXPECT_THAT(name_of(odd), StartsWith("attachment; filename=\"ab-1-" + odd.substr(0, 16) + "."));
    EXPECT_THAT(name_of(none), StartsWith("attachment; filename=\"bundle-" + none.substr(0, 16)));
}

TEST_F(BundleRoutes, WhatIsNotThereIsSaid) {
    const std::string missing(64, '9');
    std::vector<Reply> replies = all_replies(missing);
    replies.push_back(has_bundle(evidence().bundles(), route_of({missing})));
    replies.push_back(get_bundle(evidence(), *blobs_, route_of({missing}), download()));
    ASSERT_TRUE(blobs_->remove(bundle_).ok());
    replies.push_back(get_bundle(evidence(), *blobs_, route_of({bundle_}), download()));
    replies.push_back(get_trace(evidence(), *blobs_, route_of({bundle_}), download()));
    replies.push_back(get_system_file(evidence(), *blobs_, route_of({bundle_}), download()));
    replies.push_back(get_timeline(evidence(), *blobs_, route_of({bundle_, "1"})));
    for (const Reply& reply : replies) {
        EXPECT_EQ(reply.status, 404U);
        EXPECT_EQ(reply.body, R"({"error":{"message":"there is no such bundle",)"
                              R"("hint":"it may have been removed for its age"}})"
                              "\n");
        EXPECT_EQ(reply.source, nullptr);
    }
    EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(BundleRoutes, BadAndUnreadBundlesAreKeptButNotShown) {
    const std::string bad = put_bytes("bad"), fresh = put_bytes("fresh");
    ASSERT_TRUE(store_->inventory().set_contents(bad, {}, "no zstd", {}).value());
    for (const Reply& reply : all_replies(bad))
        EXPECT_EQ(error_of(reply), "422 the bundle is kept but cannot be read: no zstd");
    for (const Reply& reply : all_replies(fresh)) {
        EXPECT_EQ(error_of(reply), "422 the bundle has just come and is being looked into");
        EXPECT_EQ(header_of(reply, "Retry-After"), "2");
    }
    EXPECT_EQ(text_of(get_bundle(evidence(), *blobs_, route_of({bad}), download())), "bad");
}

TEST_F(BundleRoutes, ABundleThatTheReaderRefusesIsNamedSo) {
    const std::string broken = put_bytes("no bundle at all");
    BundleDelay delay;
    delay.number = 1;
    delay.event = "query";
    ASSERT_TRUE(store_->inventory().set_contents(broken, {}, {}, {delay}).value());
    const auto replies = all_replies(broken);
    for (std::size_t i = 1; i < replies.size(); ++i)
        EXPECT_THAT(error_of(replies[i]), StartsWith("422 the bundle is kept but cannot be read: "))
            << i;
    const json::value answer = json::parse(replies[0].body);
    EXPECT_EQ(answer.at("quality"), json::value(json::object{}));
    EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(BundleRoutes, DelaysHaveDetailsOnlyIfTheyAreAlone) {
    const json::value both = delays();
    ASSERT_EQ(both.at("delays").as_array().size(), 2U);
    for (const json::value& delay : both.at("delays").as_array()) {
        EXPECT_TRUE(delay.at("cause").is_null());
        EXPECT_TRUE(delay.at("surroundings").is_null());
    }
    EXPECT_EQ(both.at("bundle").at("digest"), json::value(bundle_));
    EXPECT_TRUE(both.at("next").is_null());
    const json::value one = delays({{"number", "2"}});
    ASSERT_EQ(one.at("delays").as_array().size(), 1U);
    EXPECT_EQ(one.at("delays").at(0).at("number"), json::value(2));
    EXPECT_EQ(one.at("delays").at(0).at("duration_ns"), json::value(300 * ms));
    EXPECT_TRUE(one.at("delays").at(0).at("cause").is_object());
    EXPECT_TRUE(one.at("delays").at(0).at("surroundings").is_object());
    EXPECT_TRUE(one.at("quality").is_object());
    const json::value hidden = delays({{"number", "2"}}, Neighbours::Hidden);
    EXPECT_TRUE(hidden.at("delays").at(0).at("cause").is_null());
    EXPECT_TRUE(hidden.at("delays").at(0).at("surroundings").at("cpu_use").is_null());
    EXPECT_FALSE(one.at("delays").at(0).at("surroundings").at("cpu_use").is_null());
}

TEST_F(BundleRoutes, DelaysComeInTheAskedOrderAndInParts) {
    const auto numbers = [&](Query query) {
        std::vector<int> found;
        const json::value answer = delays(std::move(query));
        for (const json::value& delay : answer.at("delays").as_array())
            found.push_back(delay.at("number").to_number<int>());
        return found;
    };
    EXPECT_THAT(numbers({{"order", "slowest"}}), ElementsAre(1, 2));
    EXPECT_THAT(numbers({{"order", "oldest"}}), ElementsAre(1, 2));
    EXPECT_THAT(numbers({{"order", "newest"}}), ElementsAre(2, 1));
    const json::value page = delays({{"order", "slowest"}, {"limit", "1"}});
    EXPECT_THAT(numbers({{"order", "slowest"},
                         {"limit", "1"},
                         {"after", json::value_to<std::string>(page.at("next"))}}),
                ElementsAre(2));
    EXPECT_EQ(error_of(list_delays(evidence(), *blobs_, route_of({bundle_}, {{"order", "x"}}),
                                   Neighbours::Shown)),
              "400 \"order\": expected newest, slowest or oldest");
}

TEST_F(BundleRoutes, TheReaderSaysTheQualityOfARecordingWithoutDelays) {
    const json::value none = delays({{"number", "9"}});
    EXPECT_THAT(none.at("delays").as_array(), IsEmpty());
    const json::value one = delays({{"number", "1"}});
    ASSERT_FALSE(none.at("quality").as_object().empty());
    for (const auto& [name, value] : one.at("quality").as_object())
        if (!value.is_array()) EXPECT_TRUE(none.at("quality").as_object().contains(name)) << name;
}

TEST_F(BundleRoutes, OtherEventsInNotesAreHiddenFromThoseWhoMayNotSeeThem) {
    TraceBuilder builder(300 * ms);
    builder.process(100, "/usr/bin/app").thread(100, 100, "app");
    builder.system.session_id = "0b5f4f0a-4f5c-4a57-9d53-222222222222";
    builder.system.quality.omitted = {"event zebra.payroll is not watched"};
    bundle_ = put(builder);
    EXPECT_THAT(json::serialize(delays().at("quality")), HasSubstr("zebra"));
    const json::value hidden = delays({}, Neighbours::Hidden);
    EXPECT_THAT(json::serialize(hidden.at("quality")), testing::Not(HasSubstr("zebra")));
}

TEST_F(BundleRoutes, TheSystemFileIsOpenedInASandbox) {
    const Reply reply = get_system_file(evidence(), *blobs_, route_of({bundle_}), download());
    EXPECT_EQ(reply.status, 200U);
    EXPECT_EQ(reply.content_type, "application/xml");
    EXPECT_THAT(reply.body, HasSubstr(session));
    EXPECT_EQ(header_of(reply, "Content-Security-Policy"), "default-src 'none'; sandbox");
    EXPECT_THAT(notes(), ElementsAre("ann|download system file|" + bundle_ + "|from 10.0.0.7"));
}

TEST_F(BundleRoutes, ATraceIsStreamedToOneReaderOfASender) {
    {
        const Reply reply = get_trace(evidence(), *blobs_, route_of({bundle_}), download());
        EXPECT_EQ(reply.status, 200U) << reply.body;
        EXPECT_EQ(reply.content_type, "application/octet-stream");
        EXPECT_EQ(header_of(reply, "Content-Disposition"),
                  std::string("attachment; filename=\"") + session + "-" + bundle_.substr(0, 16) +
                      ".pftrace\"");
        EXPECT_FALSE(reply.announced_bytes);
        const Reply second = get_trace(evidence(), *blobs_, route_of({bundle_}), download());
        EXPECT_EQ(error_of(second), "429 too many traces and exports are being downloaded");
        EXPECT_EQ(header_of(second, "Retry-After"), "10");
        EXPECT_EQ(exported("1", {{"format", "pprof"}}).status, 429U);
        EXPECT_EQ(sha256_of(text_of(reply)),
                  sha256_of(read_file(directory_ / "capture/trace.pftrace", 1 << 24).value()));
        EXPECT_THAT(notes(), ElementsAre("ann|download trace|" + bundle_ + "|from 10.0.0.7"));
    }
    EXPECT_EQ(get_trace(evidence(), *blobs_, route_of({bundle_}), download()).status, 200U);
}

TEST_F(BundleRoutes, ALargeTraceComesWhole) {
    TraceBuilder builder(2000 * ms);
    builder.process(100, "/usr/bin/app").thread(100, 100, "app");
    for (std::uint64_t at = 0; at < 1500; ++at)
        builder.sample(at * ms, 0, 100, 100,
                       {"main", std::string(200, 'f') + std::to_string(at * 7919)});
    builder.system.session_id = "0b5f4f0a-4f5c-4a57-9d53-333333333333";
    ASSERT_GT(builder.trace().size(), 200'000U);
    bundle_ = put(builder);
    EXPECT_EQ(sha256_of(text_of(get_trace(evidence(), *blobs_, route_of({bundle_}), download()))),
              sha256_of(builder.trace()));
}

TEST_F(BundleRoutes, AnEmptyTraceIsNamedSo) {
    TraceBuilder builder(300 * ms);
    builder.system.session_id = "0b5f4f0a-4f5c-4a57-9d53-444444444444";
    const std::filesystem::path folder = directory_ / "empty";
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(write_file_durably(folder / "trace.pftrace", "").ok());
    ASSERT_TRUE(
        write_file_durably(folder / "system.xml", trace::write_system_file(builder.system)).ok());
    ASSERT_TRUE(write_file_durably(folder / "settings.xml", "<lagtrap/>").ok());
    const auto written = trace::write_bundle(folder, builder.system.session_id, directory_);
    ASSERT_TRUE(written.ok());
    const std::string digest = put_bytes(read_file(written->path, 1 << 20).value());
    ASSERT_TRUE(store_->inventory().set_contents(digest, {}, {}, {}).value());
    const Reply reply = get_trace(evidence(), *blobs_, route_of({digest}), download());
    EXPECT_THAT(error_of(reply), StartsWith("422 the bundle is kept but cannot be read: "));
    EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(BundleRoutes, DelaysAreExportedInEachListedFormat) {
    const json::value listed = json::parse(list_formats().body).at("formats");
    std::size_t encoded = 0;
    for (const formats::Format& format : formats::formats()) encoded += format.encode != nullptr;
    ASSERT_EQ(listed.as_array().size(), encoded);
    for (const json::value& entry : listed.as_array()) {
        const auto name = json::value_to<std::string>(entry.at("name"));
        const formats::Format* format = formats::find_format(name);
        ASSERT_NE(format, nullptr);
        EXPECT_EQ(entry, json::value(json::object{{"name", format->name},
                                                  {"title", format->title},
                                                  {"use", format->use},
                                                  {"suffix", format->suffix},
                                                  {"state", formats::word_of(format->time)}}));
        const Reply reply = exported("1", {{"format", name}});
        ASSERT_EQ(reply.status, 200U) << name << reply.body;
        EXPECT_EQ(reply.content_type, format->media_type);
        EXPECT_EQ(header_of(reply, "Content-Disposition"),
                  std::string("attachment; filename=\"") + session + "-" + bundle_.substr(0, 16) +
                      "-delay1." + std::string(format->suffix) + "\"");
        EXPECT_FALSE(text_of(reply).empty()) << name;
    }
    EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(BundleRoutes, AnExportIsOfTheAskedDelayAndTime) {
    const auto folded = [&](const std::string& number, Query query) {
        query.emplace_back("format", "folded");
        return text_of(exported(number, std::move(query)));
    };
    EXPECT_THAT(folded("1", {}), HasSubstr("busy_function"));
    EXPECT_THAT(folded("1", {{"state", "on-cpu"}}), HasSubstr("busy_function"));
    EXPECT_EQ(folded("1", {{"state", "off-cpu"}}).find("busy_function"), std::string::npos);
    EXPECT_NE(folded("1", {}), folded("2", {}));
    EXPECT_THAT(header_of(exported("2", {{"format", "csv"}}), "Content-Disposition"),
                HasSubstr("-delay2.csv\""));
    for (const char* format : {"", "otlp", "pftrace", "system", "nonsense"})
        EXPECT_EQ(error_of(exported("1", {{"format", format}})),
                  "400 \"format\": expected one of those that /api/v1/formats lists");
    EXPECT_EQ(exported("1", {}).status, 400U);
    EXPECT_EQ(error_of(exported("1", {{"format", "csv"}, {"state", "off"}})),
              "400 \"state\": expected all, on-cpu or off-cpu");
}

TEST_F(BundleRoutes, DelaysThatAreNotInTheBundleAreNotThere) {
    for (const char* number : {"0", "3", "100000", "100001", "x", "", "-1", "1x", "4294967297",
                               "18446744073709551617"}) {
        EXPECT_EQ(error_of(exported(number, {{"format", "csv"}})), "404 there is no such delay");
        EXPECT_EQ(error_of(get_timeline(evidence(), *blobs_, route_of({bundle_, number}))),
                  "404 there is no such delay");
        EXPECT_EQ(error_of(machine({}, number)), "404 there is no such delay");
    }
}

TEST_F(BundleRoutes, ATimelineIsOfOneDelay) {
    const Reply reply = get_timeline(evidence(), *blobs_, route_of({bundle_, "2"}));
    EXPECT_EQ(reply.status, 200U);
    EXPECT_EQ(reply.content_type, "application/json");
    EXPECT_THAT(reply.body, HasSubstr("busy_function"));
    EXPECT_NE(reply.body, get_timeline(evidence(), *blobs_, route_of({bundle_, "1"})).body);
}

TEST_F(BundleRoutes, TheMachineIsShownInTheAskedWindow) {
    const json::value whole = json::parse(machine({}).body);
    EXPECT_EQ(whole.at("recorded_from_ns").to_number<std::int64_t>(),
              -50 * static_cast<std::int64_t>(ms));
    const Reply part = machine({{"from_ns", "-1000000"}, {"to_ns", "2000000"}, {"columns", "10"}});
    ASSERT_EQ(part.status, 200U) << part.body;
    EXPECT_NE(part.body, machine({}).body);
    EXPECT_NE(machine({}).body, machine({{"columns", "10"}}).body);
    constexpr const char* times =
        "400 \"from_ns\", \"to_ns\": expected nanoseconds after the delay's begin, the second "
        "larger";
    constexpr const char* reach = "2592000000000000";
    EXPECT_EQ(machine({{"from_ns", std::string("-") + reach}, {"to_ns", reach}}).status, 200U);
    for (const Query& wrong :
         {Query{{"from_ns", "5"}, {"to_ns", "5"}}, Query{{"from_ns", "6"}, {"to_ns", "5"}},
          Query{{"from_ns", "x"}}, Query{{"to_ns", "5x"}}, Query{{"to_ns", ""}},
          Query{{"from_ns", "-2592000000000001"}}, Query{{"to_ns", "2592000000000001"}},
          Query{{"columns", "x"}}})
        EXPECT_EQ(error_of(machine(wrong)), times) << wrong[0].first << wrong[0].second;
    for (const char* columns : {"10", "4000"})
        EXPECT_EQ(machine({{"columns", columns}}).status, 200U) << columns;
    for (const char* columns : {"9", "4001", "0"})
        EXPECT_EQ(error_of(machine({{"columns", columns}})),
                  "400 \"columns\": expected 10 to 4000");
}

}  // namespace
}  // namespace lagtrap::server::bundle_routes_test
