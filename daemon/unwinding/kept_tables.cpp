#include "daemon/unwinding/kept_tables.hpp"

namespace lagtrap::daemon {

void KeptTables::want(const std::shared_ptr<CodeModule>& module) {
    if (known_.contains(module)) {
        renewed_.insert(module);
        return;
    }
    std::size_t& files = files_of_user_[module->charged_user];
    const bool too_many = module->charged_user != 0 && files >= max_files_of_user;
    if (too_many || wanted_.size() >= max_files) return;
    ++files;
    wanted_.emplace_back(module);
    known_.insert(module);
    renewed_.insert(module);
}

void KeptTables::end_renewal() {
    files_of_user_.clear();
    std::erase_if(wanted_, [this](const auto& wanted) {
        return wanted.expired() || !renewed_.contains(wanted);
    });
    known_ = std::move(renewed_);
    renewed_.clear();
    for (const auto& wanted : wanted_)
        if (const auto module = wanted.lock()) ++files_of_user_[module->charged_user];
}

std::set<const CodeModule*> KeptTables::within(std::uint64_t room_bytes) const {
    std::set<const CodeModule*> kept;
    std::uint64_t all_bytes = 0;
    std::map<std::uint32_t, std::uint64_t> bytes_of_user;
    for (const auto& wanted : wanted_) {
        const auto module = wanted.lock();
        if (!module) continue;
        std::uint64_t& of_user = bytes_of_user[module->charged_user];
        const std::uint64_t bytes = module->table_bytes;
        const bool user_has_room =
            module->charged_user == 0 || of_user + bytes <= room_bytes / user_parts;
        if (!user_has_room || all_bytes + bytes > room_bytes / kept_parts) continue;
        all_bytes += bytes;
        of_user += bytes;
        kept.insert(module.get());
    }
    return kept;
}

}  // namespace lagtrap::daemon
