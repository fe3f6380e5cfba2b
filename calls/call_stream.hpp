// What the daemon answers to {"command":"calls"}: JSON objects, a line each. {"ok":true,"started":...} once, then any
// number of "tree" and "taken_out", and "ended" last; instead of all of them {"ok":false,"error":...}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
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
    std::string process;  // its name
    std::vector<Function> functions;
    std::vector<LeftOutFunction> refused;  // the first of them
    std::uint64_t refused_count = 0;
    std::uint64_t beyond_limit = 0;    // functions that would have been watched too
    std::uint64_t indirect_calls = 0;  // places in the code whose callees only the running program knows
    std::uint64_t plan_ns = 0, attach_ns = 0;
};

// A function that was called too often to be watched at the price that is allowed.
struct TakenOut {
    std::uint32_t function = 0;
    std::uint64_t calls_per_second = 0;
};

struct Ended {
    std::string reason;             // "the process ended"
    std::uint64_t calls = 0;        // of the function that ended
    std::uint64_t short_calls = 0;  // of them: in less than the minimum
    std::uint64_t not_kept = 0;     // calls that were not recorded, as too many were at once
    std::uint64_t not_sent = 0;     // trees that the client was too slow for
    std::uint64_t detach_ns = 0;
};

[[nodiscard]] boost::json::object to_json(const Started& started);
[[nodiscard]] boost::json::object to_json(const Tree& tree);
[[nodiscard]] boost::json::object to_json(const std::vector<TakenOut>& functions);
[[nodiscard]] boost::json::object to_json(const std::vector<Function>& more);
[[nodiscard]] boost::json::object to_json(const Ended& ended);

// Their parts, for other answers. Parsing throws what boost::json throws, or std::out_of_range.
[[nodiscard]] boost::json::array rows_of_functions(const std::vector<Function>& functions);
[[nodiscard]] std::vector<Function> functions_of_rows(const boost::json::array& rows);
[[nodiscard]] std::vector<TakenOut> taken_out_of_rows(const boost::json::array& rows);

// One line of the answer; exactly one is there.
struct Message {
    std::optional<Started> started;
    std::optional<Tree> tree;
    std::optional<std::vector<TakenOut>> taken_out;
    std::optional<std::vector<Function>> more;  // functions found while the trace runs; their numbers go on
    std::optional<Ended> ended;
};
// ErrorKind::Invalid: what the daemon refused, or it is no such line.
[[nodiscard]] Result<Message> parse_message(const std::string& line);

}  // namespace lagtrap::calls
