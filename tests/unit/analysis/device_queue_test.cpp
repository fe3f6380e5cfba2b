#include "analysis/device_queue.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::device_queue_test {
namespace {

TEST(DeviceQueue, ARequestIsWhereItsLastMarkerLeftIt) {
    const std::string block = "tracepoint block:";
    EXPECT_EQ(queue_between(block + "block_rq_insert", block + "block_rq_issue"),
              "in the queue of the kernel");
    EXPECT_EQ(queue_between(block + "block_bio_queue", block + "block_rq_issue"),
              "in the queue of the kernel");
    EXPECT_EQ(queue_between(block + "block_rq_issue", block + "block_rq_complete"),
              "in the device's queue");
    EXPECT_EQ(queue_between(block + "block_rq_issue", block + "block_bio_complete"),
              "in the device's queue");
    EXPECT_EQ(queue_between(block + "block_getrq", block + "block_rq_complete"),
              "in the queues of the disk");
}

TEST(DeviceQueue, OtherMarkersAreNoQueues) {
    EXPECT_EQ(
        queue_between("tracepoint block:block_rq_complete", "tracepoint block:block_rq_issue"), "");
    EXPECT_EQ(queue_between("tracepoint block:block_rq_insert", "tracepoint block:block_getrq"),
              "");
    EXPECT_EQ(queue_between("tracepoint block:block_rq_issue", "function done"), "");
    EXPECT_EQ(queue_between("", ""), "");
}

}  // namespace
}  // namespace lagtrap::analysis::device_queue_test
