#include "daemon/capture/record_exchange.hpp"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace lagtrap::daemon::record_exchange_test {
namespace {

using namespace std::chrono_literals;

RecordBuffer records(int count) {
    RecordBuffer buffer;
    for (int i = 0; i < count; ++i) {
        lagtrap_record record{};
        record.type = LAGTRAP_RECORD_NAME;
        buffer.append(&record, sizeof(record), "");
    }
    return buffer;
}

int count_of(const RecordBuffer& buffer) {
    int count = 0;
    buffer.for_each([&](const lagtrap_record*) { ++count; });
    return count;
}

TEST(RecordExchange, GivesEventsAndRecordsOnce) {
    RecordExchange exchange;
    exchange.add(records(2));
    exchange.add(records(1));
    const RecordExchange::Next next = exchange.next();
    EXPECT_EQ(count_of(next.events), 3);
    EXPECT_FALSE(next.last);
    exchange.deliver(records(4));
    exchange.deliver(records(1));
    EXPECT_EQ(count_of(exchange.take_records()), 5);
    EXPECT_TRUE(exchange.take_records().empty());
    EXPECT_FALSE(exchange.wait_for_last(0ms));
}

TEST(RecordExchange, TheLastEventsAreThoseBeforeTheEnd) {
    RecordExchange exchange;
    std::thread thread([&] {
        for (bool last = false; !last;) {
            const RecordExchange::Next next = exchange.next();
            last = next.last;
            exchange.deliver(next.events, last);
        }
    });
    exchange.add({});  // wakes nobody
    exchange.add(records(2));
    exchange.add(records(3));
    exchange.end();
    EXPECT_TRUE(exchange.wait_for_last(60s));
    thread.join();
    EXPECT_EQ(count_of(exchange.take_records()), 5);
}

}  // namespace
}  // namespace lagtrap::daemon::record_exchange_test
