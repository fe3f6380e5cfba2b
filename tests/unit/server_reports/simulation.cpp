#include "tests/unit/server_reports/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <span>

namespace lagtrap::test {

namespace {

using analysis::TimeKind;
using Stack = std::vector<std::string>;

constexpr double ms = 1e6;

// Builds a profile stack by stack.
class ProfileBuilder {
  public:
    std::uint32_t node(const Stack& stack) {
        std::uint32_t at = 0;
        for (const std::string& function : stack) {
            const auto [frame, is_new] =
                frames_.try_emplace(function, static_cast<std::uint32_t>(profile_.frames.size()));
            if (is_new) {
                const bool library =
                    function.starts_with("libc_") || function.starts_with("pthread_");
                profile_.frames.push_back(
                    {function, library ? "/usr/lib/libc.so.6" : "/usr/bin/app-2.1", false});
            }
            const auto [known, added] = nodes_.try_emplace(
                {at, frame->second}, static_cast<std::uint32_t>(profile_.nodes.size()));
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
    void on_cpu(double time_ns, const Stack& stack) {
        add(time_ns, {{TimeKind::OnCpu, 0, 0, node(stack)}});
    }
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
    explicit Simulator(const Simulation& simulation)
        : simulation_(simulation), engine_(simulation.seed * 7919 + 17) {
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
            for (std::size_t i = 0; i < stacks_.size(); ++i)
                function_factors_.push_back(lognormal(0.5));
            const std::uint32_t build = host % simulation_.builds;
            const std::uint32_t louder = host == 0 ? simulation_.loud_host_runs : 0;
            for (std::uint32_t i = 0; i < simulation_.normal_of_host + louder; ++i)
                runs.push_back(make(host, build, false, 0));
            for (std::uint32_t i = 0; i < simulation_.delayed_of_host; ++i)
                runs.push_back(make(host, build, true, 0));
            for (std::uint32_t i = 0; i < louder; ++i) runs.push_back(make(host, build, true, 1));
            if (simulation_.plant == Plant::Slowest) {
                const std::size_t of_host =
                    simulation_.normal_of_host + simulation_.delayed_of_host;
                sort_by_duration(std::span(runs).last(of_host), simulation_.normal_of_host);
            }
        }
        return runs;
    }

  private:
    // The longest runs are the delayed ones.
    static void sort_by_duration(std::span<SimulatedRun> runs, std::size_t normal) {
        std::sort(runs.begin(), runs.end(), [](const SimulatedRun& a, const SimulatedRun& b) {
            return a.profile.duration_ns < b.profile.duration_ns;
        });
        for (std::size_t i = 0; i < runs.size(); ++i) {
            runs[i].run.delayed = runs[i].profile.delay = i >= normal;
            runs[i].run.delay = i >= normal ? 1 : 0;
        }
    }

    double lognormal(double sigma) {
        return std::exp(std::normal_distribution<double>(0, sigma)(engine_));
    }
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
        // Without heavy tails, because a heavy tail is a cause, if a small one.
        const bool alike = simulation_.plant == Plant::Slowest;
        for (std::size_t i = 0; i < stacks_.size(); ++i) {
            const double time_ns = factor * function_factors_[i] * lognormal(alike ? 0.3 : 0.8);
            if (i % 7 == 3) {
                builder.blocked(time_ns, "network", stacks_[i]);
            } else {
                builder.on_cpu(time_ns, stacks_[i]);
            }
        }
        builder.add(2 * ms * lognormal(alike ? 0.3 : 1),
                    {{TimeKind::Runnable, 0, 0, builder.node({"main", "serve"})}});
        do_what_all_runs_do(builder);
        if (delayed) delay(builder, build, kind);
        made.profile = builder.take();
        made.profile.delay = delayed;
        return made;
    }

    void do_what_all_runs_do(ProfileBuilder& builder) {
        const bool mixed = simulation_.plant == Plant::Mixed;
        if (mixed || simulation_.plant == Plant::Longer) {
            builder.blocked(60 * ms * host_factor_ * lognormal(0.4), "network", call());
        }
        if (mixed || simulation_.plant == Plant::Tail) {
            Stack stack = match();
            builder.on_cpu(0.1 * ms * lognormal(0.5), stack);
            stack.pop_back();
            stack.insert(stack.end(), {"fetch", "libc_recv"});
            builder.blocked(30 * ms * host_factor_ * lognormal(0.4), "network", stack);
        }
    }
    static Stack call() { return {"main", "serve", "handle_1", "planted_call", "libc_recv"}; }
    // Frames of run-time libraries count as part of their caller.
    static Stack match() {
        return {"main", "serve", "planted_match", "std::__detail::_Executor::_M_dfs"};
    }

    void delay(ProfileBuilder& builder, std::uint32_t build, int kind) {
        const double extra_ns = 200 * ms * lognormal(0.5);
        if (kind == 1)
            return builder.blocked(extra_ns, "disk", {"main", "serve", "write_log", "libc_fsync"});
        if (planted_functions(simulation_.plant).empty() && simulation_.plant != Plant::Scattered)
            return;
        const bool planted =
            build >= simulation_.first_build &&
            std::uniform_real_distribution<double>(0, 1)(engine_) < simulation_.affected;
        if (simulation_.plant == Plant::Scattered || !planted) {
            const std::string place = std::to_string(below(500));
            return builder.on_cpu(extra_ns, {"main", "serve", "odd_" + place, "odd_leaf_" + place});
        }
        plant(builder, extra_ns);
    }

    void plant(ProfileBuilder& builder, double extra_ns) {
        switch (simulation_.plant) {
            case Plant::Cpu: return parse(builder, extra_ns);
            case Plant::Disk: return save(builder, extra_ns);
            case Plant::Longer: return builder.blocked(extra_ns, "network", call());
            case Plant::Tail: return builder.on_cpu(extra_ns, match());
            case Plant::Two: {
                const double part = std::uniform_real_distribution<double>(0.3, 0.7)(engine_);
                parse(builder, extra_ns * part);
                return save(builder, extra_ns * (1 - part));
            }
            case Plant::Mixed: {
                const std::uint32_t one = below(5);
                if (one == 0) return builder.blocked(extra_ns, "network", call());
                return one < 3 ? builder.on_cpu(extra_ns, match()) : save(builder, extra_ns);
            }
            default: return lock(builder, extra_ns);
        }
    }
    // Its callees occur in the same runs: the planted function is to blame, not they.
    void parse(ProfileBuilder& builder, double extra_ns) {
        Stack stack = in_handler();
        stack.push_back("planted_parse");
        for (const char* part : {"scan", "convert", "check"}) {
            Stack deeper = stack;
            deeper.insert(deeper.end(), {part, "libc_strtod"});
            builder.on_cpu(extra_ns / 3, deeper);
        }
    }
    void save(ProfileBuilder& builder, double extra_ns) {
        Stack stack = in_handler();
        stack.insert(stack.end(), {"planted_save", "libc_fsync"});
        builder.blocked(extra_ns, "disk", stack);
    }
    void lock(ProfileBuilder& builder, double extra_ns) {
        Stack stack = in_handler();
        stack.insert(stack.end(), {"take_lock", "pthread_mutex_lock"});
        const std::uint32_t thread = builder.text("worker-" + std::to_string(below(64)));
        builder.add(
            extra_ns,
            {{TimeKind::Blocked, builder.text("lock (futex)"), 0, builder.node(stack)},
             {TimeKind::OnCpu, 0, thread, builder.node({"run_worker", "planted_compaction"})}});
    }

    Simulation simulation_;
    std::mt19937_64 engine_;
    std::vector<Stack> stacks_;
    double host_factor_ = 1;
    std::vector<double> function_factors_;  // of the current host
};

}  // namespace

std::vector<SimulatedRun> simulate(const Simulation& simulation) {
    return Simulator(simulation).run();
}

server::reports::CauseReport causes_of(const std::vector<SimulatedRun>& runs,
                                       const server::reports::CauseOptions& options) {
    server::reports::CauseFinder finder(options);
    for (const SimulatedRun& run : runs) finder.add(run.run, run.profile);
    return finder.find();
}

std::vector<std::string> planted_functions(Plant plant) {
    switch (plant) {
        case Plant::Cpu: return {"planted_parse"};
        case Plant::Lock: return {"planted_compaction"};
        case Plant::Disk: return {"planted_save"};
        case Plant::Longer: return {"planted_call"};
        case Plant::Tail: return {"planted_match"};
        case Plant::Two: return {"planted_parse", "planted_save"};
        case Plant::Mixed: return {"planted_save", "planted_match", "planted_call"};
        default: return {};
    }
}

bool tells_the_truth(const server::reports::CauseReport& report, Plant plant) {
    const std::vector<std::string> functions = planted_functions(plant);
    if (functions.empty()) return report.causes.empty();
    if (report.causes.size() < functions.size()) return false;
    return std::all_of(functions.begin(), functions.end(), [&](const std::string& function) {
        const auto named = report.causes.begin() + static_cast<std::ptrdiff_t>(functions.size());
        return std::any_of(report.causes.begin(), named, [&](const server::reports::Cause& cause) {
            return cause.title.find(" in " + function) != std::string::npos;
        });
    });
}

}  // namespace lagtrap::test
