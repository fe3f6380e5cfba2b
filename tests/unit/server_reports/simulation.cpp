#include "tests/unit/server_reports/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace lagtrap::test {

namespace {

using analysis::TimeKind;
using Stack = std::vector<std::string>;

constexpr double ms = 1e6;

// Puts a profile together, stack by stack.
class ProfileBuilder {
  public:
    std::uint32_t node(const Stack& stack) {
        std::uint32_t at = 0;
        for (const std::string& function : stack) {
            const auto [frame, is_new] =
                frames_.try_emplace(function, static_cast<std::uint32_t>(profile_.frames.size()));
            if (is_new) {
                const bool library = function.starts_with("libc_");
                profile_.frames.push_back({function, library ? "/usr/lib/libc.so.6" : "/usr/bin/app-2.1", false});
            }
            const auto [known, added] =
                nodes_.try_emplace({at, frame->second}, static_cast<std::uint32_t>(profile_.nodes.size()));
            if (added) profile_.nodes.push_back({at, frame->second});
            at = known->second;
        }
        return at;
    }
    std::uint32_t text(const std::string& text) {
        for (std::uint32_t i = 0; i < profile_.texts.size(); ++i) {
            if (profile_.texts[i] == text) return i;
        }
        profile_.texts.push_back(text);
        return static_cast<std::uint32_t>(profile_.texts.size() - 1);
    }
    void add(double time_ns, std::vector<analysis::ProfileLink> links) {
        if (time_ns < 1) return;
        profile_.entries.push_back({static_cast<std::uint64_t>(time_ns), std::move(links)});
        profile_.duration_ns += profile_.entries.back().time_ns;
    }
    void on_cpu(double time_ns, const Stack& stack) { add(time_ns, {{TimeKind::OnCpu, 0, 0, node(stack)}}); }
    void blocked(double time_ns, const std::string& reason, const Stack& stack) {
        add(time_ns, {{TimeKind::Blocked, text(reason), 0, node(stack)}});
    }
    analysis::RunProfile take() { return std::move(profile_); }

  private:
    analysis::RunProfile profile_;
    std::map<std::string, std::uint32_t> frames_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes_;
};

class Simulator {
  public:
    explicit Simulator(const Simulation& simulation) : simulation_(simulation), engine_(simulation.seed * 7919 + 17) {
        for (int handler = 0; handler < 6; ++handler) {
            for (int step = 0; step < 5; ++step) {
                Stack stack{"main", "serve", "handle_" + std::to_string(handler)};
                for (std::uint32_t i = 0; i < simulation.more_frames; ++i)
                    stack.push_back("layer_" + std::to_string(i));
                stack.push_back("step_" + std::to_string(step));
                stack.push_back("leaf_" + std::to_string(handler * 5 + step));
                stack.push_back("libc_memcpy");
                stacks_.push_back(std::move(stack));
            }
        }
    }

    std::vector<SimulatedRun> run() {
        std::vector<SimulatedRun> runs;
        for (std::uint32_t host = 0; host < simulation_.hosts; ++host) {
            host_factor_ = lognormal(0.3);
            function_factors_.clear();
            for (std::size_t i = 0; i < stacks_.size(); ++i) function_factors_.push_back(lognormal(0.5));
            const std::uint32_t build = host % simulation_.builds;
            const std::uint32_t louder = host == 0 ? simulation_.loud_host_runs : 0;
            for (std::uint32_t i = 0; i < simulation_.normal_of_host + louder; ++i)
                runs.push_back(make(host, build, false, 0));
            for (std::uint32_t i = 0; i < simulation_.delayed_of_host; ++i) runs.push_back(make(host, build, true, 0));
            for (std::uint32_t i = 0; i < louder; ++i) runs.push_back(make(host, build, true, 1));
        }
        return runs;
    }

  private:
    double lognormal(double sigma) { return std::exp(std::normal_distribution<double>(0, sigma)(engine_)); }
    std::uint32_t below(std::uint32_t limit) {
        return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(engine_);
    }
    Stack in_handler() { return {"main", "serve", "handle_" + std::to_string(below(6))}; }

    SimulatedRun make(std::uint32_t host, std::uint32_t build, bool delayed, int kind) {
        SimulatedRun made;
        made.run.delayed = delayed;
        made.run.host = "host-" + std::to_string(host);
        made.run.user = "user-" + std::to_string(host % 97);
        made.run.build = "build-" + std::to_string(build);
        made.run.begin_realtime_ns = 1'000'000'000ULL * (1000 * build + host % 1000 + 1);
        made.run.bundle = "bundle-" + std::to_string(host);
        made.run.delay = delayed ? 1 : 0;
        ProfileBuilder builder;
        const bool scaled = delayed && simulation_.plant == Plant::Scale;
        const double factor = 20 * ms / 30 * host_factor_ * lognormal(0.4) * (scaled ? 8 : 1);
        for (std::size_t i = 0; i < stacks_.size(); ++i) {
            const double time_ns = factor * function_factors_[i] * lognormal(0.8);
            if (i % 7 == 3) {
                builder.blocked(time_ns, "network", stacks_[i]);
            } else {
                builder.on_cpu(time_ns, stacks_[i]);
            }
        }
        builder.add(2 * ms * lognormal(1), {{TimeKind::Runnable, 0, 0, builder.node({"main", "serve"})}});
        if (delayed) delay(builder, build, kind);
        made.profile = builder.take();
        made.profile.delay = delayed;
        return made;
    }

    void delay(ProfileBuilder& builder, std::uint32_t build, int kind) {
        const double extra_ns = 200 * ms * lognormal(0.5);
        if (kind == 1) return builder.blocked(extra_ns, "disk", {"main", "serve", "write_log", "libc_fsync"});
        if (simulation_.plant == Plant::Nothing || simulation_.plant == Plant::Scale) return;
        const bool planted = build >= simulation_.first_build &&
                             std::uniform_real_distribution<double>(0, 1)(engine_) < simulation_.affected;
        if (simulation_.plant == Plant::Scattered || !planted) {
            const std::string place = std::to_string(below(500));
            return builder.on_cpu(extra_ns, {"main", "serve", "odd_" + place, "odd_leaf_" + place});
        }
        plant(builder, extra_ns);
    }

    void plant(ProfileBuilder& builder, double extra_ns) {
        Stack stack = in_handler();
        if (simulation_.plant == Plant::Cpu) {
            stack.push_back("planted_parse");
            // What it calls comes in the same runs: the planted one is to blame, not they.
            for (const char* part : {"scan", "convert", "check"}) {
                Stack deeper = stack;
                deeper.insert(deeper.end(), {part, "libc_strtod"});
                builder.on_cpu(extra_ns / 3, deeper);
            }
        } else if (simulation_.plant == Plant::Disk) {
            stack.insert(stack.end(), {"planted_save", "libc_fsync"});
            builder.blocked(extra_ns, "disk", stack);
        } else {
            stack.insert(stack.end(), {"take_lock", "libc_pthread_mutex_lock"});
            const std::uint32_t thread = builder.text("worker-" + std::to_string(below(64)));
            builder.add(extra_ns, {{TimeKind::Blocked, builder.text("lock (futex)"), 0, builder.node(stack)},
                                   {TimeKind::OnCpu, 0, thread, builder.node({"run_worker", "planted_compaction"})}});
        }
    }

    Simulation simulation_;
    std::mt19937_64 engine_;
    std::vector<Stack> stacks_;
    double host_factor_ = 1;
    std::vector<double> function_factors_;  // of the host at hand
};

}  // namespace

std::vector<SimulatedRun> simulate(const Simulation& simulation) { return Simulator(simulation).run(); }

server::reports::CauseReport causes_of(const std::vector<SimulatedRun>& runs,
                                       const server::reports::CauseOptions& options) {
    server::reports::CauseFinder finder(options);
    for (const SimulatedRun& run : runs) finder.add(run.run, run.profile);
    return finder.find();
}

std::string planted_function(Plant plant) {
    switch (plant) {
        case Plant::Cpu: return "planted_parse";
        case Plant::Lock: return "planted_compaction";
        case Plant::Disk: return "planted_save";
        default: return {};
    }
}

}  // namespace lagtrap::test
