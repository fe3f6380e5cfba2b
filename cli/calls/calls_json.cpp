#include "cli/calls/calls_json.hpp"

#include <boost/json.hpp>

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

json::object call_json(const calls::Call& call, const calls::Times& times,
                       const calls::Function& function, bool of_goroutine) {
    json::object object{{"function", function.name},
                        {"module", function.module},
                        {"parent", nullptr},
                        {"begin_ns", call.begin_ns},
                        {"wall_ns", times.wall_ns},
                        {"own_ns", times.own_ns},
                        {"on_cpu_ns", times.on_cpu_ns},
                        {"runnable_ns", times.runnable_ns},
                        {"blocked_ns", times.blocked_ns},
                        {"with_probes_ns", call.end_ns - call.begin_ns},
                        {"end", calls::name_of(call.end)}};
    if (of_goroutine)
        for (const char* unknown : {"on_cpu_ns", "runnable_ns", "blocked_ns"})
            object[unknown] = nullptr;
    if (call.parent != calls::no_parent) object["parent"] = call.parent;
    if (call.left_out != 0) object["not_kept"] = call.left_out;
    if (function.seen) object["seen"] = true;
    if (!function.source.empty()) {
        object["source"] = function.source;
        object["line"] = function.line;
    }
    return object;
}

}  // namespace

json::array tree_calls_json(const calls::Tree& tree, const std::vector<calls::Times>& times,
                            const std::vector<calls::Function>& functions) {
    json::array rows;
    for (std::size_t number = 0; number < tree.calls.size(); ++number)
        rows.push_back(call_json(tree.calls[number], times[number],
                                 functions[tree.calls[number].function], tree.goroutine != 0));
    return rows;
}

}  // namespace lagtrap::cli
