// The backend of the store in contract tests: each test program has its own make_store_backend().
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "server/store/store.hpp"

namespace lagtrap::server {

// An empty database for one test.
class StoreBackend {
  public:
    StoreBackend() = default;
    StoreBackend(const StoreBackend&) = delete;
    StoreBackend& operator=(const StoreBackend&) = delete;
    virtual ~StoreBackend() = default;

    // Each call is another server of the same database.
    [[nodiscard]] virtual Result<std::unique_ptr<Store>> open() = 0;
    // Runs SQL directly, without the store.
    [[nodiscard]] virtual Status script(const std::string& sql) = 0;
    [[nodiscard]] virtual bool takes_several_servers() const = 0;
};

[[nodiscard]] std::unique_ptr<StoreBackend> make_store_backend();

class StoreTest : public testing::Test {
  protected:
    void SetUp() override {
        backend_ = make_store_backend();
        ASSERT_NE(backend_, nullptr);
        reopen();
    }
    void reopen() {
        store_.reset();
        auto opened = backend_->open();
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        store_ = std::move(opened).value();
    }
    [[nodiscard]] Evidence everything() const { return store_->everything(); }
    [[nodiscard]] SummaryStore summaries() const { return everything().summaries(); }
    // What people see who may see these events, and of others what ran in these units.
    [[nodiscard]] Evidence seen(std::vector<std::string> events,
                                std::vector<std::string> units) const {
        return store_->evidence(
            Visibility(std::make_shared<const Sight>(Sight{std::move(events), std::move(units)})));
    }
    // Whether an SQL condition about the tables is true.
    [[nodiscard]] bool holds(const std::string& condition) {
        return backend_
            ->script(
                "CREATE TABLE IF NOT EXISTS claim(holds INTEGER NOT NULL); INSERT INTO claim "
                "SELECT CASE WHEN " +
                condition + " THEN 1 END")
            .ok();
    }
    template <typename T>
    static T must(Result<T> result) {
        EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
        return result.ok() ? std::move(result).value() : T{};
    }

    std::unique_ptr<StoreBackend> backend_;
    std::unique_ptr<Store> store_;
};

inline constexpr std::uint64_t ms = 1'000'000;
inline constexpr std::uint64_t second = 1000 * ms;
inline constexpr std::uint64_t hour = 3600 * second;
inline constexpr std::uint64_t day = 24 * hour;
inline constexpr std::uint64_t monday = 20'003 * day;  // some midnight in 2024

// A batch of runs, one for each call to add(); `digest` is any 64 digits.
struct BatchMaker {
    trace::RunBatch batch;

    explicit BatchMaker(const std::string& host = "alpha") {
        batch.host = host;
        batch.stacks = {{{"libdemo.so", "ab12", 0x40, "load_data", "load.c", 7},
                         {"demo", "cd34", 0x80, "main", "", 0}}};
    }
    trace::RecordedRun& add(std::uint64_t begin_ns, std::uint64_t duration_ns,
                            const std::string& event = "open") {
        trace::RecordedRun run;
        run.event = event;
        run.begin_realtime_ns = begin_ns;
        run.duration_ns = duration_ns;
        run.threshold_ns = 50 * ms;
        run.delay = duration_ns > run.threshold_ns;
        run.pid = 100;
        run.begin_tid = run.end_tid = 101;
        run.thread = "worker";
        run.process = "demo";
        run.executable = "/usr/bin/demo";
        run.build_id = "cd34";
        run.user = "ann";
        run.start = trace::StartKind::Warm;
        run.begin_stack = 1;
        run.stages = {{"initialised", duration_ns / 4, 101, 0},
                      {"loaded", duration_ns / 2, 101, 1}};
        batch.runs.push_back(run);
        return batch.runs.back();
    }
};

[[nodiscard]] inline Receipt receipt_of(std::uint64_t number,
                                        std::uint64_t received_ns = monday + 5 * day) {
    std::string digits = std::to_string(number);
    return {std::string(64 - digits.size(), '0') + digits, 1000, received_ns, "token"};
}

[[nodiscard]] inline Filter event_filter(const std::string& event = "open") {
    Filter filter;
    filter.event = event;
    return filter;
}

// Adds batches of runs, and lists runs.
class RunsStoreTest : public StoreTest {
  protected:
    void add(std::uint64_t number, const trace::RunBatch& batch) {
        ASSERT_EQ(must(store_->batches().add_batch(receipt_of(number), batch)), AddOutcome::New);
    }
    std::vector<std::uint64_t> durations(const Filter& filter, RunOrder order = RunOrder::Newest) {
        std::vector<std::uint64_t> found;
        for (const StoredRun& run : must(everything().runs().list(filter, order, 1000, {})).runs)
            found.push_back(run.duration_ns);
        return found;
    }
};

}  // namespace lagtrap::server
