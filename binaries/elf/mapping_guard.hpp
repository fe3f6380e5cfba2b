// Survives the end of a mapped file being cut off. Used by the other files of this folder.
#pragma once

#include <cstddef>
#include <optional>

namespace lagtrap::binaries {

// While it lives, an access to a page of the range whose file no longer has it gives zeros instead of SIGBUS. Sets the
// process's handler of SIGBUS once, for good; the handler passes on what is no guard's to the one that was there before.
// The way is that of systemd (src/basic/sigbus.c): the page is replaced by one of zeros. Any thread.
class MappingGuard {
  public:
    // nullopt: more than 64 are in use. The range consists of whole pages, and must be unmapped after the guard is gone.
    [[nodiscard]] static std::optional<MappingGuard> protect(const void* start, std::size_t bytes);
    MappingGuard(MappingGuard&& other) noexcept;
    MappingGuard& operator=(MappingGuard&& other) noexcept;
    ~MappingGuard();

    // Whether a page was gone: what was read of the range is not to be believed.
    [[nodiscard]] bool file_was_cut() const;

  private:
    explicit MappingGuard(std::size_t slot) : slot_(slot) {}
    void release();
    std::optional<std::size_t> slot_;
};

}  // namespace lagtrap::binaries
