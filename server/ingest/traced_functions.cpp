#include "server/ingest/traced_functions.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "core/json_number.hpp"
#include "server/ingest/delay_details.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr std::size_t name_limit_bytes = 256;
std::uint64_t sum(std::uint64_t one, std::uint64_t other) {
    return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

json::object row_of(const trace::CountedFunction& one) {
    json::array path;
    for (const std::string& caller : one.path)
        path.emplace_back(shortened(caller, name_limit_bytes));
    return {{"name", shortened(one.name, name_limit_bytes)},
            {"module", shortened(one.module)},
            {"source", one.line == 0 ? "" : shortened(one.source) + ":" + std::to_string(one.line)},
            {"calls", json_number(one.calls)},
            {"own_ns", json_number(one.own_ns)},
            {"longest_ns", json_number(one.longest_ns)},
            {"path", std::move(path)}};
}

}  // namespace

json::value traced_functions_json(const trace::SystemFile& system, const trace::Delay& delay) {
    const auto& counts = system.functions;
    if (!counts || counts->pid != delay.begin_pid || counts->length_ns == 0) return nullptr;
    std::uint64_t own_ns = counts->others_own_ns;
    std::uint64_t functions = sum(counts->others, counts->functions.size());
    json::array rows;
    for (const trace::CountedFunction& one : counts->functions) {
        own_ns = sum(own_ns, one.own_ns);
        if (rows.size() < traced_functions_limit) rows.push_back(row_of(one));
    }
    const bool before = counts->from_ns < system.breach_boottime_ns;
    return json::object{
        {"length_ns", json_number(counts->length_ns)},
        {"before_breach_ns", json_number(before ? system.breach_boottime_ns - counts->from_ns : 0)},
        {"watched", json_number(counts->watched)},
        {"detached", json_number(counts->detached)},
        {"least_ns", json_number(counts->min_ns)},
        {"reported", json_number(counts->reported)},
        {"not_reported", json_number(counts->not_reported)},
        {"called", json_number(functions)},
        {"own_ns", json_number(own_ns)},
        {"functions", std::move(rows)}};
}

}  // namespace lagtrap::server
