#include "daemon/code_modules.hpp"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iterator>

#include <fmt/core.h>

#include "binaries/file_reader.hpp"
#include "binaries/program_file.hpp"
#include "daemon/block_allocator.hpp"
#include "daemon/mapped_file.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view vdso_path = "[vdso]";
constexpr std::size_t open_files_limit = 256;
constexpr auto unused_limit = 10s;
constexpr std::size_t vdso_limit_bytes = 64 * 1024;

std::uint64_t thread_cpu_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(time.tv_nsec);
}

// The vDSO of this process, which is that of all 64-bit processes. Its section headers end it.
Result<binaries::ElfImage> vdso_image() {
    const auto* start = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
    if (!start) return make_error(ErrorKind::NotFound, "the kernel gives no vDSO");
    Elf64_Ehdr header;
    std::copy_n(start, sizeof(header), reinterpret_cast<char*>(&header));
    const std::size_t bytes = header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
    if (bytes > vdso_limit_bytes) return make_error(ErrorKind::TooLarge, "the vDSO is larger than 64 KiB");
    return binaries::ElfImage::from_bytes(std::string(start, bytes), std::string(vdso_path));
}

// A file that is mapped as code and is no ELF file is a compiler's at run time.
ModuleState state_for(ErrorKind kind) {
    if (kind == ErrorKind::NotFound || kind == ErrorKind::Invalid) return ModuleState::FramePointers;
    return kind == ErrorKind::TooLarge ? ModuleState::NoRoom : ModuleState::Failed;
}

Result<binaries::UnwindTable> table_of(TableJob& job) {
    if (job.key == vdso_path) {
        TRY_ASSIGN(const binaries::ElfImage image, vdso_image());
        return binaries::make_unwind_table(image);
    }
    const bool by_build_id = job.key.find('-') == std::string::npos;
    const std::string wanted = by_build_id ? job.key : std::string();
    if (binaries::FileReader* const reader = binaries::file_reader())
        return reader->unwind_table(job.file.get(), job.module->path, wanted);
    TRY_ASSIGN(const binaries::ElfImage image, binaries::ElfImage::from_file(std::move(job.file), job.module->path));
    if (by_build_id && image.build_id() != wanted)
        return make_error(ErrorKind::Vanished, "another file lies there by now");
    return binaries::make_unwind_table(image);
}

}  // namespace

std::uint64_t CodeModule::table_start(std::uint64_t start, std::uint64_t file_offset) const {
    if (path == vdso_path) file_offset = 0;
    constexpr std::uint64_t page = 4096;
    const binaries::CodeSegment* best = &segments.front();
    for (const binaries::CodeSegment& segment : segments)
        if (file_offset >= segment.file_offset / page * page && file_offset < segment.file_offset + segment.size_bytes)
            best = &segment;
    return start - file_offset + best->file_offset - best->address + base_address;
}

std::optional<MadeTable> load_table(const TableJob& job, const binaries::UnwindCache& cache) {
    if (job.key == vdso_path) return std::nullopt;
    const std::uint64_t before_ns = thread_cpu_ns();
    auto known = cache.load(job.key);
    if (!known) return std::nullopt;
    MadeTable made;
    made.module = job.module;
    made.table = std::move(known).value();
    made.from_cache = true;
    made.cpu_ns = thread_cpu_ns() - before_ns;
    return made;
}

MadeTable make_table(TableJob job, const binaries::UnwindCache* cache) {
    MadeTable made;
    made.module = job.module;
    const std::uint64_t before_ns = thread_cpu_ns();
    if (!job.file.valid() && job.key != vdso_path) {
        made.state = ModuleState::Waiting;
        return made;
    }
    auto table = table_of(job);
    if (table) {
        // If it can not be kept, the next start makes it again.
        if (cache != nullptr && job.key != vdso_path) (void)cache->store(job.key, *table);
        made.table = std::move(table).value();
    } else {
        made.state = state_for(table.error().kind);
        made.problem = table.error().message;
        if (table.error().kind == ErrorKind::Busy) {
            made.state = ModuleState::Waiting;
            job.file.reset();
            made.again = std::move(job);
        }
    }
    made.cpu_ns = thread_cpu_ns() - before_ns;
    return made;
}

UniqueFd CodeModules::open(const lagtrap_mapping& mapping, const std::string& path) const {
    return open_mapped_file(std::filesystem::path(proc_root_) / std::to_string(mapping.pid), mapping, path);
}

// Without a build id of the kernel's, the file's own; without any, what tells one content from another.
std::string CodeModules::key_of(const lagtrap_mapping& mapping, const std::string& path, UniqueFd& file) const {
    if (path == vdso_path) return path;
    if (mapping.build_id_bytes > 0) return build_id_of(mapping);
    file = open(mapping, path);
    if (!file.valid()) return {};
    if (auto build_id = binaries::read_build_id(file.get()); !build_id.empty()) return build_id;
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0) return {};
    return fmt::format("{:x}-{:x}-{:x}-{:x}", facts.st_dev, facts.st_ino, facts.st_size,
                       facts.st_mtim.tv_sec * 1'000'000'000L + facts.st_mtim.tv_nsec);
}

std::shared_ptr<CodeModule> CodeModules::module_of(const lagtrap_mapping& mapping, const std::string& path) {
    UniqueFd file;
    const std::string key = key_of(mapping, path, file);
    if (key.empty()) return nullptr;
    auto& module = by_key_[key];
    if (!module) {
        const auto table = store_.new_table();
        if (!table) {
            by_key_.erase(key);
            return nullptr;
        }
        module = std::make_shared<CodeModule>();
        module->key = key;
        module->path = path;
        module->table = *table;
    }
    module->last_used = std::chrono::steady_clock::now();
    if (module->state != ModuleState::Waiting || module->queued) return module;
    if (!file.valid()) file = open(mapping, path);
    if (!file.valid() && path != vdso_path) return module;
    module->queued = true;
    // Beyond the limit a file is opened again when its turn comes.
    if (jobs_.size() >= open_files_limit) file = UniqueFd();
    jobs_.push_back({module, key, std::move(file), mapping, path});
    return module;
}

std::optional<TableJob> CodeModules::next_job() {
    if (jobs_.empty()) return std::nullopt;
    TableJob job = std::move(jobs_.front());
    jobs_.pop_front();
    if (!job.file.valid()) job.file = open(job.mapping, job.path);
    return job;
}

void CodeModules::take(MadeTable made) {
    CodeModule& module = *made.module;
    if (made.again) {
        postponed_.push_back(std::move(*made.again));
        return;
    }
    module.queued = false;
    (made.from_cache ? totals_.from_cache : totals_.made) += 1;
    (made.from_cache ? totals_.from_cache_cpu_ns : totals_.make_cpu_ns) += made.cpu_ns;
    module.problem = made.problem;
    module.state = made.state;
    if (!made.table) {
        if (made.state == ModuleState::Failed) ++totals_.failed;
        store_.set_state(module.table, made.state == ModuleState::FramePointers ? LAGTRAP_UNWIND_TABLE_FRAME_POINTERS
                                       : made.state == ModuleState::NoRoom      ? LAGTRAP_UNWIND_TABLE_NO_ROOM
                                                                                : LAGTRAP_UNWIND_TABLE_MISSING);
        return;
    }
    module.segments = std::move(made.table->segments);
    module.base_address = made.table->base_address;
    module.table_bytes = made.table->size_bytes();
    if (store_.fill(module.table, *made.table)) {
        module.state = ModuleState::Ready;
        ++generation_;
        return;
    }
    // What nobody maps gives way; its room is free when it has rested.
    module.state = ModuleState::NoRoom;
    store_.set_state(module.table, LAGTRAP_UNWIND_TABLE_NO_ROOM);
    module.next_try = std::chrono::steady_clock::now() + BlockAllocator::usual_rest;
    while (give_up_one(std::chrono::steady_clock::now())) {
    }
}

// The one that was mapped longest ago; false if there is none that nobody maps.
bool CodeModules::give_up_one(std::chrono::steady_clock::time_point unused_since) {
    auto oldest = by_key_.end();
    for (auto place = by_key_.begin(); place != by_key_.end(); ++place) {
        const CodeModule& module = *place->second;
        if (place->second.use_count() > 1 || module.queued || module.last_used > unused_since) continue;
        if (oldest == by_key_.end() || module.last_used < oldest->second->last_used) oldest = place;
    }
    if (oldest == by_key_.end()) return false;
    store_.drop_table(oldest->second->table);
    by_key_.erase(oldest);
    return true;
}

void CodeModules::sweep(std::chrono::steady_clock::time_point now) {
    for (const auto& [key, module] : by_key_)
        if (module.use_count() > 1) module->last_used = now;
    while (give_up_one(now - unused_limit)) {
    }
    if (const auto* const reader = binaries::file_reader(); reader == nullptr || reader->may_start()) {
        std::move(postponed_.begin(), postponed_.end(), std::back_inserter(jobs_));
        postponed_.clear();
    }
    // Room may have been made for those that found none; their tables are in the cache.
    for (const auto& [key, module] : by_key_) {
        const bool room = store_.used_bytes() + module->table_bytes < store_.budget_bytes();
        if (module->state != ModuleState::NoRoom || module->queued || !room || now < module->next_try) continue;
        module->next_try = now + unused_limit;
        module->queued = true;
        jobs_.push_back({module, key, UniqueFd(), {}, {}});
    }
}

}  // namespace lagtrap::daemon
