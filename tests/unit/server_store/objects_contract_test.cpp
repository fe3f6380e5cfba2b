#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "calls/object_stream.hpp"
#include "server/store/object_figures.hpp"
#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::objects_contract_test {
namespace {

const std::string watch = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
const std::string another = "1b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";

class ObjectsContract : public StoreTest {
  protected:
    Result<AddOutcome> add(const std::string& id, std::uint32_t number, std::string lines = "{}\n",
                           const std::string& host = "web1", const std::string& sender = "web",
                           bool last = false) {
        trace::RunBatch batch;
        batch.host = host;
        trace::ObjectsPart& part = batch.objects.emplace();
        part.watch_id = id;
        part.number = number;
        part.pid = 7;
        part.process = "shop";
        part.last = last;
        part.lost_lines = number;
        part.lines = std::move(lines);
        std::string digest = std::to_string(++digests_);
        digest.insert(0, 64 - digest.size(), '0');
        return store_->batches().add_batch({digest, 10, now_ += second, sender}, batch);
    }
    std::string numbers(std::uint32_t after = 0, std::uint64_t limit_bytes = 1 << 30) {
        std::string text;
        for (const StoredObjectsPart& part :
             must(store_->objects().objects_parts(watch, after, limit_bytes)))
            text += std::to_string(part.number) + (part.last ? ". " : " ");
        return text;
    }

    std::uint64_t now_ = monday;
    int digests_ = 0;
};

TEST_F(ObjectsContract, PartsComeInAnyOrderAndAreGivenInTheirs) {
    for (const std::uint32_t number : {1U, 3U, 2U}) EXPECT_TRUE(add(watch, number));
    EXPECT_TRUE(add(watch, 4, "{\"a\":1}\n", "web1", "web", true));
    EXPECT_EQ(numbers(), "1 2 3 4. ");
    EXPECT_EQ(numbers(2), "3 4. ");
    EXPECT_EQ(numbers(0, 1), "1 ") << "one at least, however little fits";
    EXPECT_EQ(numbers(4), "");
    const auto parts = must(store_->objects().objects_parts(watch, 3, 1));
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].lines, "{\"a\":1}\n");
    EXPECT_EQ(parts[0].lost_lines, 4U);
    const auto watches = must(store_->objects().object_watches(10));
    ASSERT_EQ(watches.size(), 1U);
    EXPECT_EQ(watches[0].id, watch);
    EXPECT_EQ(watches[0].host, "web1");
    EXPECT_EQ(watches[0].process, "shop");
    EXPECT_EQ(watches[0].pid, 7U);
    EXPECT_EQ(watches[0].parts, 4U);
    EXPECT_EQ(watches[0].first_realtime_ns, monday + second);
    EXPECT_EQ(watches[0].last_realtime_ns, monday + 4 * second);
    EXPECT_TRUE(watches[0].ended);
}

// Lines as the daemon writes them.
std::string reported_lines(bool first, std::uint64_t calls, std::optional<std::uint64_t> failures) {
    std::string lines;
    const auto add_line = [&](const boost::json::object& object) {
        lines += boost::json::serialize(object) + "\n";
    };
    if (first) {
        calls::ObjectsStarted started;
        started.began_realtime_ns = monday - 5;
        for (int number = 0; number < 25; ++number)
            started.classes.push_back("Class" + std::to_string(number));
        started.functions.resize(1);
        add_line(calls::to_json(started));
    }
    add_line(calls::to_json(std::vector<calls::ObjectCall>(calls)));
    calls::ObjectCounts counts;
    counts.classes.resize(2);
    counts.classes[0].failures = 1;
    counts.classes[1].failures = failures.value_or(1) - 1;
    if (failures) add_line(calls::to_json(counts));
    return lines;
}

TEST_F(ObjectsContract, AWatchHasTheFiguresOfThePartsThatCame) {
    EXPECT_FALSE(must(store_->objects().object_watch(watch)));
    EXPECT_TRUE(add(watch, 1, reported_lines(true, 3, 2)));
    EXPECT_TRUE(add(watch, 4, reported_lines(false, 5, 9)));
    // Older figures that arrive later do not replace newer ones, and a part that exists does not
    // count again.
    EXPECT_TRUE(add(watch, 2, reported_lines(false, 1, 4)));
    EXPECT_TRUE(add(watch, 2, reported_lines(false, 100, 400)));
    const auto found = must(store_->objects().object_watch(watch));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->began_realtime_ns, monday - 5);
    EXPECT_EQ(found->classes.size(), watch_classes_limit);
    EXPECT_EQ(found->classes.front(), "Class0");
    EXPECT_EQ(found->class_count, 25U);
    EXPECT_EQ(found->calls, 9U);
    EXPECT_EQ(found->failures, 9U);
    EXPECT_EQ(found->lost_lines, 7U);
    EXPECT_EQ(found->parts, 4U);
    EXPECT_EQ(found->received_parts, 3U);
    const auto listed = must(store_->objects().object_watches(10));
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].failures, 9U);
}

TEST_F(ObjectsContract, FiguresAreThoseOfPartsThatAreKeptNoLongerToo) {
    const std::string large = "{\"odd\":\"" + std::string(5 << 20, 'x') + "\"}\n";
    EXPECT_TRUE(add(watch, 1, reported_lines(true, 1, {})));
    for (std::uint32_t number = 2; number <= 6; ++number)
        EXPECT_TRUE(add(watch, number, large + reported_lines(false, 1, 1)));
    EXPECT_EQ(numbers(), "1 4 5 6 ");
    const auto found = must(store_->objects().object_watch(watch));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->calls, 6U);
    EXPECT_EQ(found->received_parts, 6U);
}

TEST_F(ObjectsContract, AWatchIsItsFirstSenders) {
    EXPECT_TRUE(add(watch, 1));
    for (const auto& refused :
         {add(watch, 2, "{}\n", "web2"), add(watch, 2, "{}\n", "web1", "other")}) {
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
    }
    EXPECT_EQ(numbers(), "1 ");
    EXPECT_TRUE(add(watch, 1, "{\"again\":1}\n")) << "a part that is there stays as it is";
    EXPECT_EQ(must(store_->objects().objects_parts(watch, 0, 1))[0].lines, "{}\n");
}

TEST_F(ObjectsContract, TheFirstPartAndTheNewestAreKept) {
    EXPECT_TRUE(add(watch, 1));
    const std::string large(5 << 20, 'x');
    for (std::uint32_t number = 2; number <= 6; ++number) EXPECT_TRUE(add(watch, number, large));
    EXPECT_EQ(numbers(), "1 4 5 6 ");
}

TEST_F(ObjectsContract, OfAllWatchesTheOldestGo) {
    const std::string large(8 << 20, 'x');
    for (int one = 10; one < 45; ++one)
        EXPECT_TRUE(add(std::to_string(one) + watch.substr(2), 1, large));
    const auto watches = must(store_->objects().object_watches(1000));
    EXPECT_EQ(watches.size(), object_watches_limit_bytes / large.size());
    EXPECT_EQ(watches.front().id, "44" + watch.substr(2));
    EXPECT_TRUE(must(store_->objects().objects_parts("10" + watch.substr(2), 0, 1)).empty());
}

TEST_F(ObjectsContract, AWatchGoesAWeekAfterItsLastPart) {
    EXPECT_TRUE(add(watch, 1));
    now_ += 3 * day;
    EXPECT_TRUE(add(another, 1));
    ASSERT_TRUE(store_->upkeep().maintain(now_ + 5 * day));
    const auto watches = must(store_->objects().object_watches(10));
    ASSERT_EQ(watches.size(), 1U);
    EXPECT_EQ(watches[0].id, another);
    EXPECT_EQ(numbers(), "");
}

}  // namespace
}  // namespace lagtrap::server::objects_contract_test
