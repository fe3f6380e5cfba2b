// Decodes x86-64 instructions one by one, by capstone. Internal to binaries/.
#pragma once

#include <capstone/capstone.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace lagtrap::binaries {

// A capstone handle and memory for one instruction.
class InstructionDecoder {
  public:
    InstructionDecoder() {
        if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) return;
        cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
        instruction_ = cs_malloc(handle_);
    }
    ~InstructionDecoder() {
        if (instruction_ != nullptr) cs_free(instruction_, 1);
        if (handle_ != 0) cs_close(&handle_);
    }
    InstructionDecoder(const InstructionDecoder&) = delete;
    InstructionDecoder& operator=(const InstructionDecoder&) = delete;

    [[nodiscard]] bool ready() const { return instruction_ != nullptr; }
    // Decodes the first instruction of `code` and removes it; nullptr if there is none.
    [[nodiscard]] const cs_insn* next(std::string_view& code, std::uint64_t address) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
        std::size_t left = code.size();
        if (!cs_disasm_iter(handle_, &bytes, &left, &address, instruction_)) return nullptr;
        code.remove_prefix(code.size() - left);
        return instruction_;
    }

  private:
    csh handle_ = 0;
    cs_insn* instruction_ = nullptr;
};

// `group` is one of CS_GRP_*.
inline bool is_in_group(const cs_insn& instruction, std::uint8_t group) {
    const std::uint8_t* const groups = instruction.detail->groups;
    const std::uint8_t* const end = groups + instruction.detail->groups_count;
    return std::find(groups, end, group) != end;
}

}  // namespace lagtrap::binaries
