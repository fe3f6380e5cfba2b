#include "trace/processes/modules.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::size_t users_limit = 4;
constexpr std::size_t modules_limit = 100'000;  // the limit of a system file

}  // namespace

ModuleTable::ModuleTable() {
    modules_.resize(first_file_module);
    modules_[unknown_module].path = "[unknown]";
    modules_[kernel_module].path = "[kernel.kallsyms]";
    modules_[jit_module].path = "[jit]";
}

ModuleId ModuleTable::intern(const std::string& path, const std::string& build_id,
                             std::uint64_t device, std::uint64_t inode, const ModuleUser& user) {
    const auto [place, added] =
        by_name_.try_emplace(path + '\0' + build_id, static_cast<ModuleId>(modules_.size()));
    if (added) {
        if (modules_.size() >= modules_limit) {
            place->second = unknown_module;
            return unknown_module;
        }
        RecordedModule& module = modules_.emplace_back();
        module.path = path;
        module.build_id = build_id;
        module.device = device;
        module.inode = inode;
    }
    RecordedModule& module = modules_[place->second];
    if (place->second != unknown_module && module.users.size() < users_limit)
        module.users.push_back(user);
    if (module.inode == 0) {
        module.device = device;
        module.inode = inode;
    }
    return place->second;
}

}  // namespace lagtrap::trace
