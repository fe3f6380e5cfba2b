#include "daemon/unwinding/code_module.hpp"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "binaries/elf/program_file.hpp"
#include "binaries/reader/file_reader.hpp"
#include "core/clock.hpp"
#include "core/digest.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t vdso_limit_bytes = 64 * 1024;

// CPU time that another process has used to read files for this thread.
std::chrono::nanoseconds readers_cpu() {
    auto* const reader = binaries::file_reader();
    return reader ? reader->cpu_time_for(static_cast<int>(::syscall(SYS_gettid)))
                  : std::chrono::nanoseconds{};
}

// The vDSO of this process, which is the same for all 64-bit processes. Its section headers are at
// its end.
Result<binaries::ElfImage> vdso_image() {
    const auto* start = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
    if (!start) return make_error(ErrorKind::NotFound, "the kernel provides no vDSO");
    Elf64_Ehdr header;
    std::copy_n(start, sizeof(header), reinterpret_cast<char*>(&header));
    const std::size_t bytes = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
    if (bytes > vdso_limit_bytes)
        return make_error(ErrorKind::TooLarge, "the vDSO is larger than 64 KiB");
    return binaries::ElfImage::from_bytes(std::string(start, bytes), vdso_path);
}

// A file mapped as code that is not an ELF file is from a just-in-time compiler.
ModuleState state_for(ErrorKind kind) {
    if (kind == ErrorKind::NotFound || kind == ErrorKind::Invalid)
        return ModuleState::FramePointers;
    return kind == ErrorKind::TooLarge ? ModuleState::NoRoom : ModuleState::Failed;
}

Result<binaries::UnwindTable> table_of(TableJob& job) {
    if (job.key == vdso_path) {
        TRY_ASSIGN(const binaries::ElfImage image, vdso_image());
        return binaries::make_unwind_table(image);
    }
    if (binaries::FileReader* const reader = binaries::file_reader())
        return reader->unwind_table(job.file.get(), job.mapping.path, job.build_id);
    TRY_ASSIGN(const binaries::ElfImage image,
               binaries::ElfImage::from_file(std::move(job.file), job.mapping.path));
    if (!job.build_id.empty() && image.build_id() != job.build_id)
        return make_error(ErrorKind::Vanished, "a different file is there now");
    return binaries::make_unwind_table(image);
}

std::string digest_of(const binaries::UnwindTable& table) {
    Sha256 digest;
    digest.update(&table.base_address, sizeof table.base_address);
    digest.update(&table.bucket_count, sizeof table.bucket_count);
    digest.update(table.pages.data(), table.pages.size() * sizeof table.pages[0]);
    return digest.finish_hex();
}

MadeTable outcome_of(const TableJob& job) {
    MadeTable made;
    made.module = job.module;
    made.request = job.request;
    made.build_id = job.build_id;
    return made;
}

MadeTable failure_of(TableJob& job, const Error& error) {
    MadeTable made = outcome_of(job);
    made.state = state_for(error.kind);
    made.problem = error.message;
    // The process may be gone; another may come.
    if (error.kind == ErrorKind::Vanished) made.state = ModuleState::Waiting;
    if (error.kind == ErrorKind::Busy || error.kind == ErrorKind::Timeout) {
        made.state = ModuleState::Waiting;
        job.file.reset();
        made.again = std::move(job);
    }
    return made;
}

}  // namespace

bool CodeModule::is_vdso() const { return key == vdso_path; }

std::uint64_t CodeModule::table_start(std::uint64_t start, std::uint64_t file_offset) const {
    if (is_vdso()) file_offset = 0;
    constexpr std::uint64_t page = 4096;
    const binaries::CodeSegment* best = &segments.front();
    for (const binaries::CodeSegment& segment : segments)
        if (file_offset >= segment.file_offset / page * page &&
            file_offset < segment.file_offset + segment.size_bytes)
            best = &segment;
    return start - file_offset + best->file_offset - best->address + base_address;
}

std::optional<MadeTable> open_for(TableJob& job, ProcessInspector& inspector) {
    if (job.key == vdso_path) return std::nullopt;
    const auto began = std::chrono::steady_clock::now();
    auto opened = inspector.open(job.mapping);
    if (!opened && opened.error().kind == ErrorKind::Timeout) {
        MadeTable held_up = failure_of(job, opened.error());
        held_up.took = std::chrono::steady_clock::now() - began;
        return held_up;
    }
    if (!opened && opened.error().kind == ErrorKind::NotFound)
        return failure_of(job, make_error(ErrorKind::Vanished, opened.error().message));
    if (!opened) return failure_of(job, opened.error());
    if (opened->identity != job.identity)
        return failure_of(job, make_error(ErrorKind::Vanished, "a different file is there now"));
    job.file = std::move(opened->file);
    if (job.build_id.empty()) job.build_id = binaries::read_build_id(job.file.get());
    return std::nullopt;
}

std::optional<MadeTable> load_table(const TableJob& job, const binaries::UnwindCache& cache) {
    if (!job.kept_on_disk) return std::nullopt;
    const auto cpu_before = thread_cpu_time();
    auto known = cache.load(job.key);
    if (!known) return std::nullopt;
    MadeTable made = outcome_of(job);
    made.digest = digest_of(*known);
    made.table = std::move(known).value();
    made.from_cache = true;
    made.cpu_ns = static_cast<std::uint64_t>((thread_cpu_time() - cpu_before).count());
    return made;
}

MadeTable make_table(TableJob job, const binaries::UnwindCache* cache) {
    const auto cpu_before = thread_cpu_time();
    const auto readers_cpu_before = readers_cpu();
    const auto began = std::chrono::steady_clock::now();
    auto table = table_of(job);
    // If it cannot be cached, it is made again at the next start.
    if (table && cache != nullptr && job.kept_on_disk) (void)cache->store(job.key, *table);
    const bool too_long = !table && table.error().kind == ErrorKind::Timeout;
    MadeTable made = outcome_of(job);
    if (table) {
        made.digest = digest_of(*table);
        made.table = std::move(table).value();
    } else if (too_long) {
        // It used up the time limit of a file, so the problem is the file.
        made.problem = table.error().message;
    } else {
        made = failure_of(job, table.error());
    }
    made.cpu_ns = static_cast<std::uint64_t>((thread_cpu_time() - cpu_before).count());
    // Count CPU time: other load on the machine is not the user's fault.
    made.took = too_long
                    ? std::chrono::steady_clock::now() - began
                    : std::chrono::nanoseconds(made.cpu_ns) + (readers_cpu() - readers_cpu_before);
    return made;
}

}  // namespace lagtrap::daemon
