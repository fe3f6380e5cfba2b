// Behaviour that only the SQLite store has.
#include <sqlite3.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include "server/store/migrations.hpp"
#include "server/store/sqlite_connection.hpp"
#include "server/store/sqlite_database.hpp"
#include "server/store/sqlite_store.hpp"
#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::sqlite_test {
namespace {

namespace fs = std::filesystem;

class SqliteFile : public StoreTest {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "lagtrap-sqlite-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
    }
    void TearDown() override { fs::remove_all(directory_); }
    void script(const std::string& sql) {
        sqlite3* database = nullptr;
        sqlite3_open((directory_ / "a.sqlite").c_str(), &database);
        EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
            << sqlite3_errmsg(database);
        sqlite3_close(database);
    }

    fs::path directory_;
};

TEST_F(SqliteFile, ABackupHoldsWhatWasThere) {
    const auto store = must(open_sqlite_store(directory_ / "a.sqlite"));
    BatchMaker maker;
    maker.add(monday, ms);
    ASSERT_EQ(must(store->batches().add_batch(receipt_of(1), maker.batch)), AddOutcome::New);
    const auto made = store->upkeep().backup(directory_ / "copy.sqlite");
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_FALSE(store->upkeep().backup(directory_ / "copy.sqlite").ok());
    const auto copy = must(open_sqlite_store(directory_ / "copy.sqlite"));
    EXPECT_EQ(must(copy->everything().summaries().count_runs(event_filter())).records, 1U);
    EXPECT_THAT(must(copy->upkeep().check()), testing::IsEmpty());
}

TEST_F(SqliteFile, AStepWithItsFormerTextIsNoOtherStep) {
    { ASSERT_TRUE(open_sqlite_store(directory_ / "a.sqlite")); }
    const Migration& step = sqlite_migrations().at(1);
    ASSERT_NE(step.former_sha256, "");
    script("UPDATE schema_migrations SET sha256='" + step.former_sha256 + "' WHERE number=2");
    EXPECT_TRUE(open_sqlite_store(directory_ / "a.sqlite"));
    script("UPDATE schema_migrations SET sha256='" + step.former_sha256 + "' WHERE number=3");
    EXPECT_FALSE(open_sqlite_store(directory_ / "a.sqlite"));
}

TEST_F(SqliteFile, NobodyElseMayReadStoreAndBackup) {
    const mode_t before = ::umask(0);
    const auto modes = [&] {
        std::map<std::string, unsigned> found;
        for (const auto& file : fs::directory_iterator(directory_))
            found[file.path().filename()] = static_cast<unsigned>(file.status().permissions());
        return found;
    };
    {
        const auto store = must(open_sqlite_store(directory_ / "a.sqlite"));
        ASSERT_TRUE(store->upkeep().backup(directory_ / "copy.sqlite"));
        EXPECT_THAT(modes(), testing::Each(testing::Pair(testing::_, 0600U)));
        EXPECT_THAT(modes(), testing::SizeIs(4));  // with the log and its index
        // As older versions left them.
        for (const auto& file : fs::directory_iterator(directory_))
            ::chmod(file.path().c_str(), 0644);
        const auto second = must(open_sqlite_store(directory_ / "a.sqlite"));
        for (const char* name : {"a.sqlite", "a.sqlite-wal", "a.sqlite-shm"})
            EXPECT_EQ(modes()[name], 0600U) << name;
    }
    ::umask(before);
}

TEST_F(SqliteFile, KeepsNoMorePagesInMemoryThanItMay) {
    const auto memory_with = [this](const char* file, std::uint64_t cache_bytes) {
        const auto store = must(open_sqlite_store(directory_ / file, cache_bytes));
        for (std::uint64_t number = 1; number <= 20; ++number) {
            BatchMaker maker;
            for (std::uint64_t i = 0; i < 2000; ++i)
                maker.add(monday + (number * 2000 + i) * ms, ms + i * 7919);
            EXPECT_EQ(must(store->batches().add_batch(receipt_of(number), maker.batch)),
                      AddOutcome::New);
        }
        return must(store->upkeep().size()).memory_bytes;
    };
    const std::uint64_t little_bytes = memory_with("little.sqlite", 1 << 20);
    const std::uint64_t much_bytes = memory_with("much.sqlite", 64 << 20);
    EXPECT_LT(little_bytes, std::uint64_t{3} << 20);
    EXPECT_GT(much_bytes, little_bytes + (std::uint64_t{2} << 20));
}

TEST_F(SqliteFile, KeepsNeitherPagesNorStatementsWhileItRests) {
    const std::uint64_t before_bytes = static_cast<std::uint64_t>(sqlite3_memory_used());
    const auto database = must(
        SqliteDatabase::open(directory_ / "a.sqlite", 64 << 20, std::chrono::milliseconds(50)));
    const auto held_bytes = [&] { return database->memory_bytes() - before_bytes; };
    std::uint64_t writing_bytes = 0;
    std::uint64_t reading_bytes = 0;
    const auto work = [&] {
        ASSERT_TRUE(database->write([&](Connection& connection) -> Status {
            TRY(connection.script("CREATE TABLE IF NOT EXISTS t(text TEXT)"));
            TRY(
                connection.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                                   "WHERE i < $1) INSERT INTO t SELECT hex(zeroblob(500)) FROM n",
                                   {6000}));
            writing_bytes = held_bytes();
            return success();
        }));
        ASSERT_TRUE(database->read([&](Connection& connection) -> Status {
            TRY(connection.number("SELECT sum(length(text)) FROM t"));
            reading_bytes = held_bytes();
            return success();
        }));
    };
    for (int round = 1; round <= 2; ++round) {
        work();
        EXPECT_GT(writing_bytes, std::uint64_t{4} << 20);
        EXPECT_GT(reading_bytes, std::uint64_t{4} << 20);
        // Polling for jobs repeats and changes nothing, so it does not count as activity.
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (held_bytes() > 1 << 20 && std::chrono::steady_clock::now() < deadline)
            ASSERT_TRUE(database->write([](Connection&) -> Status { return success(); }));
        EXPECT_LT(held_bytes(), std::uint64_t{1} << 20) << "in round " << round;
    }
}

// Tasks that wait while another runs are committed together.
TEST_F(SqliteFile, AFailedTaskTakesNoOtherOfItsCommitWithIt) {
    const auto database = must(SqliteDatabase::open(directory_ / "a.sqlite", 1 << 20));
    ASSERT_TRUE(database->write(
        [](Connection& connection) { return connection.script("CREATE TABLE t(n INTEGER)"); }));
    constexpr int tasks = 8;
    std::atomic<int> queued{0};
    std::vector<std::thread> writers;
    std::vector<int> right(tasks, 0);
    ASSERT_TRUE(database->write([&](Connection&) -> Status {
        for (int i = 0; i < tasks && writers.size() < tasks; ++i)
            writers.emplace_back([&, i] {
                ++queued;
                const Status written = database->write([i](Connection& connection) -> Status {
                    TRY(connection.execute("INSERT INTO t VALUES($1)", {i}));
                    if (i % 3 == 1) return make_error(ErrorKind::Invalid, "a task that fails");
                    return success();
                });
                right[static_cast<std::size_t>(i)] = written.ok() == (i % 3 != 1) ? 1 : 0;
            });
        while (queued < tasks) std::this_thread::yield();
        return success();
    }));
    for (std::thread& writer : writers) writer.join();
    EXPECT_THAT(right, testing::Each(1));
    EXPECT_TRUE(database->read([&](Connection& connection) -> Status {
        EXPECT_EQ(must(connection.number("SELECT group_concat(n, '') FROM (SELECT n FROM t ORDER "
                                         "BY n)")),
                  2356);
        return success();
    }));
}

TEST_F(SqliteFile, DoesNotKeepStatementsWithNumbersInTheirText) {
    const auto connection = must(
        SqliteConnection::open(directory_ / "a.sqlite", SqliteConnection::Mode::Write, 1 << 20));
    const auto ask = [&](int number) {
        EXPECT_EQ(must(connection->number("SELECT " + std::to_string(number) +
                                          " UNION SELECT 0 ORDER BY 1 DESC")),
                  number);
    };
    ask(1000);
    const auto before = sqlite3_memory_used();
    for (int number = 1; number <= 200; ++number) ask(number);
    EXPECT_LT(sqlite3_memory_used(), before + (64 << 10));
}

TEST_F(SqliteFile, TakesOverTheFirstVersion) {
    script(
        "CREATE TABLE bundle(number INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL "
        "UNIQUE, bytes INTEGER NOT NULL, received_ns INTEGER NOT NULL, sender TEXT NOT NULL, "
        "session_id TEXT NOT NULL, host TEXT NOT NULL,"
        " event TEXT NOT NULL, process TEXT NOT NULL, started_ns INTEGER NOT NULL, "
        "longest_delay_ns INTEGER NOT NULL,"
        " delays INTEGER NOT NULL, bad_reason TEXT NOT NULL) STRICT; PRAGMA user_version=1;"
        "INSERT INTO bundle VALUES(7,'d',1,2,'s','i','h','e','p',3,4,5,'')");
    const auto store = must(open_sqlite_store(directory_ / "a.sqlite"));
    ASSERT_NE(store, nullptr);
    const auto row = must(store->everything().bundles().find("d"));
    ASSERT_TRUE(row.has_value());
    EXPECT_EQ(row->number, 7);
    EXPECT_EQ(row->facts.delays, 5U);
    EXPECT_FALSE(row->parsed);
}

TEST_F(SqliteFile, RefusesWhatIsNoDatabaseOfOurs) {
    std::ofstream(directory_ / "a.sqlite")
        << "this is text, and long enough to be taken for a database's first page "
        << std::string(2000, '.');
    EXPECT_FALSE(open_sqlite_store(directory_ / "a.sqlite").ok());
    fs::remove(directory_ / "a.sqlite");
    script("CREATE TABLE other(a); PRAGMA user_version=77");
    const auto opened = open_sqlite_store(directory_ / "a.sqlite");
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().kind, ErrorKind::Unsupported);
}

}  // namespace
}  // namespace lagtrap::server::sqlite_test
