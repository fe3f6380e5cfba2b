#include "sandbox/machine_root.hpp"

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "sandbox/foreign_file.hpp"

namespace lagtrap {
namespace {

namespace fs = std::filesystem;

fs::path root_of_environment() {
    const char* const named = ::getenv("LAGTRAP_MACHINE_ROOT");
    const fs::path root = named ? fs::path(named).lexically_normal() : fs::path("/");
    return root.is_absolute() ? root : fs::path("/");
}

}  // namespace

const fs::path& machine_root() {
    static const fs::path root = root_of_environment();
    return root;
}

fs::path on_machine(const fs::path& path, const fs::path& root) {
    if (root == "/" || !path.is_absolute() || path.native().starts_with("/proc/")) return path;
    return root / path.relative_path();
}

fs::path name_on_machine(const fs::path& place, const fs::path& root) {
    if (root == "/") return place;
    const fs::path rest = place.lexically_relative(root);
    return rest.empty() || *rest.begin() == ".." ? place : ("/" / rest).lexically_normal();
}

std::optional<struct stat> facts_on_machine(const fs::path& path) {
    struct stat facts {};
    if (machine_root() == "/")
        return ::stat(path.c_str(), &facts) == 0 ? std::optional(facts) : std::nullopt;
    const auto place = open_place(on_machine(path));
    if (place && ::fstat(place->get(), &facts) == 0) return facts;
    if (!place) errno = place.error().system_errno;
    return std::nullopt;
}

fs::path real_path_on_machine(const fs::path& path) {
    std::error_code failed;
    if (machine_root() == "/") return fs::canonical(path, failed);
    const auto place = open_place(on_machine(path));
    return place ? name_on_machine(fs::read_symlink(path_of_descriptor(place->get()), failed))
                 : fs::path();
}

bool sees_all_processes() {
    constexpr ino_t first_namespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of the kernel
    struct stat facts {};
    return ::stat("/proc/self/ns/pid", &facts) != 0 || facts.st_ino == first_namespace;
}

}  // namespace lagtrap
