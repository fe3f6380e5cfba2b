#include "server/store/object_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::object_store_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ObjectStoreTest : public StoreTest {
  protected:
    struct Part {
        std::string watch = "w";
        std::uint32_t number = 1;
        std::string lines = "{}\n";
        std::uint64_t lost = 0;
        bool last = false;
        std::uint64_t at_ns = monday;
    };
    void add(const Part& made) {
        trace::RunBatch batch;
        batch.host = "ho\x1bst";
        trace::ObjectsPart& part = batch.objects.emplace();
        part.watch_id = made.watch;
        part.number = made.number;
        part.pid = 7;
        part.process =
            "pro\x1b"
            "cess";
        part.last = made.last;
        part.lost_lines = made.lost;
        part.lines = made.lines;
        const auto added = store_->batches().add_batch(receipt_of(++batches_, made.at_ns), batch);
        ASSERT_TRUE(added.ok()) << added.error().message;
    }
    ObjectWatch watch(const std::string& id = "w") {
        auto found = must(store_->objects().object_watch(id));
        EXPECT_TRUE(found.has_value());
        return found.value_or(ObjectWatch{});
    }
    std::vector<std::uint32_t> numbers(std::uint32_t after, std::uint64_t limit_bytes) {
        std::vector<std::uint32_t> found;
        for (const StoredObjectsPart& part :
             must(store_->objects().objects_parts("w", after, limit_bytes)))
            found.push_back(part.number);
        return found;
    }
    std::vector<std::string> watches(std::uint32_t limit) {
        std::vector<std::string> found;
        for (const ObjectWatch& one : must(store_->objects().object_watches(limit)))
            found.push_back(one.id);
        return found;
    }

    std::uint64_t batches_ = 0;
};

TEST_F(ObjectStoreTest, AWatchIsAsItsPartsSay) {
    add({.number = 2, .lost = 4, .at_ns = monday + 5});
    const ObjectWatch first = watch();
    EXPECT_FALSE(first.ended);
    EXPECT_FALSE(first.began_realtime_ns.has_value());
    EXPECT_THAT(first.classes, IsEmpty());
    EXPECT_EQ(first.calls, 0U);
    EXPECT_EQ(first.failures, 0U);
    EXPECT_EQ(first.not_reported, 0U);
    add({.number = 3, .lost = UINT64_MAX, .last = true, .at_ns = monday + 9});
    add({.number = 1, .at_ns = monday + 7});
    const ObjectWatch now = watch();
    EXPECT_EQ(now.host, "ho\\x1bst");
    EXPECT_EQ(now.process,
              "pro\\x1b"
              "cess");
    EXPECT_EQ(now.pid, 7U);
    EXPECT_EQ(now.first_realtime_ns, monday + 5);
    EXPECT_EQ(now.last_realtime_ns, monday + 7) << "when the last one arrived";
    EXPECT_EQ(now.parts, 3U);
    EXPECT_TRUE(now.ended) << "an earlier part that comes later does not go on";
    EXPECT_EQ(now.received_parts, 3U);
    EXPECT_EQ(now.lost_lines, 4U + (1ULL << 30)) << "a hostile number is limited";
    const auto parts = must(store_->objects().objects_parts("w", 2, 1));
    ASSERT_THAT(parts, SizeIs(1));
    EXPECT_TRUE(parts[0].last);
    EXPECT_EQ(parts[0].lost_lines, static_cast<std::uint64_t>(INT64_MAX));
    EXPECT_FALSE(must(store_->objects().object_watch("none")).has_value());
}

TEST_F(ObjectStoreTest, PartsAreGivenUpToTheLimitOfBytes) {
    for (std::uint32_t number = 1; number <= 4; ++number)
        add({.number = number, .lines = std::string(10, 'x')});
    EXPECT_THAT(numbers(0, 1), ElementsAre(1));
    EXPECT_THAT(numbers(0, 10), ElementsAre(1));
    EXPECT_THAT(numbers(0, 11), ElementsAre(1, 2));
    EXPECT_THAT(numbers(1, 1000), ElementsAre(2, 3, 4));
    EXPECT_THAT(numbers(4, 1000), IsEmpty());
    EXPECT_THAT(numbers(0, 0), IsEmpty());
}

TEST_F(ObjectStoreTest, TheMostRecentlyUpdatedComesFirst) {
    add({.watch = "b", .at_ns = monday + 1});
    add({.watch = "a", .at_ns = monday + 1});
    add({.watch = "c", .at_ns = monday + 2});
    EXPECT_THAT(watches(10), ElementsAre("c", "a", "b"));
    add({.watch = "b", .number = 2, .at_ns = monday + 3});
    EXPECT_THAT(watches(2), ElementsAre("b", "c"));
}

TEST_F(ObjectStoreTest, AThousandWatchesAreKept) {
    ASSERT_TRUE(backend_
                    ->script("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                             "i < 1000) INSERT INTO objects_watch(id, host, sender, process, pid, "
                             "first_ns, last_ns, parts, ended, bytes) SELECT 'old ' || i, '', '', "
                             "'', 1, i, i, 1, 0, 1 FROM n")
                    .ok());
    add({.watch = "new"});
    const auto found = watches(2000);
    ASSERT_THAT(found, SizeIs(1000));
    EXPECT_EQ(found.front(), "new");
    EXPECT_EQ(found.back(), "old 2");
}

TEST_F(ObjectStoreTest, OfAWatchWithoutCountersNothingIsCounted) {
    ASSERT_TRUE(backend_
                    ->script("INSERT INTO objects_watch(id, host, sender, process, pid, first_ns, "
                             "last_ns, parts, ended, bytes, classes) VALUES('old', '', '', '', 1, "
                             "1, 1, 1, 0, 1, '')")
                    .ok());
    const ObjectWatch old = watch("old");
    EXPECT_FALSE(old.calls.has_value());
    EXPECT_FALSE(old.failures.has_value());
    EXPECT_FALSE(old.lost_lines.has_value());
    EXPECT_FALSE(old.received_parts.has_value());
}

TEST_F(ObjectStoreTest, SixteenMebibytesOfTheNewestPartsAreKept) {
    const std::string four_mebibytes(4 << 20, 'x');
    add({.number = 1, .lines = four_mebibytes});
    for (std::uint32_t number = 2; number <= 5; ++number)
        add({.number = number, .lines = four_mebibytes});
    EXPECT_THAT(numbers(0, 1 << 30), ElementsAre(1, 2, 3, 4, 5)) << "exactly what fits";
    add({.number = 6});
    EXPECT_THAT(numbers(0, 1 << 30), ElementsAre(1, 3, 4, 5, 6));
}

}  // namespace
}  // namespace lagtrap::server::object_store_test
