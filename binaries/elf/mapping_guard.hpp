// Survives the truncation of a mapped file. Internal to binaries/.
#pragma once

#include <cstddef>
#include <optional>

namespace lagtrap::binaries {

// While a guard exists, access to a page of its range that the file no longer has yields zeros
// instead of SIGBUS. Installs a SIGBUS handler for the process, once and permanently; for other
// addresses, it calls the previous handler. Like systemd (src/basic/sigbus.c), it replaces the page
// by a zero page. Thread-safe.
class MappingGuard {
  public:
    // nullopt if 64 guards are in use. The range must consist of whole pages and must be unmapped
    // only after the guard is destroyed.
    [[nodiscard]] static std::optional<MappingGuard> protect(const void* start, std::size_t bytes);
    MappingGuard(MappingGuard&& other) noexcept;
    MappingGuard& operator=(MappingGuard&& other) noexcept;
    ~MappingGuard();

    // Whether a page was missing; if so, do not trust data read from the range.
    [[nodiscard]] bool file_was_cut() const;

  private:
    explicit MappingGuard(std::size_t slot) : slot_(slot) {}
    void release();
    std::optional<std::size_t> slot_;
};

}  // namespace lagtrap::binaries
