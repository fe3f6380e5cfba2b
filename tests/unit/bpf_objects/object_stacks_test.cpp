// The stacks of creations.
#include "bpf/stack_id.h"
#include "tests/unit/bpf/unwind_store.hpp"
#include "tests/unit/bpf_objects/object_calls.hpp"

namespace lagtrap::native::object_stacks_test {

namespace {

class ObjectStacks : public ObjectCalls, protected UnwindStore {
  protected:
    static constexpr std::uint64_t code = 0x400000;

    // The program has frame pointers, and three calls are open.
    ObjectStacks() {
        table(2).state = LAGTRAP_UNWIND_TABLE_FRAME_POINTERS;
        map({{code, 0x1000, code, 2, 0}});
        task_.mm = &memory_;
        saved_.ip = code + 0x10;
        saved_.sp = top;
        saved_.bp = top + 16;
        saved_.cs = 0x33;
        saved_.orig_ax = ~0UL;
        native_set_registers(&saved_);
        kernel_.user_words[top + 16] = top + 32;
        kernel_.user_words[top + 24] = code + 0x20;
        kernel_.user_words[top + 32] = 0;
        kernel_.user_words[top + 40] = code + 0x30;
        totals().stack_room = 100;
    }
    lagtrap_object_stack* stack_of(std::uint64_t id) {
        return static_cast<lagtrap_object_stack*>(
            kernel_.lookup(kernel_.map(object_maps.stacks), &id));
    }
    std::uint64_t id_of_three() {
        const __u64 frames[] = {saved_.ip, code + 0x20, code + 0x30};
        return lagtrap_stack_id(0, frames, 3);
    }

    kernel::mm_struct memory_{};
    kernel::pt_regs___kernel saved_{};
};

TEST_F(ObjectStacks, are_kept_while_there_are_objects_created_there) {
    call(create, an_object);
    const std::uint64_t id = id_of_three();
    EXPECT_EQ(alive(an_object)->stack, id);
    EXPECT_EQ(alive(an_object)->shares_stack, 0U);
    ASSERT_NE(stack_of(id), nullptr);
    const lagtrap_object_stack& stack = *stack_of(id);
    EXPECT_EQ(stack.frame_count, 3U);
    EXPECT_EQ(stack.frames[0], code + 0x10);
    EXPECT_EQ(stack.frames[1], code + 0x20);
    EXPECT_EQ(stack.frames[2], code + 0x30);
    EXPECT_EQ(stack.end, LAGTRAP_STACK_END_COMPLETE | LAGTRAP_STACK_BY_FRAME_POINTER);
    EXPECT_EQ(stack.objects, 1U);
    call(create, another);
    EXPECT_EQ(alive(another)->stack, id);
    EXPECT_EQ(alive(another)->shares_stack, 0U) << "it was walked, and found to be the same";
    EXPECT_EQ(stack.objects, 2U);
    call(release, an_object);
    EXPECT_EQ(stack.objects, 1U);
    EXPECT_EQ(totals().stacks_lost, 0U);
    EXPECT_EQ(totals().stack_room, 99) << "the first walk at a place is free";
}

TEST_F(ObjectStacks, of_creations_that_fail_are_left) {
    function(create).failure = LAGTRAP_FAILS_NONZERO;
    call(create, an_object, 1);
    ASSERT_NE(stack_of(id_of_three()), nullptr);
    EXPECT_EQ(stack_of(id_of_three())->objects, 0U);
}

TEST_F(ObjectStacks, of_another_place_are_others) {
    call(create, an_object);
    saved_.ip = code + 0x18;
    call(create, another);
    EXPECT_EQ(alive(another)->stack, id_of_three());
    EXPECT_NE(alive(another)->stack, alive(an_object)->stack);
    EXPECT_EQ(stack_of(id_of_three())->objects, 1U);
}

TEST_F(ObjectStacks, are_shared_with_the_last_one_of_the_call_beyond_the_rate) {
    totals().stack_room = 0;
    call(create, an_object);
    EXPECT_EQ(alive(an_object)->stack, id_of_three()) << "none is known there";
    const std::uint64_t first = alive(an_object)->stack;
    saved_.ip = code + 0x18;
    call(create, another);
    EXPECT_EQ(alive(another)->stack, first);
    EXPECT_EQ(alive(another)->shares_stack, 1U);
    EXPECT_EQ(stack_of(first)->objects, 2U);
    totals().stack_room = 1;
    call(create, another);
    EXPECT_EQ(alive(another)->stack, id_of_three());
    EXPECT_EQ(alive(another)->shares_stack, 0U);
    EXPECT_EQ(totals().stack_room, 0);
    EXPECT_EQ(stack_of(first)->objects, 1U) << "what is replaced leaves its stack";
    call(create, 0x7000);
    EXPECT_EQ(alive(0x7000)->stack, id_of_three()) << "the last one";
}

TEST_F(ObjectStacks, of_one_frame_are_worth_nothing) {
    saved_.bp = 0;
    call(create, an_object);
    EXPECT_EQ(alive(an_object)->stack, 0U);
    EXPECT_EQ(kernel_.map(object_maps.stacks).of_key.size(), 0U);
}

TEST_F(ObjectStacks, have_room_for_as_many_as_are_documented) {
    EXPECT_EQ(kernel_.map(object_maps.stacks).max_entries, LAGTRAP_OBJECT_STACKS);
}

TEST_F(ObjectStacks, that_do_not_fit_are_counted) {
    kernel_.map(object_maps.stacks).max_entries = 1;
    call(create, an_object);
    saved_.ip = code + 0x18;
    call(create, another);
    EXPECT_EQ(alive(another)->stack, 0U);
    EXPECT_EQ(totals().stacks_lost, 1U);
}

TEST_F(ObjectStacks, of_base_classes_are_not_walked) {
    add(inner, LAGTRAP_OBJECT_CREATE, rdi);
    call(inner, another);
    begin(create, an_object);
    begin(inner, an_object, top - 64);
    end(inner, 0, top - 64);
    end(create);
    EXPECT_EQ(stack_of(id_of_three())->objects, 2U);
    EXPECT_EQ(totals().stack_room, 100) << "each place was walked for the first time";
}

TEST_F(ObjectStacks, are_those_of_creations_alone) {
    call(use, an_object);
    call(release, an_object);
    EXPECT_EQ(kernel_.map(object_maps.stacks).of_key.size(), 0U);
}

}  // namespace

}  // namespace lagtrap::native::object_stacks_test
