#include "server/api/run_routes.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/cause_routes.hpp"
#include "server/api/export_routes.hpp"
#include "server/api/report_routes.hpp"
#include "server/api/search_routes.hpp"
#include "server/api/upload.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::run_routes_test {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t monday_ns = 20'003ULL * 86'400 * 1000 * ms;

std::string message_of(const Reply& reply) {
    return json::value_to<std::string>(json::parse(reply.body).at("error").at("message"));
}

Route route_of(std::vector<std::string> arguments,
               std::vector<std::pair<std::string, std::string>> query = {}) {
    Route route;
    route.arguments = std::move(arguments);
    route.query = std::move(query);
    return route;
}

std::string text_of(const Reply& file) {
    std::string text, buffer(500, '\0');
    while (const std::size_t got = file.source->read(buffer.data(), buffer.size()).value())
        text.append(buffer, 0, got);
    return text;
}

std::vector<std::string> texts_of(const json::value& list, const char* member = nullptr) {
    std::vector<std::string> texts;
    for (const json::value& one : list.as_array())
        texts.push_back(json::value_to<std::string>(member == nullptr ? one : one.at(member)));
    return texts;
}

// Five runs of "open" of 10, 20, ... 50 ms, of which the last is a delay, and one of "close".
class RunRoutes : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        trace::RunBatch batch;
        batch.host = "alpha";
        batch.stacks = {{{"libdemo.so", "ab12", 0x40, "load_data", "load.c", 7}}};
        for (std::uint64_t i = 1; i <= 6; ++i) {
            trace::RecordedRun run;
            run.event = i == 6 ? "close" : "open";
            run.begin_realtime_ns = monday_ns + i * 1000 * ms;
            run.duration_ns = i * 10 * ms;
            run.threshold_ns = (40 + i) * ms;
            run.delay = i == 5;
            run.process = i == 1 ? "Demo-One" : "other";
            run.user = "=ann";
            run.build_id = "cd34";
            run.unit = "demo.service";
            run.start = trace::StartKind::Cold;
            run.stages = {{"loaded", run.duration_ns / 2, 101, 1}};
            batch.runs.push_back(run);
        }
        const std::string digest(64, '1');
        ASSERT_EQ(store_->batches().add_batch({digest, 9, monday_ns, "rack"}, batch).value(),
                  AddOutcome::New);
    }
    Evidence evidence() { return store_->everything(); }
    json::value runs(std::vector<std::pair<std::string, std::string>> query = {}) {
        const Reply reply = list_runs(evidence(), route_of({"open"}, std::move(query)));
        EXPECT_EQ(reply.status, 200U) << reply.body;
        return json::parse(reply.body);
    }
    std::vector<std::string> ids() { return texts_of(runs().at("runs"), "id"); }
    Reply hide(const std::string& id, const std::string& body) {
        Request request;
        request.body = body;
        Principal principal;
        principal.name = "ann";
        return set_dirty(evidence(), route_of({id}), principal, request);
    }
};

TEST_F(RunRoutes, RunsAreListedInTheAskedOrder) {
    const auto durations = [&](std::vector<std::pair<std::string, std::string>> query) {
        std::vector<std::uint64_t> found;
        const json::value answer = runs(std::move(query));
        for (const json::value& run : answer.at("runs").as_array())
            found.push_back(run.at("duration_ns").to_number<std::uint64_t>() / (10 * ms));
        return found;
    };
    EXPECT_THAT(durations({}), ElementsAre(5, 4, 3, 2, 1));
    EXPECT_THAT(durations({{"order", "slowest"}, {"process", "Demo-One"}}), ElementsAre(1));
    EXPECT_THAT(durations({{"order", "slowest"}, {"limit", "2"}}), ElementsAre(5, 4));
    const json::value page = runs({{"limit", "2"}});
    EXPECT_EQ(page.at("total"), 5);
    EXPECT_EQ(page.at("outliers"), 0);
    const auto next = json::value_to<std::string>(page.at("next"));
    EXPECT_THAT(durations({{"limit", "2"}, {"after", next}}), ElementsAre(3, 2));
    EXPECT_TRUE(runs().at("next").is_null());
    const auto wrong = [&](const char* name, const char* value) {
        return message_of(list_runs(evidence(), route_of({"open"}, {{name, value}})));
    };
    EXPECT_EQ(wrong("order", "oldest"), "\"order\": expected newest or slowest");
    EXPECT_EQ(wrong("limit", "0"), "\"limit\": expected 1 to 1000");
    EXPECT_EQ(wrong("start", "hot"), "\"start\": expected cold or warm");
}

TEST_F(RunRoutes, HiddenRunsAreCountedWithTheirReasons) {
    const auto all = ids();
    ASSERT_EQ(all.size(), 5U);
    const Reply hidden = hide(all[0], R"({"dirty":true,"reason":"a test"})");
    ASSERT_EQ(hidden.status, 200U) << hidden.body;
    const json::value mark = json::parse(hidden.body).at("dirty");
    EXPECT_EQ(mark.at("rule"), "by hand");
    EXPECT_EQ(mark.at("by"), "ann");
    EXPECT_EQ(hide(all[2], R"({"dirty":true,"reason":"older"})").status, 200U);
    json::value answer = runs();
    EXPECT_EQ(answer.at("hidden"), 2);
    EXPECT_EQ(answer.at("total"), 5);
    EXPECT_EQ(answer.at("runs").as_array().size(), 3U);
    // The reason of the newest.
    EXPECT_EQ(json::serialize(answer.at("hidden_because")),
              R"([{"rule":"by hand","reason":"a test","runs":2}])");
    answer = runs({{"dirty", "1"}});
    EXPECT_EQ(answer.at("hidden"), 0);
    EXPECT_EQ(answer.at("total"), 5);
    EXPECT_EQ(answer.at("runs").as_array().size(), 5U);
    EXPECT_TRUE(answer.at("hidden_because").as_array().empty());
    const Reply shown = hide(all[0], R"({"dirty":false,"reason":""})");
    EXPECT_TRUE(json::parse(shown.body).at("dirty").is_null());
    EXPECT_EQ(runs().at("hidden"), 1);
}

TEST_F(RunRoutes, WrongMarksAreRefused) {
    const std::string id = ids()[0];
    EXPECT_EQ(message_of(hide(id, R"({"dirty":1,"reason":""})")),
              "\"dirty\": expected true or false");
    EXPECT_EQ(hide(id, R"({"dirty":true})").status, 400U);
    for (const char* missing : {"x", "1", "99999999999999999999"})
        EXPECT_EQ(message_of(hide(missing, R"({"dirty":true,"reason":""})")),
                  "there is no such run")
            << missing;
}

TEST_F(RunRoutes, ARunHasMarkersWithStacks) {
    const Reply found = get_run(evidence().runs(), route_of({ids()[0]}));
    ASSERT_EQ(found.status, 200U);
    const json::value run = json::parse(found.body);
    EXPECT_EQ(run.at("duration_ns").to_number<std::uint64_t>(), 50 * ms);
    EXPECT_THAT(texts_of(run.at("markers"), "name"), ElementsAre("begin", "loaded", "end"));
    EXPECT_EQ(run.at("markers").at(1).at("at_ns").to_number<std::uint64_t>(), 25 * ms);
    EXPECT_EQ(get_run(evidence().runs(), route_of({"x"})).status, 404U);
    EXPECT_EQ(get_run(evidence().runs(), route_of({"1"})).status, 404U);
}

TEST_F(RunRoutes, StacksOfAStageNeedItsName) {
    const auto stacks = [&](std::vector<std::pair<std::string, std::string>> query) {
        return get_stage_stacks(evidence().runs(), route_of({"open"}, std::move(query)));
    };
    EXPECT_EQ(message_of(stacks({})), "\"stage\": the name of a stage is needed");
    EXPECT_EQ(message_of(stacks({{"stage", ""}})), "\"stage\": the name of a stage is needed");
    const json::value found = json::parse(stacks({{"stage", "loaded"}}).body);
    ASSERT_EQ(found.at("stacks").as_array().size(), 1U);
    EXPECT_EQ(found.at("stacks").at(0).at("hits"), 5);
    EXPECT_EQ(found.at("stacks").at(0).at("longest_ns").to_number<std::uint64_t>(), 25 * ms);
    EXPECT_EQ(found.at("stacks").at(0).at("frames").at(0).at("function"), "load_data");
    EXPECT_EQ(found.at("runs_read"), 5);
    EXPECT_EQ(found.at("runs_read_most"), 20'000);
}

TEST_F(RunRoutes, ASummaryHasTheThresholdOfTheNewestRun) {
    const json::value found = json::parse(get_summary(evidence(), route_of({"open"})).body);
    EXPECT_EQ(found.at("runs"), 5);
    EXPECT_EQ(found.at("delays"), 1);
    EXPECT_EQ(found.at("threshold_ns").to_number<std::uint64_t>(), 45 * ms);
    const json::value nothing = json::parse(get_summary(evidence(), route_of({"other"})).body);
    EXPECT_TRUE(nothing.at("threshold_ns").is_null());
}

TEST_F(RunRoutes, EventsAndChoicesAreSearchedWithoutCase) {
    const auto events = [&](std::vector<std::pair<std::string, std::string>> query) {
        return json::parse(list_events(evidence().events(), route_of({}, std::move(query))).body);
    };
    EXPECT_THAT(texts_of(events({}).at("events"), "event"), ElementsAre("close", "open"));
    EXPECT_THAT(texts_of(events({{"search", "OPE"}}).at("events"), "event"), ElementsAre("open"));
    const json::value first = events({{"limit", "1"}});
    EXPECT_TRUE(first.at("next").is_string());
    EXPECT_EQ(first.at("events").at(0).at("runs"), 1);
    EXPECT_EQ(first.at("lost").at("runs"), 0);
    const auto choices = [&](std::vector<std::pair<std::string, std::string>> query) {
        return json::parse(get_choices(evidence().choices(), route_of({}, std::move(query))).body);
    };
    const json::value all = choices({{"event", "open"}});
    EXPECT_THAT(texts_of(all.at("hosts")), ElementsAre("alpha"));
    EXPECT_THAT(texts_of(all.at("users")), ElementsAre("=ann"));
    EXPECT_THAT(texts_of(all.at("builds")), ElementsAre("cd34"));
    EXPECT_THAT(texts_of(all.at("processes")), ElementsAre("Demo-One", "other"));
    EXPECT_THAT(texts_of(all.at("units")), ElementsAre("demo.service"));
    EXPECT_EQ(all.at("from"), json::value(std::to_string(monday_ns + 1000 * ms)));
    const json::value part = choices({{"event", "open"}, {"search", "DEMO"}});
    EXPECT_THAT(texts_of(part.at("processes")), ElementsAre("Demo-One"));
    EXPECT_THAT(texts_of(part.at("hosts")), IsEmpty());
    const json::value nothing = choices({{"event", "none"}});
    EXPECT_TRUE(nothing.at("from").is_null());
    EXPECT_TRUE(nothing.at("to").is_null());
}

TEST_F(RunRoutes, ExportsHaveALineForEachRun) {
    const Reply csv = export_runs(evidence().runs(), route_of({"open"}, {{"limit", "2"}}));
    const std::string text = text_of(csv);
    EXPECT_THAT(text, StartsWith("id,event,begin,begin_ns,duration_ns,threshold_ns,delay,"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
    EXPECT_THAT(text, HasSubstr("," + std::to_string(50 * ms) + "," + std::to_string(45 * ms) +
                                ",1,alpha,\"'=ann\",cd34,other,"));
    EXPECT_THAT(text, HasSubstr(",cold,1,,,,0,,,,,,demo.service\r\n"));
    const Reply lines = export_runs(evidence().runs(), route_of({"open"}, {{"format", "ndjson"}}));
    const std::string list = text_of(lines);
    EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 5);
    EXPECT_EQ(json::parse(list.substr(0, list.find('\n'))).at("event"), "open");
    EXPECT_EQ(export_runs(evidence().runs(), route_of({"open"}, {{"format", "xml"}})).status, 400U);
    EXPECT_EQ(export_runs(evidence().runs(), route_of({"open"}, {{"to", "x"}})).status, 400U);
    EXPECT_THAT(text_of(export_delays(evidence().delays(), route_of({}))),
                testing::EndsWith(",on_cpu_ns,runnable_ns,blocked_ns,handed_over_ns,unknown_ns,"
                                  "unit\r\n"));
}

TEST_F(RunRoutes, ExportsAreFilesNamedLikeTheirLists) {
    using Headers = std::vector<std::pair<std::string, std::string>>;
    const auto named = [](const std::string& name) {
        return Headers{{"Content-Disposition", "attachment; filename=\"" + name + "\""}};
    };
    const auto runs = [&](const std::string& format) {
        return export_runs(evidence().runs(), route_of({"open"}, {{"format", format}}));
    };
    const auto delays = [&](const std::string& format) {
        return export_delays(evidence().delays(), route_of({}, {{"format", format}}));
    };
    EXPECT_EQ(runs("csv").headers, named("runs.csv"));
    EXPECT_EQ(runs("ndjson").headers, named("runs.ndjson"));
    EXPECT_EQ(delays("csv").headers, named("delays.csv"));
    EXPECT_EQ(delays("ndjson").headers, named("delays.ndjson"));
    EXPECT_EQ(delays("csv").content_type, "text/csv; charset=utf-8");
    EXPECT_EQ(delays("ndjson").content_type, "application/x-ndjson");
    EXPECT_EQ(delays("xml").status, 400U);
}

TEST_F(RunRoutes, ComparisonsNeedIdsOfBothSides) {
    const auto compare = [&](const std::string& body) {
        Request request;
        request.body = body;
        return compare_listed_runs(evidence().runs(), request);
    };
    const auto all = ids();
    const std::string a = "[\"" + all[4] + "\",\"" + all[3] + "\"]",
                      b = "[\"" + all[1] + "\",\"" + all[0] + "\"]";
    const json::value found = json::parse(compare("{\"a\":" + a + ",\"b\":" + b + "}").body);
    EXPECT_EQ(found.at("a").at("runs"), 2);
    EXPECT_EQ(found.at("b").at("runs"), 2);
    EXPECT_EQ(found.at("difference_ns").to_number<std::int64_t>(),
              static_cast<std::int64_t>(30 * ms));
    EXPECT_THAT(texts_of(found.at("stages"), "name"),
                testing::UnorderedElementsAre("begin", "loaded"));
    std::string many = "[\"1\"";
    for (int i = 0; i < 1000; ++i) many += ",\"1\"";
    for (const std::string& wrong : {std::string("[]"), std::string("[5]"), std::string("[\"x\"]"),
                                     std::string("\"5\""), many + "]"})
        for (const std::string& body :
             {"{\"a\":" + wrong + ",\"b\":" + b + "}", "{\"a\":" + a + ",\"b\":" + wrong + "}"})
            EXPECT_EQ(message_of(compare(body)),
                      "\"a\" and \"b\": expected 1 to 1000 ids of runs each, as digits in strings");
}

TEST_F(RunRoutes, FlamesAreOfAllTimeOrOfAPart) {
    const auto time = [](std::vector<std::pair<std::string, std::string>> query) {
        return std::get<analysis::FlameTime>(read_flame_time(route_of({}, std::move(query))));
    };
    EXPECT_EQ(time({}), analysis::FlameTime::All);
    EXPECT_EQ(time({{"state", "all"}}), analysis::FlameTime::All);
    EXPECT_EQ(time({{"state", "on-cpu"}}), analysis::FlameTime::OnCpu);
    EXPECT_EQ(time({{"state", "off-cpu"}}), analysis::FlameTime::OffCpu);
    EXPECT_EQ(std::get<Refusal>(read_flame_time(route_of({}, {{"state", "off"}}))).message,
              "\"state\": expected all, on-cpu or off-cpu");
    const auto profile = [&](std::vector<std::pair<std::string, std::string>> query) {
        return message_of(
            get_profile(evidence(), route_of({std::string(64, '9'), "1"}, std::move(query))));
    };
    EXPECT_EQ(profile({}), "there is no such bundle");
    EXPECT_EQ(profile({{"against", "all"}}), "\"against\": expected normal");
}

TEST_F(RunRoutes, TheSearchFindsNamesOfEachKind) {
    EXPECT_EQ(message_of(search_everything(evidence(), route_of({}, {{"search", " "}}))),
              "\"search\": expected a word");
    const auto find = [&](const std::string& words) {
        return json::parse(search_everything(evidence(), route_of({}, {{"search", words}})).body);
    };
    EXPECT_THAT(texts_of(find("clo").at("events")), ElementsAre("close"));
    EXPECT_THAT(texts_of(find("alph").at("hosts")), ElementsAre("alpha"));
    EXPECT_THAT(texts_of(find("one").at("processes")), ElementsAre("Demo-One"));
    EXPECT_THAT(texts_of(find("demo.serv").at("units")), ElementsAre("demo.service"));
    EXPECT_THAT(texts_of(find("ann").at("users")), ElementsAre("=ann"));
    EXPECT_EQ(json::serialize(find("cd3").at("builds")), R"([{"build":"cd34","name":null}])");
    ASSERT_TRUE(evidence().builds().label_build({"cd34", "spring", "ann", 5}).ok());
    ASSERT_TRUE(evidence().builds().label_build({"gone", "spring 2", "ann", 5}).ok());
    EXPECT_EQ(json::serialize(find("spring").at("builds")),
              R"([{"build":"cd34","name":"spring"}])");
    EXPECT_EQ(json::serialize(find("cd3").at("builds")), R"([{"build":"cd34","name":"spring"}])");
    // Its id and its name fit.
    ASSERT_TRUE(evidence().builds().label_build({"cd34", "after cd3", "ann", 5}).ok());
    EXPECT_EQ(json::serialize(find("cd3").at("builds")),
              R"([{"build":"cd34","name":"after cd3"}])");
}

TEST_F(RunRoutes, BatchesAreKnownByTheirDigest) {
    const std::string digest(64, '1');
    const Reply there = has_batch(store_->batches(), route_of({digest}));
    EXPECT_EQ(there.status, 200U);
    EXPECT_EQ(there.content_type, "application/zstd");
    ASSERT_EQ(there.headers.size(), 1U);
    EXPECT_EQ(there.headers[0].second, digest);
    EXPECT_EQ(has_batch(store_->batches(), route_of({std::string(64, '2')})).status, 404U);
}

TEST(UploadDigest, MustBeThatOfTheAddress) {
    const std::string empty_digest =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const std::string right = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    EXPECT_FALSE(check_content_digest("", empty_digest));
    EXPECT_FALSE(check_content_digest("sha-512=:" + right + ":", empty_digest));
    EXPECT_FALSE(check_content_digest("sha-256=:" + right + ":", empty_digest));
    EXPECT_FALSE(check_content_digest("sha-512=:x:, sha-256=:" + right + ":", empty_digest));
    for (const std::string& wrong : {std::string("sha-256=::"), "sha-256=:x" + right + ":"}) {
        const auto refused = check_content_digest(wrong, empty_digest);
        ASSERT_TRUE(refused) << wrong;
        EXPECT_EQ(refused->status, 400U);
        EXPECT_EQ(refused->message, "Content-Digest is not the digest in the address");
    }
}

TEST(UploadPlace, IsOneOfSeveralUntilItIsGone) {
    std::atomic<std::uint32_t> count{0};
    {
        UploadPlace first(count, 2);
        UploadPlace second(count, 2);
        const UploadPlace third(count, 2);
        EXPECT_TRUE(first.valid());
        EXPECT_TRUE(second.valid());
        EXPECT_FALSE(third.valid());
        EXPECT_EQ(count, 2U);
        const UploadPlace moved(std::move(first));
        EXPECT_TRUE(moved.valid());
        EXPECT_EQ(count, 2U);
    }
    EXPECT_EQ(count, 0U);
}

// Causes "a" and "b" of "open"; the second is a part of nothing yet.
class CauseRoutes : public RunRoutes {
  protected:
    void SetUp() override {
        RunRoutes::SetUp();
        BundleRow bundle;
        bundle.digest = std::string(64, '3');
        ASSERT_EQ(store_->inventory().add(bundle, {"parse", bundle.digest, monday_ns}).value(),
                  AddOutcome::New);
        BundleFacts facts;
        facts.host = "alpha";
        std::vector<BundleDelay> delays(2);
        std::vector<CauseSighting> sightings;
        for (std::uint32_t i = 0; i < 2; ++i) {
            delays[i].number = i + 1;
            delays[i].event = "open";
            delays[i].begin_realtime_ns = monday_ns / 2 + i;
            delays[i].build = "cd34";
            sightings.push_back({bundle.digest, i + 1, "alpha", "cd34", monday_ns / 2 + i, 5, {}});
        }
        ASSERT_TRUE(store_->inventory().set_contents(bundle.digest, facts, {}, delays).value());
        const std::string frames = R"([{"function":"f","module":"m"}])";
        const auto noted = store_->found_causes().note_causes(
            "open",
            {{"sig-a", "load_data waits", "blocked", "disk", frames, {sightings[0]}, {}},
             {"sig-b", "parse computes", "on CPU", "", "no JSON", {sightings[1]}, "writer"}},
            monday_ns);
        ASSERT_TRUE(noted.ok() && noted->size() == 2);
        a_ = std::to_string((*noted)[0].id);
        b_ = std::to_string((*noted)[1].id);
        audit_.emplace(store_->audit(), [](const std::string&) {});
    }
    Reply change(const std::string& id, const std::string& body) {
        Request request;
        request.body = body;
        Principal principal;
        principal.kind = Principal::Kind::Session;
        principal.name = "ann";
        return change_cause(evidence(), *audit_, route_of({id}), principal, request);
    }
    std::string a_, b_;
    std::optional<Audit> audit_;
};

TEST_F(CauseRoutes, PeopleDecideAboutCauses) {
    const Reply changed = change(a_, R"({"status":"resolved","resolved_build":"v2","owner":"bob",)"
                                     R"("note":"see","link":"https://bugs/1"})");
    ASSERT_EQ(changed.status, 200U) << changed.body;
    const json::value cause = json::parse(changed.body);
    EXPECT_EQ(cause.at("status"), "resolved");
    EXPECT_EQ(cause.at("resolved_build"), "v2");
    EXPECT_TRUE(cause.at("resolved_ns").is_string());
    EXPECT_TRUE(cause.at("regressed_ns").is_null());
    EXPECT_EQ(cause.at("owner"), "bob");
    EXPECT_EQ(cause.at("note"), "see");
    EXPECT_EQ(cause.at("link"), "https://bugs/1");
    EXPECT_EQ(cause.at("changed_by"), "ann");
    EXPECT_EQ(cause.at("frames").at(0).at("function"), "f");
    EXPECT_EQ(json::parse(change(a_, R"({"status":"known"})").body).at("status"), "known");
    EXPECT_EQ(json::parse(change(a_, "{}").body).at("owner"), "bob");
    EXPECT_EQ(change("9999", "{}").status, 404U);
    EXPECT_EQ(message_of(change("x", "{}")), "there is no such cause");
}

TEST_F(CauseRoutes, WrongDecisionsAreNamed) {
    EXPECT_EQ(message_of(change(a_, R"({"status":"new"})")),
              "\"status\": expected known or resolved");
    for (const char* body :
         {R"({"resolved_build":"v2"})", R"({"status":"known","resolved_build":"v2"})"})
        EXPECT_EQ(message_of(change(a_, body)),
                  "\"resolved_build\" goes with \"status\": \"resolved\"");
    for (const char* link : {"javascript:alert(1)", "ftp://x", "x"})
        EXPECT_EQ(message_of(change(a_, json::serialize(json::object{{"link", link}}))),
                  "\"link\": expected an address that begins with https:// or http://");
    EXPECT_EQ(change(a_, R"({"link":"http://x"})").status, 200U);
    EXPECT_EQ(change(a_, R"({"link":""})").status, 200U);
    for (const auto& [name, limit] :
         {std::pair("owner", 64U), std::pair("note", 4000U), std::pair("link", 500U)}) {
        std::string text = "https://" + std::string(limit - 8, 'x');
        EXPECT_EQ(change(a_, json::serialize(json::object{{name, text}})).status, 200U) << name;
        text += 'x';
        EXPECT_EQ(change(a_, json::serialize(json::object{{name, text}})).status, 400U) << name;
    }
    EXPECT_EQ(message_of(change(a_, R"({"part_of":"x"})")),
              "\"part_of\": expected the id of a cause, or nothing");
    EXPECT_EQ(change(a_, R"({"part_of":"9999"})").status, 400U);
}

TEST_F(CauseRoutes, PartsBelongToTheirRoots) {
    EXPECT_EQ(change(b_, R"({"part_of":")" + a_ + "\"}").status, 200U);
    const json::value root = json::parse(get_cause(evidence(), route_of({a_})).body);
    ASSERT_EQ(root.at("parts").as_array().size(), 1U);
    EXPECT_EQ(root.at("parts").at(0).at("part_of"), json::value(a_));
    EXPECT_EQ(root.at("parts").at(0).at("holder"), "writer");
    EXPECT_TRUE(root.at("part_of").is_null());
    EXPECT_TRUE(root.at("holder").is_null());
    EXPECT_EQ(change(b_, R"({"part_of":""})").status, 200U);
    const json::value own = json::parse(get_cause(evidence(), route_of({b_})).body);
    EXPECT_TRUE(own.at("part_of").is_null());
    EXPECT_TRUE(own.at("frames").as_array().empty());
    EXPECT_EQ(get_cause(evidence(), route_of({"x"})).status, 404U);
    EXPECT_EQ(get_cause_flame(evidence(), route_of({"9999"})).status, 404U);
}

TEST_F(CauseRoutes, ListsAreOfOneEventOrOfAll) {
    const auto listed = [&](std::vector<std::pair<std::string, std::string>> query) {
        return texts_of(
            json::parse(list_causes(evidence().causes(), route_of({}, std::move(query))).body)
                .at("causes"),
            "id");
    };
    EXPECT_THAT(listed({}), testing::UnorderedElementsAre(a_, b_));
    EXPECT_EQ(listed({{"event", ""}}).size(), 2U);
    EXPECT_EQ(listed({{"event", "open"}, {"limit", "1"}}).size(), 1U);
    EXPECT_THAT(listed({{"event", "close"}}), IsEmpty());
    const json::value found =
        json::parse(search_everything(evidence(), route_of({}, {{"search", "load_data"}})).body);
    EXPECT_THAT(texts_of(found.at("causes"), "id"), ElementsAre(a_));
    EXPECT_EQ(cause_metrics({{"op\"en", CauseStatus::New, 2}, {"open", CauseStatus::Regressed, 1}}),
              "# HELP lagtrap_event_causes Causes of delays that are known, by event and status.\n"
              "# TYPE lagtrap_event_causes gauge\n"
              "lagtrap_event_causes{event=\"op\\\"en\",status=\"new\"} 2\n"
              "lagtrap_event_causes{event=\"open\",status=\"regressed\"} 1\n");
}

}  // namespace
}  // namespace lagtrap::server::run_routes_test
