// Room that all users of the machine share: no party (core/party.hpp) but root may have more than a quarter of it, so that one
// user's processes cannot take what is known of the others'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "core/party.hpp"

namespace lagtrap::daemon {

// What was refused for want of room, by user.
using LeftOut = std::map<Party, std::uint64_t>;

// Not for several threads at once.
class UserShares {
  public:
    static constexpr std::uint64_t parts = 4;
    static constexpr std::size_t counted_users = 256;  // beyond them refusals are counted for none

    explicit UserShares(std::uint64_t total_bytes) : total_bytes_(total_bytes) {}

    // False, and counted: the user has its share, or there is no room at all.
    [[nodiscard]] bool take(Party user, std::uint64_t bytes);
    // What cannot be refused any more.
    void take_anyway(Party user, std::uint64_t bytes);
    void give_back(Party user, std::uint64_t bytes);
    void count_left_out(Party user, std::uint64_t times);

    // What is held beyond a smaller total stays.
    void set_total(std::uint64_t total_bytes) { total_bytes_ = total_bytes; }
    [[nodiscard]] std::uint64_t used_bytes() const { return used_bytes_; }
    [[nodiscard]] std::uint64_t total_bytes() const { return total_bytes_; }
    [[nodiscard]] const LeftOut& left_out() const { return left_out_; }

  private:
    std::uint64_t total_bytes_;
    std::uint64_t used_bytes_ = 0;
    std::map<Party, std::uint64_t> by_user_;
    LeftOut left_out_;
};

}  // namespace lagtrap::daemon
