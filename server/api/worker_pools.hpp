// The threads of the HTTP server that may block: each kind of work has its own, so that one cannot
// starve the others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <boost/asio/thread_pool.hpp>

#include "server/api/service.hpp"

namespace lagtrap::server {

// Threads for blocking work, and how many requests may run on or wait for them.
struct WorkerPool {
    WorkerPool(std::size_t threads, std::uint32_t request_limit)
        : pool(threads), limit(request_limit) {}

    boost::asio::thread_pool pool;
    const std::uint32_t limit;
    std::atomic<std::uint32_t> taken{0};
};

// A slot of a pool, released however the work ends.
class PoolPlace {
  public:
    explicit PoolPlace(WorkerPool& workers) : workers_(workers) { ++workers_.taken; }
    ~PoolPlace() { --workers_.taken; }
    PoolPlace(const PoolPlace&) = delete;
    PoolPlace& operator=(const PoolPlace&) = delete;

  private:
    WorkerPool& workers_;
};

// Any thread. The threads run from construction on.
struct WorkerPools {
    WorkerPool light{4, 4096};    // short queries
    WorkerPool heavy{2, 32};      // reports over much data
    WorkerPool sign_in{2, 16};    // password hashing
    WorkerPool storage{8, 4096};  // ends of uploads and pieces of downloads: storage may be slow
    WorkerPool health{2, 64};     // health checks

    [[nodiscard]] WorkerPool& of(Work work) {
        switch (work) {
            case Work::Heavy: return heavy;
            case Work::SignIn: return sign_in;
            case Work::Health: return health;
            case Work::Light: break;
        }
        return light;
    }

    // Waits until all work is done; afterwards the pools take none.
    void join() {
        for (WorkerPool* workers : {&light, &heavy, &sign_in, &storage, &health})
            workers->pool.join();
    }
};

}  // namespace lagtrap::server
