// The store's contract tests against a real PostgreSQL server, and what only PostgreSQL must do.
#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>

#include "tests/integration/postgres_server.hpp"
#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server {
namespace {

PostgresServer* server = nullptr;

class PostgresBackend : public StoreBackend {
  public:
    explicit PostgresBackend(std::string address) : address_(std::move(address)) {}

    Result<std::unique_ptr<Store>> open() override { return open_store(address_); }
    Status script(const std::string& sql) override { return PostgresServer::script(address_, sql); }
    bool takes_several_servers() const override { return true; }
    const std::string& address() const { return address_; }

  private:
    std::string address_;
};

class PostgresAlone : public StoreTest {};

TEST_F(PostgresAlone, TwoServersShareADatabase) {
    const auto other = must(backend_->open());
    ASSERT_NE(other, nullptr);
    std::vector<std::thread> writers;
    for (unsigned writer = 0; writer < 4; ++writer)
        writers.emplace_back([&, writer] {
            Store& mine = writer % 2 == 0 ? *store_ : *other;
            for (std::uint64_t i = 0; i < 20; ++i) {
                BatchMaker maker("host" + std::to_string(i % 3));
                for (std::uint64_t run = 0; run < 10; ++run)
                    maker.add(monday + run * hour, (run + 1) * ms);
                // Every batch is sent to both servers.
                const auto outcome =
                    mine.batches().add_batch(receipt_of(writer / 2 * 100 + i), maker.batch);
                EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message);
            }
        });
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(must(other->everything().summaries().count_runs(event_filter())).records,
              2U * 20 * 10);
    EXPECT_THAT(must(store_->upkeep().check()), testing::IsEmpty());
    // A name that the other server created is known here too.
    Filter filter = event_filter();
    filter.host = {"host2"};
    EXPECT_EQ(must(store_->everything().summaries().count_runs(filter)).records,
              must(other->everything().summaries().count_runs(filter)).records);
}

TEST_F(PostgresAlone, SchemaIsMadeByManyAtOnce) {
    ASSERT_TRUE(backend_->script("DROP SCHEMA public CASCADE; CREATE SCHEMA public").ok());
    std::atomic<int> opened{0};
    std::vector<std::thread> servers;
    for (int i = 0; i < 4; ++i)
        servers.emplace_back([&] {
            const auto one = backend_->open();
            EXPECT_TRUE(one.ok()) << (one.ok() ? "" : one.error().message);
            opened += one.ok() ? 1 : 0;
        });
    for (std::thread& one : servers) one.join();
    EXPECT_EQ(opened, 4);
}

TEST_F(PostgresAlone, GoesOnAfterTheServerWasRestarted) {
    BatchMaker maker;
    maker.add(monday, ms);
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1), maker.batch)), AddOutcome::New);
    ASSERT_TRUE(server->restart_at_once());
    EXPECT_EQ(must(store_->batches().add_batch(receipt_of(1), maker.batch)), AddOutcome::Already);
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(2), maker.batch)), AddOutcome::New);
    EXPECT_EQ(must(store_->everything().summaries().count_runs(event_filter())).records, 2U);
}

TEST_F(PostgresAlone, SaysWhenThereIsNoServer) {
    const auto opened = open_store("postgresql://nobody@127.0.0.1:1/none");
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, ErrorKind::Busy);
    const auto copied = store_->upkeep().backup("/tmp/never");
    ASSERT_FALSE(copied.ok());
    EXPECT_EQ(copied.error().kind, ErrorKind::Unsupported);
}

TEST_F(PostgresAlone, DaysArePartitions) {
    ASSERT_TRUE(store_->upkeep().maintain(monday).ok());
    BatchMaker maker;
    maker.add(monday - 9 * day, ms);
    maker.add(monday + hour, ms);
    ASSERT_EQ(must(store_->batches().add_batch(receipt_of(1), maker.batch)), AddOutcome::New);
    // Four days created ahead, one on demand.
    EXPECT_TRUE(backend_
                    ->script("DO $$ BEGIN ASSERT (SELECT count(*) FROM pg_inherits WHERE inhparent "
                             "= 'run'::regclass) = 5; END $$")
                    .ok());
    EXPECT_EQ(must(store_->upkeep().remove_runs_before(monday)).runs, 1U);
    EXPECT_TRUE(backend_
                    ->script("DO $$ BEGIN ASSERT (SELECT count(*) FROM pg_inherits WHERE inhparent "
                             "= 'run'::regclass) = 4; END $$")
                    .ok());
}

}  // namespace

std::unique_ptr<StoreBackend> make_store_backend() {
    const auto address = server->new_database();
    EXPECT_TRUE(address.ok()) << (address.ok() ? "" : address.error().message);
    return address.ok() ? std::make_unique<PostgresBackend>(*address) : nullptr;
}

}  // namespace lagtrap::server

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    auto started = lagtrap::server::PostgresServer::start();
    if (!started) {
        std::printf("%s: %s\n",
                    started.error().kind == lagtrap::ErrorKind::NotFound ? "SKIP" : "FAILED",
                    started.error().message.c_str());
        return started.error().kind == lagtrap::ErrorKind::NotFound ? 77 : 1;
    }
    lagtrap::server::server = started->get();
    return RUN_ALL_TESTS();
}
