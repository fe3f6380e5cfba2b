#include "analysis/request_edge.hpp"

#include <algorithm>
#include <optional>

#include "analysis/function_name.hpp"
#include "analysis/parts.hpp"
#include "analysis/place_words.hpp"

namespace lagtrap::analysis {

namespace {

// Of waits for what one thread holds; nullopt for others.
std::optional<HeldBy> lock_of(WaitKind wait) {
    switch (wait) {
        case WaitKind::Lock:
        case WaitKind::ReadWriteLock: return HeldBy::Lock;
        case WaitKind::InterpreterLock: return HeldBy::InterpreterLock;
        case WaitKind::DatabaseLock:
        case WaitKind::RowLock: return HeldBy::DatabaseLock;
        case WaitKind::FileLock: return HeldBy::FileLock;
        case WaitKind::KernelLock:
        case WaitKind::MemoryMap: return HeldBy::KernelLock;
        default: return std::nullopt;
    }
}

// Waits for a thread that has to do something for the waiting one.
bool is_for_work_of_thread(WaitKind wait) {
    return wait == WaitKind::Signal || wait == WaitKind::Semaphore ||
           wait == WaitKind::PythonLock || wait == WaitKind::Futex || wait == WaitKind::Pipe ||
           wait == WaitKind::LocalSocket || wait == WaitKind::Network || wait == WaitKind::Events;
}

bool waits_for_lock(const ThreadDoing& doing) {
    return doing.kind == TimeKind::Blocked &&
           (lock_of(doing.wait) || doing.wait == WaitKind::Futex);
}

// The thread is known to have done something else than to wait for a lock in turn.
bool has_worked(const CauseLink& link) {
    if (link.doings.empty()) return false;
    const ThreadDoing& most = link.doings.front();
    return most.kind != TimeKind::Unknown && most.spin == SpinKind::None && !waits_for_lock(most);
}

class EdgeSearch {
  public:
    explicit EdgeSearch(const DelayCauses& causes) : causes_(causes) {}

    // From the end of the chain to its begin. A lock passes the blame on to its holder, whether
    // that was in a request or not. Other waits do not: a thread may have asked another for
    // something, while it held what the previous one waited for.
    [[nodiscard]] std::optional<RequestEdge> edge_of(const DelayCause& cause) const {
        if (cause.chain.empty()) return edge_of_cpu(cause.doing);
        for (std::size_t i = cause.chain.size(); i-- > 0;) {
            const CauseLink& link = cause.chain[i];
            const ThreadDoing& waited = i == 0 ? cause.doing : cause.chain[i - 1].doings.front();
            if (link.likely || link.is_late() || waited.spin != SpinKind::None) continue;
            const std::optional<HeldBy> lock = lock_of(waited.wait);
            const std::optional<HeldBy> how = lock ? lock : way_of_busy(waited, link);
            if (how && is_other(link.request) && has_worked(link)) return made(link, *how);
            if (lock) return std::nullopt;
        }
        return std::nullopt;
    }

  private:
    [[nodiscard]] bool is_other(const std::optional<RequestPart>& part) const {
        return part && !is_same_request(part->request, causes_.request);
    }

    // A request that began before the delayed one cannot have been begun for it.
    [[nodiscard]] std::optional<HeldBy> way_of_busy(const ThreadDoing& waited,
                                                    const CauseLink& link) const {
        const bool is_earlier =
            link.request && link.request->request.begin_ns < causes_.request.begin_ns;
        if (!is_earlier || !is_for_work_of_thread(waited.wait)) return std::nullopt;
        return HeldBy::BusyThread;
    }

    // One thread had the CPU for most of the time.
    [[nodiscard]] std::optional<RequestEdge> edge_of_cpu(const ThreadDoing& doing) const {
        if (doing.kind != TimeKind::Runnable || doing.throttled || doing.cpu.holders.empty())
            return std::nullopt;
        const CpuHolder& holder = doing.cpu.holders.front();
        const bool is_certain = holder.threads == 1 && doing.cpu.elsewhere_ns * 2 <= doing.time_ns;
        if (!is_certain || !is_most(holder.time_ns, doing.time_ns) || !is_other(holder.request))
            return std::nullopt;
        RequestEdge edge;
        edge.culprit = holder.request->request;
        edge.who = {holder.pid, holder.tid, holder.process, holder.thread, holder.unit};
        edge.how = HeldBy::Cpu;
        edge.lost_ns = std::min(holder.time_ns, holder.request->time_ns);
        if (!holder.function.empty()) edge.place = short_function_name(holder.function);
        return edge;
    }

    static RequestEdge made(const CauseLink& link, HeldBy how) {
        RequestEdge edge;
        edge.culprit = link.request->request;
        edge.who = link.who;
        edge.how = how;
        edge.lost_ns = std::min(link.whole_ns, link.request->time_ns);
        // If it mostly waited for a CPU, what it computed comes second.
        const auto placed =
            std::find_if(link.doings.begin(), link.doings.end(),
                         [](const ThreadDoing& doing) { return doing.focus.has_place(); });
        if (placed != link.doings.end()) edge.place = place_words(placed->focus);
        return edge;
    }

    const DelayCauses& causes_;
};

void add(std::vector<RequestEdge>& edges, RequestEdge edge) {
    const auto known = std::find_if(edges.begin(), edges.end(), [&](const RequestEdge& one) {
        return one.how == edge.how && one.culprit == edge.culprit && one.who.tid == edge.who.tid;
    });
    if (known == edges.end()) return edges.push_back(std::move(edge));
    known->lost_ns += edge.lost_ns;
    if (known->place.empty()) known->place = std::move(edge.place);
}

}  // namespace

std::string_view to_text(HeldBy how) {
    switch (how) {
        case HeldBy::Lock: return "lock";
        case HeldBy::InterpreterLock: return "interpreter-lock";
        case HeldBy::DatabaseLock: return "database-lock";
        case HeldBy::FileLock: return "file-lock";
        case HeldBy::KernelLock: return "kernel-lock";
        case HeldBy::Cpu: return "cpu";
        case HeldBy::BusyThread: break;
    }
    return "busy-thread";
}

std::vector<RequestEdge> edges_of(const DelayCauses& causes) {
    std::vector<RequestEdge> edges;
    if (causes.request.run_id == 0) return edges;
    const EdgeSearch search(causes);
    for (std::size_t i = 0; i < causes.reported(); ++i)
        if (auto edge = search.edge_of(causes.causes[i])) add(edges, std::move(*edge));
    std::stable_sort(edges.begin(), edges.end(), [](const RequestEdge& a, const RequestEdge& b) {
        return a.lost_ns > b.lost_ns;
    });
    return edges;
}

}  // namespace lagtrap::analysis
