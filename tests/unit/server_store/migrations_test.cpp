#include "server/store/migrations.hpp"

#include <cstddef>
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>

#include "core/digest.hpp"
#include "server/store/sqlite_connection.hpp"

namespace lagtrap::server::migrations_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ApplyMigrations : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "lagtrap-migrations-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        auto opened =
            SqliteConnection::open(folder_ / "a.sqlite", SqliteConnection::Mode::Write, 1 << 20);
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        connection_ = std::move(opened).value();
    }
    void TearDown() override {
        connection_.reset();
        fs::remove_all(folder_);
    }
    std::vector<std::int64_t> numbers(const std::string& sql) {
        std::vector<std::int64_t> found;
        const auto rows = connection_->query(sql, std::initializer_list<Value>{});
        EXPECT_TRUE(rows.ok()) << (rows.ok() ? "" : rows.error().message);
        while (rows.ok() && *(*rows)->next()) found.push_back((*rows)->integer(0));
        return found;
    }

    fs::path folder_;
    std::unique_ptr<SqliteConnection> connection_;
};

Migration step(int number, const std::string& sql, const std::string& former_sha256 = {}) {
    return {number, sql, former_sha256};
}

constexpr const char* first = "CREATE TABLE a(x INTEGER)";
constexpr const char* next = "INSERT INTO a VALUES(2)";

TEST_F(ApplyMigrations, EachStepIsAppliedOnceInOrder) {
    ASSERT_TRUE(apply_migrations(*connection_, {step(1, first)}).ok());
    for (int time = 0; time < 2; ++time)
        ASSERT_TRUE(apply_migrations(*connection_, {step(1, first), step(2, next),
                                                    step(4, "INSERT INTO a VALUES(4)")})
                        .ok());
    EXPECT_THAT(numbers("SELECT x FROM a"), ElementsAre(2, 4));
    EXPECT_THAT(numbers("SELECT number FROM schema_migrations ORDER BY number"),
                ElementsAre(1, 2, 4));
    EXPECT_THAT(numbers("SELECT count(*) FROM schema_migrations WHERE number = 2 AND sha256 = '" +
                        sha256_of(next) + "'"),
                ElementsAre(1));
}

TEST_F(ApplyMigrations, ANewerDatabaseAndAChangedStepAreRefused) {
    ASSERT_TRUE(apply_migrations(*connection_, {step(1, first), step(2, next)}).ok());
    const Status newer = apply_migrations(*connection_, {step(1, first)});
    ASSERT_FALSE(newer.ok());
    EXPECT_EQ(newer.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(newer.error().message, HasSubstr("schema 2, this program knows 1"));
    const Status changed =
        apply_migrations(*connection_, {step(1, first), step(2, "INSERT INTO a VALUES(3)")});
    ASSERT_FALSE(changed.ok());
    EXPECT_EQ(changed.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(changed.error().message, HasSubstr("step 2"));
    EXPECT_THAT(numbers("SELECT x FROM a"), ElementsAre(2));
}

TEST_F(ApplyMigrations, AFormerTextOfAStepIsAccepted) {
    ASSERT_TRUE(apply_migrations(*connection_, {step(1, first), step(2, next)}).ok());
    const std::string other = "INSERT INTO a VALUES(9)";
    EXPECT_TRUE(
        apply_migrations(*connection_, {step(1, first), step(2, other, sha256_of(next))}).ok());
    EXPECT_FALSE(
        apply_migrations(*connection_, {step(1, first), step(2, other, sha256_of(first))}).ok());
    EXPECT_THAT(numbers("SELECT x FROM a"), ElementsAre(2));
}

TEST_F(ApplyMigrations, AStepThatFailsIsAnErrorAndNotNoted) {
    EXPECT_FALSE(
        apply_migrations(*connection_, {step(1, first), step(2, "INSERT INTO none")}).ok());
    EXPECT_THAT(numbers("SELECT number FROM schema_migrations"), ElementsAre(1));
}

constexpr std::size_t released = 18;

std::string released_text(const std::vector<Migration>& migrations) {
    std::string text;
    for (std::size_t step = 0; step < released; ++step) text += migrations.at(step).sql;
    return text;
}

TEST(MigrationsTest, ReleasedStepsNeverChange) {
    EXPECT_EQ(sha256_of(released_text(postgres_migrations())),
              "72254a9485a5a493e0e55e7a8824d3d03a780891fd76f8b88d6344072b986a1a");
    EXPECT_EQ(sha256_of(released_text(sqlite_migrations())),
              "668da80f46ea01c1eed9fa2f080a4ddbb49cee8ee66b0f01f5e5d810bb3d2ab3");
}

TEST(MigrationsTest, BothDatabasesHaveTheSameSteps) {
    const auto& sqlite = sqlite_migrations();
    const auto& postgres = postgres_migrations();
    ASSERT_EQ(sqlite.size(), postgres.size());
    for (std::size_t step = 0; step < sqlite.size(); ++step) {
        EXPECT_EQ(sqlite[step].number, static_cast<int>(step + 1));
        EXPECT_EQ(postgres[step].number, static_cast<int>(step + 1));
        EXPECT_THAT(sqlite[step].sql, Not(HasSubstr("$")));
        EXPECT_THAT(postgres[step].sql, Not(HasSubstr("$")));
        EXPECT_EQ(postgres[step].former_sha256, "");
    }
}

}  // namespace
}  // namespace lagtrap::server::migrations_test
