// What threads work for, as their programs publish it.
#include "tests/unit/bpf_recorder/recorder.hpp"

namespace lagtrap::native::thread_context_test {

namespace {

constexpr std::uint64_t thread_pointer = 0x7f0000001000, context_at = 0x7f0000002000;
constexpr std::uint64_t head_bytes = 28;
constexpr lagtrap_context_place place_below{-64, 0, 0, 0, 0};

// In the order of the program's memory.
struct Context {
    std::uint64_t trace[2] = {0x1111, 0x2222};
    std::uint64_t span = 0x3333;
    std::uint8_t valid = 1;
    std::string attributes = {};
    int attribute_bytes = -1;  // if it is not their size
};

class ThreadContexts : public Recorder {
  protected:
    ThreadContexts() { publish(100, place_below); }
    void publish(std::uint32_t pid, const lagtrap_context_place& place) {
        ASSERT_EQ(native_update(recorder_maps.context_places, &pid, &place), 0);
        contexts_published = 1;
    }
    void set_word(std::uint64_t address, std::uint64_t word) { kernel_.user_words[address] = word; }
    void set_context(std::uint64_t at, const Context& context) {
        set_word(at, context.trace[0]);
        set_word(at + 8, context.trace[1]);
        set_word(at + 16, context.span);
        const auto bytes = static_cast<std::uint64_t>(
            context.attribute_bytes < 0 ? static_cast<int>(context.attributes.size())
                                        : context.attribute_bytes);
        set_word(at + 24, context.valid | 1 << 8 | bytes << 16);
        for (std::size_t i = 0; i < context.attributes.size(); i += 8) {
            std::uint64_t word = 0;
            const std::string part = context.attributes.substr(i, 8);
            std::memcpy(&word, part.data(), part.size());
            set_word(at + head_bytes + i, word);
        }
    }
    // The thread publishes this context at the usual place.
    void attach(int tid, const Context& context, std::uint64_t at = context_at) {
        task(tid).task.thread.fsbase = thread_pointer + static_cast<std::uint64_t>(tid) * 0x100;
        set_word(task(tid).task.thread.fsbase - 64, at);
        set_context(at, context);
    }
    void detach(int tid) { set_word(task(tid).task.thread.fsbase - 64, 0); }
    std::vector<Bytes> found() { return take(LAGTRAP_RECORD_CONTEXT); }
    static lagtrap_context head_of(const Bytes& bytes) {
        lagtrap_context context{};
        std::memcpy(&context, bytes.data(), sizeof(context));
        return context;
    }
    static std::string attributes_of(const Bytes& bytes) {
        return {reinterpret_cast<const char*>(bytes.data()) + sizeof(lagtrap_context),
                bytes.size() - sizeof(lagtrap_context)};
    }
    static std::uint64_t span_of(const Bytes& bytes) {
        std::uint64_t span = 0;
        std::memcpy(&span, head_of(bytes).span_id, sizeof(span));
        return span;
    }
    std::vector<Bytes> at_switch(int prev, unsigned int state = interruptible) {
        select(prev);
        on_switch(false, &task(prev).task, &task(901).task, state);
        return found();
    }
    std::vector<std::uint64_t> spans_at_switch(int prev) {
        std::vector<std::uint64_t> spans;
        for (const Bytes& bytes : at_switch(prev)) spans.push_back(span_of(bytes));
        return spans;
    }
    using Spans = std::vector<std::uint64_t>;
};

TEST_F(ThreadContexts, have_ids_and_attributes_and_are_written_once) {
    attach(101, {{0x1111, 0x2222}, 0x3333, 1, "12345678\x01x"});
    kernel_.cpu = 2;
    const auto first = at_switch(101);
    ASSERT_EQ(first.size(), 1U);
    const lagtrap_context context = head_of(first[0]);
    EXPECT_EQ(context.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(context.header.cpu, 2);
    EXPECT_EQ(context.pid, 100U);
    EXPECT_EQ(context.tid, 101U);
    const std::uint64_t trace[2] = {0x1111, 0x2222};
    EXPECT_EQ(std::memcmp(context.trace_id, trace, sizeof(trace)), 0);
    EXPECT_EQ(span_of(first[0]), 0x3333U);
    EXPECT_EQ(context.attribute_bytes, 10);
    EXPECT_EQ(attributes_of(first[0]), "12345678\x01x");
    EXPECT_TRUE(at_switch(101).empty());
    recording.capture = 2;
    EXPECT_EQ(at_switch(101).size(), 1U) << "another recording";
}

TEST_F(ThreadContexts, are_written_again_when_anything_changes) {
    attach(101, {});
    EXPECT_EQ(spans_at_switch(101), Spans{0x3333});
    attach(101, {{0x1111, 0x2222}, 0x4444});
    EXPECT_EQ(spans_at_switch(101), Spans{0x4444});
    attach(101, {{0x1111, 0x9999}, 0x4444});
    EXPECT_EQ(spans_at_switch(101), Spans{0x4444});
    attach(101, {{0x1111, 0x9999}, 0x4444, 1, "abc"});
    EXPECT_EQ(spans_at_switch(101), Spans{0x4444}) << "a further attribute";
    detach(101);
    EXPECT_EQ(spans_at_switch(101), Spans{0});
    EXPECT_EQ(spans_at_switch(101), Spans{});
    attach(101, {{0x1111, 0x9999}, 0x4444});
    EXPECT_EQ(spans_at_switch(101), Spans{0x4444});
}

TEST_F(ThreadContexts, that_are_not_valid_are_none) {
    attach(101, {{1, 2}, 3, 0});
    EXPECT_EQ(spans_at_switch(101), Spans{});
    attach(101, {{1, 2}, 3, 2});
    EXPECT_EQ(spans_at_switch(101), Spans{});
    attach(101, {{1, 2}, 0, 1});
    EXPECT_EQ(spans_at_switch(101), Spans{});
    detach(101);
    EXPECT_EQ(spans_at_switch(101), Spans{});
    EXPECT_EQ(counters().contexts_unreadable, 0U);
}

TEST_F(ThreadContexts, are_read_at_samples_and_switches_of_their_threads) {
    attach(101, {});
    attach(102, {{5, 6}, 7}, context_at + 0x100);
    select(101);
    registers_.cs = 0x33;
    struct {
        pt_regs registers{};
        std::uint64_t period = 0, address = 0;
    } context;
    on_sample(&context);
    const auto sampled = found();
    ASSERT_EQ(sampled.size(), 1U);
    EXPECT_EQ(head_of(sampled[0]).tid, 101U);
    EXPECT_EQ(at_switch(102, 0).size(), 1U) << "preempted";
    task(103).task.flags |= 0x00200000;
    EXPECT_TRUE(at_switch(103).empty()) << "a kernel thread";
    recording.on = 0;
    attach(101, {{5, 6}, 7});
    EXPECT_TRUE(at_switch(101).empty());
}

TEST_F(ThreadContexts, of_both_threads_are_read_at_a_wakeup_in_one_process) {
    attach(101, {});
    attach(102, {{5, 6}, 7}, context_at + 0x100);
    attach(201, {{8, 8}, 8}, context_at + 0x200);
    publish(200, place_below);
    select(101);
    on_waking(&task(102).task);
    const auto both = found();
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(head_of(both[0]).tid, 101U);
    EXPECT_EQ(head_of(both[1]).tid, 102U);
    on_waking(&task(201).task);
    EXPECT_TRUE(found().empty()) << "the memory of another process";
    select(201);
    on_waking(&task(101).task);
    const auto waker = found();
    ASSERT_EQ(waker.size(), 1U);
    EXPECT_EQ(head_of(waker[0]).tid, 201U);
}

TEST_F(ThreadContexts, of_processes_that_publish_none_are_not_looked_for) {
    attach(201, {});
    EXPECT_TRUE(at_switch(201).empty());
    attach(101, {});
    contexts_published = 0;
    EXPECT_TRUE(at_switch(101).empty());
    contexts_published = 1;
    on_exec(&task(101).task);
    EXPECT_TRUE(at_switch(101).empty()) << "it runs another program now";
}

TEST_F(ThreadContexts, are_cut_and_checked_because_memory_may_hold_anything) {
    attach(101, {{1, 2}, 3, 1, std::string(616, 'a'), 65'535});
    const auto long_one = at_switch(101);
    ASSERT_EQ(long_one.size(), 1U);
    EXPECT_EQ(head_of(long_one[0]).attribute_bytes, LAGTRAP_CONTEXT_ATTRIBUTE_BYTES);
    EXPECT_EQ(attributes_of(long_one[0]), std::string(LAGTRAP_CONTEXT_ATTRIBUTE_BYTES, 'a'));

    attach(102, {{1, 2}, 3, 1, "", 65'535}, context_at + 0x1000);
    EXPECT_TRUE(at_switch(102).empty()) << "attributes at no address";
    EXPECT_EQ(counters().contexts_unreadable, 1U);
    task(103).task.thread.fsbase = thread_pointer;
    set_word(thread_pointer - 64, 0xdead);
    EXPECT_TRUE(at_switch(103).empty()) << "a context at no address";
    EXPECT_EQ(counters().contexts_unreadable, 2U);
    task(104).task.thread.fsbase = 0x5000;
    EXPECT_TRUE(at_switch(104).empty()) << "no such variable";
    task(105).task.thread.fsbase = 0;
    EXPECT_TRUE(at_switch(105).empty()) << "no thread pointer";
    EXPECT_EQ(counters().contexts_unreadable, 2U);
}

TEST_F(ThreadContexts, that_find_no_room_are_counted_and_written_later) {
    attach(101, {});
    fill_ring();
    EXPECT_TRUE(at_switch(101).empty());
    EXPECT_EQ(counters().contexts_lost, 1U);
    kernel_.map(recorder_maps.records).room_bytes = 1 << 20;
    EXPECT_EQ(at_switch(101).size(), 1U);
}

// The list of a thread's blocks, as glibc has it: its length is before it, in entries of 16 bytes.
TEST_F(ThreadContexts, may_be_in_a_block_of_a_library) {
    constexpr std::uint64_t list = 0x7f0000005000, block = 0x7f0000006000;
    publish(100, {24, 3, 16, -16, 0});
    task(101).task.thread.fsbase = thread_pointer;
    set_context(context_at, {});
    set_word(block + 24, context_at);
    EXPECT_TRUE(at_switch(101).empty()) << "no list";
    set_word(thread_pointer + 8, list);
    set_word(list - 16, 2);
    set_word(list + 48, block);
    EXPECT_TRUE(at_switch(101).empty()) << "the list ends before it";
    set_word(list - 16, 3);
    set_word(list + 48, ~0ULL);
    EXPECT_TRUE(at_switch(101).empty()) << "the thread has not used it";
    set_word(list + 48, 0);
    EXPECT_TRUE(at_switch(101).empty());
    set_word(list + 48, block);
    EXPECT_EQ(spans_at_switch(101), Spans{0x3333});
    EXPECT_EQ(counters().contexts_unreadable, 0U);
}

TEST_F(ThreadContexts, of_sleeping_threads_are_read_when_programs_are_known) {
    const auto visit = [&](int tid, unsigned int state) {
        task(tid).task.__state = state;
        kernel::bpf_iter__task context{nullptr, &task(tid).task};
        on_publishing_thread(&context);
        return found().size();
    };
    attach(101, {});
    kernel_.paged_out.insert(context_at);
    EXPECT_EQ(visit(101, 0), 0U) << "it runs, so its memory changes";
    EXPECT_EQ(visit(101, interruptible), 1U);
    EXPECT_EQ(visit(101, interruptible), 0U);
    attach(201, {});
    EXPECT_EQ(visit(201, interruptible), 0U) << "of another program";
}

}  // namespace

}  // namespace lagtrap::native::thread_context_test
