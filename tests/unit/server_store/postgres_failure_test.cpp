#include "server/store/postgres_failure.hpp"

#include <cerrno>

#include <gtest/gtest.h>

namespace lagtrap::server::postgres_failure_test {
namespace {

TEST(PostgresFailure, EachStateSaysWhetherToTryAgain) {
    struct Case {
        const char *state, *meaning;
        ErrorKind kind;
        bool repeatable;
    };
    for (const Case& one : {Case{"57014", "statement timeout", ErrorKind::Timeout, false},
                            Case{"40001", "serialization failure", ErrorKind::Busy, true},
                            Case{"40P01", "deadlock", ErrorKind::Busy, true},
                            Case{"23505", "unique violation", ErrorKind::Busy, true},
                            Case{"55P03", "lock not available", ErrorKind::Busy, false},
                            Case{"08006", "connection failure", ErrorKind::Busy, false},
                            Case{"57P01", "admin shutdown", ErrorKind::Busy, false},
                            Case{"57P03", "cannot connect now", ErrorKind::Busy, false},
                            Case{"53100", "disk full", ErrorKind::Busy, false},
                            Case{"53300", "too many connections", ErrorKind::Busy, false},
                            Case{"57000", "operator intervention", ErrorKind::System, false},
                            Case{"40002", "constraint at the end", ErrorKind::System, false},
                            Case{"42P01", "no such table", ErrorKind::System, false},
                            Case{"23502", "not null violation", ErrorKind::System, false},
                            Case{"", "none", ErrorKind::System, false}}) {
        const PostgresFailure failure = failure_of_state(one.state);
        EXPECT_EQ(failure.kind, one.kind) << one.meaning;
        EXPECT_EQ(failure.repeatable, one.repeatable) << one.meaning;
    }
}

TEST(PostgresFailure, AFullDiskIsThatOfTheDatabase) {
    EXPECT_EQ(failure_of_state("53100").system_errno, ENOSPC);
    EXPECT_EQ(failure_of_state("53200").system_errno, 0);
    EXPECT_EQ(failure_of_state("42P01").system_errno, 0);
}

}  // namespace
}  // namespace lagtrap::server::postgres_failure_test
