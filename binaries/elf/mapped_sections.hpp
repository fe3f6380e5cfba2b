// Maps sections of an ELF file side by side in memory, and unpacks compressed ones. Internal to
// binaries/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "binaries/elf/mapping_guard.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

struct MappedSection {
    std::string name;
    std::uint64_t offset = 0;  // in MappedSections::bytes()
    std::uint64_t size = 0;
};

struct SectionPlan;  // how one section is mapped or unpacked

struct MappedSectionLimits {
    std::uint64_t file_bytes = 0;
    std::uint64_t unpacked_bytes = 0;  // for all compressed sections together
};

// The wanted sections of one file, after space for a header that describes them. Other processes
// may change the file meanwhile; a truncated file reads as zeros (MappingGuard).
class MappedSections {
  public:
    // Takes the first section of each name. Skips sections that the file does not have or that are
    // empty. ErrorKind as ElfImage::from_file, and TooLarge beyond the limits, Invalid (damaged
    // compressed data), Unsupported (a compression other than zlib and zstd).
    [[nodiscard]] static Result<MappedSections> open(const std::filesystem::path& path,
                                                     const std::vector<std::string_view>& wanted,
                                                     const MappedSectionLimits& limits);
    MappedSections(MappedSections&& other) noexcept;
    MappedSections& operator=(MappedSections&& other) noexcept;
    ~MappedSections();

    static constexpr std::uint64_t header_bytes = 64 << 10;

    [[nodiscard]] const std::vector<MappedSection>& sections() const { return sections_; }
    // Empty if the file does not have it.
    [[nodiscard]] std::string_view section(std::string_view name) const;
    // The whole region: header_bytes of writable space, then the sections, each in pages of its
    // own.
    [[nodiscard]] char* data() const { return region_; }
    [[nodiscard]] std::uint64_t size() const { return region_bytes_; }
    [[nodiscard]] std::uint64_t unpacked_bytes() const { return unpacked_bytes_; }
    [[nodiscard]] bool file_was_cut() const { return guard_ && guard_->file_was_cut(); }
    // Releases mapped pages; the next access reads them again.
    void release_pages() const;

  private:
    MappedSections() = default;
    [[nodiscard]] Status reserve(const std::vector<SectionPlan>& plans);
    [[nodiscard]] Status fill(int fd, const SectionPlan& plan);
    void release();

    char* region_ = nullptr;
    std::uint64_t region_bytes_ = 0;
    std::uint64_t unpacked_bytes_ = 0;
    std::vector<MappedSection> sections_;
    // offset and size in the region
    std::vector<std::pair<std::uint64_t, std::uint64_t>> mapped_ranges_;
    std::optional<MappingGuard> guard_;
};

}  // namespace lagtrap::binaries
