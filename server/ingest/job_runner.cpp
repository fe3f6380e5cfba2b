#include "server/ingest/job_runner.hpp"

#include <fcntl.h>

#include <set>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "server/ingest/dirty_rule.hpp"
#include "server/ingest/jobs.hpp"
#include "server/ingest/known_causes.hpp"
#include "server/ingest/package_builds.hpp"
#include "server/ingest/parse_worker.hpp"
#include "server/ingest/parsed_bundle.hpp"

namespace lagtrap::server {
namespace {

// Renewed while the job runs. If a server is killed, others take over its jobs after this time.
constexpr std::chrono::seconds lease{20};
constexpr std::chrono::seconds renewal_interval{5};
constexpr std::chrono::seconds poll_interval{2};  // other servers queue jobs too
constexpr std::uint64_t retry_pause_ns = 5ULL * 1'000'000'000ULL;
// Bundles arrive in groups; one search covers them all.
constexpr std::uint64_t causes_delay_ns = 20ULL * 1'000'000'000ULL;
constexpr std::size_t reason_limit_bytes = 500;

Result<ParsedBundle> parse_file(const std::filesystem::path& path, const std::string& parser) {
    TRY_ASSIGN(const UniqueFd file, open_file(path, O_RDONLY));
    TRY_ASSIGN(const auto worker, ParseWorker::start(file.get(), ParseTask{}, parser));
    TRY_ASSIGN(const std::string answer, worker->read_all(parsed_bytes_limit));
    return read_parsed_bundle(answer);
}

// Renews a job's lease until it is destroyed.
class LeaseKeeper {
  public:
    LeaseKeeper(JobStore store, const Job& job)
        : thread_([this, store, &job] { keep(store, job); }) {}
    LeaseKeeper(const LeaseKeeper&) = delete;
    LeaseKeeper& operator=(const LeaseKeeper&) = delete;
    ~LeaseKeeper() {
        {
            const std::lock_guard lock(mutex_);
            done_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }

  private:
    void keep(const JobStore& store, const Job& job) {
        std::unique_lock lock(mutex_);
        while (!changed_.wait_for(lock, renewal_interval, [this] { return done_; })) {
            lock.unlock();
            // If renewing fails, another server may run the job too; both get the same result.
            static_cast<void>(store.renew_job(job, ClockSnapshot::take().realtime_ns, lease));
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
    std::thread thread_;
};

bool is_about_the_bundle(const Error& error) {
    return error.kind == ErrorKind::Invalid || error.kind == ErrorKind::TooLarge;
}

}  // namespace

void JobRunner::start(std::uint32_t threads) {
    for (std::uint32_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

void JobRunner::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    came_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
}

void JobRunner::wake() {
    {
        const std::lock_guard lock(mutex_);
        ++wakes_;
    }
    came_.notify_one();
}

void JobRunner::work() {
    for (;;) {
        std::uint64_t seen = 0;
        {
            const std::lock_guard lock(mutex_);
            if (stopping_) return;
            seen = wakes_;
        }
        const auto done = run_one(ClockSnapshot::take().realtime_ns);
        if (!done) log_("a job could not be done: " + done.error().message);
        if (done && *done) continue;
        std::unique_lock lock(mutex_);
        came_.wait_for(lock, poll_interval, [&] { return stopping_ || wakes_ != seen; });
    }
}

Result<bool> JobRunner::run_one(std::uint64_t now_ns) {
    TRY_ASSIGN(const auto job,
               store_.jobs().take_job({parse_job, dirty_job, causes_job}, now_ns, lease));
    if (!job) return false;
    const LeaseKeeper keeper(store_.jobs(), *job);
    Status status = success();
    if (job->kind == parse_job) {
        status = parse(*job, now_ns);
    } else if (job->kind == causes_job) {
        const auto news = note_causes_of(store_, job->payload, now_ns);
        status = news ? success() : Status(news.error());
    } else {
        auto marked = mark_dirty_runs(store_.everything(), job->payload, now_ns);
        if (marked) figures_.runs_marked_dirty += *marked;
        status = marked ? success() : Status(marked.error());
    }
    if (!status) {
        TRY(store_.jobs().fail_job(*job, status.error().message, now_ns,
                                   now_ns + job->attempts * retry_pause_ns));
        return status.error().within(job->kind + " " + job->payload.substr(0, 80));
    }
    TRY(store_.jobs().finish_job(*job));
    return true;
}

Status JobRunner::mark_bad(const std::string& digest, const std::string& reason) {
    ++figures_.bundles_bad;
    log_(digest.substr(0, 16) + " cannot be read: " + reason);
    TRY(store_.inventory().set_contents(
        digest, {}, reason.empty() ? "unreadable" : reason.substr(0, reason_limit_bytes), {}));
    return success();
}

Status JobRunner::parse(const Job& job, std::uint64_t now_ns) {
    const ParsePayload payload = ParsePayload::parse(job.payload);
    TRY_ASSIGN(const auto row, store_.everything().bundles().find(payload.digest));
    if (!row) return success();
    auto file = blobs_.local(payload.digest);
    if (!file && file.error().kind == ErrorKind::NotFound)
        return mark_bad(payload.digest, "its bytes are gone");
    if (!file) return file.error();
    const auto parsed = parse_file(file->path(), parser_);
    if (!parsed) {
        const bool broke = !is_about_the_bundle(parsed.error());
        if (broke) ++figures_.parser_failures;
        TRY(mark_bad(payload.digest, parsed.error().message));
        // A crash of the parser may be the machine's fault, so retry.
        if (broke && job.attempts < job_attempts_limit) return parsed.error();
        return success();
    }
    if (!payload.host.empty() && parsed->facts.host != payload.host)
        return mark_bad(payload.digest, "it is of host " + parsed->facts.host +
                                            ", but the token it came with may speak for " +
                                            payload.host + " alone");
    TRY(store_.inventory().set_contents(payload.digest, parsed->facts, {}, parsed->delays));
    TRY(store_.everything().builds().name_builds(package_builds(parsed->delays, now_ns)));
    std::set<std::string> events;
    for (const BundleDelay& delay : parsed->delays) events.insert(delay.event);
    for (const std::string& event : events)
        TRY(store_.jobs().put_job({causes_job, event, now_ns + causes_delay_ns}));
    ++figures_.bundles_parsed;
    return success();
}

void JobRunner::close_failed_jobs() {
    constexpr std::uint32_t looked_at = 100;
    const auto failed = store_.jobs().failed_jobs(looked_at);
    if (!failed) return;
    for (const FailedJob& entry : *failed) {
        if (entry.job.kind != parse_job) continue;
        const std::string digest = ParsePayload::parse(entry.job.payload).digest;
        const auto row = store_.everything().bundles().find(digest);
        if (row && *row && !(*row)->parsed)
            if (auto marked =
                    mark_bad(digest, "reading it ended the server, each time: " + entry.reason);
                !marked)
                log_(marked.error().message);
    }
}

}  // namespace lagtrap::server
