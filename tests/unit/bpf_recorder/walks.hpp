// A program whose stack is walked: its code, its stack, and the tables that tell where the callers'
// frames are.
#pragma once

#include <algorithm>
#include <vector>

#include "bpf/unwind.h"
#include "tests/unit/bpf_recorder/recorder.hpp"

namespace lagtrap::native {

// DWARF numbers of registers.
constexpr int rax = 0, rbx = 3, rbp = 6, rsp = 7;

// The rule from this offset of the table on.
struct Row {
    std::uint32_t offset;
    lagtrap_unwind_rule rule;
};

// The caller's frame is at `offset` from a register.
inline lagtrap_unwind_rule by(int number, int offset,
                              lagtrap_unwind_kind kind = LAGTRAP_UNWIND_REGISTER) {
    lagtrap_unwind_rule rule{};
    rule.cfa_offset = offset;
    rule.kind_and_rbp = static_cast<__u8>(kind);
    rule.register_and_add = static_cast<__u8>(number);
    return rule;
}
inline lagtrap_unwind_rule only(lagtrap_unwind_kind kind) { return by(0, 0, kind); }

// The same, and where the caller's rbp is.
inline lagtrap_unwind_rule with_rbp(lagtrap_unwind_rule rule, lagtrap_unwind_rbp place,
                                    int offset = 0) {
    rule.kind_and_rbp = static_cast<__u8>(rule.kind_and_rbp | place << 4);
    rule.rbp_offset = static_cast<__s16>(offset);
    return rule;
}

// Where a table lies. Pages are relative to the first one.
struct Layout {
    std::uint32_t first_page = 100, bucket_count = 4, rule_page = 1, row_page = 2;
    std::uint32_t first_rule = 0, first_row = 0;
};

class Walks : public Recorder {
  protected:
    static constexpr std::uint64_t code = 0x400000, stack = 0x7fff00001000;

    struct Walk {
        std::vector<std::uint64_t> frames;
        int end = -1;  // there is no stack
        std::uint64_t id = 0;
    };

    Walks() {
        saved_.named.ip = code;
        saved_.named.sp = stack;
        saved_.named.cs = 0x33;
        saved_.named.orig_ax = no_call;
        native_set_registers(&saved_);
    }
    template <typename T>
    T& in_page(std::uint32_t page, std::uint32_t index) {
        constexpr std::uint32_t count = LAGTRAP_UNWIND_PAGE_BYTES / sizeof(T);
        page += index / count;
        auto& found = kernel_.at<lagtrap_unwind_page>(
            recorder_maps.unwind_regions[page / LAGTRAP_UNWIND_REGION_PAGES],
            page % LAGTRAP_UNWIND_REGION_PAGES);
        return reinterpret_cast<T*>(&found)[index % count];
    }
    lagtrap_unwind_table& table(std::uint32_t number) {
        return kernel_.at<lagtrap_unwind_table>(recorder_maps.unwind_tables, number);
    }
    // `rows` ascend, and the first one of a bucket is at its begin.
    void add_table(std::uint32_t number, const std::vector<Row>& rows, Layout at = {}) {
        table(number) = {
            LAGTRAP_UNWIND_TABLE_READY, at.first_page, at.bucket_count, at.rule_page, 0, 0};
        for (std::uint32_t i = 0; i < at.bucket_count; ++i)
            in_page<lagtrap_unwind_bucket>(at.first_page, i) = {};
        std::uint32_t rule = at.first_rule, place = at.first_row;
        for (const Row& row : rows) {
            in_page<lagtrap_unwind_rule>(at.first_page + at.rule_page, rule) = row.rule;
            auto& bucket = in_page<lagtrap_unwind_bucket>(at.first_page,
                                                          row.offset / LAGTRAP_UNWIND_BUCKET_BYTES);
            if (bucket.row_count++ == 0)
                bucket.first_row = at.row_page * LAGTRAP_UNWIND_ROWS_PER_PAGE + place;
            in_page<__u32>(at.first_page + at.row_page, place) =
                row.offset % LAGTRAP_UNWIND_BUCKET_BYTES << LAGTRAP_UNWIND_RULE_BITS | rule;
            ++rule;
            ++place;
        }
    }
    // All executable mappings of process 100.
    void map(const std::vector<lagtrap_unwind_mapping>& mappings, std::uint32_t first_block = 8) {
        for (std::uint32_t i = 0; i < mappings.size(); ++i)
            in_page<lagtrap_unwind_mapping>(
                first_block / 4, first_block % 4 * LAGTRAP_UNWIND_MAPPINGS_PER_BLOCK + i) =
                mappings[i];
        const lagtrap_unwind_space space{first_block, static_cast<__u32>(mappings.size())};
        const std::uint32_t process = 100;
        native_update(recorder_maps.unwind_processes, &process, &space);
    }
    // The program has this code alone.
    void add_code(const std::vector<Row>& rows) {
        add_table(2, rows);
        map({{code, 0x1000, code, 2, 0}});
    }
    // A frame whose caller's is at `cfa`, where it continues at `return_address`.
    void frame(std::uint64_t cfa, std::uint64_t return_address, std::uint64_t pushed = 0) {
        kernel_.user_words[cfa - 8] = return_address;
        kernel_.user_words[cfa - 16] = pushed;
    }
    template <typename Record>
    static void copy_if(const Bytes& bytes, std::uint16_t type, Record& record) {
        lagtrap_record header{};
        std::memcpy(&header, bytes.data(), sizeof(header));
        if (header.type != type) return;
        record = {};
        std::memcpy(&record, bytes.data(), std::min(bytes.size(), sizeof(record)));
    }
    Walk taken() {
        Walk found;
        for (const Bytes& bytes : kernel_.take_records(recorder_maps.records)) {
            lagtrap_stack record{};
            std::memcpy(static_cast<void*>(&record), bytes.data(), sizeof(record));
            copy_if<lagtrap_switch>(bytes, LAGTRAP_RECORD_SWITCH, switch_);
            copy_if<lagtrap_sample>(bytes, LAGTRAP_RECORD_SAMPLE, sample_);
            copy_if<lagtrap_thread>(bytes, LAGTRAP_RECORD_THREAD, thread_);
            if (record.header.type != LAGTRAP_RECORD_STACK || record.kind != LAGTRAP_STACK_USER)
                continue;
            found.end = record.end;
            found.id = record.stack_id;
            found.frames.resize(record.frame_count);
            std::memcpy(found.frames.data(), bytes.data() + sizeof(record),
                        found.frames.size() * sizeof(found.frames[0]));
        }
        return found;
    }
    // Thread 101 stops.
    Walk walk() {
        recording.capture = recording.capture + 1;
        select(101);
        on_switch(false, &task(101).task, &task(201).task, interruptible);
        return taken();
    }
    // It sleeps when the recording begins.
    Walk walk_asleep() {
        recording.capture = recording.capture + 1;
        task(101).task.__state = interruptible;
        select(201);
        kernel::bpf_iter__task context{nullptr, &task(101).task};
        on_thread(&context);
        return taken();
    }
    Walk walk_at(std::uint64_t address) {
        saved_.named.ip = address;
        return walk();
    }

    // As struct pt_regs; the named ones lie where the programs expect them.
    struct {
        kernel::pt_regs___kernel named{};
        std::uint64_t others[14]{};
    } saved_;
    // The last ones, which refer to the stack.
    lagtrap_switch switch_{};
    lagtrap_sample sample_{};
    lagtrap_thread thread_{};
};

}  // namespace lagtrap::native
