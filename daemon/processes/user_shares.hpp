// Room that all users of the machine share: nobody but root may have more than a quarter of it, so that one user's processes
// cannot take what is known of the others'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace lagtrap::daemon {

// What was refused for want of room, by user.
using LeftOut = std::map<std::uint32_t, std::uint64_t>;

// Not for several threads at once.
class UserShares {
  public:
    static constexpr std::uint64_t parts = 4;
    static constexpr std::size_t counted_users = 256;  // beyond them refusals are counted for none

    explicit UserShares(std::uint64_t total_bytes) : total_bytes_(total_bytes) {}

    // False, and counted: the user has its share, or there is no room at all.
    [[nodiscard]] bool take(std::uint32_t user, std::uint64_t bytes);
    // What cannot be refused any more.
    void take_anyway(std::uint32_t user, std::uint64_t bytes);
    void give_back(std::uint32_t user, std::uint64_t bytes);
    void count_left_out(std::uint32_t user, std::uint64_t times);

    // What is held beyond a smaller total stays.
    void set_total(std::uint64_t total_bytes) { total_bytes_ = total_bytes; }
    [[nodiscard]] std::uint64_t used_bytes() const { return used_bytes_; }
    [[nodiscard]] std::uint64_t total_bytes() const { return total_bytes_; }
    [[nodiscard]] const LeftOut& left_out() const { return left_out_; }

  private:
    std::uint64_t total_bytes_;
    std::uint64_t used_bytes_ = 0;
    std::map<std::uint32_t, std::uint64_t> by_user_;
    LeftOut left_out_;
};

}  // namespace lagtrap::daemon
