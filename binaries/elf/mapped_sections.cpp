#include "binaries/elf/mapped_sections.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "binaries/elf/elf_image.hpp"
#include "binaries/elf/section_unpacker.hpp"
#include "core/files.hpp"

namespace lagtrap::binaries {

// How one section is mapped or unpacked.
struct SectionPlan {
    std::string name;
    std::uint64_t file_offset = 0;  // of its data; after the header if it is compressed
    std::uint64_t file_bytes = 0;
    std::uint64_t size = 0;  // in memory
    std::uint32_t compression = 0;
    std::uint64_t region_offset = 0;  // of its pages
    std::uint64_t region_bytes = 0;
};

namespace {

constexpr std::uint64_t packed_chunk_bytes = 256 << 10;

std::uint64_t page_bytes() {
    static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

std::uint64_t whole_pages(std::uint64_t size) {
    return (size + page_bytes() - 1) / page_bytes() * page_bytes();
}

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

Result<SectionPlan> plan_for(const ElfImage& image, const ElfSection& section,
                             std::uint64_t file_bytes) {
    if (section.offset > file_bytes || section.size > file_bytes - section.offset)
        return make_error(ErrorKind::Invalid, image.name() + ": damaged ELF file: section " +
                                                  section.name + " lies beyond its end");
    SectionPlan plan;
    plan.name = section.name;
    plan.file_offset = section.offset;
    plan.file_bytes = section.size;
    plan.size = section.size;
    if ((section.flags & SHF_COMPRESSED) == 0) {
        plan.region_bytes = whole_pages(section.offset % page_bytes() + section.size);
        return plan;
    }
    if (section.size < sizeof(Elf64_Chdr))
        return make_error(ErrorKind::Invalid, image.name() + ": damaged ELF file: section " +
                                                  section.name +
                                                  " is compressed, but has no header");
    TRY_ASSIGN(const std::string head,
               image.read(section.offset, sizeof(Elf64_Chdr), sizeof(Elf64_Chdr)));
    const auto header = number_at<Elf64_Chdr>(head, 0);
    plan.file_offset += sizeof(Elf64_Chdr);
    plan.file_bytes -= sizeof(Elf64_Chdr);
    plan.compression = header.ch_type;
    plan.size = header.ch_size;
    return plan;
}

}  // namespace

Result<MappedSections> MappedSections::open(const std::filesystem::path& path,
                                            const std::vector<std::string_view>& wanted,
                                            const MappedSectionLimits& limits) {
    TRY_ASSIGN(UniqueFd fd, open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    UniqueFd second(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!second.valid()) return system_error(path.string());
    TRY_ASSIGN(const ElfImage image,
               ElfImage::from_file(std::move(second), path.string(), ElfKinds::AlsoObjects));
    const auto file_bytes =
        static_cast<std::uint64_t>(std::max<off_t>(::lseek(fd.get(), 0, SEEK_END), 0));
    if (file_bytes > limits.file_bytes)
        return make_error(ErrorKind::TooLarge, path.string() + ": has " + megabytes(file_bytes) +
                                                   "; at most " + megabytes(limits.file_bytes) +
                                                   " are read");
    MappedSections result;
    std::vector<SectionPlan> plans;
    for (const std::string_view name : wanted) {
        const ElfSection* section = image.find_section(name);
        if (section == nullptr || section->size == 0) continue;
        TRY_ASSIGN(SectionPlan plan, plan_for(image, *section, file_bytes));
        if (plan.compression != 0) {
            if (plan.size > limits.unpacked_bytes - result.unpacked_bytes_)
                return make_error(ErrorKind::TooLarge,
                                  path.string() +
                                      ": its compressed debug information has more than " +
                                      megabytes(limits.unpacked_bytes) + ", the limit");
            result.unpacked_bytes_ += plan.size;
            plan.region_bytes = whole_pages(plan.size);
        }
        plans.push_back(std::move(plan));
    }
    TRY(result.reserve(plans));
    std::uint64_t position = header_bytes;
    for (SectionPlan& plan : plans) {
        plan.region_offset = std::exchange(position, position + plan.region_bytes);
        if (auto filled = result.fill(fd.get(), plan); !filled)
            return filled.error().within(path.string() + ": section " + plan.name);
    }
    result.guard_ = MappingGuard::protect(result.region_, result.region_bytes_);
    if (!result.guard_) return make_error(ErrorKind::Busy, "too many files are mapped");
    return result;
}

Status MappedSections::reserve(const std::vector<SectionPlan>& plans) {
    region_bytes_ = header_bytes;
    for (const SectionPlan& plan : plans) region_bytes_ += plan.region_bytes;
    void* region = ::mmap(nullptr, region_bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return system_error("mmap");
    region_ = static_cast<char*>(region);
    return success();
}

Status MappedSections::fill(int fd, const SectionPlan& plan) {
    char* const place = region_ + plan.region_offset;
    if (plan.region_bytes == 0) return success();
    if (plan.compression == 0) {
        const std::uint64_t lead = plan.file_offset % page_bytes();
        if (::mmap(place, plan.region_bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
                   static_cast<off_t>(plan.file_offset - lead)) == MAP_FAILED)
            return system_error("mmap");
        mapped_ranges_.emplace_back(plan.region_offset, plan.region_bytes);
        sections_.push_back(MappedSection{plan.name, plan.region_offset + lead, plan.size});
        return success();
    }
    std::uint64_t position = plan.file_offset;
    std::uint64_t left = plan.file_bytes;
    const auto source = [&]() -> Result<std::string> {
        std::string chunk(std::min(left, packed_chunk_bytes), '\0');
        if (chunk.empty()) return chunk;
        const ssize_t got = ::pread(fd, chunk.data(), chunk.size(), static_cast<off_t>(position));
        if (got < 0) return system_error("read");
        chunk.resize(static_cast<std::size_t>(got));
        position += chunk.size();
        left -= chunk.size();
        return chunk;
    };
    TRY(unpack_section(plan.compression, source, place, plan.size));
    ::mprotect(place, plan.region_bytes, PROT_READ);
    sections_.push_back(MappedSection{plan.name, plan.region_offset, plan.size});
    return success();
}

std::string_view MappedSections::section(std::string_view name) const {
    for (const MappedSection& section : sections_)
        if (section.name == name) return {region_ + section.offset, section.size};
    return {};
}

void MappedSections::release_pages() const {
    for (const auto& [offset, size] : mapped_ranges_)
        ::madvise(region_ + offset, size, MADV_DONTNEED);
}

void MappedSections::release() {
    guard_.reset();
    if (region_ != nullptr) ::munmap(region_, region_bytes_);
    region_ = nullptr;
}

MappedSections::MappedSections(MappedSections&& other) noexcept
    : region_(std::exchange(other.region_, nullptr)),
      region_bytes_(other.region_bytes_),
      unpacked_bytes_(other.unpacked_bytes_),
      sections_(std::move(other.sections_)),
      mapped_ranges_(std::move(other.mapped_ranges_)),
      guard_(std::exchange(other.guard_, std::nullopt)) {}

MappedSections& MappedSections::operator=(MappedSections&& other) noexcept {
    release();
    region_ = std::exchange(other.region_, nullptr);
    region_bytes_ = other.region_bytes_;
    unpacked_bytes_ = other.unpacked_bytes_;
    sections_ = std::move(other.sections_);
    mapped_ranges_ = std::move(other.mapped_ranges_);
    guard_ = std::exchange(other.guard_, std::nullopt);
    return *this;
}

MappedSections::~MappedSections() { release(); }

}  // namespace lagtrap::binaries
