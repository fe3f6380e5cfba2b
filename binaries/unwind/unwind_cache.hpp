// Unwind tables kept on disk, so that they need not be made again when the daemon or the machine starts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "binaries/unwind/unwind_table.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// Whether the table's sizes go together, every position in it lies within it, and its rows ascend: of one that comes from
// elsewhere.
[[nodiscard]] bool holds_together(const UnwindTable& table);

// One file per table, named by `key`: the build id in hexadecimal, or what else stands for the file's content
// (lower-case letters, digits and '-', at most 128). Several processes may use one folder; no file is seen half-written.
class UnwindCache {
  public:
    // Makes the folder (0700) if need be. All files together take at most `limit_bytes`: those not used for longest go.
    [[nodiscard]] static Result<UnwindCache> open(const std::filesystem::path& folder, std::uint64_t limit_bytes);

    // ErrorKind::NotFound; Invalid where the file is damaged or of another version (it is then removed). What comes
    // back was checked: every position in it lies within it.
    [[nodiscard]] Result<UnwindTable> load(const std::string& key) const;
    [[nodiscard]] Status store(const std::string& key, const UnwindTable& table) const;
    [[nodiscard]] std::uint64_t size_bytes() const;

  private:
    UnwindCache(std::filesystem::path folder, std::uint64_t limit_bytes);
    std::filesystem::path folder_;
    std::uint64_t limit_bytes_;
};

}  // namespace lagtrap::binaries
