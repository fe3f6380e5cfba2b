// How fast a server takes batches of runs through HTTP:
// batches_bench URL RUNS_A_BATCH BATCHES SENDERS. Prints a JSON object.
#include <curl/curl.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/busy_host.hpp"
#include "core/clock.hpp"
#include "core/digest.hpp"

namespace lagtrap::bench {
namespace {

struct MadeBatch {
    std::string digest, bytes;
};

std::vector<MadeBatch> make_batches(std::size_t runs_a_batch, std::uint64_t count) {
    constexpr std::uint64_t span_ns = 10'000'000'000;
    const std::uint64_t begin_ns = ClockSnapshot::take().realtime_ns - 2 * span_ns;
    std::vector<MadeBatch> made;
    for (std::uint64_t number = 0; number < count; ++number) {
        auto bytes =
            trace::write_run_batch(make_batch({runs_a_batch, 2}, number, begin_ns, span_ns));
        if (!bytes) {
            std::fprintf(stderr, "batches_bench: %s\n", bytes.error().message.c_str());
            std::exit(1);
        }
        made.push_back({sha256_of(*bytes), std::move(*bytes)});
    }
    return made;
}

std::size_t drop(char*, std::size_t size, std::size_t count, void*) { return size * count; }

// Over one connection, which stays open.
class Sender {
  public:
    explicit Sender(std::string url) : url_(std::move(url)), curl_(curl_easy_init()) {
        headers_ = curl_slist_append(nullptr, "Content-Type: application/zstd");
        headers_ = curl_slist_append(headers_, "Expect:");
        curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers_);
        curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, "PUT");
        curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, drop);
        curl_easy_setopt(curl_, CURLOPT_FAILONERROR, 1L);
    }
    ~Sender() {
        curl_easy_cleanup(curl_);
        curl_slist_free_all(headers_);
    }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    void send(const MadeBatch& batch) {
        const std::string address = url_ + "/api/v1/batches/" + batch.digest;
        curl_easy_setopt(curl_, CURLOPT_URL, address.c_str());
        curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, batch.bytes.data());
        curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE, static_cast<long>(batch.bytes.size()));
        const CURLcode sent = curl_easy_perform(curl_);
        if (sent == CURLE_OK) return;
        std::fprintf(stderr, "batches_bench: %s\n", curl_easy_strerror(sent));
        std::exit(1);
    }

  private:
    std::string url_;
    CURL* curl_;
    curl_slist* headers_ = nullptr;
};

int run(const std::string& url, std::size_t runs_a_batch, std::uint64_t count, unsigned senders) {
    const std::vector<MadeBatch> batches = make_batches(runs_a_batch, count);
    std::atomic<std::uint64_t> next{0};
    std::vector<std::thread> threads;
    const auto begin = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < senders; ++i)
        threads.emplace_back([&] {
            Sender sender(url);
            for (std::uint64_t number = next++; number < count; number = next++)
                sender.send(batches[number]);
        });
    for (std::thread& thread : threads) thread.join();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("{\"seconds\": %.3f, \"runs_per_second\": %.0f}\n", seconds,
                static_cast<double>(count * runs_a_batch) / seconds);
    return 0;
}

}  // namespace
}  // namespace lagtrap::bench

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: batches_bench URL RUNS_A_BATCH BATCHES SENDERS\n");
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    return lagtrap::bench::run(argv[1], std::strtoull(argv[2], nullptr, 10),
                               std::strtoull(argv[3], nullptr, 10),
                               static_cast<unsigned>(std::atoi(argv[4])));
}
