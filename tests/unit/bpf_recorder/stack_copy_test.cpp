// Copies of stacks that could not be walked at once.
#include <set>

#include "tests/unit/bpf_recorder/walks.hpp"

namespace lagtrap::native::stack_copy_test {

namespace {

constexpr std::uint64_t largest = sizeof(lagtrap_stack_copy) + LAGTRAP_COPIED_STACK_BYTES;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t party_1000 = (1ULL << 32) | 1000;

class StackCopies : public Walks {
  protected:
    // As the programs keep it, by process or party.
    struct Share {
        std::uint32_t capture, bytes;
    };

    StackCopies() {
        copying.budget_bytes = 100 * largest;
        copying.capture = 7;
    }
    // All memory from here on, in which each word has its own address.
    void add_memory(std::uint64_t from, std::uint64_t bytes) {
        for (std::uint64_t at = from; at < from + bytes; at += 8) kernel_.user_words[at] = at;
    }
    std::vector<Bytes> copies() { return kernel_.take_records(recorder_maps.stack_copies); }
    // The only one.
    lagtrap_stack_copy copy() {
        const auto found = copies();
        EXPECT_EQ(found.size(), 1U);
        lagtrap_stack_copy record{};
        if (found.empty()) return record;
        std::memcpy(&record, found[0].data(), sizeof(record));
        EXPECT_EQ(found[0].size(), sizeof(record) + record.copied_bytes);
        EXPECT_EQ(record.header.size_bytes, found[0].size());
        for (std::uint64_t at = 0; at < record.copied_bytes; at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, found[0].data() + sizeof(record) + at, sizeof(word));
            if (kernel_.user_words[record.copied_from + at] == word) continue;
            ADD_FAILURE() << "another word is at " << at;
            break;
        }
        return record;
    }
    bool is_copied() {
        walk();
        return copies().size() == 1;
    }
    bool is_left_out() {
        const std::uint64_t before = copying.left_out;
        return !is_copied() && copying.left_out == before + 1;
    }
    Share share(std::uint64_t who) {
        const auto* found = static_cast<const Share*>(
            kernel_.lookup(kernel_.map(recorder_maps.copied_shares), &who));
        return found == nullptr ? Share{} : *found;
    }
    void set_share(std::uint64_t who, Share share) {
        native_update(recorder_maps.copied_shares, &who, &share);
    }
};

TEST_F(StackCopies, have_the_registers_and_the_memory_from_the_red_zone_on) {
    auto* words = reinterpret_cast<std::uint64_t*>(&saved_);
    for (std::uint64_t i = 7; i < 21; ++i) words[i] = i;
    saved_.named.sp = stack + 0x100;
    saved_.named.bp = 0x1234;
    saved_.named.si = 0x5678;  // where struct pt_regs has rbx
    add_memory(stack - page, 8 * page);
    kernel_.cpu = 3;
    const Walk walked = walk();
    const lagtrap_stack_copy found = copy();
    EXPECT_EQ(found.header.type, LAGTRAP_RECORD_STACK_COPY);
    EXPECT_EQ(found.header.cpu, 3);
    EXPECT_EQ(found.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(found.inner_id, walked.id);
    EXPECT_EQ(found.stack_id, switch_.user_stack_id);
    EXPECT_NE(found.stack_id, walked.id);
    EXPECT_NE(found.stack_id, 0U);
    EXPECT_EQ(found.copied_from, stack + 0x80);
    EXPECT_EQ(found.copied_bytes, page - 0x80 + 3 * page);
    EXPECT_EQ(found.pc, code);
    EXPECT_EQ(found.sp, stack + 0x100);
    EXPECT_EQ(found.bp, 0x1234U);
    EXPECT_EQ(found.rbx, 0x5678U);
    EXPECT_EQ(found.known, LAGTRAP_COPY_HAS_REGISTERS | LAGTRAP_COPY_HAS_RBX);
    EXPECT_EQ(std::memcmp(found.registers, &saved_, sizeof(found.registers)), 0);
    EXPECT_EQ(found.pid, 100U);
    EXPECT_EQ(found.return_count, 0);
    EXPECT_EQ(found.end, LAGTRAP_STACK_END_NO_PROCESS);
    EXPECT_EQ(found.padding_bytes, 0);
    EXPECT_EQ(found.padding, 0U);
    EXPECT_EQ(copying.copies, 1U);
    EXPECT_EQ(copying.left_out, 0U);
    EXPECT_EQ(copying.lost, 0U);
    EXPECT_EQ(copying.taken_bytes, found.header.size_bytes);
    saved_.named.orig_ax = 230;
    walk();
    EXPECT_EQ(copy().known,
              LAGTRAP_COPY_HAS_REGISTERS | LAGTRAP_COPY_HAS_RBX | LAGTRAP_COPY_AFTER_CALL);
}

TEST_F(StackCopies, begin_at_the_frame_up_to_which_the_walk_came) {
    lagtrap_unwind_rule first = by(rsp, 64);
    first.rbx_words = -3;
    add_code({{0, first}});
    saved_.named.bp = 0x1234;
    add_memory(stack, page);
    frame(stack + 64, 0x777000);
    walk();
    lagtrap_stack_copy found = copy();
    EXPECT_EQ(found.pc, 0x777000U);
    EXPECT_EQ(found.sp, stack + 64);
    EXPECT_EQ(found.bp, 0x1234U);
    EXPECT_EQ(found.rbx, stack + 40);
    EXPECT_EQ(found.known, LAGTRAP_COPY_HAS_RBX | LAGTRAP_COPY_AFTER_CALL);
    EXPECT_EQ(found.end, LAGTRAP_STACK_END_NO_MAPPING);
    first.rbx_words = LAGTRAP_UNWIND_RBX_UNKNOWN;
    add_code({{0, first}});
    walk();
    found = copy();
    EXPECT_EQ(found.known, LAGTRAP_COPY_AFTER_CALL);
    EXPECT_EQ(found.rbx, 0U);
    first.rbx_words = -3;
    add_code({{0, first}});
    kernel_.user_words.erase(stack + 40);
    walk();
    EXPECT_EQ(copy().known, LAGTRAP_COPY_AFTER_CALL) << "rbx cannot be read";
}

TEST_F(StackCopies, of_code_that_a_signal_interrupted_have_no_registers_of_the_kernel) {
    add_code({{0, only(LAGTRAP_UNWIND_SIGNAL)}});
    add_memory(stack, page);
    walk();
    const lagtrap_stack_copy found = copy();
    EXPECT_EQ(found.pc, stack + 40 + 16 * 8);
    EXPECT_EQ(found.rbx, stack + 40 + 11 * 8);
    EXPECT_EQ(found.known, LAGTRAP_COPY_HAS_RBX);
}

TEST_F(StackCopies, have_the_return_addresses_that_probes_replaced) {
    kernel::uprobe_task probes{};
    std::vector<kernel::return_instance> instances(10);
    for (std::size_t i = 0; i < instances.size(); ++i)
        instances[i] = {stack + i * 8, 0x1000 + i, i < 9 ? &instances[i + 1] : nullptr};
    probes.return_instances = &instances[8];
    task(101).task.utask = &probes;
    walk();
    lagtrap_stack_copy found = copy();
    EXPECT_EQ(found.return_count, 2);
    EXPECT_EQ(found.returns[0].slot, stack + 64);
    EXPECT_EQ(found.returns[0].address, 0x1008U);
    EXPECT_EQ(found.returns[1].slot, stack + 72);
    EXPECT_EQ(found.returns[1].address, 0x1009U);
    probes.return_instances = &instances[0];
    walk();
    found = copy();
    EXPECT_EQ(found.return_count, LAGTRAP_COPIED_RETURNS);
    EXPECT_EQ(found.returns[7].address, 0x1007U);
    task(101).task.utask = nullptr;
    walk();
    EXPECT_EQ(copy().return_count, 0);
}

TEST_F(StackCopies, end_where_memory_cannot_be_read) {
    saved_.named.sp = stack + 0x80;
    add_memory(stack, 5 * page);
    walk();
    EXPECT_EQ(copy().copied_bytes, LAGTRAP_COPIED_STACK_BYTES);
    kernel_.user_words.erase(stack + 2 * page + 8);
    walk();
    lagtrap_stack_copy found = copy();
    EXPECT_EQ(found.copied_from, stack);
    EXPECT_EQ(found.copied_bytes, 2 * page);
    kernel_.user_words.erase(stack);
    walk();
    found = copy();
    EXPECT_EQ(found.copied_from, stack + 0x80) << "nothing is copied";
    EXPECT_EQ(found.copied_bytes, 0U);
}

TEST_F(StackCopies, do_not_need_the_page_below_the_stack) {
    add_memory(stack, page);
    walk();
    lagtrap_stack_copy found = copy();
    EXPECT_EQ(found.copied_from, stack);
    EXPECT_EQ(found.copied_bytes, page);
    add_memory(stack - 128, 128);
    walk();
    found = copy();
    EXPECT_EQ(found.copied_from, stack - 128);
    EXPECT_EQ(found.copied_bytes, 128 + page);
    kernel_.user_words.erase(stack - 8);
    kernel_.user_words.erase(stack + 8);
    walk();
    EXPECT_EQ(copy().copied_bytes, 0U);
    saved_.named.sp = stack - 8;
    walk();
    found = copy();
    EXPECT_EQ(found.copied_bytes, 0U) << "the stack itself lies there";
    EXPECT_EQ(found.copied_from, stack - 8);
}

TEST_F(StackCopies, are_made_if_a_table_or_mapping_is_missing) {
    EXPECT_TRUE(is_copied()) << "the process is not known";
    add_code({{0, only(LAGTRAP_UNWIND_UNSUPPORTED)}});
    EXPECT_FALSE(is_copied());
    for (const auto& [state, expected] : {std::pair(LAGTRAP_UNWIND_TABLE_MISSING, true),
                                          std::pair(LAGTRAP_UNWIND_TABLE_NO_ROOM, true),
                                          std::pair(LAGTRAP_UNWIND_TABLE_FRAME_POINTERS, false)}) {
        table(2).state = state;
        EXPECT_EQ(is_copied(), expected) << state;
    }
    saved_.named.ip = 0x12345;
    EXPECT_TRUE(is_copied()) << "no mapping";
    table(2).state = LAGTRAP_UNWIND_TABLE_FRAME_POINTERS;
    saved_.named.ip = code;
    saved_.named.bp = stack + 16;
    frame(stack + 32, code + 1, stack + 32);
    frame(stack + 48, 0x12345, stack + 32);
    EXPECT_FALSE(is_copied()) << "a guess that leads nowhere";
    map({{0x12000, 0x1000, 0x12000, 3, 0}, {code, 0x1000, code, 2, 0}});
    EXPECT_TRUE(is_copied()) << "it leads to code whose table is missing";
    saved_.named.cs = 0x23;
    EXPECT_FALSE(is_copied());
    saved_.named.cs = 0x33;
    saved_.named.ip = 0x12345;
    copying.budget_bytes = 0;
    EXPECT_FALSE(is_copied());
    EXPECT_EQ(copying.left_out, 0U);
}

TEST_F(StackCopies, have_different_numbers) {
    std::set<std::uint64_t> numbers;
    walk();
    numbers.insert(copy().stack_id);
    kernel_.now_ns++;
    walk();
    numbers.insert(copy().stack_id);
    select(102);
    on_switch(false, &task(102).task, &task(201).task, interruptible);
    taken();
    numbers.insert(copy().stack_id);
    saved_.named.ip = code + 1;
    walk();
    numbers.insert(copy().stack_id);
    EXPECT_EQ(numbers.size(), 4U);
}

TEST_F(StackCopies, use_the_budget_but_for_a_quarter_that_is_for_the_process_of_the_run) {
    copying.budget_bytes = 8 * largest;
    copying.taken_bytes = 5 * largest;
    EXPECT_TRUE(is_copied());
    copying.taken_bytes = 5 * largest + 1;
    EXPECT_TRUE(is_left_out());
    copying.first_pid = 100;
    copying.taken_bytes = 7 * largest;
    EXPECT_TRUE(is_copied());
    copying.taken_bytes = 7 * largest + 1;
    EXPECT_TRUE(is_left_out());
    EXPECT_EQ(switch_.user_stack_id, walk().id) << "the part that was walked";
    EXPECT_EQ(copying.copies, 2U);
}

TEST_F(StackCopies, of_a_process_take_a_quarter_of_the_budget) {
    copying.budget_bytes = 8 * largest;
    set_share(100, {7, largest});
    EXPECT_TRUE(is_copied());
    set_share(100, {7, largest + 1});
    EXPECT_TRUE(is_left_out());
    set_share(100, {6, largest + 1});
    EXPECT_TRUE(is_copied()) << "that was another recording";
    EXPECT_EQ(share(100).capture, 7U);
    EXPECT_EQ(share(100).bytes, sizeof(lagtrap_stack_copy));
    EXPECT_TRUE(is_copied());
    EXPECT_EQ(share(100).bytes, 2 * sizeof(lagtrap_stack_copy));
    EXPECT_EQ(share(party_1000).capture, 7U);
    EXPECT_EQ(share(party_1000).bytes, 3 * sizeof(lagtrap_stack_copy));
}

TEST_F(StackCopies, of_a_user_take_half_of_the_budget) {
    copying.budget_bytes = 8 * largest;
    set_share(party_1000, {7, 3 * largest});
    EXPECT_TRUE(is_copied());
    set_share(party_1000, {7, 3 * largest + 1});
    EXPECT_TRUE(is_left_out());
    set_share(1000, {7, 8 * largest});
    set_share(party_1000, {7, 0});
    EXPECT_TRUE(is_copied()) << "a process with that number is another one";
    set_share(party_1000, {7, 3 * largest + 1});
    task(101).cred.uid.val = 0;
    set_share(1ULL << 32, {7, 8 * largest});
    EXPECT_TRUE(is_copied()) << "root has no limit";
    EXPECT_EQ(share(1ULL << 32).bytes, 8 * largest);
    task(101).cred.uid.val = 1000;
    copying.first_pid = 100;
    EXPECT_TRUE(is_copied()) << "nor has the process of the run";
    EXPECT_EQ(share(party_1000).bytes, 3 * largest + 1);
    EXPECT_EQ(share(100).bytes, 3 * sizeof(lagtrap_stack_copy));
}

TEST_F(StackCopies, that_do_not_fit_are_counted) {
    kernel_.map(recorder_maps.stack_copies).room_bytes = 0;
    const Walk walked = walk();
    EXPECT_EQ(switch_.user_stack_id, walked.id);
    EXPECT_EQ(copying.lost, 1U);
    EXPECT_EQ(copying.copies, 0U);
    EXPECT_EQ(copying.taken_bytes, 0U);
    EXPECT_EQ(share(100).bytes, 0U);
}

TEST_F(StackCopies, of_sleeping_threads_belong_to_them) {
    add_memory(stack, page);
    for (std::uint64_t at = stack; at < stack + page; at += 8) kernel_.paged_out.insert(at);
    task(201).cred.uid.val = 0;
    task(101).cred.uid.val = 1001;
    const Walk walked = walk_asleep();
    const lagtrap_stack_copy found = copy();
    EXPECT_EQ(found.pid, 100U);
    EXPECT_EQ(found.inner_id, walked.id);
    EXPECT_EQ(found.stack_id, thread_.user_stack_id);
    EXPECT_NE(found.stack_id, walked.id);
    EXPECT_EQ(found.copied_bytes, page);
    EXPECT_EQ(found.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(share(100).bytes, found.header.size_bytes);
    EXPECT_EQ(share(1ULL << 32 | 1001).bytes, found.header.size_bytes);
    task(102).task.__state = interruptible;
    kernel::bpf_iter__task context{nullptr, &task(102).task};
    on_thread(&context);
    EXPECT_NE(copy().stack_id, found.stack_id) << "of another thread";
    walk();
    EXPECT_EQ(copy().copied_bytes, 0U) << "a running thread's program cannot sleep";
    copying.taken_bytes = copying.budget_bytes;
    const Walk left_out = walk_asleep();
    EXPECT_EQ(thread_.user_stack_id, left_out.id);
    EXPECT_EQ(copying.left_out, 1U);
    copying.taken_bytes = 0;
    kernel_.map(recorder_maps.stack_copies).room_bytes = 0;
    const Walk lost = walk_asleep();
    EXPECT_EQ(thread_.user_stack_id, lost.id);
    EXPECT_NE(lost.id, 0U);
    EXPECT_EQ(copying.lost, 1U);
}

TEST_F(StackCopies, of_samples_are_named_by_them) {
    struct {
        pt_regs registers{};
        std::uint64_t period = 0, address = 0;
    } context;
    select(101);
    on_sample(&context);
    taken();
    EXPECT_EQ(copy().stack_id, sample_.user_stack_id);
}

}  // namespace

}  // namespace lagtrap::native::stack_copy_test
