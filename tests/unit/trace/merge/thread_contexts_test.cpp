#include "trace/merge/thread_contexts.hpp"

#include <cstring>

#include <gmock/gmock.h>

#include "tests/unit/trace/packets_fixture.hpp"

namespace lagtrap::trace::thread_contexts_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t pid = 10, tid = 11;

// A record with what follows it.
template <typename Record>
class Whole {
  public:
    Whole(const Record& record, const std::string& rest)
        : words_((sizeof(record) + rest.size() + 7) / 8) {
        std::memcpy(words_.data(), &record, sizeof(record));
        std::memcpy(reinterpret_cast<char*>(words_.data()) + sizeof(record), rest.data(),
                    rest.size());
    }
    [[nodiscard]] const Record& operator*() const {
        return *reinterpret_cast<const Record*>(words_.data());
    }

  private:
    std::vector<std::uint64_t> words_;
};

Whole<lagtrap_context> context(std::uint64_t at_ns, int trace, int span,
                               const std::string& attributes = "") {
    lagtrap_context record{};
    record.header.at_ns = at_ns;
    record.header.cpu = 3;
    record.pid = pid;
    record.tid = tid;
    record.trace_id[0] = static_cast<std::uint8_t>(trace);
    record.span_id[7] = static_cast<std::uint8_t>(span);
    record.attribute_bytes = static_cast<std::uint16_t>(attributes.size());
    return {record, attributes};
}

Whole<lagtrap_context_keys> keys(std::uint32_t of_pid, const std::string& names) {
    lagtrap_context_keys record{};
    record.pid = of_pid;
    record.text_bytes = static_cast<std::uint32_t>(names.size());
    return {record, names};
}

std::string attribute(int key, const std::string& value) {
    return std::string{static_cast<char>(key), static_cast<char>(value.size())} + value;
}

std::string trace(int number) {
    constexpr const char* digits = "0123456789abcdef";
    return std::string{digits[number / 16], digits[number % 16]} + std::string(30, '0');
}

class ThreadContextsTest : public Packets {
  protected:
    std::string trace_of(std::uint64_t begin_ns, std::uint64_t end_ns) {
        return contexts_.trace_of(tid, begin_ns, end_ns).trace_id;
    }
    ThreadContexts contexts_;
};

TEST_F(ThreadContextsTest, HaveTheNamesThatTheirProcessGave) {
    contexts_.take(*keys(pid, std::string("http.route\0\0tenant\0", 19)));
    const std::string attributes = attribute(0, "GET /a\n") + attribute(1, "secret") +
                                   attribute(2, "B") + attribute(3, "of no name") +
                                   attribute(2, "C");
    const std::vector<ContextAttribute> expected{{"http.route", "GET /a\\x0a"}, {"tenant", "C"}};
    EXPECT_EQ(contexts_.attributes_of(*context(5, 1, 1, attributes)), expected);
    EXPECT_EQ(contexts_.attributes_of(*context(5, 1, 1, attributes + "\x02\x05" + "abcd")),
              expected)
        << "the last one is not complete";
    EXPECT_EQ(contexts_.attributes_of(*context(5, 1, 1, attributes + "\x02")), expected);
    contexts_.take(*keys(pid, std::string("a\0b\0tenant\0", 11)));
    EXPECT_EQ(contexts_.attributes_of(*context(5, 1, 1, attribute(1, "x"))),
              (std::vector<ContextAttribute>{{"b", "x"}}))
        << "names were added";
    ThreadContexts others;
    others.take(*keys(12, std::string("http.route\0", 11)));
    EXPECT_THAT(others.attributes_of(*context(5, 1, 1, attributes)), IsEmpty());
}

TEST_F(ThreadContextsTest, NameTheTraceThatAThreadWorkedForMostOfTheTime) {
    EXPECT_EQ(trace_of(0, 100), "");
    contexts_.take(*context(100, 0x4f, 1));
    contexts_.take(*context(150, 0x5a, 2));
    contexts_.take(*context(170, 0x4f, 3));
    contexts_.take(*context(200, 0, 0));
    EXPECT_EQ(trace_of(100, 200), trace(0x4f));
    EXPECT_EQ(trace_of(140, 175), trace(0x5a));
    EXPECT_EQ(trace_of(60, 100), trace(0x4f)) << "seen only at the end";
    EXPECT_EQ(trace_of(0, 99), "");
    EXPECT_EQ(trace_of(201, 300), "");
    EXPECT_EQ(contexts_.trace_of(12, 100, 200), TraceContext{});
    EXPECT_EQ(contexts_.trace_of(tid, 100, 200).parent_span_id, "0000000000000003");
    contexts_.take(*context(300, 0x4f, 4));
    EXPECT_EQ(trace_of(310, 400), trace(0x4f)) << "it goes on";
}

TEST_F(ThreadContextsTest, WithoutATraceAreNone) {
    contexts_.take(*context(100, 0, 1));
    EXPECT_EQ(trace_of(100, 200), "");
}

TEST_F(ThreadContextsTest, AreWrittenAsPackets) {
    write_context(*context(5, 0x4f, 1), {{"tenant", "B"}}, 1005, writer_);
    write_context(*context(6, 0, 0), {{"tenant", "B"}}, 1006, writer_);
    EXPECT_THAT(packets("context{"),
                ElementsAre("19 1005 flags=1 context{tid=11 trace_id='" + trace(0x4f) +
                                "' span_id='0000000000000001' attribute{name='tenant' "
                                "value='B'}}",
                            "19 1006 context{tid=11}"));
}

TEST_F(ThreadContextsTest, AreKeptUpToALimit) {
    for (std::uint32_t of_pid = 1; of_pid <= ThreadContexts::processes_limit; ++of_pid)
        contexts_.take(*keys(1'000 + of_pid, std::string("a\0", 2)));
    contexts_.take(*keys(pid, std::string("one too many\0", 13)));
    contexts_.take(*keys(1'001, std::string("b\0", 2)));
    EXPECT_THAT(contexts_.attributes_of(*context(5, 1, 1, attribute(0, "x"))), IsEmpty());
    lagtrap_context known{};
    known.pid = 1'001;
    known.attribute_bytes = 3;
    EXPECT_EQ(contexts_.attributes_of(*Whole<lagtrap_context>(known, attribute(0, "x"))),
              (std::vector<ContextAttribute>{{"b", "x"}}));
    for (std::uint64_t i = 1; i < ThreadContexts::contexts_limit; ++i)
        contexts_.take(*context(100, 0, 0));
    contexts_.take(*context(100, 0x4f, 1));
    EXPECT_EQ(trace_of(100, 200), trace(0x4f));
    contexts_.take(*context(101, 0x5a, 1));
    EXPECT_EQ(trace_of(100, 200), trace(0x4f)) << "one too many";
}

}  // namespace
}  // namespace lagtrap::trace::thread_contexts_test
