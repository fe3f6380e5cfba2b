#include "core/result.hpp"

#include <gtest/gtest.h>

#include "core/json_number.hpp"

namespace lagtrap::result_test {
namespace {

TEST(SystemError, HasTheKindOfItsNumber) {
    const std::pair<int, ErrorKind> kinds[] = {
        {ENOENT, ErrorKind::NotFound},    {ESRCH, ErrorKind::Vanished},
        {EACCES, ErrorKind::Denied},      {EPERM, ErrorKind::Denied},
        {EBUSY, ErrorKind::Busy},         {EAGAIN, ErrorKind::Busy},
        {ENOSYS, ErrorKind::Unsupported}, {EOPNOTSUPP, ErrorKind::Unsupported},
        {EIO, ErrorKind::System},         {ENOSPC, ErrorKind::System}};
    for (const auto& [number, kind] : kinds) {
        const Error error = system_error("read x", number);
        EXPECT_EQ(error.kind, kind) << number;
        EXPECT_EQ(error.system_errno, number);
        EXPECT_EQ(error.message, std::string("read x: ") + std::strerror(number));
    }
    errno = EACCES;
    EXPECT_EQ(system_error("x").system_errno, EACCES);
}

TEST(ErrorWithin, KeepsKindAndNumber) {
    const Error error = system_error("read x", ENOENT).within("open the capture");
    EXPECT_EQ(error.kind, ErrorKind::NotFound);
    EXPECT_EQ(error.system_errno, ENOENT);
    EXPECT_EQ(error.message, "open the capture: read x: No such file or directory");
    EXPECT_EQ(make_error(ErrorKind::Busy, "later").system_errno, 0);
}

Result<int> doubled(const Result<int>& number) {
    TRY_ASSIGN(const int value, number);
    return value * 2;
}

Status passed_on(const Status& status) {
    TRY(status);
    return make_error(ErrorKind::Busy, "went on");
}

TEST(Result, IsAValueOrAnErrorThatIsPassedOn) {
    EXPECT_EQ(doubled(21).value(), 42);
    const auto failed = doubled(make_error(ErrorKind::Denied, "no"));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind, ErrorKind::Denied);
    EXPECT_EQ(failed.error().message, "no");
    EXPECT_EQ(passed_on(success()).error().message, "went on");
    EXPECT_EQ(passed_on(make_error(ErrorKind::Denied, "no")).error().message, "no");
    EXPECT_THROW((void)failed.value(), std::bad_variant_access);
}

TEST(JsonNumber, IsExactInEveryReader) {
    constexpr std::uint64_t most = 9'007'199'254'740'991;
    EXPECT_EQ(json_number(most), most);
    EXPECT_EQ(json_number(most + 1), most);
    EXPECT_EQ(json_number(UINT64_MAX), most);
    EXPECT_EQ(json_number(std::uint64_t{0}), 0U);
    EXPECT_EQ(json_number(std::int64_t{-5}), -5);
    EXPECT_EQ(json_number(INT64_MAX), static_cast<std::int64_t>(most));
    EXPECT_EQ(json_number(INT64_MIN), -static_cast<std::int64_t>(most));
}

}  // namespace
}  // namespace lagtrap::result_test
