#include "server/store/token_store.hpp"

#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::token_store_test {
namespace {

using testing::ElementsAre;

using TokenStoreTest = StoreTest;

TEST_F(TokenStoreTest, ATokenComesBackAsItWas) {
    ASSERT_TRUE(store_->tokens()
                    .add_token({"id1", "sha", "builder", ScopeAdmin | ScopeRead, "alpha", "farm",
                                "ann", 7, 8, 9})
                    .ok());
    for (const Token& token :
         {must(store_->tokens().find_token("id1")).value(), must(store_->tokens().list()).at(0)}) {
        EXPECT_EQ(token.id, "id1");
        EXPECT_EQ(token.secret_sha256, "sha");
        EXPECT_EQ(token.name, "builder");
        EXPECT_EQ(token.scopes, 6U);
        EXPECT_EQ(token.host, "alpha");
        EXPECT_EQ(token.group, "farm");
        EXPECT_EQ(token.made_by, "ann");
        EXPECT_EQ(token.created_realtime_ns, 7U);
        EXPECT_EQ(token.expires_realtime_ns, 8U);
        EXPECT_EQ(token.used_realtime_ns, 9U);
    }
    EXPECT_FALSE(must(store_->tokens().find_token("id2")).has_value());
}

TEST_F(TokenStoreTest, TheNewestComesFirstThenByItsId) {
    for (const auto& [id, created_ns] : {std::pair("b", 1), std::pair("d", 2), std::pair("c", 2)})
        ASSERT_TRUE(store_->tokens()
                        .add_token({id,
                                    "",
                                    "",
                                    ScopeRead,
                                    "",
                                    "",
                                    "",
                                    static_cast<std::uint64_t>(created_ns),
                                    {},
                                    {}})
                        .ok());
    std::vector<std::string> ids;
    for (const Token& token : must(store_->tokens().list())) ids.push_back(token.id);
    EXPECT_THAT(ids, ElementsAre("c", "d", "b"));
    EXPECT_FALSE(must(store_->tokens().find_token("b"))->used_realtime_ns.has_value());
    EXPECT_TRUE(must(store_->tokens().remove_token("c")));
    EXPECT_TRUE(must(store_->tokens().find_token("d")).has_value());
}

TEST_F(TokenStoreTest, UseIsNeverSetBack) {
    for (const char* id : {"a", "b"})
        ASSERT_TRUE(
            store_->tokens().add_token({id, "", "", ScopeRead, "", "", "", 1, {}, {}}).ok());
    ASSERT_TRUE(store_->tokens().touch_token("a", 9).ok());
    ASSERT_TRUE(store_->tokens().touch_token("a", 5).ok());
    EXPECT_EQ(must(store_->tokens().find_token("a"))->used_realtime_ns, 9U);
    EXPECT_FALSE(must(store_->tokens().find_token("b"))->used_realtime_ns.has_value());
    ASSERT_TRUE(store_->tokens().touch_token("none", 5).ok());
}

}  // namespace
}  // namespace lagtrap::server::token_store_test
