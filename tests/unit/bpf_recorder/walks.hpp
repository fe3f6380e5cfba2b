// A program whose stack is walked.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/unit/bpf/unwind_store.hpp"
#include "tests/unit/bpf_recorder/recorder.hpp"

namespace lagtrap::native {

class Walks : public Recorder, protected UnwindStore {
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
