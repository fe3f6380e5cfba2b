// Tables that are never dropped for others: those of watched programs and of files that their
// processes map. Together they may use half of the memory, and those of one user other than root an
// eighth. Beyond that, they are treated like others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "daemon/unwinding/code_module.hpp"

namespace lagtrap::daemon {

// Makes decisions only. Not thread-safe.
class KeptTables {
  public:
    static constexpr std::uint64_t kept_parts = 2, user_parts = 8;  // of all memory
    static constexpr std::size_t max_files = 2048, max_files_of_user = 256;

    // Asks to keep the module's table if there is room; earlier requests come first. Does not hold
    // the module alive.
    void want(const std::shared_ptr<CodeModule>& module);
    // Starts a new set of modules: those not requested again before end_renewal() are not kept any
    // more.
    void begin_renewal() { renewed_.clear(); }
    void end_renewal();

    // The requested modules that fit into their share of `room_bytes`.
    [[nodiscard]] std::set<const CodeModule*> within(std::uint64_t room_bytes) const;

  private:
    std::vector<std::weak_ptr<CodeModule>> wanted_;  // in the order of requests
    std::set<std::weak_ptr<CodeModule>, std::owner_less<>> known_, renewed_;
    std::map<std::uint32_t, std::size_t> files_of_user_;
};

}  // namespace lagtrap::daemon
