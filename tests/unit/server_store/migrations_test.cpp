#include "server/store/migrations.hpp"

#include <cstddef>

#include <gmock/gmock.h>

#include "core/digest.hpp"

namespace lagtrap::server::migrations_test {
namespace {

using testing::HasSubstr;
using testing::Not;

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
