#include "tests/unit/server/whole_answers_shop.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "analysis/run_profile.hpp"
#include "server/ingest/known_causes.hpp"

namespace lagtrap::server {
namespace {

using analysis::TimeKind;

constexpr std::uint64_t ms = RecordedShop::ms;
constexpr std::uint64_t hour = RecordedShop::hour;

const std::vector<std::string> hosts{"ams-1", "ams-2", "ams-3", "ams-4",
                                     "fra-1", "fra-2", "fra-3", "fra-4"};

std::string digest_of(std::uint64_t number) {
    std::string digits = std::to_string(number);
    return digits.insert(0, 64 - digits.size(), '0');
}

// Works for 10 ms. A slow one also parses for 200 ms, and waits for the thread "cache".
std::string profile(const std::string& event, bool slow, std::uint64_t more_ns) {
    analysis::RunProfile made;
    made.event = event;
    made.process = "shop";
    made.frames = {{"main", "/usr/bin/shop", false},
                   {"work", "/usr/bin/shop", false},
                   {"parse", "/usr/lib/libparse.so", false},
                   {"fill", "/usr/bin/shop", false}};
    made.nodes = {{}, {0, 0}, {1, 1}, {1, 2}, {0, 3}};
    made.texts = {"", "lock (futex)", "cache"};
    if (slow) {
        made.entries.push_back({200 * ms + more_ns, {{TimeKind::OnCpu, 0, 0, 3}}});
        made.entries.push_back(
            {20 * ms, {{TimeKind::Blocked, 1, 0, 2}, {TimeKind::OnCpu, 0, 2, 4}}});
    }
    made.entries.push_back({10 * ms, {{TimeKind::OnCpu, 0, 0, 2}}});
    for (const analysis::ProfileEntry& entry : made.entries) made.duration_ns += entry.time_ns;
    made.delay = slow;
    auto bytes = analysis::write_run_profile(made);
    EXPECT_TRUE(bytes.ok());
    return bytes.ok() ? std::move(bytes).value() : "";
}

BundleDelay delay_of(const std::string& event, std::uint32_t number, std::uint64_t begin_ns) {
    BundleDelay made;
    made.number = number;
    made.delayed = number > 0;
    made.event = event;
    made.begin_realtime_ns = begin_ns;
    made.threshold_ns = 50 * ms;
    made.duration_ns = made.delayed ? 230 * ms + number : 10 * ms;
    made.profile = profile(event, made.delayed, number);
    made.pid = 100;
    made.tid = 101;
    made.process = "shop";
    made.thread = "worker";
    made.start = trace::StartKind::Warm;
    return made;
}

// Printing waits for checkouts, once also for another print job.
std::vector<DelayEdge> edges_of_print(std::uint32_t number) {
    DelayEdge edge;
    edge.event = "checkout";
    edge.unit = "shop.service";
    edge.process = "shop";
    edge.thread = "worker";
    edge.pid = 100;
    edge.tid = 103;
    edge.key = 17;
    edge.trace_id = std::string(31, 'b') + std::to_string(number);
    edge.how = "lock";
    edge.place = "dumps";
    edge.attributes = {{"tenant", "acme"}};
    edge.delayed_attributes = {{"tenant", "bolt"}};
    edge.lost_ns = number * 20 * ms;
    if (number > 1) return {edge};
    DelayEdge own = edge;
    own.event = "print";
    own.trace_id.clear();
    own.attributes.clear();
    own.how = "file-lock";
    own.lost_ns = 5 * ms;
    return {edge, own};
}

trace::RecordedRun run_of(const std::string& event, std::uint64_t begin_ns,
                          std::uint64_t duration_ns) {
    trace::RecordedRun run;
    run.event = event;
    run.begin_realtime_ns = begin_ns;
    run.duration_ns = duration_ns;
    run.threshold_ns = 50 * ms;
    run.delay = duration_ns > run.threshold_ns;
    run.pid = 100;
    run.begin_tid = 101;
    run.end_tid = 102;
    run.thread = "worker";
    run.process = "shop";
    run.executable = "/usr/bin/shop";
    run.build_id = "v1";
    run.user = "ann";
    run.unit = "shop.service";
    run.start = trace::StartKind::Warm;
    return run;
}

trace::RunBatch batch_of(const std::string& host) {
    trace::RunBatch batch;
    batch.host = host;
    batch.stacks = {
        {{"shop", "v1", 0x40, "load", "shop.c", 7}, {"shop", "v1", 0x80, "main", "", 0}}};
    return batch;
}

}  // namespace

RecordedShop::RecordedShop(Store& store) : store_(store) {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        add_checkout(hosts[i], i);
        add_checkout_bundle(hosts[i], i);
    }
    add_login();
    for (std::uint64_t i = 0; i < 10; ++i) add_search("find-" + std::to_string(i), i);
    for (std::uint64_t i = 0; i < 3; ++i) add_print_bundle(hosts[i], i);
    EXPECT_TRUE(note_causes_of(store_, "checkout", end_ns).ok());
    BundleRow waiting;
    waiting.digest = digest_of(900);
    EXPECT_TRUE(store_.inventory().add(waiting, {"parse", waiting.digest, end_ns}).ok());
}

void RecordedShop::add_batch(trace::RunBatch batch) {
    const auto added =
        store_.batches().add_batch({digest_of(++batches_), 9, end_ns - hour / 2, "rack"}, batch);
    EXPECT_TRUE(added.ok()) << (added.ok() ? "" : added.error().message);
}

void RecordedShop::add_checkout(const std::string& host, std::size_t number) {
    trace::RunBatch batch = batch_of(host);
    batch.runs_sampled_away = 7;
    batch.runs_lost = number;
    for (std::uint64_t at_ns = begin_ns; at_ns < end_ns; at_ns += hour) {
        const bool changed = at_ns >= changed_ns;
        const bool slow = changed && host.starts_with("fra");
        for (std::uint64_t i = 0; i < 2; ++i) {
            // A few tenths of milliseconds apart, in no pattern.
            const std::uint64_t noise_ns = (at_ns / hour * 37 + number * 11 + i * 5) % 97 * ms / 50;
            const std::uint64_t duration_ns = (slow && i == 0 ? 60 * ms : 20 * ms) + noise_ns;
            trace::RecordedRun run =
                run_of("checkout", at_ns + (i * 8 + number) * 60'000 * ms, duration_ns);
            run.weight = i == 0 ? 4 : 5;
            if (changed) run.build_id = number % 2 == 0 ? "v2" : "v3";
            if (number == 3) run.unit = "batch.service";
            if (number > 4) run.user = "bob";
            if (i == 1) run.start = trace::StartKind::Cold;
            run.stages = {{"loaded", duration_ns / 4, 101, 1}, {"priced", duration_ns / 2, 102, 0}};
            run.begin_stack = 1;
            run.times.emplace();
            run.times->parts.on_cpu_ns = duration_ns / 2;
            run.times->parts.runnable_ns = duration_ns / 8;
            run.times->parts.blocked_ns[number % LAGTRAP_WAIT_CLASSES] = duration_ns / 4;
            run.times->handed_over_ns = duration_ns / 16;
            batch.runs.push_back(std::move(run));
        }
    }
    add_batch(std::move(batch));
}

void RecordedShop::add_login() {
    trace::RunBatch batch = batch_of("fra-1");
    for (std::uint64_t i = 0; i < 48; ++i) {
        trace::RecordedRun run =
            run_of("login", end_ns - (48 - i) * hour + 5, 3 * ms + i % 5 * ms / 10);
        run.weight = 60;
        run.process = "door";
        batch.runs.push_back(std::move(run));
    }
    add_batch(std::move(batch));
}

void RecordedShop::add_search(const std::string& host, std::uint64_t number) {
    trace::RunBatch batch = batch_of(host);
    for (std::uint64_t i = 0; i <= number; ++i) {
        trace::RecordedRun run =
            run_of("search", end_ns - (3 - i % 3) * hour + number, (1 + i * 8) * ms);
        run.unit = number < 2 ? "" : "find-" + std::to_string(number % 2) + ".service";
        run.build_id = "w" + std::to_string(number % 3);
        run.weight = 2;
        batch.runs.push_back(std::move(run));
    }
    add_batch(std::move(batch));
}

void RecordedShop::add_bundle(const std::string& host, const std::vector<BundleDelay>& delays,
                              std::uint64_t received_ns) {
    BundleRow row;
    row.digest = digest_of(500 + ++bundles_);
    row.bytes = 1000 * bundles_;
    row.received_realtime_ns = received_ns;
    row.sender = "rack";
    EXPECT_TRUE(store_.inventory().add(row, {"parse", row.digest, received_ns}).ok());
    BundleFacts facts;
    facts.session_id = "session of " + host;
    facts.host = host;
    facts.event = delays.front().event;
    facts.process = delays.front().process;
    facts.started_realtime_ns = delays.front().begin_realtime_ns - 5;
    facts.longest_delay_ns = delays.front().duration_ns;
    facts.delays = 3;
    EXPECT_TRUE(store_.inventory().set_contents(row.digest, facts, {}, delays).ok());
}

void RecordedShop::add_checkout_bundle(const std::string& host, std::size_t number) {
    std::vector<BundleDelay> delays;
    for (std::uint32_t i = 1; i <= 3; ++i) {
        // Near the begin of a run that is recorded.
        const std::uint64_t at_ns = changed_ns + i * hour + number * 60'000 * ms;
        for (const std::uint32_t delay : {i, 0U}) {
            delays.push_back(delay_of("checkout", delay, at_ns));
            delays.back().build = number % 2 == 0 ? "v2" : "v3";
            delays.back().user = number > 4 ? "bob" : "ann";
            delays.back().unit = number == 3 ? "batch.service" : "shop.service";
        }
    }
    delays[0].trace_id = std::string(31, 'a') + std::to_string(number);
    delays[0].details =
        R"({"on_cpu_ns":150,"runnable_ns":20,"blocked_ns":30,"handed_over_ns":4,"unknown_ns":6,)"
        R"("blocked":[{"reason":"lock","time_ns":30}],"stages":[{"name":"loaded","at_ns":1}],)"
        R"("without_stages":true,"cause":{"text":"parses"},"calls":[1],"traced_functions":{"a":1},)"
        R"("objects":{"b":2},"surroundings":{"cpu_use":0.5},"quality":{"notes":["late"]}})";
    add_bundle(host, delays, end_ns - number);
}

void RecordedShop::add_print_bundle(const std::string& host, std::uint64_t number) {
    std::vector<BundleDelay> delays;
    for (std::uint32_t i = 1; i <= 3; ++i) {
        delays.push_back(delay_of("print", i, end_ns - (i * i * 7 + number) * hour + 60'000 * ms));
        delays.back().build = "p" + std::to_string(i);
        delays.back().user = "cy";
        delays.back().unit = i == 1 ? "print.service" : "";
        delays.back().edges = edges_of_print(i);
    }
    add_bundle(host, delays, end_ns - 100 * hour + number);
    const std::string digest = digest_of(500 + bundles_);
    const std::uint64_t at_ns = delays[0].begin_realtime_ns;
    const auto noted =
        store_.found_causes().note_causes("print",
                                          {{"sig-" + host,
                                            "waits in " + host,
                                            "blocked",
                                            "lock (futex)",
                                            R"([{"function":"spool","module":"libprint.so"}])",
                                            {{digest, 1, host, "p1", at_ns, 40 * ms, "writer"}},
                                            "writer"}},
                                          end_ns - (10 - number) * hour);
    EXPECT_TRUE(noted.ok() && noted->size() == 1);
}

// In a temporary folder.
struct SharedShop {
    SharedShop() {
        std::string pattern = std::filesystem::temp_directory_path() / "lagtrap-shop-XXXXXX";
        EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
        directory = pattern;
        auto opened = open_store(directory / "lagtrap.sqlite");
        EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
        if (!opened.ok()) return;
        store = std::move(opened).value();
        RecordedShop shop(*store);
    }
    SharedShop(const SharedShop&) = delete;
    SharedShop& operator=(const SharedShop&) = delete;
    ~SharedShop() {
        store.reset();
        std::filesystem::remove_all(directory);
    }

    std::filesystem::path directory;
    std::unique_ptr<Store> store;
};

Store& RecordedShopTest::store() {
    static const SharedShop shared;
    return *shared.store;
}

}  // namespace lagtrap::server
