#include "daemon/objects/object_records.hpp"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::object_records_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

lagtrap_object_call_texts texts_of(const char* title, const char* type, const char* text) {
    lagtrap_object_call_texts texts{};
    std::strcpy(texts.title, title);
    std::strcpy(texts.thrown_type, type);
    std::strcpy(texts.thrown_text, text);
    return texts;
}

TEST(ObjectRecords, AnExceptionHasItsTypeAndText) {
    EXPECT_EQ(thrown_text(texts_of("", "St13runtime_error", "no such page")),
              "std::runtime_error: no such page");
    EXPECT_EQ(thrown_text(texts_of("", "*St13runtime_error", "")), "std::runtime_error");
    EXPECT_EQ(thrown_text(texts_of("", "no type", "text")), "no type: text");
    EXPECT_EQ(thrown_text(texts_of("", "", "text")), "");
    EXPECT_EQ(thrown_text(texts_of("", "*", "text")), "");
}

lagtrap_object_call record() {
    lagtrap_object_call made{};
    made.function = 1;
    made.tid = 2;
    made.begin_ns = 1'000;
    made.end_ns = 1'100;
    made.probes_ns = 20;
    made.off_cpu_ns = 30;
    made.object = 5;
    made.result = 6;
    made.taken_bytes = 7;
    made.given_bytes = 8;
    made.resident_pages = -9;
    made.allocations = 10;
    made.error_number = 11;
    made.state = LAGTRAP_OBJECT_CREATED;
    made.failed = 1;
    made.depth = 12;
    std::strcpy(made.comm, "work");
    return made;
}
calls::ObjectCall call_of(const lagtrap_object_call& made) {
    return object_call_of(made, nullptr, CommandLines::All, 4096);
}

TEST(ObjectRecords, ACallHasEachValueInItsField) {
    const calls::ObjectCall call = call_of(record());
    EXPECT_EQ(call.function, 1U);
    EXPECT_EQ(call.tid, 2U);
    EXPECT_EQ(call.begin_ns, 1'000U);
    EXPECT_EQ(call.end_ns, 1'100U);
    EXPECT_EQ(call.probes_ns, 20U);
    EXPECT_EQ(call.off_cpu_ns, 30U);
    EXPECT_EQ(call.object, 5U);
    EXPECT_EQ(call.result, 6U);
    EXPECT_EQ(call.taken_bytes, 7U);
    EXPECT_EQ(call.given_bytes, 8U);
    EXPECT_EQ(call.resident_bytes, -9 * 4096);
    EXPECT_EQ(call.allocations, 10U);
    EXPECT_EQ(call.error_number, 11);
    EXPECT_EQ(call.state, calls::ObjectState::Created);
    EXPECT_TRUE(call.failed);
    EXPECT_FALSE(call.left);
    EXPECT_EQ(call.depth, 12U);
    EXPECT_EQ(call.thread, "work");
    EXPECT_EQ(call.title, "");
    EXPECT_EQ(call.error, "");
}

TEST(ObjectRecords, StrangeValuesAreBounded) {
    lagtrap_object_call strange = record();
    strange.failed = 0;
    strange.left = 1;
    strange.state = 200;
    strange.probes_ns = strange.off_cpu_ns = 500;
    EXPECT_FALSE(call_of(strange).failed);
    EXPECT_TRUE(call_of(strange).left);
    EXPECT_EQ(call_of(strange).state, calls::ObjectState::Within);
    EXPECT_EQ(call_of(strange).probes_ns, 100U);
    EXPECT_EQ(call_of(strange).off_cpu_ns, 100U);
    strange.end_ns = 1;
    EXPECT_EQ(call_of(strange).end_ns, 1'000U);
}

TEST(ObjectRecords, TextsAreMaskedUnlessAllOfThemAreShown) {
    const auto texts = texts_of("page --password=secret", "St13runtime_error", "token=hidden");
    const auto all = object_call_of(record(), &texts, CommandLines::All, 4096);
    EXPECT_EQ(all.title, "page --password=secret");
    EXPECT_EQ(all.error, "std::runtime_error: token=hidden");
    const auto masked = object_call_of(record(), &texts, CommandLines::Masked, 4096);
    EXPECT_EQ(masked.title.find("secret"), std::string::npos);
    EXPECT_EQ(masked.error.find("hidden"), std::string::npos);
}

// Calls of threads 1 and 2; odd ones failed. Functions of the same tens belong together.
class Messages : public testing::Test {
  protected:
    Messages() {
        for (std::uint32_t number = 0; number < 4; ++number) {
            calls::ObjectCall call;
            call.function = number;
            call.tid = 1 + number / 2;
            call.failed = number % 2 == 1;
            taken_.calls.push_back(call);
        }
    }
    void add(std::uint32_t function, std::uint32_t tid) {
        lagtrap_object_message message{};
        message.function = function;
        message.tid = tid;
        message.at_ns = 77;
        std::strcpy(message.text, "disk full");
        add_message(
            taken_, message,
            [](std::uint32_t failed, std::uint32_t reported) {
                return failed / 10 == reported / 10;
            },
            CommandLines::All);
    }
    std::vector<std::string> errors() const {
        std::vector<std::string> all;
        for (const calls::ObjectCall& call : taken_.calls) all.push_back(call.error);
        return all;
    }
    TakenObjects taken_;
};

TEST_F(Messages, BelongToTheThreadsLastFailure) {
    add(9, 1);
    EXPECT_THAT(errors(), ElementsAre("", "disk full", "", ""));
    add(9, 2);
    EXPECT_THAT(errors(), ElementsAre("", "disk full", "", "disk full"));
    EXPECT_THAT(taken_.messages, IsEmpty());
}

TEST_F(Messages, DoNotReplaceWhatIsKnown) {
    taken_.calls[1].error = "thrown";
    add(9, 1);
    EXPECT_EQ(taken_.calls[1].error, "thrown");
    taken_.calls[3].left = true;
    add(9, 2);
    EXPECT_EQ(taken_.calls[3].error, "");
    EXPECT_THAT(taken_.messages, IsEmpty());
}

TEST_F(Messages, MayBeAboutAFailureThatWasReportedBefore) {
    add(10, 1);
    add(9, 3);
    EXPECT_THAT(errors(), ElementsAre("", "", "", ""));
    ASSERT_EQ(taken_.messages.size(), 2U);
    EXPECT_EQ(taken_.messages[0].function, 10U);
    EXPECT_EQ(taken_.messages[0].tid, 1U);
    EXPECT_EQ(taken_.messages[0].at_ns, 77U);
    EXPECT_EQ(taken_.messages[0].text, "disk full");
    EXPECT_EQ(taken_.messages[1].tid, 3U);
}

TEST(ObjectRecords, AClassCountsItsLivingObjects) {
    lagtrap_object_class counted{};
    counted.created = 100;
    counted.released = 10;
    counted.failures = 3;
    counted.released_twice = 4;
    counted.used_after = 5;
    counted.unknown = 6;
    counted.replaced = 7;
    counted.not_followed = 8;
    const calls::ClassCounts counts = class_counts_of(counted);
    EXPECT_EQ(counts.created, 100U);
    EXPECT_EQ(counts.alive, 75U);
    EXPECT_EQ(counts.released, 10U);
    EXPECT_EQ(counts.failures, 3U);
    EXPECT_EQ(counts.released_twice, 4U);
    EXPECT_EQ(counts.used_after, 5U);
    EXPECT_EQ(counts.unknown, 6U);
    EXPECT_EQ(counts.replaced, 7U);
    EXPECT_EQ(counts.not_followed, 8U);
    counted.released = 1'000;
    EXPECT_EQ(class_counts_of(counted).alive, 0U);
}

lagtrap_object_alive alive(std::uint32_t class_number, std::uint64_t created_ns) {
    lagtrap_object_alive made{};
    made.class_number = class_number;
    made.created_ns = created_ns;
    return made;
}

TEST(OldestObjects, AreThoseOfEachClassTheOldestFirst) {
    OldestObjects oldest(2, 1'000, CommandLines::All);
    std::uint64_t object = 0;
    for (const auto& one :
         {alive(1, 300), alive(0, 900), alive(1, 100), alive(1, 200), alive(1, 400)})
        oldest.add({++object, 0, 0}, one);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
    for (const AgedObject& one : oldest.take())
        found.emplace_back(one.object.class_number, one.object.age_ns);
    EXPECT_THAT(found, ElementsAre(std::pair(0U, 100U), std::pair(1U, 900U), std::pair(1U, 800U)));
    EXPECT_THAT(oldest.take(), IsEmpty());
}

TEST(OldestObjects, HaveEachValueInItsField) {
    lagtrap_object_alive made = alive(1, 600);
    made.caller = 2;
    made.uses = 3;
    made.bytes = -4;
    made.function = 5;
    made.tid = 6;
    made.stack = 7;
    made.shares_stack = 1;
    std::strcpy(made.title, "page 1");
    OldestObjects oldest(10, 1'000, CommandLines::All);
    oldest.add({8, 0, 0}, made);
    made.created_ns = 2'000;
    made.shares_stack = 0;
    oldest.add({9, 0, 0}, made);
    const auto found = oldest.take();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].object.class_number, 1U);
    EXPECT_EQ(found[0].object.function, 5U);
    EXPECT_EQ(found[0].object.tid, 6U);
    EXPECT_EQ(found[0].object.object, 8U);
    EXPECT_EQ(found[0].object.age_ns, 400U);
    EXPECT_EQ(found[0].object.uses, 3U);
    EXPECT_EQ(found[0].object.bytes, -4);
    EXPECT_EQ(found[0].object.title, "page 1");
    EXPECT_EQ(found[0].object.stack, 0U);
    EXPECT_TRUE(found[0].object.shares_stack);
    EXPECT_EQ(found[0].caller, 2U);
    EXPECT_EQ(found[0].stack, 7U);
    EXPECT_EQ(found[1].object.age_ns, 0U) << "not younger than now";
    EXPECT_FALSE(found[1].object.shares_stack);
}

class AllocatorProbes : public testing::Test {
  protected:
    static constexpr std::uint32_t first = 10;

    void add(std::uint64_t entry, lagtrap_memory_kind kind) {
        MemoryFunction one;
        one.entry = entry;
        one.kind = kind;
        one.size_from = 7;
        plan_.memory.push_back(one);
    }
    static std::vector<std::uint64_t> offsets_of(const std::vector<CallProbe>& probes) {
        std::vector<std::uint64_t> offsets;
        for (const CallProbe& probe : probes) offsets.push_back(probe.offset);
        return offsets;
    }
    [[nodiscard]] MemoryProbes probes() const { return memory_probes(plan_, first); }

    ObjectPlan plan_;
};

TEST_F(AllocatorProbes, ArePlacedWhereTheSizeOrTheBlockIsKnown) {
    add(0x100, LAGTRAP_MEMORY_TAKE);
    add(0x200, LAGTRAP_MEMORY_GIVE);
    add(0x300, LAGTRAP_MEMORY_CHANGE);
    add(0x400, LAGTRAP_MEMORY_TAKE_BEHIND);
    EXPECT_THAT(offsets_of(probes().entries), ElementsAre(0x200, 0x300, 0x400));
    EXPECT_THAT(offsets_of(probes().returns), ElementsAre(0x100, 0x300, 0x400));
    EXPECT_THAT(probes().exits, IsEmpty());
    EXPECT_THAT(probes().returns[0].functions, ElementsAre(10));
    EXPECT_THAT(probes().entries[2].functions, ElementsAre(13));
    plan_.memory_by_request = true;
    EXPECT_THAT(offsets_of(probes().entries), ElementsAre(0x100, 0x200, 0x300, 0x400));
    plan_.jumps.push_back({0, 0x50});
    EXPECT_THAT(offsets_of(probes().returns), ElementsAre(0x100, 0x200, 0x300, 0x400))
        << "a function that jumps to free ends there";
}

TEST_F(AllocatorProbes, HaveCookiesWithKindAndSize) {
    add(0x300, LAGTRAP_MEMORY_CHANGE);
    plan_.memory[0].size_from = 6;
    EXPECT_EQ(probes().entries.at(0).cookie,
              10 | std::uint64_t{LAGTRAP_MEMORY_CHANGE} << LAGTRAP_COOKIE_MEMORY_SHIFT |
                  6ULL << LAGTRAP_COOKIE_SIZE_SHIFT);
    plan_.memory[0].size_times = true;
    EXPECT_EQ(probes().returns.at(0).cookie,
              10 | std::uint64_t{LAGTRAP_MEMORY_CHANGE} << LAGTRAP_COOKIE_MEMORY_SHIFT |
                  6ULL << LAGTRAP_COOKIE_SIZE_SHIFT | LAGTRAP_COOKIE_SIZE_TIMES);
}

TEST_F(AllocatorProbes, FunctionsMayShareAnExit) {
    add(0x100, LAGTRAP_MEMORY_TAKE);
    add(0x200, LAGTRAP_MEMORY_TAKE);
    plan_.memory[0].exits = {{.file_offset = 0x180}, {.file_offset = 0x110}};
    plan_.memory[1].exits = {{.file_offset = 0x180}};
    EXPECT_THAT(probes().returns, IsEmpty());
    const auto exits = probes().exits;
    EXPECT_THAT(offsets_of(exits), ElementsAre(0x110, 0x180));
    EXPECT_THAT(exits[0].functions, ElementsAre(10));
    EXPECT_THAT(exits[1].functions, ElementsAre(10, 11));
    EXPECT_EQ(exits[1].cookie & 0xffffffff, 10U);
}

TEST_F(AllocatorProbes, JumpsAreByFile) {
    plan_.functions.resize(3);
    plan_.functions[1].file = 4;
    plan_.jumps = {{0, 0x50}, {1, 0x60}, {2, 0x70}};
    const auto jumps = jump_probes(plan_);
    ASSERT_EQ(jumps.size(), 2U);
    EXPECT_THAT(offsets_of(jumps.at(0)), ElementsAre(0x50, 0x70));
    EXPECT_THAT(offsets_of(jumps.at(4)), ElementsAre(0x60));
    EXPECT_EQ(jumps.at(4)[0].cookie, 1U);
    EXPECT_THAT(jumps.at(4)[0].functions, ElementsAre(1));
}

}  // namespace
}  // namespace lagtrap::daemon::object_records_test
