#include "trace/processes/module_files.hpp"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <string>
#include <string_view>
#include <vector>

#include "binaries/elf/program_file.hpp"
#include "core/files.hpp"
#include "core/mapped_files.hpp"
#include "core/text.hpp"
#include "sandbox/foreign_file.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap::trace {
namespace {

// Places where the file may be, most reliable first.
std::vector<std::filesystem::path> candidates_for(const RecordedModule& module,
                                                  const std::filesystem::path& proc_root,
                                                  const HeldRoots& held,
                                                  const std::filesystem::path& machine) {
    std::vector<std::filesystem::path> candidates;
    std::string path = module.path;
    if (!path.starts_with('/')) return candidates;
    const bool deleted = path.ends_with(deleted_mark);
    if (deleted) path.resize(path.size() - deleted_mark.size());
    for (const ModuleUser& user : module.users) {
        const auto process = proc_root / std::to_string(user.pid);
        char range[64];
        std::snprintf(range, sizeof(range), "%llx-%llx",
                      static_cast<unsigned long long>(user.start),
                      static_cast<unsigned long long>(user.end));
        // The path first: debug files are next to it, not next to the kernel's links.
        candidates.push_back(process / "root" / path.substr(1));
        candidates.push_back(process / "map_files" / range);
        candidates.push_back(process / "exe");
        if (const auto kept = held.find(user.pid, path)) candidates.push_back(*kept);
    }
    candidates.push_back(on_machine(path, machine));
    return candidates;
}

bool is_file_of(const RecordedModule& module, int fd) {
    struct stat facts {};
    if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
    if (!module.build_id.empty())
        return binaries::read_build_id(fd) == hexadecimal(module.build_id);
    const std::uint64_t device = std::uint64_t{major(facts.st_dev)} << 32 | minor(facts.st_dev);
    return module.inode == facts.st_ino && module.device == device;
}

// Size of the image at `start`, from the process's own list of mappings.
std::size_t mapped_bytes_from(std::uint64_t start) {
    constexpr std::uint64_t maps_limit_bytes = 16 << 20;
    const auto maps = read_file("/proc/self/maps", maps_limit_bytes);
    if (!maps) return 0;
    for (std::size_t at = 0, end = 0; (end = maps->find('\n', at)) != std::string::npos;
         at = end + 1) {
        const auto mapping = parse_maps_line(std::string_view(*maps).substr(at, end - at));
        if (mapping && mapping->start == start)
            return static_cast<std::size_t>(mapping->end - start);
    }
    return 0;
}

std::optional<ModuleFile> own_vdso() {
    const std::uint64_t start = ::getauxval(AT_SYSINFO_EHDR);
    const std::size_t size = start != 0 ? mapped_bytes_from(start) : 0;
    if (size == 0) return std::nullopt;
    UniqueFd fd(::memfd_create("vdso", MFD_CLOEXEC));
    if (!fd.valid() || !write_all(fd.get(), reinterpret_cast<const void*>(start), size))
        return std::nullopt;
    return ModuleFile{std::move(fd), vdso_path};
}

}  // namespace

std::filesystem::path ModuleFile::opened() const { return path_of_descriptor(fd.get()); }

std::optional<ModuleFile> find_module_file(const RecordedModule& module,
                                           const std::filesystem::path& proc_root,
                                           const HeldRoots& held,
                                           const std::filesystem::path& machine) {
    for (auto& candidate : candidates_for(module, proc_root, held, machine)) {
        auto fd = open_regular_file(candidate);
        if (fd && is_file_of(module, fd->get()))
            return ModuleFile{std::move(fd).value(), std::move(candidate)};
    }
    return std::nullopt;
}

std::optional<ModuleFile> find_vdso(const std::filesystem::path& file) {
    if (file.empty()) return own_vdso();
    auto fd = open_regular_file(file);
    if (!fd) return std::nullopt;
    return ModuleFile{std::move(fd).value(), vdso_path};
}

}  // namespace lagtrap::trace
