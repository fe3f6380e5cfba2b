#include "tests/unit/server_reports/change_simulation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

namespace lagtrap::test {

using namespace server;
using namespace server::reports;

namespace {

constexpr std::uint64_t quarter_ns = hour_length_ns / 4;
constexpr std::uint64_t end_ns = 1'800'000 * hour_length_ns;  // 2175-05-07, 00:00
constexpr double runs_an_hour = 340;
constexpr std::array old_causes{0.008, 0.006, 0.004};  // delays by run
constexpr double new_cause_share = 0.036;
constexpr std::uint32_t recorded_an_hour = 2;
constexpr double found = 0.9;  // the part of the recorded delays whose cause is found

}  // namespace

class SimulatedEvent::Maker {
  public:
    Maker(SimulatedEvent& event, const ChangeSimulation& simulation)
        : event_(event), simulation_(simulation), engine_(simulation.seed * 7919 + 17) {}

    void make() {
        for (const auto& [place, count] : {std::pair("ams-", 6), {"fra-", 10}, {"lon-", 5}})
            for (int i = 1; i <= count; ++i) event_.hosts_.push_back(place + std::to_string(i));
        for (std::size_t i = 0; i < event_.hosts_.size(); ++i)
            host_factors_.push_back(lognormal(0.3));
        for (std::size_t i = 0; i < event_.hosts_.size(); ++i)
            host_shares_.push_back(
                simulation_.host_deviation > 0 ? lognormal(simulation_.host_deviation) : 1);
        event_.now_ns_ = end_ns + below(24 * 60) * (hour_length_ns / 60);
        const auto ago = [&](double days) {
            return (event_.now_ns_ - static_cast<std::uint64_t>(days * day_length_ns)) /
                   quarter_ns * quarter_ns;
        };
        event_.changed_ns_ = ago(simulation_.age_days);
        event_.prefix_ = simulation_.hosts;
        for (std::uint64_t at_ns = ago(simulation_.history_days); at_ns < event_.now_ns_;
             at_ns += quarter_ns) {
            if (at_ns % hour_length_ns == 0 || recorded_.empty()) begin_hour();
            for (std::uint32_t host = 0; host < event_.hosts_.size(); ++host) add(at_ns, host);
        }
    }

  private:
    double lognormal(double sigma) {
        return std::exp(std::normal_distribution<double>(0, sigma)(engine_));
    }
    std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
    std::uint32_t poisson(double mean) {
        return static_cast<std::uint32_t>(
            std::poisson_distribution<int>(std::max(mean, 1e-9))(engine_));
    }

    void begin_hour() {
        constexpr double alike = 0.5, deviation = 0.15;
        slow_noise_ =
            alike * slow_noise_ +
            std::normal_distribution<double>(0, deviation * std::sqrt(1 - alike * alike))(engine_);
        recorded_.assign(event_.hosts_.size(), 0);
        host_noise_.clear();
        for (std::size_t i = 0; i < event_.hosts_.size(); ++i)
            host_noise_.push_back(lognormal(0.2));
    }

    void add(std::uint64_t at_ns, std::uint32_t host) {
        Cell cell;
        cell.from_ns = at_ns;
        cell.host = host;
        cell.is_new =
            at_ns >= event_.changed_ns_ && event_.hosts_[host].starts_with(simulation_.hosts);
        const double day =
            static_cast<double>(at_ns % day_length_ns) / static_cast<double>(day_length_ns);
        const double load = 1 + 0.5 * std::sin(2 * M_PI * day);
        cell.runs = poisson(runs_an_hour / 4 / static_cast<double>(event_.hosts_.size()) * load);
        const double noise =
            std::exp(slow_noise_) * host_noise_[host] * host_shares_[host] * (0.85 + 0.15 * load);
        std::vector<std::uint32_t> causes;
        for (std::uint32_t cause = 0; cause < old_causes.size(); ++cause)
            causes.insert(causes.end(), poisson(cell.runs * old_causes[cause] * noise), cause);
        if (cell.is_new && simulation_.planted)
            causes.insert(causes.end(), poisson(cell.runs * new_cause_share * noise),
                          new_cause - 1);
        std::shuffle(causes.begin(), causes.end(), engine_);
        causes.resize(std::min<std::size_t>(causes.size(), cell.runs));
        cell.delays = static_cast<std::uint32_t>(causes.size());
        cell.recorded_of_cause.assign(new_cause, 0);
        for (const std::uint32_t cause : causes) {
            if (recorded_[host] == recorded_an_hour) break;
            ++recorded_[host];
            ++cell.recorded;
            if (std::uniform_real_distribution<double>(0, 1)(engine_) < found)
                ++cell.recorded_of_cause[cause];
        }
        Sketch durations;
        for (std::uint32_t i = 0; i < cell.runs; ++i) {
            const double ms = i < cell.delays
                                  ? 100 * std::exp(std::abs(std::log(lognormal(0.6))))
                                  : 20 * host_factors_[host] * (0.9 + 0.1 * load) * lognormal(0.35);
            durations.add(static_cast<std::uint64_t>(ms * 1e6));
        }
        event_.cells_.push_back(std::move(cell));
        event_.durations_.push_back(std::move(durations));
    }

    SimulatedEvent& event_;
    const ChangeSimulation& simulation_;
    std::mt19937_64 engine_;
    std::vector<double> host_factors_, host_shares_, host_noise_;
    std::vector<std::uint32_t> recorded_;
    double slow_noise_ = 0;
};

SimulatedEvent::SimulatedEvent(const ChangeSimulation& simulation) {
    Maker(*this, simulation).make();
}

std::set<std::string> SimulatedEvent::changed_hosts() const {
    std::set<std::string> hosts;
    for (const std::string& host : hosts_)
        if (host.starts_with(prefix_)) hosts.insert(host);
    return hosts;
}

EventActivity SimulatedEvent::activity(const TrendSpan& span) const {
    EventActivity activity;
    activity.event = "checkout";
    activity.runs_recorded = true;
    activity.hosts = hosts_.size();
    if (changed_ns_ >= span.hours_from_ns) activity.begins.push_back({"new", changed_ns_});
    const auto gather = [&](std::uint64_t from_ns, std::uint64_t length_ns) {
        std::map<std::uint64_t, UnitActivity> units;
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            const Cell& cell = cells_[i];
            if (cell.from_ns < from_ns || cell.runs == 0) continue;
            UnitActivity& unit = units[cell.from_ns / length_ns];
            unit.from_ns = cell.from_ns / length_ns * length_ns;
            unit.runs += cell.runs;
            unit.delays += cell.delays;
            unit.durations.merge(durations_[i]);
            if (unit.builds.empty()) unit.builds = {{"old", 0, 0}, {"new", 0, 0}};
            unit.builds[cell.is_new ? 1 : 0].runs += cell.runs;
            unit.builds[cell.is_new ? 1 : 0].delays += cell.delays;
        }
        std::vector<UnitActivity> list;
        for (auto& [number, unit] : units) list.push_back(std::move(unit));
        return list;
    };
    activity.units = gather(span.before_ns, span.unit_ns);
    activity.hours = gather(span.hours_from_ns, hour_length_ns);
    return activity;
}

std::vector<ChangedPart> SimulatedEvent::hosts_around(std::uint64_t at_ns) const {
    std::vector<ChangedPart> parts(hosts_.size());
    for (std::size_t i = 0; i < hosts_.size(); ++i) parts[i].name = hosts_[i];
    for (const Cell& cell : cells_) {
        SlowRuns& side = cell.from_ns < at_ns ? parts[cell.host].before : parts[cell.host].after;
        side.add({static_cast<double>(cell.runs), static_cast<double>(cell.delays)});
    }
    return parts;
}

SimulatedEvent::CausesAround SimulatedEvent::causes_around(std::uint64_t at_ns) const {
    CausesAround around;
    for (std::uint64_t cause = 1; cause <= new_cause; ++cause)
        around.causes.push_back({cause, 0, 0});
    for (const Cell& cell : cells_) {
        const bool before = cell.from_ns < at_ns;
        DelayCounts& side = before ? around.before : around.after;
        side.runs += cell.runs;
        side.delays += cell.delays;
        side.recorded += cell.recorded;
        for (std::size_t i = 0; i < around.causes.size(); ++i)
            (before ? around.causes[i].before : around.causes[i].after) +=
                cell.recorded_of_cause[i];
    }
    return around;
}

ChangeAnswer answer_about(const SimulatedEvent& event, std::uint64_t days) {
    Filter filter;
    filter.from_ns = event.now_ns() - days * day_length_ns;
    filter.to_ns = event.now_ns();
    const TrendSpan span = trend_span(filter, event.now_ns()).value();
    std::vector<EventTrend> trends{trend_of(event.activity(span), span)};
    judge_trends(trends);
    ChangeAnswer answer{std::move(trends.front()), {}, {}};
    if (!answer.trend.lasting) return answer;
    const std::uint64_t at_ns = answer.trend.lasting->step.from_ns;
    answer.hosts = split_change(event.hosts_around(at_ns));
    const auto around = event.causes_around(at_ns);
    answer.causes =
        cause_shifts(around.before, around.after, around.causes, answer.trend.lasting->step.figure);
    return answer;
}

std::string mistakes_of(const ChangeAnswer& answer, const SimulatedEvent& event, bool planted) {
    const bool worse = answer.trend.verdict == Verdict::Worse;
    if (!planted)
        return answer.trend.verdict == Verdict::Unchanged ? "" : worse ? "worse" : "better";
    if (!worse) return "missed";
    if (!answer.trend.lasting) return "no time";
    std::string mistakes;
    const LastingChange& change = *answer.trend.lasting;
    const auto away_ns =
        static_cast<double>(change.step.from_ns) - static_cast<double>(event.changed_ns());
    if (std::abs(away_ns) > 2 * static_cast<double>(hour_length_ns))
        mistakes += "wrong time by " +
                    std::to_string(away_ns / static_cast<double>(hour_length_ns)) + " hours; ";
    if (change.build != "new") mistakes += "wrong build; ";
    std::set<std::string> hosts;
    for (const ChangedPart& part : answer.hosts.parts)
        if (part.changed) hosts.insert(part.name);
    if (hosts != event.changed_hosts())
        mistakes +=
            "wrong hosts (" + answer.hosts.pattern + ", " + std::to_string(hosts.size()) + "); ";
    if (answer.causes.empty() || answer.causes.front().cause != SimulatedEvent::new_cause ||
        !answer.causes.front().came)
        mistakes += "wrong cause; ";
    if (answer.causes.size() > 1 && answer.causes[1].came) mistakes += "another cause; ";
    return mistakes;
}

}  // namespace lagtrap::test
