// Combines calls on objects: nests them into trees, and groups failures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calls/object_stream.hpp"

namespace lagtrap::calls {

struct ObjectNode {
    ObjectCall call;
    std::vector<ObjectNode> below;  // by begin
};

// Arranges calls, which arrive when they end, into trees. Not thread-safe.
class ObjectForest {
  public:
    // Calls kept per tree. Beyond that, callers keep the callees found so far.
    static constexpr std::size_t max_calls = 10'000;

    // Returns the tree that this call completes; empty if it completes none.
    [[nodiscard]] std::vector<ObjectNode> add(ObjectCall call);
    // Returns the calls whose callers have not ended.
    [[nodiscard]] std::vector<ObjectNode> take_waiting();

  private:
    struct Waiting {
        std::vector<ObjectNode> nodes;
        std::size_t calls = 0;
    };
    std::map<std::uint32_t, Waiting> waiting_;  // by thread
};

// Groups failed calls by function and error; errors that differ only in numbers are of one kind. An
// exception counts where it was thrown, not for each call it left.
class ObjectFailures {
  public:
    static constexpr std::size_t max_kinds = 1'000;

    // Counts a call if it failed.
    void add(const ObjectCall& call, ObjectRole role);
    // Adds an error text that the program asked for to the thread's last failure, if that was in a
    // function of the same file or class.
    void add(const ObjectMessage& message, const std::vector<ObjectFunction>& functions);
    // Most frequent first.
    [[nodiscard]] std::vector<ObjectFailure> all() const;

  private:
    struct Last {
        ObjectFailure failure;
        std::uint64_t begin_ns = 0, end_ns = 0;
        bool left = false;
    };
    void count(const ObjectFailure& failure);
    std::map<std::uint32_t, Last> last_;  // by thread; counted when the next one comes
    std::map<std::pair<std::uint32_t, std::string>, ObjectFailure> kinds_;
};

// How long the call took without probes.
[[nodiscard]] std::uint64_t net_ns(const ObjectCall& call);

// Why a call failed: "ENOENT (No such file or directory)", "result 14, unable to open database
// file".
[[nodiscard]] std::string error_of(const ObjectCall& call);

}  // namespace lagtrap::calls
