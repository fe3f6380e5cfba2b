// The data that machines sent and the findings in it, as far as somebody may see them.
#pragma once

#include <type_traits>
#include <utility>

#include "server/store/activity_store.hpp"
#include "server/store/build_store.hpp"
#include "server/store/bundle_store.hpp"
#include "server/store/cause_store.hpp"
#include "server/store/choice_store.hpp"
#include "server/store/delay_store.hpp"
#include "server/store/edge_store.hpp"
#include "server/store/event_store.hpp"
#include "server/store/mark_store.hpp"
#include "server/store/run_store.hpp"
#include "server/store/sight.hpp"
#include "server/store/split_store.hpp"
#include "server/store/summary_store.hpp"

namespace lagtrap::server {

// Everything that people query, by subject. What is not visible does not exist for them: it is in
// no list and no count. Cheap to copy; must not outlive the store.
class Evidence {
  public:
    Evidence(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    // The store of this type.
    template <typename OneStore>
    requires(std::is_constructible_v<OneStore, SqlSession&, const Visibility&>)
        [[nodiscard]] OneStore get() const {
        return OneStore(*session_, visibility_);
    }
    [[nodiscard]] ActivityStore activity() const { return {*session_, visibility_}; }
    [[nodiscard]] BuildStore builds() const { return {*session_, visibility_}; }
    [[nodiscard]] BundleStore bundles() const { return {*session_, visibility_}; }
    [[nodiscard]] CauseStore causes() const { return {*session_, visibility_}; }
    [[nodiscard]] ChoiceStore choices() const { return {*session_, visibility_}; }
    [[nodiscard]] DelayStore delays() const { return {*session_, visibility_}; }
    [[nodiscard]] EdgeStore edges() const { return {*session_, visibility_}; }
    [[nodiscard]] EventStore events() const { return {*session_, visibility_}; }
    [[nodiscard]] MarkStore marks() const { return {*session_, visibility_}; }
    [[nodiscard]] RunStore runs() const { return {*session_, visibility_}; }
    [[nodiscard]] SplitStore splits() const { return {*session_, visibility_}; }
    [[nodiscard]] SummaryStore summaries() const { return {*session_, visibility_}; }

  private:
    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
