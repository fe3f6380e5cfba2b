#include "daemon/capture/published_contexts.hpp"

#include <unistd.h>

#include <condition_variable>
#include <set>

#include <gmock/gmock.h>

#include "tests/unit/daemon/publisher_fixture.hpp"

namespace lagtrap::daemon::published_contexts_test {
namespace {

using testing::ElementsAre;

class Places : public ContextPlaces {
  public:
    void set(std::uint32_t pid, const lagtrap_context_place&) override {
        const std::scoped_lock lock(mutex_);
        pids_.insert(pid);
    }
    void keep_only(const std::set<std::uint32_t>& pids) override {
        const std::scoped_lock lock(mutex_);
        kept_ = pids;
        ++looks_;
        changed_.notify_all();
    }
    void record_sleeping() override {}
    // The processes that the next look has found.
    std::set<std::uint32_t> after_look() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return looks_ > seen_; });
        seen_ = looks_;
        return kept_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<std::uint32_t> pids_, kept_;
    int looks_ = 0, seen_ = 0;
};

struct Keys {
    std::uint32_t pid = 0;
    std::string names;  // separated by commas
    bool operator==(const Keys&) const = default;
};

std::vector<Keys> keys_in(const RecordBuffer& records) {
    std::vector<Keys> found;
    records.for_each([&](const lagtrap_record* record) {
        EXPECT_EQ(record->type, LAGTRAP_RECORD_CONTEXT_KEYS);
        const auto& keys = *reinterpret_cast<const lagtrap_context_keys*>(record);
        EXPECT_EQ(record->size_bytes, sizeof(keys) + keys.text_bytes);
        std::string names(reinterpret_cast<const char*>(&keys + 1), keys.text_bytes);
        for (char& one : names)
            if (one == '\0') one = ',';
        found.push_back({keys.pid, names});
    });
    return found;
}

TEST(PublishedContextsTest, FindThisProcess) {
    (void)Publisher::of_this_process();
    const auto own = static_cast<std::uint32_t>(::getpid());
    Places places;
    DirectInspector inspector;
    PublishedContexts contexts(places, inspector, {"tenant", "http.route"});
    contexts.look(own);
    EXPECT_TRUE(places.after_look().contains(own));
    EXPECT_THAT(keys_in(contexts.take_keys()), testing::Contains(Keys{own, "http.route,,tenant,"}));
    EXPECT_TRUE(contexts.take_keys().empty());
    struct {
        lagtrap_context head{};
        char attributes[8] = {0, 1, 'a', 1, 1, 'b', 9, 0};
    } record;
    record.head.pid = own;
    record.head.attribute_bytes = sizeof(record.attributes);
    const auto bytes_kept = [&] {
        int bytes = -1;
        contexts.wanted_part(record.head).for_each([&](const lagtrap_record* kept) {
            bytes = reinterpret_cast<const lagtrap_context*>(kept)->attribute_bytes;
        });
        return bytes;
    };
    EXPECT_EQ(bytes_kept(), 3) << "only the route";
    record.head.pid = 0;
    EXPECT_EQ(bytes_kept(), 0) << "of an unknown process";
    contexts.look(0);
    EXPECT_TRUE(places.after_look().contains(own));
}

TEST(PublishedContextsTest, EndWithoutALook) {
    Places places;
    DirectInspector inspector;
    const PublishedContexts contexts(places, inspector, {});
}

}  // namespace
}  // namespace lagtrap::daemon::published_contexts_test
