// The daemon's answer to {"command":"calls"}: JSON objects, one per line. First
// {"ok":true,"started":...}, then any number of "tree" and "detached", then "ended". If the
// command fails, only {"ok":false,"error":...}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "calls/call_tree.hpp"
#include "core/result.hpp"

namespace lagtrap::calls {

inline constexpr std::size_t line_limit_bytes = 8 << 20;

struct LeftOutFunction {
    std::string name;
    std::string reason;
};

struct Started {
    std::uint32_t pid = 0;
    std::string process;  // name of the process
    std::vector<Function> functions;
    std::vector<LeftOutFunction> refused;  // only the first ones
    std::uint64_t refused_count = 0;
    std::uint64_t beyond_limit = 0;  // further functions that would have been watched
    // calls in the code whose targets only the running program knows
    std::uint64_t indirect_calls = 0;
    std::uint64_t plan_ns = 0, attach_ns = 0;
};

// A function that was detached because it was called too often to stay within the cost limit.
struct DetachedFunction {
    std::uint32_t function = 0;
    std::uint64_t calls_per_second = 0;
};

struct Ended {
    std::string reason;             // "the process ended"
    std::uint64_t calls = 0;        // of the traced function that ended
    std::uint64_t short_calls = 0;  // of these, shorter than the minimum
    std::uint64_t not_kept = 0;     // calls not recorded, because there were too many at once
    std::uint64_t not_sent = 0;     // trees dropped because the client was too slow
    std::uint64_t detach_ns = 0;
};

[[nodiscard]] boost::json::object to_json(const Started& started);
[[nodiscard]] boost::json::object to_json(const Tree& tree);
[[nodiscard]] boost::json::object to_json(const std::vector<DetachedFunction>& functions);
[[nodiscard]] boost::json::object to_json(const std::vector<Function>& more);
[[nodiscard]] boost::json::object to_json(const Ended& ended);

// One line of the answer; exactly one member is set.
struct Message {
    std::optional<Started> started;
    std::optional<Tree> tree;
    std::optional<std::vector<DetachedFunction>> detached;
    // functions found during the trace; their numbers continue
    std::optional<std::vector<Function>> more;
    std::optional<Ended> ended;
};
// ErrorKind::Invalid if the daemon reports an error, or if it is not such a line.
[[nodiscard]] Result<Message> parse_message(const std::string& line);

}  // namespace lagtrap::calls
