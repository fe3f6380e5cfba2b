#include "server/api/summary_json.hpp"

#include <algorithm>

#include "server/api/json_reply.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t classes_wanted = 60;
constexpr std::size_t hours_limit = 2000;

struct Class {
    std::uint64_t runs = 0;
    std::uint64_t delays = 0;
};

// Classes are a constant number of the sketch's bins wide, so they grow by a constant factor.
// Includes empty classes between others.
json::array histogram_json(const Sketch& durations, const Sketch& delays) {
    json::array histogram;
    const auto bins = durations.bins();
    if (bins.empty()) return histogram;
    const std::uint32_t first = Sketch::bin_of(bins.front().high_ns);
    const std::uint32_t last = Sketch::bin_of(bins.back().high_ns);
    const std::uint32_t width = (last - first) / classes_wanted + 1;
    std::vector<Class> classes((last - first) / width + 1);
    const auto class_of = [&](const Sketch::Bin& bin) -> Class& {
        const std::uint32_t number =
            std::clamp<std::uint32_t>(Sketch::bin_of(bin.high_ns), first, last);
        return classes[(number - first) / width];
    };
    for (const Sketch::Bin& bin : bins) class_of(bin).runs += bin.count;
    for (const Sketch::Bin& bin : delays.bins()) class_of(bin).delays += bin.count;
    std::uint64_t low_ns = bins.front().low_ns;
    for (std::uint32_t i = 0; i < classes.size(); ++i) {
        const std::uint32_t edge = std::min(first + (i + 1) * width, std::uint32_t{2183});
        // The edge between two bins is roughly the middle of their values.
        std::uint64_t high_ns = (Sketch::value_of(static_cast<std::uint16_t>(edge - 1)) +
                                 Sketch::value_of(static_cast<std::uint16_t>(edge))) /
                                2;
        if (i + 1 == classes.size()) high_ns = std::max(high_ns, bins.back().high_ns);
        high_ns = std::max(high_ns, low_ns);
        histogram.push_back(
            {{"low_ns", json_number(low_ns)},
             {"high_ns", json_number(high_ns)},
             {"runs", json_number(classes[i].runs)},
             {"delays", json_number(std::min(classes[i].delays, classes[i].runs))}});
        low_ns = high_ns;
    }
    return histogram;
}

json::array hours_json(const std::vector<HourCount>& hours) {
    json::array rows;
    const std::size_t skipped = hours.size() > hours_limit ? hours.size() - hours_limit : 0;
    for (std::size_t i = skipped; i < hours.size(); ++i)
        rows.push_back({{"hour_ns", json_digits(hours[i].hour_ns)},
                        {"runs", json_number(hours[i].runs)},
                        {"delays", json_number(hours[i].delays)}});
    return rows;
}

}  // namespace

json::object summary_json(const Summary& summary, std::optional<std::uint64_t> threshold_ns) {
    const RunCounts& counts = summary.counts;
    json::object percentiles;
    for (const auto& [name, share] :
         {std::pair{"p50", 0.5}, std::pair{"p75", 0.75}, std::pair{"p90", 0.9},
          std::pair{"p95", 0.95}, std::pair{"p99", 0.99}})
        percentiles[name] =
            json_number(std::min(summary.durations.quantile_ns(share), summary.longest_ns));
    percentiles["max"] = json_number(summary.longest_ns);
    json::value threshold = nullptr;
    if (threshold_ns) threshold = json_number(*threshold_ns);
    return {{"runs", json_number(counts.runs)},
            {"delays", json_number(counts.delays)},
            {"hidden", json_number(counts.hidden)},
            {"share_over", counts.runs > 0 ? std::min(1.0, static_cast<double>(counts.delays) /
                                                               static_cast<double>(counts.runs))
                                           : 0.0},
            {"threshold_ns", std::move(threshold)},
            {"percentiles", std::move(percentiles)},
            {"histogram", histogram_json(summary.durations, summary.delay_durations)},
            {"hours", hours_json(summary.hours)}};
}

json::object losses_json(const Losses& losses) {
    json::array hosts;
    for (const HostLosses& host : losses.hosts)
        hosts.push_back({{"host", host.host},
                         {"runs", json_number(host.runs)},
                         {"last_ns", json_digits(host.last_realtime_ns)}});
    return {{"runs", json_number(losses.runs)}, {"hosts", std::move(hosts)}};
}

}  // namespace lagtrap::server
