#include "analysis/cpu_words.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/function_name.hpp"
#include "analysis/group_name.hpp"
#include "analysis/parts.hpp"
#include "analysis/request_words.hpp"
#include "core/duration.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::uint16_t first_ordinary = 100;  // smaller priorities are real-time

// Only the kernel's limit for real-time threads stops one that runs without a more urgent one.
bool was_real_time_stopped(const CpuWaits& cpu) {
    return cpu.priority < first_ordinary && cpu.preempted_ns * 2 > cpu.time_ns;
}

bool gave_way_to_ordinary(const CpuWaits& cpu) {
    std::uint64_t ordinary_ns = 0;
    for (const CpuHolder& holder : cpu.holders) {
        if (holder.priority >= first_ordinary && holder.priority != no_priority)
            ordinary_ns += holder.time_ns;
    }
    return was_real_time_stopped(cpu) && ordinary_ns * 2 > cpu.time_ns;
}

std::string idle_words(const CpuWaits& cpu) {
    if (cpu.slow_wakeups_ns * 2 > cpu.idle_ns)
        return ", which was idle: it was slow to wake up, or its virtual machine did not run";
    const std::string limit = was_real_time_stopped(cpu)
                                  ? "the kernel's limit for real-time threads"
                                  : "the CPU limit of its control group";
    return ", which was idle: probably " + limit + " held it back";
}

class CpuWords {
  public:
    explicit CpuWords(const std::string& own_unit) : own_unit_(own_unit) {}

    // Who had the CPU.
    std::string holders(const CpuWaits& cpu, const ThreadName& who_waited) const {
        const std::uint64_t known_ns = cpu.time_ns - std::min(cpu.time_ns, cpu.unknown_ns);
        if (known_ns * 2 < cpu.time_ns) return "; who had it is unknown";
        if (cpu.idle_ns * 2 > known_ns) return idle_words(cpu);
        const char* surely = cpu.elsewhere_ns * 2 > cpu.time_ns ? " while probably " : " while ";
        const std::string what =
            cpu.cpus.size() == 1 ? " had CPU " + std::to_string(cpu.cpus.front()) : " had it";
        for (const CpuHolder& holder : cpu.holders) {
            if (is_rest_of(who_waited, holder) || !is_most(holder.time_ns, known_ns)) continue;
            const auto others = named_holders(cpu, who_waited, &holder);
            return surely + name_of(holder) + identity(holder, who_waited) + what +
                   (holder.threads == 1 ? request_words(holder.request) : "") + place_of(holder) +
                   also(others, 0, known_ns, who_waited);
        }
        const auto named = named_holders(cpu, who_waited, nullptr);
        if (named.empty()) return "";
        const CpuHolder& most = named.front().second;
        if (is_most(most.time_ns, known_ns)) {
            return surely + named.front().first + identity(most, who_waited) + what +
                   also(named, 1, known_ns, who_waited);
        }
        std::string text;
        for (std::size_t i = 0; i < std::min<std::size_t>(named.size(), 3); ++i) {
            text += (i == 0 ? "" : ", ") + named[i].first + identity(named[i].second, who_waited) +
                    " " + format_duration_ns(named[i].second.time_ns);
        }
        return surely + std::string("others had it: ") + text;
    }

  private:
    static std::string place_of(const CpuHolder& holder) {
        if (holder.threads != 1 || holder.function.empty() || holder.function.starts_with('['))
            return "";
        return ", in " + short_function_name(holder.function) +
               (holder.caller.empty() ? "" : ", called by " + short_function_name(holder.caller));
    }

    // Threads of the waiting thread's own process that each used little of the CPU.
    static bool is_rest_of(const ThreadName& who_waited, const CpuHolder& holder) {
        return holder.pid == who_waited.pid && holder.threads > 1;
    }

    using NamedHolder = std::pair<std::string, CpuHolder>;

    // Merges processes with the same name and real-time priority, longest first.
    static std::vector<NamedHolder> named_holders(const CpuWaits& cpu, const ThreadName& who_waited,
                                                  const CpuHolder* without) {
        std::vector<NamedHolder> named;
        for (const CpuHolder& holder : cpu.holders) {
            if (&holder == without) continue;
            const std::string name = is_rest_of(who_waited, holder)
                                         ? "other threads of its own process"
                                         : name_of(holder);
            const auto known =
                std::find_if(named.begin(), named.end(), [&](const NamedHolder& one) {
                    return one.first == name &&
                           one.second.real_time_priority() == holder.real_time_priority();
                });
            if (known == named.end()) {
                named.emplace_back(name, holder);
                continue;
            }
            known->second.time_ns += holder.time_ns;
            known->second.threads += holder.threads;
            known->second.pid = 0;
            if (known->second.unit != holder.unit) known->second.unit.clear();
        }
        std::stable_sort(named.begin(), named.end(),
                         [](const NamedHolder& a, const NamedHolder& b) {
                             return a.second.time_ns > b.second.time_ns;
                         });
        return named;
    }

    // Others that had the CPU for at least a fifth of the time.
    std::string also(const std::vector<NamedHolder>& named, std::size_t from,
                     std::uint64_t known_ns, const ThreadName& who_waited) const {
        std::string text;
        for (std::size_t i = from; i < named.size() && named[i].second.time_ns >= known_ns / 5;
             ++i) {
            text += ", and " + named[i].first + identity(named[i].second, who_waited) + " for " +
                    format_duration_ns(named[i].second.time_ns);
        }
        return text;
    }

    static std::string name_of(const CpuHolder& holder) {
        const std::string& name =
            holder.threads == 1 && holder.tid != holder.pid && !holder.thread.empty()
                ? holder.thread
                : holder.process;
        if (!name.empty()) return name;
        return holder.thread.empty() ? "an unknown process" : holder.thread;
    }

    std::string identity(const CpuHolder& holder, const ThreadName& who_waited) const {
        const std::uint32_t priority = holder.real_time_priority();
        const std::string urgent =
            priority > 0 ? "real-time priority " + std::to_string(priority) : "";
        if (is_rest_of(who_waited, holder)) return urgent.empty() ? "" : " (" + urgent + ")";
        if (holder.pid != 0 && holder.pid == who_waited.pid)
            return " (" + std::to_string(holder.tid) + ", of its own process" +
                   (urgent.empty() ? "" : ", " + urgent) + ")";
        const std::string more =
            (urgent.empty() ? "" : ", " + urgent) + other_unit(holder.unit, own_unit_);
        if (holder.pid == 0) {
            const std::string many = std::to_string(holder.threads) + " threads";
            return holder.threads < 2 ? "" : " (" + many + other_unit(holder.unit, own_unit_) + ")";
        }
        const std::uint32_t id = holder.threads == 1 ? holder.tid : holder.pid;
        return " (" + std::to_string(id) + more + ")";
    }

    const std::string& own_unit_;
};

std::string priority_words(const CpuWaits& cpu) {
    constexpr std::uint16_t nice_0 = 120;
    if (gave_way_to_ordinary(cpu))
        return " at real-time priority " + std::to_string(99 - cpu.priority);
    if (cpu.priority == no_priority || cpu.priority <= nice_0) return "";
    if (cpu.priority == idle_priority) return " at idle priority (SCHED_IDLE)";
    return " at low priority (nice " + std::to_string(cpu.priority - nice_0) + ")";
}

}  // namespace

std::string other_unit(const std::string& unit, const std::string& own_unit) {
    return unit.empty() || unit == own_unit ? "" : ", " + short_group_name(unit);
}

std::string cpu_holder_words(const CpuWaits& cpu, const ThreadName& who_waited,
                             const std::string& own_unit) {
    const std::string reserve =
        gave_way_to_ordinary(cpu)
            ? ": the kernel keeps some time for ordinary threads (real-time throttling)"
            : "";
    return priority_words(cpu) + CpuWords(own_unit).holders(cpu, who_waited) + reserve;
}

}  // namespace lagtrap::analysis
