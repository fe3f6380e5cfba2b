// Tables that are never thrown out for others: those of watched programs and of what their processes map. All together they
// may have half of the room, those of one user who is not root an eighth of it; what is beyond is as others' are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "daemon/unwinding/code_module.hpp"

namespace lagtrap::daemon {

// Only decides. Not for several threads at once.
class KeptTables {
  public:
    static constexpr std::uint64_t kept_parts = 2, user_parts = 8;  // of all room
    static constexpr std::size_t most_files = 2048, most_files_of_user = 256;

    // Its table is to be kept, as room allows; the first that ask come first. Who holds it is another's.
    void want(const std::shared_ptr<CodeModule>& module);
    // From now on others are watched: what is not wanted again until end_renewal() is wanted no longer.
    void begin_renewal() { renewed_.clear(); }
    void end_renewal();

    // Of all that are wanted, those that fit into their share of `room_bytes`.
    [[nodiscard]] std::set<const CodeModule*> within(std::uint64_t room_bytes) const;

  private:
    std::vector<std::weak_ptr<CodeModule>> wanted_;  // in the order in which they asked
    std::set<std::weak_ptr<CodeModule>, std::owner_less<>> known_, renewed_;
    std::map<std::uint32_t, std::size_t> files_of_user_;
};

}  // namespace lagtrap::daemon
