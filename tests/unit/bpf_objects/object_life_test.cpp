// What calls do to their objects.
#include "tests/unit/bpf_objects/object_calls.hpp"

namespace lagtrap::native::object_life_test {

namespace {

TEST_F(ObjectCalls, that_create_objects_make_them_known) {
    function(create).title_from = rsi;
    kernel_.user_texts[0x8000] = "basket";
    const std::uint64_t begin_ns = kernel_.now_ns;
    begin(create, an_object, top, 0x8000);
    ASSERT_NE(alive(an_object), nullptr);
    EXPECT_EQ(alive(an_object)->open, 1U);
    EXPECT_EQ(counts().created, 0U) << "it has not ended";
    pass(us);
    end(create);
    const lagtrap_object_alive& made = *alive(an_object);
    EXPECT_EQ(made.created_ns, begin_ns);
    EXPECT_EQ(made.caller, caller);
    EXPECT_EQ(made.function, create);
    EXPECT_EQ(made.class_number, cart_class);
    EXPECT_EQ(made.tid, 101U);
    EXPECT_EQ(made.open, 0U);
    EXPECT_STREQ(made.title, "basket");
    EXPECT_EQ(counts().created, 1U);
    const auto calls = sent();
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].call.state, LAGTRAP_OBJECT_CREATED);
    EXPECT_STREQ(calls[0].title, "basket");
    EXPECT_STREQ(calls[0].thrown_type, "");
    EXPECT_EQ(totals().sent, 1U);
    call(use, an_object);
    EXPECT_STREQ(sent().at(0).title, "") << "that was another call";
    begin(create, another, top, 0x8888);
    end(create);
    EXPECT_STREQ(sent().at(0).title, "") << "it cannot be read";
    EXPECT_STREQ(alive(another)->title, "");
}

TEST_F(ObjectCalls, with_titles_that_do_not_fit_are_counted) {
    function(create).title_from = rsi;
    kernel_.user_texts[0x8000] = "basket";
    kernel_.map(object_maps.records).room_bytes = 0;
    begin(create, an_object, top, 0x8000);
    end(create);
    EXPECT_EQ(totals().not_sent, 1U);
    EXPECT_EQ(totals().sent, 0U);
    EXPECT_EQ(counts().created, 1U);
}

TEST_F(ObjectCalls, that_return_numbers_of_32_bits_create_them_with_their_sign) {
    const auto object_of = [&](std::uint64_t result) {
        call(make, 0, result);
        return last().object;
    };
    EXPECT_EQ(object_of(0xffffffff), 0xffffffffU);
    function(make).reused = 1;
    EXPECT_EQ(object_of(0xfffffffe), ~0ULL - 1);
    EXPECT_EQ(object_of(0x100000005), 0x100000005U);
    EXPECT_EQ(object_of(7), 7U);
    EXPECT_EQ(counts().created, 4U);
}

TEST_F(ObjectCalls, that_fail_and_return_something_create_nothing) {
    function(make).failure = LAGTRAP_FAILS_NEGATIVE;
    call(make, 0, ~0ULL);
    EXPECT_EQ(alive(~0ULL), nullptr);
    EXPECT_EQ(counts().created, 0U);
    EXPECT_EQ(counts().failures, 1U);
}

TEST_F(ObjectCalls, that_return_an_object_create_it_at_their_end) {
    begin(make);
    EXPECT_EQ(alive(another), nullptr);
    end(make, another);
    ASSERT_NE(alive(another), nullptr);
    EXPECT_EQ(alive(another)->open, 0U);
    EXPECT_EQ(counts().created, 1U);
    EXPECT_EQ(counts().replaced, 0U);
    const lagtrap_object_call made = last();
    EXPECT_EQ(made.object, another);
    EXPECT_EQ(made.state, LAGTRAP_OBJECT_CREATED);
    call(make, 0, 0);
    EXPECT_EQ(counts().created, 1U) << "it returned none";
}

TEST_F(ObjectCalls, that_store_the_object_behind_a_pointer_create_it_at_their_end) {
    add(make, LAGTRAP_OBJECT_CREATE, rdi).object_behind = 1;
    function(make).failure = LAGTRAP_FAILS_NONZERO;
    begin(make, 0x7000);
    kernel_.user_words[0x7000] = another;
    end(make, 0);
    EXPECT_EQ(last().object, another);
    EXPECT_EQ(counts().created, 1U);
    // A library may return an object that must be released even then.
    kernel_.user_words[0x7000] = an_object;
    call(make, 0x7000, 1);
    EXPECT_EQ(counts().created, 2U);
    EXPECT_NE(alive(an_object), nullptr);
    EXPECT_EQ(counts().failures, 1U);
}

TEST_F(ObjectCalls, that_fail_to_create_leave_nothing) {
    function(create).failure = LAGTRAP_FAILS_NONZERO;
    call(create, an_object, 1);
    EXPECT_EQ(alive(an_object), nullptr);
    EXPECT_EQ(counts().created, 0U);
    EXPECT_EQ(counts().failures, 1U);
    EXPECT_EQ(function(create).failures, 1U);
    const lagtrap_object_call found = last();
    EXPECT_EQ(found.failed, 1);
    EXPECT_EQ(found.state, LAGTRAP_OBJECT_CREATED);
}

TEST_F(ObjectCalls, that_release_an_object_count_for_its_class) {
    call(create, an_object);
    function(release).class_number = other_class;
    call(release, an_object);
    EXPECT_EQ(counts().released, 1U);
    EXPECT_EQ(counts(other_class).released, 0U);
}

TEST_F(ObjectCalls, that_release_objects_end_them) {
    call(create, an_object);
    sent();
    begin(release, an_object);
    EXPECT_EQ(alive(an_object), nullptr) << "another may have its number when the call ends";
    end(release);
    EXPECT_EQ(last().state, LAGTRAP_OBJECT_RELEASED);
    EXPECT_EQ(counts().released, 1U);
    call(release, an_object);
    EXPECT_EQ(last().state, LAGTRAP_OBJECT_TWICE);
    EXPECT_EQ(counts().released_twice, 1U);
    totals().limits.min_ns = 1'000'000'000;
    call(use, an_object);
    EXPECT_EQ(last().state, LAGTRAP_OBJECT_AFTER) << "it is sent, however short";
    EXPECT_EQ(counts().used_after, 1U);
    call(create, an_object);
    sent();
    call(release, an_object);
    EXPECT_EQ(counts().released, 2U) << "the number belongs to a new object";
    EXPECT_EQ(counts().released_twice, 1U);
    EXPECT_EQ(counts().unknown, 0U);
}

TEST_F(ObjectCalls, on_objects_whose_creation_was_not_seen_are_counted) {
    call(use, an_object);
    EXPECT_EQ(counts().unknown, 1U);
    EXPECT_EQ(last().state, LAGTRAP_OBJECT_UNKNOWN);
    call(release, another);
    EXPECT_EQ(counts().unknown, 2U);
    EXPECT_EQ(counts().released, 0U);
    call(use, another);
    EXPECT_EQ(counts().used_after, 1U);
    call(use, 0);
    EXPECT_EQ(counts().unknown, 2U) << "this is not an object";
}

TEST_F(ObjectCalls, with_numbers_that_others_use_too_are_no_mistakes) {
    for (const std::uint32_t number : {use, release}) function(number).reused = 1;
    call(use, 5);
    call(release, 5);
    call(release, 5);
    call(use, 5);
    EXPECT_EQ(counts().unknown, 0U);
    EXPECT_EQ(counts().released_twice, 0U);
    EXPECT_EQ(counts().used_after, 0U);
    sent();
    call(use, 0xffffffff);
    EXPECT_EQ(last().object, ~0ULL) << "a negative number of 32 bits";
}

TEST_F(ObjectCalls, are_of_objects_of_one_rule) {
    call(create, an_object);
    function(use).rule = 2;
    call(use, an_object);
    EXPECT_EQ(counts().unknown, 1U);
    EXPECT_EQ(alive(an_object)->uses, 0U);
}

TEST_F(ObjectCalls, within_the_creation_or_release_of_the_object_belong_to_it) {
    add(inner, LAGTRAP_OBJECT_CREATE, rdi).class_number = other_class;
    begin(create, an_object);
    begin(inner, an_object, top - 64);
    end(inner, 0, top - 64);
    begin(use, an_object, top - 64);
    end(use, 0, top - 64);
    end(create);
    auto calls = sent();
    ASSERT_EQ(calls.size(), 3U);
    EXPECT_EQ(calls[0].call.state, LAGTRAP_OBJECT_WITHIN) << "the constructor of a base";
    EXPECT_EQ(calls[2].call.state, LAGTRAP_OBJECT_CREATED);
    EXPECT_EQ(counts().created, 1U);
    EXPECT_EQ(counts(other_class).created, 0U);
    begin(release, an_object);
    begin(use, an_object, top - 64);
    end(use, 0, top - 64);
    begin(release, an_object, top - 64);
    end(release, 0, top - 64);
    end(release);
    calls = sent();
    ASSERT_EQ(calls.size(), 3U);
    EXPECT_EQ(calls[0].call.state, LAGTRAP_OBJECT_WITHIN);
    EXPECT_EQ(calls[0].call.depth, 1);
    EXPECT_EQ(calls[1].call.state, LAGTRAP_OBJECT_WITHIN);
    EXPECT_EQ(counts().released, 1U);
    EXPECT_EQ(counts().used_after, 0U);
}

TEST_F(ObjectCalls, belong_to_a_creation_or_release_of_their_own_object_alone) {
    const auto state_within = [&](std::uint32_t outer, std::uint64_t object,
                                  std::uint32_t number = use) {
        begin(outer, an_object);
        begin(number, object, top - 64);
        end(number, 0, top - 64);
        end(outer);
        return sent().at(0).call.state;
    };
    EXPECT_EQ(state_within(release, another), LAGTRAP_OBJECT_UNKNOWN) << "another object";
    EXPECT_EQ(state_within(use, an_object), LAGTRAP_OBJECT_AFTER) << "it only uses the object";
    function(inner).rule = 2;
    EXPECT_EQ(state_within(release, an_object, inner), LAGTRAP_OBJECT_UNKNOWN) << "another rule";
    function(inner).rule = 1;
    EXPECT_EQ(state_within(release, an_object, inner), LAGTRAP_OBJECT_WITHIN)
        << "though it had been released before";
    // With another call between them.
    call(create, an_object);
    sent();
    begin(release, an_object);
    begin(use, another, top - 64);
    begin(inner, an_object, top - 128);
    end(inner, 0, top - 128);
    EXPECT_EQ(last().state, LAGTRAP_OBJECT_WITHIN);
}

TEST_F(ObjectCalls, that_create_an_object_anew_replace_it) {
    call(create, an_object);
    call(create, an_object);
    EXPECT_EQ(counts().replaced, 1U);
    EXPECT_EQ(counts().created, 2U);
    add(inner, LAGTRAP_OBJECT_CREATE, LAGTRAP_FROM_RESULT).class_number = other_class;
    pass(us);
    call(inner, 0, an_object);
    EXPECT_EQ(counts().replaced, 2U);
    EXPECT_EQ(counts(other_class).created, 1U);
    EXPECT_EQ(alive(an_object)->class_number, other_class);
}

TEST_F(ObjectCalls, that_pass_on_an_object_of_an_inner_creation_have_created_it) {
    add(inner, LAGTRAP_OBJECT_CREATE, LAGTRAP_FROM_RESULT).class_number = other_class;
    begin(make);
    begin(inner, 0, top - 64);
    end(inner, another, top - 64);
    EXPECT_EQ(counts(other_class).created, 1U);
    end(make, another);
    EXPECT_EQ(counts(other_class).created, 0U);
    EXPECT_EQ(counts().created, 1U);
    EXPECT_EQ(counts(other_class).replaced, 0U);
    EXPECT_EQ(alive(another)->function, make);
}

TEST_F(ObjectCalls, beyond_the_room_for_objects_are_counted) {
    kernel_.map(object_maps.alive).max_entries = 1;
    function(create).failure = LAGTRAP_FAILS_NONZERO;
    call(create, an_object);
    call(create, another);
    EXPECT_EQ(counts().not_followed, 1U);
    EXPECT_EQ(counts().created, 2U);
    EXPECT_EQ(alive(another), nullptr);
    call(create, another, 1);
    EXPECT_EQ(counts().not_followed, 1U) << "that creation failed";
}

TEST_F(ObjectCalls, of_methods_may_have_a_hidden_first_argument) {
    call(create, another);
    sent();
    begin(use, an_object, top, another);
    end(use);
    EXPECT_EQ(last().object, an_object) << "a function has none";
    function(use).is_method = 1;
    begin(use, an_object, top, another);
    end(use);
    EXPECT_EQ(last().object, another);
    begin(use, an_object, top, 0x7777);
    end(use);
    EXPECT_EQ(last().object, an_object) << "no object is known by either";
    call(create, an_object);
    sent();
    begin(use, an_object, top, another);
    end(use);
    EXPECT_EQ(last().object, an_object);
}

TEST_F(ObjectCalls, share_the_stack_of_earlier_creations_beyond_the_rate) {
    constexpr std::uint64_t stack = 77;
    native_keep_stack(caller, create, stack);
    totals().stack_room = 0;
    call(create, an_object);
    EXPECT_EQ(alive(an_object)->stack, stack);
    EXPECT_EQ(alive(an_object)->shares_stack, 1U);
    const auto objects = [&] {
        return static_cast<lagtrap_object_stack*>(
                   kernel_.lookup(kernel_.map(object_maps.stacks), &stack))
            ->objects;
    };
    EXPECT_EQ(objects(), 1U);
    call(create, another);
    EXPECT_EQ(objects(), 2U);
    call(release, an_object);
    EXPECT_EQ(objects(), 1U);
    call(create, another);
    EXPECT_EQ(objects(), 1U) << "what is replaced leaves its stack";
    totals().stack_room = 1;
    call(create, an_object);
    EXPECT_EQ(alive(an_object)->shares_stack, 0U) << "it was walked";
    EXPECT_EQ(totals().stack_room, 0);
}

}  // namespace

}  // namespace lagtrap::native::object_life_test
