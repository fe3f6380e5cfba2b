// Names of Python functions in stacks, as lagtrapd's BPF programs read them from their processes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "bpf/python.h"
#include "trace/stacks/stack_table.hpp"

namespace lagtrap::trace {

class PythonNames {
  public:
    // If a function is described twice, the last time counts.
    void take(const lagtrap_python_code& code);
    // Names the Python functions in `stacks`, with file and first line, and moves them to
    // jit_module. Those that no record describes keep their address.
    void name(StackTable& stacks) const;

    static constexpr std::size_t functions_limit = 100'000;  // further ones have no names

  private:
    struct Function {
        std::string name, path;  // UTF-8
        std::uint32_t line = 0;  // 0 if unknown
    };
    [[nodiscard]] static std::string name_of(const Function& function);

    std::map<std::pair<std::uint32_t, std::uint64_t>, Function> functions_;  // process, code
};

// `text` has characters of 1 (Latin-1), 2 or 4 bytes (little-endian). Returns UTF-8; empty for
// other widths. What is no character becomes U+FFFD.
[[nodiscard]] std::string python_text(std::string_view text, std::size_t character_bytes);

}  // namespace lagtrap::trace
