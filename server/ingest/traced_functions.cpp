#include "server/ingest/traced_functions.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "server/ingest/delay_details.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr std::size_t name_limit_bytes = 256;
// Numbers of JSON are exact up to here.
constexpr std::uint64_t number_limit = (1ULL << 53) - 1;

std::uint64_t number(std::uint64_t value) { return std::min(value, number_limit); }

std::uint64_t sum(std::uint64_t one, std::uint64_t other) {
    return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

json::object row_of(const trace::CountedFunction& one) {
    json::array path;
    for (const std::string& caller : one.path) path.emplace_back(shortened(caller, name_limit_bytes));
    return {{"name", shortened(one.name, name_limit_bytes)},
            {"module", shortened(one.module)},
            {"source", one.line == 0 ? "" : shortened(one.source) + ":" + std::to_string(one.line)},
            {"calls", number(one.calls)},
            {"own_ns", number(one.own_ns)},
            {"longest_ns", number(one.longest_ns)},
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
    return json::object{{"length_ns", number(counts->length_ns)},
                        {"before_breach_ns", number(before ? system.breach_boottime_ns - counts->from_ns : 0)},
                        {"watched", number(counts->watched)},
                        {"taken_out", number(counts->taken_out)},
                        {"least_ns", number(counts->least_ns)},
                        {"told", number(counts->told)},
                        {"not_told", number(counts->not_told)},
                        {"called", number(functions)},
                        {"own_ns", number(own_ns)},
                        {"functions", std::move(rows)}};
}

}  // namespace lagtrap::server
