// Values of arguments at sites of USDT probes, by where the compiler left them.
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

class Arguments : public EventMonitor {
  protected:
    static constexpr std::uint8_t rdx = 2, rsp = 4, rsi = 6, rdi = 7;

    Arguments() {
        add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_RECORD_RUNS);
        argument().base = rdi;
        argument().index = LAGTRAP_NO_REGISTER;
        argument().bytes = 8;
        argument().place = LAGTRAP_ARGUMENT_REGISTER;
    }
    lagtrap_argument& argument() {
        return kernel.at<lagtrap_site>(native_maps.argument_sites, 1).key;
    }
    // The key of a run whose markers are hit with these values.
    std::uint64_t key_of(const Hit& hit) {
        begin(0, thread(101), hit);
        end(0, thread(101), hit);
        const auto reported = take_reports();
        EXPECT_EQ(reported.size(), 1U);
        return reported.empty() ? 0 : reported[0].run.key;
    }
};

TEST_F(Arguments, a_part_of_a_register_is_extended_as_its_type_is) {
    struct Case {
        std::uint8_t bytes, is_signed, first_bit;
        std::uint64_t value, key;
    };
    for (const Case& one :
         {Case{8, 0, 0, 0xfedcba9876543210, 0xfedcba9876543210}, Case{8, 1, 0, ~0ULL, ~0ULL},
          Case{4, 0, 0, 0xffffffff80000000, 0x80000000},
          Case{4, 1, 0, 0x0000000080000000, 0xffffffff80000000},
          Case{4, 1, 0, 0xffffffff7fffffff, 0x7fffffff}, Case{2, 0, 0, 0x12348000, 0x8000},
          Case{2, 1, 0, 0x12348000, 0xffffffffffff8000}, Case{1, 0, 0, 0x1280, 0x80},
          Case{1, 1, 0, 0x1280, 0xffffffffffffff80}, Case{1, 0, 8, 0x1280, 0x12},
          Case{1, 1, 8, 0xff7f, 0xffffffffffffffff}}) {
        argument().bytes = one.bytes;
        argument().is_signed = one.is_signed;
        argument().first_bit = one.first_bit;
        EXPECT_EQ(key_of({.key = one.value}), one.key) << int{one.bytes} << " " << one.value;
    }
}

TEST_F(Arguments, each_register_is_its_own) {
    const Hit hit{.key = 7, .stack_pointer = 0x7001, .begin_ns = 6, .text_address = 0x2002};
    argument().base = rsp;
    EXPECT_EQ(key_of(hit), 0x7001U);
    argument().base = rsi;
    EXPECT_EQ(key_of(hit), 6U);
    argument().base = rdx;
    EXPECT_EQ(key_of(hit), 0x2002U);
    argument().base = LAGTRAP_NO_REGISTER;
    EXPECT_EQ(key_of(hit), 0U);
}

// By their numbers in machine code.
TEST_F(Arguments, registers_are_numbered_as_in_machine_code) {
    pt_regs registers{};
    registers.rax = 100;
    registers.rcx = 101;
    registers.rdx = 102;
    registers.rbx = 103;
    registers.rsp = 104;
    registers.rbp = 105;
    registers.rsi = 106;
    registers.rdi = 107;
    registers.r8 = 108;
    registers.r9 = 109;
    registers.r10 = 110;
    registers.r11 = 111;
    registers.r12 = 112;
    registers.r13 = 113;
    registers.r14 = 114;
    registers.r15 = 115;
    for (std::uint32_t number = 0; number < 16; ++number)
        EXPECT_EQ(native_register_value(&registers, number), 100 + number);
    EXPECT_EQ(native_register_value(&registers, LAGTRAP_NO_REGISTER), 0U);
}

TEST_F(Arguments, a_constant_is_itself_whatever_its_width) {
    argument().place = LAGTRAP_ARGUMENT_CONSTANT;
    argument().bytes = 1;
    argument().number = -300;
    EXPECT_EQ(key_of({.key = 7}), static_cast<std::uint64_t>(-300));
}

TEST_F(Arguments, memory_has_a_base_an_index_and_an_offset) {
    argument().place = LAGTRAP_ARGUMENT_MEMORY;
    argument().bytes = 4;
    argument().is_signed = 1;
    kernel.user_words = {{0x9000, 0x7777777700000005}, {0x9010, 0xffffffdf}, {0x8ff0, 12}};
    EXPECT_EQ(key_of({.key = 0x9000}), 5U) << "of a word, only the argument's bytes count";
    EXPECT_EQ(key_of({.key = 0x9010}), static_cast<std::uint64_t>(-33));
    argument().number = 0x10;
    EXPECT_EQ(key_of({.key = 0x9000}), static_cast<std::uint64_t>(-33));
    argument().number = -0x10;
    EXPECT_EQ(key_of({.key = 0x9000}), 12U);
    argument().index = rsi;
    argument().scale_shift = 2;
    EXPECT_EQ(key_of({.key = 0x9000, .begin_ns = 8}), static_cast<std::uint64_t>(-33))
        << "- 0x10 + 8 * 4";
    argument().scale_shift = 3;
    EXPECT_EQ(key_of({.key = 0x9000, .begin_ns = 2}), 5U);
    argument().scale_shift = 0;
    EXPECT_EQ(key_of({.key = 0x9000, .begin_ns = 0x20}), static_cast<std::uint64_t>(-33));
}

TEST_F(Arguments, memory_that_cannot_be_read_is_zero) {
    argument().place = LAGTRAP_ARGUMENT_MEMORY;
    EXPECT_EQ(key_of({.key = 0x9000}), 0U);
    kernel.user_words = {{0x9000, 5}};
    argument().bytes = 9;
    EXPECT_EQ(key_of({.key = 0x9000}), 0U) << "no argument is that wide";
    argument().place = LAGTRAP_ARGUMENT_CONSTANT;
    argument().number = 3;
    EXPECT_EQ(key_of({.key = 0x9000}), 3U);
}

}  // namespace lagtrap::native
