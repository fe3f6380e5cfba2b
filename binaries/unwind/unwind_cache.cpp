#include "binaries/unwind/unwind_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <tuple>
#include <vector>

#include "binaries/elf/elf_image.hpp"
#include "core/files.hpp"

namespace lagtrap::binaries {
namespace {

// A file contains this header, the segments and the pages, in the machine's number format. Increase
// the version when this, bpf/unwind.h or the output of make_unwind_table() changes.
constexpr char cache_magic_bytes[8] = {'l', 'a', 'g', 't', 'r', 'a', 'p', 'U'};
constexpr std::uint32_t format_version = 4;
constexpr std::size_t max_key_bytes = 128;

struct Header {
    char magic[8];
    std::uint32_t version;
    std::uint32_t checksum;   // CRC-32 of the whole file with 0 in this field
    char key[max_key_bytes];  // padded with NUL
    std::uint64_t base_address;
    std::uint64_t row_count;
    std::uint64_t unsupported_rows;
    std::uint32_t bucket_count;
    std::uint32_t rule_page;
    std::uint32_t row_page;
    std::uint32_t page_count;
    std::uint32_t segment_count;
    std::uint32_t padding;
};
static_assert(sizeof(Header) == 192, "layout of cached tables");
static_assert(sizeof(CodeSegment) == 24, "layout of cached tables");

constexpr std::uint64_t max_cached_bytes =
    sizeof(Header) + max_segments * sizeof(CodeSegment) + max_unwind_table_bytes;

constexpr const char* suffix = ".unwind";
constexpr const char* being_written_mark = ".unwind.";  // followed by what mkostemp() adds

constexpr std::time_t touch_seconds = 3600;
// Age at which an incomplete file counts as abandoned.
constexpr std::time_t abandoned_seconds = 3600;

bool is_key(const std::string& key) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    };
    return !key.empty() && key.size() <= max_key_bytes &&
           std::all_of(key.begin(), key.end(), allowed);
}

Error bad_key(const std::string& key) {
    return make_error(ErrorKind::Invalid,
                      "key of an unwind table with " + std::to_string(key.size()) +
                          " characters; 1 to 128 lower-case letters, digits and '-' are allowed");
}

std::uint32_t checksum_of(Header header, const std::vector<CodeSegment>& segments,
                          const std::vector<std::uint64_t>& pages) {
    header.checksum = 0;
    uLong sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(&header), sizeof header);
    sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(segments.data()),
                    segments.size() * sizeof segments[0]);
    sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(pages.data()),
                    pages.size() * sizeof pages[0]);
    return static_cast<std::uint32_t>(sum);
}

bool read_exactly(int fd, void* into, std::size_t size) {
    auto* position = static_cast<char*>(into);
    while (size > 0) {
        const ssize_t got = ::read(fd, position, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        position += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

// Whether the walk knows every rule, and every bucket's rows lie in one of the row pages, start at
// offset 0, ascend, and refer to existing rules.
bool positions_hold(const UnwindTable& table) {
    const auto* const bytes = reinterpret_cast<const char*>(table.pages.data());
    const auto* const buckets = reinterpret_cast<const lagtrap_unwind_bucket*>(bytes);
    const auto* const rules = reinterpret_cast<const lagtrap_unwind_rule*>(
        bytes + std::size_t{table.rule_page} * LAGTRAP_UNWIND_PAGE_BYTES);
    const auto* const rows = reinterpret_cast<const __u32*>(bytes);
    const std::uint32_t rule_count =
        (table.row_page - table.rule_page) * LAGTRAP_UNWIND_RULES_PER_PAGE;
    for (std::uint32_t number = 0; number < rule_count; ++number) {
        const std::uint32_t kind = rules[number].kind_and_rbp;
        if ((kind & 15) > LAGTRAP_UNWIND_UNSUPPORTED || kind >> 4 > LAGTRAP_UNWIND_RBP_UNDEFINED)
            return false;
    }
    const std::uint64_t first = std::uint64_t{table.row_page} * LAGTRAP_UNWIND_ROWS_PER_PAGE;
    const std::uint64_t end = std::uint64_t{table.page_count} * LAGTRAP_UNWIND_ROWS_PER_PAGE;
    std::uint64_t row_count = 0;
    for (std::uint32_t number = 0; number < table.bucket_count; ++number) {
        const lagtrap_unwind_bucket bucket = buckets[number];
        if (bucket.row_count == 0) continue;
        row_count += bucket.row_count;
        if (bucket.first_row < first || bucket.first_row >= end) return false;
        if (bucket.first_row % LAGTRAP_UNWIND_ROWS_PER_PAGE + std::uint64_t{bucket.row_count} >
            LAGTRAP_UNWIND_ROWS_PER_PAGE)
            return false;
        const __u32* const own = rows + bucket.first_row;
        bool ordered = own[0] >> LAGTRAP_UNWIND_RULE_BITS == 0;
        bool known = own[0] % LAGTRAP_UNWIND_MAX_RULES < rule_count;
        for (std::uint32_t row = 1; row < bucket.row_count; ++row) {
            ordered &=
                own[row] >> LAGTRAP_UNWIND_RULE_BITS > own[row - 1] >> LAGTRAP_UNWIND_RULE_BITS;
            known &= own[row] % LAGTRAP_UNWIND_MAX_RULES < rule_count;
        }
        if (!ordered || !known) return false;
    }
    return row_count == table.row_count && table.unsupported_rows <= row_count;
}

bool sizes_hold(const Header& header, std::uint64_t file_bytes) {
    if (header.segment_count == 0 || header.segment_count > max_segments ||
        header.bucket_count == 0)
        return false;
    if (header.base_address % LAGTRAP_UNWIND_BUCKET_BYTES != 0) return false;
    if (std::uint64_t{header.page_count} * LAGTRAP_UNWIND_PAGE_BYTES > max_unwind_table_bytes)
        return false;
    if (header.rule_page != pages_for(header.bucket_count, LAGTRAP_UNWIND_BUCKETS_PER_PAGE))
        return false;
    if (header.row_page <= header.rule_page || header.page_count < header.row_page) return false;
    return file_bytes == sizeof header + header.segment_count * sizeof(CodeSegment) +
                             std::uint64_t{header.page_count} * LAGTRAP_UNWIND_PAGE_BYTES;
}

// What is wrong with the file; empty if it is valid and `table` is filled in.
std::string read_table(int fd, std::uint64_t file_bytes, const std::string& key,
                       UnwindTable& table) {
    Header header{};
    if (!read_exactly(fd, &header, sizeof header)) return "is shorter than its header";
    if (std::memcmp(header.magic, cache_magic_bytes, sizeof cache_magic_bytes) != 0)
        return "is not an unwind table";
    if (header.version != format_version)
        return "has version " + std::to_string(header.version) + "; " +
               std::to_string(format_version) + " is known";
    const std::size_t key_bytes = ::strnlen(header.key, sizeof header.key);
    if (std::string_view(header.key, key_bytes) != key) return "is the table of a different file";
    if (!sizes_hold(header, file_bytes)) return "has inconsistent sizes";
    table.base_address = header.base_address;
    table.row_count = header.row_count;
    table.unsupported_rows = header.unsupported_rows;
    table.bucket_count = header.bucket_count;
    table.rule_page = header.rule_page;
    table.row_page = header.row_page;
    table.page_count = header.page_count;
    table.segments.resize(header.segment_count);
    table.pages.resize(table.size_bytes() / sizeof(std::uint64_t));
    if (!read_exactly(fd, table.segments.data(),
                      table.segments.size() * sizeof table.segments[0]) ||
        !read_exactly(fd, table.pages.data(), table.size_bytes()))
        return "ends early";
    if (checksum_of(header, table.segments, table.pages) != header.checksum)
        return "has a wrong checksum";
    if (!positions_hold(table)) return "has positions outside the table";
    return {};
}

struct CachedFile {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
    timespec used{};
};

// The tables in `folder`, including incomplete ones. Removes abandoned ones.
std::vector<CachedFile> cached_files(const std::filesystem::path& folder) {
    std::vector<CachedFile> files;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        const auto& path = entry->path();
        const std::string name = path.filename().string();
        const bool being_written = name.find(being_written_mark) != std::string::npos;
        if (!being_written && !name.ends_with(suffix)) continue;
        struct stat facts {};
        if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
        if (being_written && ::time(nullptr) - facts.st_mtim.tv_sec > abandoned_seconds) {
            ::unlink(path.c_str());
            continue;
        }
        files.push_back(CachedFile{path, static_cast<std::uint64_t>(facts.st_size), facts.st_mtim});
    }
    return files;
}

// Removes the least recently used files until `bytes` more fit. Ignores `own`, which will be
// replaced.
void make_room(const std::filesystem::path& folder, const std::filesystem::path& own,
               std::uint64_t bytes, std::uint64_t limit_bytes) {
    auto files = cached_files(folder);
    std::erase_if(files, [&](const CachedFile& file) { return file.path == own; });
    std::sort(files.begin(), files.end(), [](const CachedFile& a, const CachedFile& b) {
        return std::tie(a.used.tv_sec, a.used.tv_nsec, a.path) <
               std::tie(b.used.tv_sec, b.used.tv_nsec, b.path);
    });
    std::uint64_t total = bytes;
    for (const auto& file : files) total += file.bytes;
    for (const auto& file : files) {
        if (total <= limit_bytes) return;
        if (::unlink(file.path.c_str()) == 0 || errno == ENOENT) total -= file.bytes;
    }
}

Status write_table(int fd, const Header& header, const UnwindTable& table) {
    TRY(write_all(fd, &header, sizeof header));
    TRY(write_all(fd, table.segments.data(), table.segments.size() * sizeof table.segments[0]));
    return write_all(fd, table.pages.data(), table.size_bytes());
}

}  // namespace

bool holds_together(const UnwindTable& table) {
    if (table.segments.empty() || table.pages.size() * sizeof table.pages[0] != table.size_bytes())
        return false;
    Header header{};
    header.base_address = table.base_address;
    header.bucket_count = table.bucket_count;
    header.rule_page = table.rule_page;
    header.row_page = table.row_page;
    header.page_count = table.page_count;
    header.segment_count =
        static_cast<std::uint32_t>(std::min<std::size_t>(table.segments.size(), max_segments + 1));
    const std::uint64_t bytes = sizeof header + table.segments.size() * sizeof table.segments[0] +
                                std::uint64_t{table.size_bytes()};
    return sizes_hold(header, bytes) && positions_hold(table);
}

UnwindCache::UnwindCache(std::filesystem::path folder, std::uint64_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

Result<UnwindCache> UnwindCache::open(const std::filesystem::path& folder,
                                      std::uint64_t limit_bytes) {
    TRY(make_directories(folder, 0700));
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) != 0) return system_error(folder.string());
    const bool own = facts.st_uid == 0 || facts.st_uid == ::geteuid();
    if (!own || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return make_error(ErrorKind::Denied,
                          folder.string() +
                              ": others can write to this folder, so its unwind tables cannot be "
                              "trusted; use a folder of mode 0700");
    return UnwindCache(folder, limit_bytes);
}

Result<UnwindTable> UnwindCache::load(const std::string& key) const {
    if (!is_key(key)) return bad_key(key);
    const auto path = folder_ / (key + suffix);
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) return system_error(path.string());
    UnwindTable table;
    std::string problem =
        "is not a regular file of at most " + std::to_string(max_cached_bytes) + " bytes";
    const auto bytes = static_cast<std::uint64_t>(facts.st_size);
    if (S_ISREG(facts.st_mode) && bytes <= max_cached_bytes)
        problem = read_table(fd.get(), bytes, key, table);
    if (!problem.empty()) {
        ::unlink(path.c_str());
        return make_error(ErrorKind::Invalid, path.string() + ": " + problem + "; it was removed");
    }
    if (::time(nullptr) - facts.st_mtim.tv_sec > touch_seconds) ::futimens(fd.get(), nullptr);
    return table;
}

Status UnwindCache::store(const std::string& key, const UnwindTable& table) const {
    if (!is_key(key)) return bad_key(key);
    Header header{};
    std::memcpy(header.magic, cache_magic_bytes, sizeof cache_magic_bytes);
    header.version = format_version;
    key.copy(header.key, sizeof header.key);
    header.base_address = table.base_address;
    header.row_count = table.row_count;
    header.unsupported_rows = table.unsupported_rows;
    header.bucket_count = table.bucket_count;
    header.rule_page = table.rule_page;
    header.row_page = table.row_page;
    header.page_count = table.page_count;
    header.segment_count = static_cast<std::uint32_t>(table.segments.size());
    const std::uint64_t bytes = sizeof header + table.segments.size() * sizeof table.segments[0] +
                                std::uint64_t{table.size_bytes()};
    if (!sizes_hold(header, bytes) ||
        table.pages.size() * sizeof table.pages[0] != table.size_bytes())
        return make_error(ErrorKind::Invalid,
                          "not keeping an unwind table with inconsistent sizes");
    if (bytes > limit_bytes_)
        return make_error(ErrorKind::TooLarge, "an unwind table of " + std::to_string(bytes) +
                                                   " bytes; " + folder_.string() + " may take " +
                                                   std::to_string(limit_bytes_));
    header.checksum = checksum_of(header, table.segments, table.pages);

    const auto path = folder_ / (key + suffix);
    make_room(folder_, path, bytes, limit_bytes_);
    // Not synced: if a power failure damages it, the checksum reveals that and the table is
    // rebuilt.
    std::string temporary =
        (folder_ / (key.substr(0, 32) + being_written_mark)).string() + "XXXXXX";
    const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!fd.valid()) return system_error(temporary);
    auto written = write_table(fd.get(), header, table);
    if (written && ::rename(temporary.c_str(), path.c_str()) != 0) written = system_error("rename");
    if (written) return success();
    ::unlink(temporary.c_str());
    return written.error().within(path.string());
}

std::uint64_t UnwindCache::size_bytes() const {
    std::uint64_t total = 0;
    for (const auto& file : cached_files(folder_)) total += file.bytes;
    return total;
}

}  // namespace lagtrap::binaries
