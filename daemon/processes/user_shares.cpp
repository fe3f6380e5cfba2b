#include "daemon/processes/user_shares.hpp"

#include <algorithm>

namespace lagtrap::daemon {

bool UserShares::take(Party user, std::uint64_t bytes) {
    const std::uint64_t share_bytes = user == root_party ? total_bytes_ : total_bytes_ / parts;
    const auto own = by_user_.find(user);
    const std::uint64_t had_bytes = own == by_user_.end() ? 0 : own->second;
    if (had_bytes + bytes > share_bytes || used_bytes_ + bytes > total_bytes_) {
        count_left_out(user, 1);
        return false;
    }
    take_anyway(user, bytes);
    return true;
}

void UserShares::take_anyway(Party user, std::uint64_t bytes) {
    by_user_[user] += bytes;
    used_bytes_ += bytes;
}

void UserShares::give_back(Party user, std::uint64_t bytes) {
    const auto own = by_user_.find(user);
    if (own == by_user_.end()) return;
    const std::uint64_t given = std::min(bytes, own->second);
    used_bytes_ -= given;
    own->second -= given;
    if (own->second == 0) by_user_.erase(own);
}

void UserShares::count_left_out(Party user, std::uint64_t times) {
    if (left_out_.contains(user) || left_out_.size() < counted_users) left_out_[user] += times;
}

}  // namespace lagtrap::daemon
