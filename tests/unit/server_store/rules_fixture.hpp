// Adds alert rules, evaluates them, and delivers their messages.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server {

class RulesStoreTest : public StoreTest {
  protected:
    StoredRule rule(const std::string& name = "nights") {
        StoredRule made;
        made.name = name;
        made.definition = "{}";
        made.secret = "hidden";
        made.changed_by = "ann";
        made.changed_realtime_ns = monday;
        made.id = must(store_->rules().add_rule(made)).value_or(0);
        EXPECT_NE(made.id, 0U);
        return made;
    }
    static RuleLook look_at(const StoredRule& rule, std::uint64_t at_ns,
                            std::vector<Finding> found) {
        RuleLook look;
        look.rule = rule.id;
        look.changed_realtime_ns = rule.changed_realtime_ns;
        look.at_realtime_ns = at_ns;
        look.found = std::move(found);
        return look;
    }
    // Subjects of the message that was made; empty if none was made.
    std::string note(const RuleLook& look) { return note(*store_, look); }
    static std::string note(Store& store, const RuleLook& look) {
        std::string reported;
        const bool made =
            must(store.rules().note_findings(look, [&](const auto& news, std::uint64_t left_out) {
                reported.clear();
                for (const KeptFinding& kept : news)
                    reported +=
                        kept.finding.subject + (kept.ended_realtime_ns > 0 ? " over, " : ", ");
                if (left_out > 0) reported += std::to_string(left_out) + " more";
                return reported;
            }));
        EXPECT_EQ(made, !reported.empty());
        return made ? reported : "";
    }
    std::optional<StoredMessage> take(std::uint64_t now_ns) {
        return must(store_->messages().take_message(now_ns, std::chrono::seconds(60)));
    }
    void settle(StoredMessage message, MessageState state, std::uint64_t now_ns) {
        message.state = state;
        EXPECT_TRUE(must(store_->messages().settle_message(message, now_ns)));
    }
    void deliver(std::uint64_t now_ns) {
        const auto message = take(now_ns);
        ASSERT_TRUE(message.has_value());
        settle(*message, MessageState::Delivered, now_ns);
    }
};

}  // namespace lagtrap::server
