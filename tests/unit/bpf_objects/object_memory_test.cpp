// Memory that calls on objects take and give.
#include <cerrno>

#include "tests/unit/bpf_objects/object_calls.hpp"

namespace lagtrap::native::object_memory_test {

namespace {

class Memory : public ObjectCalls {
  protected:
    static constexpr std::uint32_t allocator = 20;
    static constexpr std::uint64_t below = top - 256;

    static std::uint64_t cookie_of(std::uint64_t kind, std::uint64_t more = 0) {
        return allocator | kind << LAGTRAP_COOKIE_MEMORY_SHIFT | more;
    }
    static std::uint64_t asks_in(std::uint64_t size_register) {
        return size_register << LAGTRAP_COOKIE_SIZE_SHIFT;
    }
    // A block as glibc's allocator has it, with the size before it.
    std::uint64_t block(std::uint64_t at, std::uint64_t bytes) {
        kernel_.user_words[at - 8] = bytes | 1;
        return at;
    }
    void memory_call(std::uint64_t cookie, std::uint64_t first = 0, std::uint64_t second = 0,
                     std::uint64_t stack = below) {
        kernel_.cookie = cookie;
        registers_.rsp = stack;
        registers_.rdi = first;
        registers_.rsi = second;
        on_memory_call(&registers_);
    }
    void memory_return(std::uint64_t cookie, std::uint64_t result, std::uint64_t stack = below) {
        kernel_.cookie = cookie;
        registers_.rsp = stack + 8;
        registers_.rax = result;
        on_memory_return(&registers_);
    }
    void give(std::uint64_t block) { memory_call(cookie_of(LAGTRAP_MEMORY_GIVE), block); }
    lagtrap_object_call end_use() {
        end(use);
        return last();
    }
};

TEST_F(Memory, that_a_call_takes_and_gives_is_summed) {
    begin(use, an_object);
    memory_return(cookie_of(LAGTRAP_MEMORY_TAKE), block(0x10000, 48));
    memory_return(cookie_of(LAGTRAP_MEMORY_TAKE), block(0x20000, 64));
    memory_return(cookie_of(LAGTRAP_MEMORY_TAKE), 0);
    give(0x10000);
    give(0);
    const lagtrap_object_call found = end_use();
    EXPECT_EQ(found.taken_bytes, 112U);
    EXPECT_EQ(found.given_bytes, 48U);
    EXPECT_EQ(found.allocations, 2U);
    EXPECT_EQ(function(allocator).probes.hits, 5U);
    memory_return(cookie_of(LAGTRAP_MEMORY_TAKE), block(0x10000, 48));
    begin(use, an_object);
    EXPECT_EQ(end_use().taken_bytes, 0U) << "outside of calls";
}

TEST_F(Memory, of_creations_belongs_to_the_object) {
    begin(create, an_object);
    memory_return(cookie_of(LAGTRAP_MEMORY_TAKE), block(0x10000, 48));
    memory_return(cookie_of(LAGTRAP_MEMORY_TAKE), block(0x20000, 64));
    give(0x20000);
    end(create);
    EXPECT_EQ(alive(an_object)->bytes, 48);
    begin(make);
    give(0x10000);
    memory_return(cookie_of(LAGTRAP_MEMORY_TAKE), block(0x30000, 16));
    end(make, another);
    EXPECT_EQ(alive(another)->bytes, -32);
}

TEST_F(Memory, that_an_allocator_without_sizes_changes_is_that_asked_for) {
    native_set_memory_by_request(true);
    const std::uint64_t take = cookie_of(LAGTRAP_MEMORY_TAKE, asks_in(rdi));
    const std::uint64_t change = cookie_of(LAGTRAP_MEMORY_CHANGE, asks_in(rsi));
    begin(use, an_object);
    memory_call(take, 100);
    memory_return(take, 0x10000);
    memory_call(change, 0x10000, 250);
    memory_return(change, 0x20000);
    give(0x20000);
    const lagtrap_object_call found = end_use();
    EXPECT_EQ(found.taken_bytes, 350U);
    EXPECT_EQ(found.given_bytes, 350U);
    EXPECT_EQ(found.allocations, 2U);
}

TEST_F(Memory, that_is_reallocated_is_given_and_taken) {
    const std::uint64_t change = cookie_of(LAGTRAP_MEMORY_CHANGE);
    begin(use, an_object);
    memory_call(change, block(0x10000, 48));
    memory_return(cookie_of(LAGTRAP_MEMORY_TAKE), block(0x40000, 512));
    give(0x40000);
    block(0x30000, 96);
    memory_return(change, 0x30000);
    lagtrap_object_call found = end_use();
    EXPECT_EQ(found.taken_bytes, 96U) << "what realloc calls does not count again";
    EXPECT_EQ(found.given_bytes, 48U);
    EXPECT_EQ(found.allocations, 1U);
    begin(use, an_object);
    memory_call(change, block(0x10000, 48));
    memory_return(change, 0);
    memory_return(change, 0x30000);
    found = end_use();
    EXPECT_EQ(found.given_bytes, 0U) << "it failed";
    EXPECT_EQ(found.allocations, 0U);
}

TEST_F(Memory, whose_address_goes_behind_a_pointer_is_found_there) {
    const std::uint64_t behind = cookie_of(LAGTRAP_MEMORY_TAKE_BEHIND);
    kernel_.user_words[0x7000] = block(0x10000, 48);
    begin(use, an_object);
    memory_call(behind, 0x7000);
    memory_return(behind, ENOMEM);
    memory_return(behind, 0);
    const lagtrap_object_call found = end_use();
    EXPECT_EQ(found.taken_bytes, 48U);
    EXPECT_EQ(found.allocations, 1U);
}

TEST_F(Memory, of_allocators_that_store_no_sizes_is_counted_as_asked_for) {
    native_set_memory_by_request(true);
    const std::uint64_t take = cookie_of(LAGTRAP_MEMORY_TAKE, asks_in(rdi));
    const std::uint64_t product =
        cookie_of(LAGTRAP_MEMORY_TAKE, asks_in(rdi) | LAGTRAP_COOKIE_SIZE_TIMES);
    begin(use, an_object);
    memory_call(take, 100);
    memory_return(take, 0x10000, below + 64);
    memory_return(take, 0x10000);
    memory_return(take, 0x20000);
    lagtrap_object_call found = end_use();
    EXPECT_EQ(found.taken_bytes, 100U) << "by the call that asked for it";
    begin(use, an_object);
    memory_call(product, 10, 7);
    memory_return(product, 0x20000);
    give(0x10000);
    give(0x10000);
    give(0x30000);
    found = end_use();
    EXPECT_EQ(found.taken_bytes, 70U);
    EXPECT_EQ(found.given_bytes, 100U) << "once";
}

TEST_F(Memory, of_an_allocator_that_calls_another_counts_once) {
    native_set_memory_by_request(true);
    const std::uint64_t take = cookie_of(LAGTRAP_MEMORY_TAKE, asks_in(rdi));
    begin(use, an_object);
    memory_call(take, 100);
    memory_call(take, 4096, 0, below - 64);
    memory_return(take, 0x30000, below - 64);
    memory_return(take, 0x10000);
    EXPECT_EQ(end_use().taken_bytes, 100U);
}

TEST_F(Memory, of_an_allocator_that_an_exception_leaves_does_not_hide_what_follows) {
    native_set_memory_by_request(true);
    const std::uint64_t take = cookie_of(LAGTRAP_MEMORY_TAKE, asks_in(rdi));
    const auto take_below = [&] {
        memory_call(take, 50, 0, below - 64);
        memory_return(take, 0x10000, below - 64);
    };
    begin(use, an_object);
    memory_call(take, 1 << 20);
    raise("out of memory");
    take_below();
    EXPECT_EQ(end_use().taken_bytes, 50U);
    begin(use, an_object);
    memory_call(take, 1 << 20);
    begin(inner, an_object, top - 64);
    take_below();
    end(inner, 0, top - 64);
    EXPECT_EQ(last().taken_bytes, 50U);
}

TEST_F(Memory, of_operator_new_is_taken_at_its_exits) {
    native_set_memory_by_request(true);
    const std::uint64_t take = cookie_of(LAGTRAP_MEMORY_TAKE, asks_in(rdi));
    begin(use, an_object);
    memory_call(take, 100);
    kernel_.cookie = allocator;
    registers_.rsp = below;
    registers_.rax = 0x10000;
    on_memory_exit(&registers_);
    on_memory_exit(&registers_);
    lagtrap_object_call found = end_use();
    EXPECT_EQ(found.taken_bytes, 100U);
    EXPECT_EQ(found.allocations, 1U);
    begin(use, an_object);
    memory_call(take, 100);
    kernel_.cookie = allocator;
    registers_.rsp = below;
    registers_.rax = 0;
    on_memory_exit(&registers_);
    EXPECT_EQ(end_use().allocations, 0U);
}

TEST_F(Memory, probes_of_the_allocator_do_not_count_as_time_of_the_call) {
    function(allocator).probes.inside_ns = 20;
    function(allocator).probes.around_ns = 3;
    begin(use, an_object);
    memory_return(cookie_of(LAGTRAP_MEMORY_TAKE), block(0x10000, 48));
    pass(1000);
    EXPECT_EQ(end_use().probes_ns, 23U);
}

TEST_F(Memory, that_a_call_frees_by_its_last_jump_ends_the_call) {
    const auto jump = [&] {
        kernel_.cookie = release;
        registers_.rsp = top;
        on_object_jump(&registers_);
    };
    call(create, an_object);
    sent();
    begin(release, an_object, top - 8);
    jump();
    memory_return(cookie_of(LAGTRAP_MEMORY_GIVE), 0, top - 8);
    EXPECT_TRUE(sent().empty()) << "another call jumped";
    end(release, 0, top - 8);
    sent();
    call(create, an_object);
    sent();
    begin(release, an_object);
    jump();
    pass(us);
    give(block(0x10000, 48));
    memory_return(cookie_of(LAGTRAP_MEMORY_GIVE), 0, top - 64);
    EXPECT_TRUE(sent().empty()) << "another free returned";
    memory_return(cookie_of(LAGTRAP_MEMORY_GIVE), 5, top);
    lagtrap_object_call found = last();
    EXPECT_EQ(found.function, release);
    EXPECT_EQ(found.result, 5U);
    EXPECT_EQ(found.left, 0);
    EXPECT_EQ(found.given_bytes, 48U);
    EXPECT_EQ(found.end_ns, kernel_.now_ns);
    begin(use, an_object);
    memory_return(cookie_of(LAGTRAP_MEMORY_GIVE), 0, top);
    EXPECT_TRUE(sent().empty()) << "it has not jumped";
    // If the return is not seen, the call ended when it jumped.
    jump();
    const std::uint64_t jumped_ns = kernel_.now_ns;
    pass(5 * us);
    handle(top + 8);
    found = last();
    EXPECT_EQ(found.left, 0);
    EXPECT_EQ(found.end_ns, jumped_ns);
    totals().memory_is_out = 1;
    begin(release, an_object);
    jump();
    EXPECT_EQ(last().function, release) << "the allocator is not watched any more";
}

}  // namespace

}  // namespace lagtrap::native::object_memory_test
