// Room that all users of the machine share. No party (core/party.hpp) except root may have more
// than a quarter, so that one user's processes cannot displace what is known about others'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "core/party.hpp"

namespace lagtrap::daemon {

// Number of refusals because of limits, by user.
using LeftOut = std::map<Party, std::uint64_t>;

// Not thread-safe.
class UserShares {
  public:
    static constexpr std::uint64_t parts = 4;
    static constexpr std::size_t counted_users = 256;  // refusals of further users are not counted

    explicit UserShares(std::uint64_t total_bytes) : total_bytes_(total_bytes) {}

    // False if the user has reached its share or the room is used up; counts the refusal.
    [[nodiscard]] bool take(Party user, std::uint64_t bytes);
    // For what cannot be refused any more.
    void take_anyway(Party user, std::uint64_t bytes);
    void give_back(Party user, std::uint64_t bytes);
    void count_left_out(Party user, std::uint64_t times);

    // If the total gets smaller, what is held beyond it stays.
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
