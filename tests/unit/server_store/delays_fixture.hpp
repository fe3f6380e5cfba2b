// Adds bundles of delays, and causes of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server {

class DelaysStoreTest : public RunsStoreTest {
  protected:
    static std::string digest_of(std::uint64_t number) { return receipt_of(number).digest; }
    // A delay of the thread that BatchMaker's runs have.
    static BundleDelay delay(std::uint32_t number, std::uint64_t begin_ns,
                             std::uint64_t duration_ns = 100 * ms) {
        BundleDelay made;
        made.number = number;
        made.event = "open";
        made.begin_realtime_ns = begin_ns;
        made.duration_ns = duration_ns;
        made.threshold_ns = 50 * ms;
        made.pid = 100;
        made.tid = 101;
        made.process = "demo";
        made.thread = "worker";
        made.user = "ann";
        made.build = "cd34";
        made.profile = "profile " + std::to_string(number);
        return made;
    }
    static BundleDelay normal_run(std::uint64_t begin_ns) {
        BundleDelay made = delay(0, begin_ns, 10 * ms);
        made.delayed = false;
        made.profile = "normal";
        return made;
    }
    static BundleRow bundle_row(std::uint64_t number) {
        BundleRow row;
        row.digest = digest_of(number);
        row.bytes = 100 * number;
        row.received_realtime_ns = monday + number;
        row.sender = "token";
        return row;
    }
    void add_bundle(std::uint64_t number, const std::vector<BundleDelay>& delays,
                    const std::string& host = "alpha") {
        const BundleRow row = bundle_row(number);
        ASSERT_EQ(must(store_->inventory().add(row, {"parse", row.digest, monday})),
                  AddOutcome::New);
        BundleFacts facts;
        facts.host = host;
        facts.started_realtime_ns = monday + number * hour;
        facts.delays = static_cast<std::uint32_t>(delays.size());
        ASSERT_TRUE(must(store_->inventory().set_contents(row.digest, facts, {}, delays)));
    }
};

class CausesStoreTest : public DelaysStoreTest {
  protected:
    // Where and when the delays of a bundle were.
    struct Place {
        std::string build = "v1", host = "alpha", event = "open";
        std::uint32_t delays = 4;
    };
    // Adds a bundle with a delay each second from `begin_ns` on.
    std::vector<CauseSighting> add_delays(std::uint64_t number, std::uint64_t begin_ns,
                                          const Place& place) {
        std::vector<BundleDelay> delays;
        std::vector<CauseSighting> sightings;
        for (std::uint32_t i = 0; i < place.delays; ++i) {
            BundleDelay& one = delays.emplace_back(delay(i + 1, begin_ns + i * second));
            one.event = place.event;
            one.build = place.build;
            sightings.push_back({digest_of(number),
                                 i + 1,
                                 place.host,
                                 place.build,
                                 begin_ns + i * second,
                                 40 * ms,
                                 {}});
        }
        add_bundle(number, delays, place.host);
        return sightings;
    }
    std::vector<CauseSighting> add_delays(std::uint64_t number, std::uint64_t begin_ns) {
        return add_delays(number, begin_ns, Place());
    }
    static SightedCause sighted(const std::string& signature, std::vector<CauseSighting> delays) {
        return {signature, signature + " waits", "blocked", "disk", "[]", std::move(delays), {}};
    }
    std::vector<CauseNews> note(const std::vector<SightedCause>& causes,
                                std::uint64_t now_ns = monday, const std::string& event = "open") {
        return must(store_->found_causes().note_causes(event, causes, now_ns));
    }
    std::uint64_t new_cause(const std::string& signature, std::vector<CauseSighting> delays,
                            std::uint64_t now_ns = monday, const std::string& event = "open") {
        const auto news = note({sighted(signature, std::move(delays))}, now_ns, event);
        EXPECT_EQ(news.size(), 1U);
        return news.empty() ? 0 : news[0].id;
    }
    CauseLife life_of(std::uint64_t id) {
        auto found = must(everything().causes().find_cause(id));
        EXPECT_TRUE(found.has_value());
        return found ? std::move(*found) : CauseLife{};
    }
    CauseRecord cause(std::uint64_t id) { return life_of(id).cause; }
    void change(std::uint64_t id, const CauseChange& decided) {
        ASSERT_TRUE(must(everything().causes().change_cause(id, decided)));
    }
    void make_part(std::uint64_t part, std::uint64_t root) {
        CauseChange merge;
        merge.root = root;
        change(part, merge);
    }
    void resolve(std::uint64_t id, const std::string& build, std::uint64_t at_ns) {
        CauseChange resolved;
        resolved.status = CauseStatus::Resolved;
        resolved.resolved_build = build;
        resolved.at_realtime_ns = at_ns;
        change(id, resolved);
    }
};

}  // namespace lagtrap::server
