// Whether an instruction that may leave a function does so, by flags, registers and jump targets.
#include <initializer_list>

#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

class FunctionExits : public EventMonitor {
  protected:
    static constexpr std::uint8_t rdx = 2;
    static constexpr std::uint64_t carry = 1, parity = 1 << 2, zero = 1 << 6, sign = 1 << 7,
                                   overflow = 1 << 11;
    static constexpr std::uint64_t jump = 0x400000, site_number = 5;

    FunctionExits() {
        add_event(0, 0, LAGTRAP_NESTING_EACH, Probe::function);
        site().target.place = LAGTRAP_ARGUMENT_REGISTER;
        site().target.bytes = 8;
        site().target.base = rdx;
        site().target.index = LAGTRAP_NO_REGISTER;
    }
    lagtrap_exit_site& site() {
        return kernel.at<lagtrap_exit_site>(native_maps.exit_sites, site_number);
    }
    // Whether an exit with these registers ends a call.
    bool ends(std::uint64_t how, const native_registers& registers) {
        const std::uint64_t before = runs(0);
        begin(0, thread(101));
        native_registers at_exit = registers;
        at_exit.stack_pointer = Hit{}.stack_pointer;
        kernel.cookie = LAGTRAP_PLACE_END | how << LAGTRAP_COOKIE_EXIT_SHIFT;
        if (how == LAGTRAP_EXIT_BY_TARGET)
            kernel.cookie |= site_number << LAGTRAP_COOKIE_EXIT_SITE_SHIFT;
        native_on_function(&at_exit);
        const bool ended = runs(0) > before;
        if (!ended) end(0, thread(101));
        EXPECT_EQ(runs(0), before + 1);
        return ended;
    }
    bool ends_with_flags(std::uint64_t condition, std::uint64_t flags) {
        native_registers registers{};
        registers.flags = flags;
        return ends(1 + condition, registers);
    }
    bool ends_at(std::uint64_t target) {
        native_registers registers{};
        registers.instruction = jump;
        registers.rdx = target;
        return ends(LAGTRAP_EXIT_BY_TARGET, registers);
    }
};

// Codes as in Jcc: Intel SDM, volume 1, appendix B.
TEST_F(FunctionExits, a_conditional_jump_leaves_if_its_condition_holds) {
    struct Condition {
        std::uint64_t code;
        std::initializer_list<std::uint64_t> holds, fails;
    };
    for (const Condition& one :
         {Condition{0, {overflow}, {0, carry | parity | zero | sign}},
          Condition{2, {carry}, {0, overflow | parity | zero | sign}},
          Condition{4, {zero}, {0, overflow | parity | carry | sign}},
          Condition{6, {zero, carry, zero | carry}, {0, overflow | parity | sign}},
          Condition{8, {sign}, {0, overflow | parity | carry | zero}},
          Condition{10, {parity}, {0, overflow | carry | zero | sign}},
          Condition{12, {sign, overflow}, {0, sign | overflow, carry | parity | zero}},
          Condition{14,
                    {sign, overflow, zero, sign | overflow | zero},
                    {0, sign | overflow, carry | parity}}}) {
        for (const std::uint64_t flags : one.holds) {
            EXPECT_TRUE(ends_with_flags(one.code, flags)) << one.code << " " << flags;
            EXPECT_FALSE(ends_with_flags(one.code + 1, flags)) << one.code + 1 << " " << flags;
        }
        for (const std::uint64_t flags : one.fails) {
            EXPECT_FALSE(ends_with_flags(one.code, flags)) << one.code << " " << flags;
            EXPECT_TRUE(ends_with_flags(one.code + 1, flags)) << one.code + 1 << " " << flags;
        }
    }
}

TEST_F(FunctionExits, a_jump_by_the_counter_leaves_if_it_is_zero) {
    native_registers registers{};
    EXPECT_TRUE(ends(LAGTRAP_EXIT_RCX_ZERO, registers));
    EXPECT_TRUE(ends(LAGTRAP_EXIT_ECX_ZERO, registers));
    registers.rcx = 1ULL << 32;
    EXPECT_FALSE(ends(LAGTRAP_EXIT_RCX_ZERO, registers));
    EXPECT_TRUE(ends(LAGTRAP_EXIT_ECX_ZERO, registers)) << "only its lower half counts";
    registers.rcx = 1;
    EXPECT_FALSE(ends(LAGTRAP_EXIT_RCX_ZERO, registers));
    EXPECT_FALSE(ends(LAGTRAP_EXIT_ECX_ZERO, registers));
}

TEST_F(FunctionExits, an_indirect_jump_leaves_if_its_target_is_outside) {
    site().within[0] = {-0x20, 0x30};
    site().within[3] = {0x1000, 0x1010};
    for (const std::uint64_t inside :
         {jump - 0x20, jump, jump + 0x2f, jump + 0x1000, jump + 0x100f})
        EXPECT_FALSE(ends_at(inside)) << std::hex << inside;
    for (const std::uint64_t outside : {jump - 0x21, jump + 0x30, jump + 0xfff, jump + 0x1010,
                                        jump + (std::uint64_t{1} << 32), std::uint64_t{0}})
        EXPECT_TRUE(ends_at(outside)) << std::hex << outside;
}

TEST_F(FunctionExits, without_its_site_an_indirect_jump_stays) {
    native_registers registers{};
    begin(0, thread(101));
    registers.stack_pointer = Hit{}.stack_pointer;
    kernel.cookie =
        LAGTRAP_PLACE_END |
        static_cast<std::uint64_t>(LAGTRAP_EXIT_BY_TARGET) << LAGTRAP_COOKIE_EXIT_SHIFT |
        static_cast<std::uint64_t>(LAGTRAP_MAX_EXIT_SITES) << LAGTRAP_COOKIE_EXIT_SITE_SHIFT;
    native_on_function(&registers);
    EXPECT_EQ(runs(0), 0);
}

}  // namespace lagtrap::native
