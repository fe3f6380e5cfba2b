#include "server/store/s3_client.hpp"

#include <cerrno>

#include <gtest/gtest.h>

namespace lagtrap::server::s3_client_test {
namespace {

Error error_of(long status, const std::string& code = {}) {
    S3Answer answer;
    answer.status = status;
    answer.error_code = code;
    return s3_error("PUT", answer);
}

TEST(S3Error, SaysWhatTheStoreAnswered) {
    EXPECT_EQ(error_of(403, "AccessDenied").message, "S3 store: PUT: status 403 AccessDenied");
    EXPECT_EQ(error_of(500).message, "S3 store: PUT: status 500");
}

TEST(S3Error, IsOfTheKindOfItsStatus) {
    EXPECT_EQ(error_of(400).kind, ErrorKind::System);
    EXPECT_EQ(error_of(403).kind, ErrorKind::Denied);
    EXPECT_EQ(error_of(404).kind, ErrorKind::NotFound);
    EXPECT_EQ(error_of(429).kind, ErrorKind::Busy);
    EXPECT_EQ(error_of(499).kind, ErrorKind::System);
    for (const long status : {500, 503, 507}) EXPECT_EQ(error_of(status).kind, ErrorKind::Busy);
}

TEST(S3Error, AFullStoreIsAFullDisk) {
    EXPECT_EQ(error_of(507).system_errno, ENOSPC);
    EXPECT_EQ(error_of(403, "QuotaExceeded").system_errno, ENOSPC);
    EXPECT_EQ(error_of(503, "SlowDown").system_errno, 0);
}

}  // namespace
}  // namespace lagtrap::server::s3_client_test
