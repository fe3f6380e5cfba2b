// The files whose code was mapped during a recording, one entry per path and build id.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

namespace lagtrap::trace {

using ModuleId = std::uint32_t;
inline constexpr ModuleId unknown_module = 0;  // "[unknown]"
inline constexpr ModuleId kernel_module = 1;   // "[kernel.kallsyms]"
// "[jit]": executable memory without a file: JIT code
inline constexpr ModuleId jit_module = 2;
inline constexpr ModuleId first_file_module = 3;

// A process that had the module mapped, and where. While it lives, the file can be opened through
// /proc.
struct ModuleUser {
    std::uint32_t pid = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

struct RecordedModule {
    std::string path;      // from the kernel; any bytes
    std::string build_id;  // raw bytes
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    // address as linked minus file offset; set if the file could be read
    std::uint64_t load_bias = 0;
    std::vector<ModuleUser> users;  // the first few
};

class ModuleTable {
  public:
    ModuleTable();
    // Returns the module with this path and build id; creates it if new.
    ModuleId intern(const std::string& path, const std::string& build_id, std::uint64_t device,
                    std::uint64_t inode, const ModuleUser& user);
    [[nodiscard]] RecordedModule& at(ModuleId id) { return modules_[id]; }
    [[nodiscard]] const RecordedModule& at(ModuleId id) const { return modules_[id]; }
    [[nodiscard]] std::size_t size() const { return modules_.size(); }

  private:
    std::vector<RecordedModule> modules_;
    std::unordered_map<std::string, ModuleId> by_name_;
};

}  // namespace lagtrap::trace
