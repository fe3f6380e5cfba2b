#include "sandbox/other_writers.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <vector>

#include "sandbox/machine_root.hpp"

namespace lagtrap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t links_limit = 40;  // the kernel's limit
constexpr std::size_t account_bytes = 1 << 16;

std::string name_of_user(uid_t user) {
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> buffer(account_bytes);
    (void)::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
    return found == nullptr ? std::string() : std::string(found->pw_name);
}

// A user's private group usually has the user's name and lists no members.
bool is_group_of_one(gid_t group, uid_t user, std::string& name) {
    ::group entry{};
    ::group* found = nullptr;
    std::vector<char> buffer(account_bytes);
    (void)::getgrgid_r(group, &entry, buffer.data(), buffer.size(), &found);
    name = found == nullptr ? std::to_string(group) : std::string(found->gr_name);
    return found != nullptr && *found->gr_mem == nullptr && name == name_of_user(user);
}

// Who else may write there, as the end of a sentence; empty if nobody.
std::string others_at(const struct stat& place, uid_t owner) {
    if (place.st_uid != 0 && place.st_uid != owner)
        return "belongs to user " + user_text(place.st_uid);
    // In a sticky folder, only owners can remove or replace files.
    if (S_ISDIR(place.st_mode) && (place.st_mode & S_ISVTX) != 0) return {};
    if ((place.st_mode & S_IWOTH) != 0) return "is writable by everyone";
    std::string group;
    if ((place.st_mode & S_IWGRP) == 0 || place.st_gid == 0 ||
        is_group_of_one(place.st_gid, owner, group))
        return {};
    return "is writable by the group " + group;
}

// Resolves links as far as the path exists.
fs::path real_folder(const fs::path& folder) {
    std::error_code failed;
    if (machine_root() == "/") return fs::weakly_canonical(folder, failed);
    const fs::path real = real_path_on_machine(folder);
    return real.empty() ? folder : real;
}

// All folders above the file, and above the targets of links on the way.
std::set<fs::path> folders_to(const fs::path& path) {
    std::set<fs::path> folders;
    const auto add_above = [&](const fs::path& file) {
        for (fs::path folder = file.parent_path();
             folders.insert(folder).second && folder.has_relative_path();)
            folder = folder.parent_path();
    };
    fs::path name = fs::absolute(path).lexically_normal();
    std::error_code failed;
    for (std::size_t links = 0; links < links_limit; ++links) {
        add_above(name);
        add_above(real_folder(name.parent_path()) / name.filename());
        const fs::path target = fs::read_symlink(on_machine(name), failed);
        if (failed) break;
        name = (name.parent_path() / target).lexically_normal();
    }
    return folders;
}

}  // namespace

std::string user_text(unsigned user) {
    const std::string name = name_of_user(user);
    return name.empty() ? std::to_string(user) : name + " (" + std::to_string(user) + ")";
}

std::string other_writers(const std::string& path) {
    const auto file = facts_on_machine(path);
    if (!file) return {};
    if (const std::string others = others_at(*file, file->st_uid); !others.empty())
        return path + " " + others;
    for (const fs::path& folder : folders_to(path)) {
        const auto place = facts_on_machine(folder);
        if (!place) continue;
        if (const std::string others = others_at(*place, file->st_uid); !others.empty())
            return "folder " + folder.string() + " above " + path + " " + others;
    }
    return {};
}

}  // namespace lagtrap
