// Keeps unwind tables on disk, so that they need not be built again when lagtrapd or the machine
// restarts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "binaries/unwind/unwind_table.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// Checks a table from an untrusted source: sizes match, every position lies within the table, and
// rows ascend.
[[nodiscard]] bool holds_together(const UnwindTable& table);

// One file per table, named by `key`: the build id in hexadecimal, or another identity of the
// file's content (lower-case letters, digits and '-', at most 128). Several processes may share a
// folder. Files appear only when complete.
class UnwindCache {
  public:
    // Creates the folder (0700) if it is missing. Keeps all files together below `limit_bytes` by
    // removing the least recently used.
    [[nodiscard]] static Result<UnwindCache> open(const std::filesystem::path& folder,
                                                  std::uint64_t limit_bytes);

    // ErrorKind::NotFound; Invalid if the file is damaged or of another version, after removing it.
    // Returned tables pass holds_together().
    [[nodiscard]] Result<UnwindTable> load(const std::string& key) const;
    [[nodiscard]] Status store(const std::string& key, const UnwindTable& table) const;
    [[nodiscard]] std::uint64_t size_bytes() const;

  private:
    UnwindCache(std::filesystem::path folder, std::uint64_t limit_bytes);
    std::filesystem::path folder_;
    std::uint64_t limit_bytes_;
};

}  // namespace lagtrap::binaries
