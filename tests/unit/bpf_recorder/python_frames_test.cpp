// Python functions in walks of user stacks.
#include <string>

#include "bpf/python.h"
#include "tests/unit/bpf_recorder/walks.hpp"

namespace lagtrap::native::python_frames_test {

namespace {

using Frames = std::vector<std::uint64_t>;

constexpr std::uint64_t thread_pointer = 0x7f0000001000, runtime_at = 0x7f0000100000,
                        interpreter_at = 0x7f0000200000, state_at = 0x7f0000300000,
                        code_type_at = 0x7f0000400000, heap = 0x7f0000500000;

lagtrap_python layout_with_calls() {
    lagtrap_python layout{};
    layout.runtime = runtime_at;
    layout.code_type = code_type_at;
    layout.interpreters = 40;
    layout.threads = 16;
    layout.next_thread = 8;
    layout.thread_ident = 152;
    layout.thread_frame = 56;
    layout.call_frame = 8;
    layout.call_previous = 16;
    layout.frame_code = 32;
    layout.frame_previous = 48;
    layout.frame_entry = 68;
    layout.code_name = 128;
    layout.code_path = 112;
    layout.code_line = 72;
    layout.ascii_text = 48;
    layout.other_text = 72;
    layout.has_calls = 1;
    return layout;
}
// As in 3.12.
lagtrap_python layout_with_entries() {
    lagtrap_python layout = layout_with_calls();
    layout.frame_code = 0;
    layout.frame_previous = 8;
    layout.frame_entry = 70;
    layout.has_own_entry = 1;
    return layout;
}
// As in 3.13.
lagtrap_python layout_without_calls() {
    lagtrap_python layout = layout_with_entries();
    layout.has_calls = 0;
    return layout;
}

constexpr std::uint64_t python(std::uint64_t code_object) {
    return LAGTRAP_PYTHON_FRAME | code_object;
}

// The stack of thread 101, innermost first: a C function, called by the interpreter, called by
// another C function, called by the interpreter, called by the outermost function. Each call of the
// interpreter has 512 bytes of stack.
class PythonStack : public Walks {
  protected:
    static constexpr std::uint64_t inner_call = stack + 0x40, inner_entry = stack + 0x100,
                                   outer_call = stack + 0x240, outer_entry = stack + 0x300;

    void run(const lagtrap_python& layout) {
        layout_ = layout;
        const std::uint32_t pid = 100;
        ASSERT_EQ(native_update(recorder_maps.python_processes, &pid, &layout), 0);
        python_runs = 1;
        add_code({{0, by(rsp, 0x10)}, {0x100, by(rsp, 0x200)}, {0x200, only(LAGTRAP_UNWIND_END)}});
        frame(stack + 0x10, code + 0x110);
        frame(stack + 0x210, code + 0x10);
        frame(stack + 0x220, code + 0x120);
        frame(stack + 0x420, code + 0x210);
        task(101).task.thread.fsbase = thread_pointer;
        set(runtime_at + layout.interpreters, interpreter_at);
        set(interpreter_at + layout.threads, state_at);
        set_thread(state_at, thread_pointer, 0);
        set_functions();
    }
    void set(std::uint64_t address, std::uint64_t word) { kernel_.user_words[address] = word; }
    void set_thread(std::uint64_t state, std::uint64_t ident, std::uint64_t next) {
        set(state + layout_.thread_ident, ident);
        set(state + layout_.next_thread, next);
    }
    // A function with this frame; `mark` as the layout has it.
    void set_frame(std::uint64_t at, std::uint64_t code_object, std::uint64_t previous,
                   std::uint64_t mark) {
        for (std::uint64_t i = 0; i < 72; i += 8) set(at + i, 0);
        set(at + layout_.frame_code, code_object);
        set(at + layout_.frame_previous, previous);
        set(at + 64, mark << layout_.frame_entry % 8 * 8);
    }
    void set_call(std::uint64_t at, std::uint64_t innermost_frame, std::uint64_t previous) {
        set(at + layout_.call_frame, innermost_frame);
        set(at + layout_.call_previous, previous);
    }
    void set_text(std::uint64_t at, const std::string& text, std::uint64_t character_bytes = 1,
                  bool is_ascii = true) {
        set(at + 16, text.size() / character_bytes);
        set(at + 24, 0);
        set(at + 32, character_bytes << 2 | 1 << 5 | (is_ascii ? 1 << 6 : 0));
        const std::uint64_t from = at + (is_ascii ? layout_.ascii_text : layout_.other_text);
        for (std::size_t i = 0; i < text.size(); ++i) {
            std::uint64_t word = 0;
            std::memcpy(&word, text.data() + i, std::min<std::size_t>(8, text.size() - i));
            set(from + i, word);
        }
    }
    void set_code(std::uint64_t at, const std::string& name, const std::string& path,
                  std::uint32_t line) {
        set(at + 8, code_type_at);
        set(at + layout_.code_name, at + 0x1000);
        set(at + layout_.code_path, at + 0x2000);
        set(at + layout_.code_line, line);
        set_text(at + 0x1000, name);
        set_text(at + 0x2000, path);
    }
    // Two functions in the inner call of the interpreter, one in the outer one.
    void set_functions() {
        const bool own = layout_.has_own_entry != 0;
        set_frame(heap, 0xaaa0, heap + 0x100, 0);
        set_frame(heap + 0x100, 0xbbb0, own ? inner_entry : heap + 0x200, own ? 0 : 1);
        set_frame(heap + 0x200, 0xccc0, own ? outer_entry : 0, own ? 0 : 1);
        set_frame(inner_entry, 0xeee0, heap + 0x200, 3);
        set_frame(outer_entry, 0xeee0, 0, 3);
        set_call(inner_call, heap, outer_call);
        set_call(outer_call, heap + 0x200, 0);
        set(state_at + layout_.thread_frame, layout_.has_calls != 0 ? inner_call : heap);
    }
    std::vector<lagtrap_python_code> named() {
        recording.capture = recording.capture + 1;
        return named_again();
    }
    std::vector<lagtrap_python_code> named_again() {
        select(101);
        on_switch(false, &task(101).task, &task(201).task, interruptible);
        return take<lagtrap_python_code>(LAGTRAP_RECORD_PYTHON_CODE);
    }

    lagtrap_python layout_{};
    const Frames native_{code, code + 0x110, code + 0x10, code + 0x120, code + 0x210};
    const Frames all_{code,        code + 0x110, python(0xaaa0), python(0xbbb0),
                      code + 0x10, code + 0x120, python(0xccc0), code + 0x210};
};

class PythonVersion : public PythonStack, public testing::WithParamInterface<int> {
  protected:
    void SetUp() override {
        if (GetParam() == 11) run(layout_with_calls());
        if (GetParam() == 12) run(layout_with_entries());
        if (GetParam() == 13) run(layout_without_calls());
    }
};
INSTANTIATE_TEST_SUITE_P(Of, PythonVersion, testing::Values(11, 12, 13));

TEST_P(PythonVersion, functions_follow_the_call_of_the_interpreter_that_runs_them) {
    EXPECT_EQ(walk().frames, all_);
    EXPECT_EQ(walk().end, LAGTRAP_STACK_END_COMPLETE);
    kernel_.paged_out.insert(heap);
    EXPECT_EQ(walk().frames, native_) << "the innermost frame cannot be read";
    EXPECT_EQ(walk_asleep().frames, all_);
}

TEST_P(PythonVersion, another_process_has_none) {
    task(201).task.thread.fsbase = thread_pointer;
    const std::uint32_t pid = 200;
    const lagtrap_unwind_space space{8, 1};
    native_update(unwind_maps.processes, &pid, &space);
    select(201);
    recording.capture = recording.capture + 1;
    on_switch(false, &task(201).task, &task(101).task, interruptible);
    EXPECT_EQ(taken().frames, native_);
}

TEST_P(PythonVersion, the_threads_state_is_found_among_those_of_others) {
    set(interpreter_at + layout_.threads, heap + 0x8000);
    set_thread(heap + 0x8000, 1, heap + 0x9000);
    set_thread(heap + 0x9000, 2, state_at);
    EXPECT_EQ(walk().frames, all_);
    set(interpreter_at + layout_.threads, 0);
    EXPECT_EQ(walk().frames, all_) << "it is remembered";
    set_thread(state_at, 3, 0);
    EXPECT_EQ(walk().frames, native_) << "the memory is another thread's now";
}

TEST_P(PythonVersion, a_thread_without_a_state_is_searched_for_now_and_then) {
    set_thread(state_at, 1, 0);
    EXPECT_EQ(walk().frames, native_);
    set_thread(state_at, thread_pointer, 0);
    EXPECT_EQ(walk().frames, native_);
    kernel_.now_ns += 100 * ms;
    EXPECT_EQ(walk().frames, all_);
}

TEST_P(PythonVersion, a_process_is_searched_at_most_once_in_a_millisecond) {
    task(102).task.thread.fsbase = 2;
    select(102);
    on_switch(false, &task(102).task, &task(201).task, interruptible);
    EXPECT_EQ(walk().frames, native_);
    kernel_.now_ns += ms;
    EXPECT_EQ(walk().frames, all_);
}

TEST_P(PythonVersion, states_in_a_ring_end_the_search) {
    set_thread(state_at, 1, state_at);
    EXPECT_EQ(walk().frames, native_);
}

TEST_P(PythonVersion, frames_in_a_ring_end_the_walk) {
    set_frame(heap, 0xaaa0, heap, 0);
    const Walk found = walk();
    if (layout_.has_calls != 0) {
        EXPECT_EQ(found.frames.size(), LAGTRAP_MAX_FRAMES);
        EXPECT_EQ(found.end, LAGTRAP_STACK_END_TOO_DEEP);
    } else {
        EXPECT_EQ(found.frames, native_) << "it seeks the entry in vain";
        EXPECT_EQ(found.end, LAGTRAP_STACK_END_COMPLETE);
    }
}

TEST_P(PythonVersion, a_child_has_them_too_until_it_executes_a_program) {
    on_fork(&task(101).task, &task(301).task);
    const std::uint32_t pid = 300;
    Map& processes = kernel_.map(recorder_maps.python_processes);
    EXPECT_NE(kernel_.lookup(processes, &pid), nullptr);
    on_exec(&task(301).task);
    EXPECT_EQ(kernel_.lookup(processes, &pid), nullptr);
}

std::string name_in(const lagtrap_python_code& code) { return {code.name, code.name_bytes}; }
std::string path_in(const lagtrap_python_code& code) { return {code.path, code.path_bytes}; }

TEST_P(PythonVersion, functions_are_named_once_in_each_recording) {
    set_code(0xaaa0, "Handler.do_GET", "/srv/app.py", 12);
    set_code(0xbbb0, "serve", "/srv/server.py", 3);
    const auto found = named();
    ASSERT_EQ(found.size(), 2U) << "the third is no function";
    EXPECT_EQ(name_in(found[0]), "Handler.do_GET");
    EXPECT_EQ(path_in(found[0]), "/srv/app.py");
    EXPECT_EQ(found[0].line, 12U);
    EXPECT_EQ(found[0].pid, 100U);
    EXPECT_EQ(found[0].code, 0xaaa0U);
    EXPECT_EQ(found[0].name_character_bytes, 1);
    EXPECT_EQ(name_in(found[1]), "serve");
    EXPECT_TRUE(named_again().empty());
    saved_.named.ip = code + 1;
    EXPECT_TRUE(named_again().empty()) << "in another stack";
    EXPECT_EQ(named().size(), 2U) << "in another recording";
}

TEST_P(PythonVersion, names_are_read_of_threads_that_sleep) {
    set_code(0xaaa0, "wait", "/srv/app.py", 12);
    for (const std::uint64_t at : {0xaaa8ULL, 0xbaa0ULL + 16, 0xcaa0ULL + 16})
        kernel_.paged_out.insert(at);
    EXPECT_TRUE(named().empty());
    recording.capture = recording.capture + 1;
    task(101).task.__state = interruptible;
    select(201);
    kernel::bpf_iter__task context{nullptr, &task(101).task};
    on_thread(&context);
    const auto found = take<lagtrap_python_code>(LAGTRAP_RECORD_PYTHON_CODE);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(name_in(found[0]), "wait");
}

class PythonNames : public PythonStack {
  protected:
    PythonNames() { run(layout_with_calls()); }
    lagtrap_python_code named_one() {
        const auto found = named();
        return found.size() == 1 ? found.front() : lagtrap_python_code{};
    }
};

TEST_F(PythonNames, long_ones_lose_their_end_and_long_paths_their_begin) {
    const std::string name(200, 'n'), path = std::string(300, 'p') + ".py";
    set_code(0xaaa0, name, path, 1);
    const auto found = named_one();
    EXPECT_EQ(name_in(found), name.substr(0, LAGTRAP_PYTHON_NAME_BYTES));
    EXPECT_EQ(path_in(found), path.substr(path.size() - LAGTRAP_PYTHON_PATH_BYTES));
}

TEST_F(PythonNames, may_have_wide_characters) {
    set_code(0xaaa0, "n", "p", 1);
    const std::string wide = {'\x21', '\x04', '\x22', '\x04'};
    set_text(0xaaa0 + 0x1000, wide, 2, false);
    const auto found = named_one();
    EXPECT_EQ(name_in(found), wide);
    EXPECT_EQ(found.name_character_bytes, 2);
    EXPECT_EQ(path_in(found), "p");
}

TEST_F(PythonNames, of_impossible_texts_are_empty) {
    set_code(0xaaa0, "n", "p", 1);
    for (const std::uint64_t state : {0ULL, 3ULL << 2 | 1 << 5, 1ULL << 2}) {
        set(0xaaa0 + 0x1000 + 32, state);
        EXPECT_EQ(name_in(named_one()), "") << state;
        EXPECT_EQ(path_in(named_one()), "p");
    }
    set_text(0xaaa0 + 0x1000, "n");
    set(0xaaa0 + 0x1000 + 16, ~0ULL);
    EXPECT_EQ(name_in(named_one()), "");
}

TEST_F(PythonNames, are_written_again_if_the_ring_was_full) {
    set_code(0xaaa0, "n", "p", 1);
    fill_ring();
    EXPECT_TRUE(named().empty());
    EXPECT_GT(counters().stacks_lost, 0U);
    kernel_.map(recorder_maps.records).room_bytes = 1 << 20;
    EXPECT_EQ(named_again().size(), 1U);
}

}  // namespace

}  // namespace lagtrap::native::python_frames_test
