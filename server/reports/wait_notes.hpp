// The kinds of waits at each place of a tree of call stacks, and the threads waited for. Internal
// to server/reports/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "analysis/wait_kind.hpp"

namespace lagtrap::server::reports {

class WaitNotes {
  public:
    // `awaited` is the name of the thread that ended the wait; empty if unknown.
    void add(std::uint32_t node, analysis::WaitKind kind, const std::string& awaited,
             std::uint64_t time_ns);

    // The kind with the most time; Other if there is none.
    [[nodiscard]] analysis::WaitKind kind_of(std::uint32_t node) const;

    // The thread that most of the time was spent waiting for: its name, "worker-*" for threads that
    // differ only in their number, or empty if there is no such thread.
    [[nodiscard]] std::string awaited_thread(std::uint32_t node) const;

  private:
    struct Note {
        std::uint64_t time_ns = 0;
        std::map<analysis::WaitKind, std::uint64_t> kinds;
        std::map<std::string, std::uint64_t> threads;
    };
    std::unordered_map<std::uint32_t, Note> notes_;
};

}  // namespace lagtrap::server::reports
