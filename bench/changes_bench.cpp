// How often a regression on a part of the hosts is found, dated and explained correctly:
// `changes_bench [SEEDS [AGE_DAYS [FIRST_SEED]]]` (default 100, all ages, 1). Exits with 1 if one
// on ten or six of 21 hosts is not in 95 of 100 seeds, or if there is a verdict without a
// regression in more than one of 100, whether hosts are alike or not.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/unit/server_reports/change_simulation.hpp"

namespace {

using lagtrap::test::ChangeSimulation;
using lagtrap::test::SimulatedEvent;

constexpr std::uint64_t spans_days[] = {1, 7, 30};

struct Rates {
    std::uint64_t asked = 0, right = 0;
};

void ask(const ChangeSimulation& simulation, Rates* rates, bool verbose) {
    const SimulatedEvent event(simulation);
    for (int i = 0; i < 3; ++i) {
        const auto answer = lagtrap::test::answer_about(event, spans_days[i]);
        const std::string mistakes = lagtrap::test::mistakes_of(answer, event, simulation.planted);
        ++rates[i].asked;
        rates[i].right += mistakes.empty() ? 1 : 0;
        if (!mistakes.empty() && verbose)
            std::printf("  seed %llu, %.0f days old, %.1f days of history, last %llu days: %s\n",
                        static_cast<unsigned long long>(simulation.seed), simulation.age_days,
                        simulation.history_days, static_cast<unsigned long long>(spans_days[i]),
                        mistakes.c_str());
    }
}

bool report(const std::string& what, const Rates* rates, double wanted) {
    bool good = true;
    for (int i = 0; i < 3; ++i) {
        std::printf("%s, last %llu days: right in %llu of %llu\n", what.c_str(),
                    static_cast<unsigned long long>(spans_days[i]),
                    static_cast<unsigned long long>(rates[i].right),
                    static_cast<unsigned long long>(rates[i].asked));
        good &= static_cast<double>(rates[i].right) >= wanted * static_cast<double>(rates[i].asked);
    }
    std::fflush(stdout);
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
    const int only_days = argc > 2 ? std::atoi(argv[2]) : 0;
    const std::uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
    bool good = true;
    for (const std::string hosts : {"fra-", "ams-"}) {
        for (int age_days = 1; age_days <= 6; ++age_days) {
            if (only_days != 0 && age_days != only_days) continue;
            Rates rates[3];
            for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
                ChangeSimulation simulation;
                simulation.seed = seed * 10 + static_cast<std::uint64_t>(age_days);
                simulation.age_days = age_days;
                simulation.history_days = seed % 2 == 0 ? 20 : 7.5;
                simulation.hosts = hosts;
                ask(simulation, rates, true);
            }
            good &= report("new cause on " + hosts + "*, " + std::to_string(age_days) + " days old",
                           rates, 0.95);
        }
    }
    for (const double host_deviation : {0.0, 0.5}) {
        Rates rates[3];
        for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
            ChangeSimulation simulation;
            simulation.seed = seed * 10 + 7;
            simulation.planted = false;
            simulation.age_days = static_cast<double>(seed % 6 + 1);
            simulation.history_days = seed % 2 == 0 ? 20 : 7.5;
            simulation.hosts = seed % 4 < 2 ? "fra-" : "ams-";
            simulation.host_deviation = host_deviation;
            ask(simulation, rates, true);
        }
        good &= report(host_deviation > 0 ? "no new cause, hosts that differ" : "no new cause",
                       rates, 0.99);
    }
    return good ? 0 : 1;
}
