// Functions that are left in different ways; compiled by each compiler, with and without
// optimisation.
#include <stdexcept>
#include <vector>

extern "C" {

int exits_other(int value);
int (*exits_pointer)(int) = nullptr;

__attribute__((noinline)) int exits_plain(int value) { return value * 3 + 1; }

__attribute__((noinline)) int exits_early(const int* values, int count) {
    if (values == nullptr) return -1;
    for (int index = 0; index < count; ++index) {
        if (values[index] < 0) return exits_plain(index) + 1;
        exits_plain(values[index]);
    }
    return count;
}

__attribute__((noinline)) int exits_switch(int value) {
    switch (value) {
        case 0: return exits_plain(7) + 1;
        case 1: return exits_plain(1) * 5;
        case 2: return exits_plain(8) - 3;
        case 3: return exits_plain(4) / 3;
        case 4: return exits_plain(2) ^ 9;
        case 5: return exits_plain(6) | 4;
        case 6: return exits_plain(3) & 6;
        default: return 0;
    }
}

__attribute__((noinline)) int exits_tail(int value) { return exits_other(value + 1); }

__attribute__((noinline)) int exits_pointer_tail(int value) {
    if (value == 0) return exits_plain(3) + 1;
    return exits_pointer(value - 1);
}

__attribute__((noinline)) int exits_cold(int value) {
    std::vector<int> values(static_cast<unsigned>(value) & 15U, value);
    if (__builtin_expect(value < 0, 0)) {
        exits_plain(value);
        throw std::invalid_argument("negative");
    }
    try {
        values.push_back(exits_other(value));
    } catch (const std::logic_error& error) {
        return exits_plain(static_cast<int>(error.what()[0]));
    }
    return static_cast<int>(values.size());
}

__attribute__((noinline, noreturn)) void exits_never(int value) {
    for (;;) exits_other(value++);
}
}

__asm__(
    ".globl exits_prefixes\n.type exits_prefixes,@function\n"
    "exits_prefixes: exits_prefixes_here: push %rbp\npop %rbp\njz 1f\nrep ret\n1: js 2f\n.byte "
    "0xf2,0xc3\n2: ret $8\n"
    ".size exits_prefixes,.-exits_prefixes\n"
    ".globl exits_conditional\n.type exits_conditional,@function\n"
    "exits_conditional: test %edi,%edi\njz exits_prefixes_here\nret\n"
    ".size exits_conditional,.-exits_conditional\n"
    ".globl exits_again\n.type exits_again,@function\n"
    "exits_again: 1: dec %edi\njnz 1b\nret\n"
    ".size exits_again,.-exits_again\n"
    ".globl exits_jump\n.type exits_jump,@function\n"
    "exits_jump: exits_jump_here: jmp exits_prefixes_here\n.size exits_jump,.-exits_jump\n"
    ".globl exits_loop\n.type exits_loop,@function\n"
    "exits_loop: nop\nloop exits_jump_here\nret\n.size exits_loop,.-exits_loop\n"
    ".globl exits_far\n.type exits_far,@function\n"
    "exits_far: nop\nlret\n.size exits_far,.-exits_far\n"
    ".globl exits_frame\n.type exits_frame,@function\n"
    "exits_frame: .cfi_startproc\npush %rbp\n.cfi_adjust_cfa_offset 8\njmp exits_prefixes_here\n"
    ".cfi_endproc\n.size exits_frame,.-exits_frame\n"
    ".globl exits_slot\n.type exits_slot,@function\n"
    "exits_slot: jmp *exits_other@GOTPCREL(%rip)\n.size exits_slot,.-exits_slot\n"
    // What reads as a return, and is none.
    ".globl exits_data\n.type exits_data,@function\n"
    "exits_data: .cfi_startproc\nnop\nret\n.byte 0xc3,0xc3,0xc3\n.cfi_endproc\n.size "
    "exits_data,.-exits_data\n"
    ".globl exits_at_once\n.type exits_at_once,@function\n"
    "exits_at_once: ret\n.size exits_at_once,.-exits_at_once\n"
    ".globl exits_sizeless\n.type exits_sizeless,@function\nexits_sizeless: nop\nret\n"
    ".globl exits_no_code\n.type exits_no_code,@function\n"
    "exits_no_code: nop\n.byte 0x06\nret\n.size exits_no_code,.-exits_no_code\n"
    ".globl exits_cut\n.type exits_cut,@function\n"
    "exits_cut: ret\nmov $1,%eax\n.size exits_cut,.-exits_cut-2\n"
    ".globl exits_many\n.type exits_many,@function\n"
    "exits_many: nop\n.rept 4097\njz 1f\nret\n1:\n.endr\nret\n.size exits_many,.-exits_many\n"
    // Elsewhere than .text, so that showing that takes no time.
    ".section .large_code,\"ax\"\n"
    ".globl exits_large\n.type exits_large,@function\n"
    "exits_large: .fill 4194305,1,0x90\nret\n.size exits_large,.-exits_large\n.text\n");
