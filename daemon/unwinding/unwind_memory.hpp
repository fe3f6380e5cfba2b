// Interface to the unwind tables and address spaces of the kernel side, for code that fills them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "binaries/unwind/unwind_table.hpp"
#include "bpf/unwind.h"

namespace lagtrap::daemon {

class UnwindMemory {
  public:
    virtual ~UnwindMemory() = default;

    // A number for a table that has no content yet; nullopt if all are in use.
    [[nodiscard]] virtual std::optional<std::uint32_t> new_table() = 0;
    virtual void set_state(std::uint32_t table, lagtrap_unwind_table_state state) = 0;
    // Copies the table and makes it ready. False if there is no room; its state does not change
    // then.
    [[nodiscard]] virtual bool fill(std::uint32_t table, const binaries::UnwindTable& content) = 0;
    virtual void drop_table(std::uint32_t table) = 0;

    // nullopt if there is no room. At most LAGTRAP_UNWIND_MAX_MAPPINGS mappings, ordered by
    // address.
    [[nodiscard]] virtual std::optional<lagtrap_unwind_space> add_space(
        std::span<const lagtrap_unwind_mapping> mappings) = 0;
    virtual void drop_space(lagtrap_unwind_space space) = 0;

    // False if there are more processes than LAGTRAP_UNWIND_MAX_PROCESSES.
    [[nodiscard]] virtual bool set_process(std::uint32_t pid, lagtrap_unwind_space space) = 0;
    virtual void drop_process(std::uint32_t pid) = 0;
    virtual void drop_all_processes() = 0;

    [[nodiscard]] virtual std::uint64_t used_bytes() const = 0;
    [[nodiscard]] virtual std::uint64_t budget_bytes() const = 0;
};

}  // namespace lagtrap::daemon
