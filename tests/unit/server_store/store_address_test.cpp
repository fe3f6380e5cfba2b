#include "server/store/store_address.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>

namespace lagtrap::server::store_address_test {
namespace {

TEST(StoreAddress, OfPostgresqlIsNoFile) {
    EXPECT_TRUE(is_postgres_address("postgresql:///d?host=/run"));
    EXPECT_TRUE(is_postgres_address("postgres://h/d"));
    for (const char* file : {"", "postgresql", "postgres:", "/srv/postgresql://d"})
        EXPECT_FALSE(is_postgres_address(file)) << file;
}

TEST(StoreAddress, KnowsItsSpellings) {
    EXPECT_EQ(*parse_store_address("sqlite:/srv/x"), "/srv/x");
    EXPECT_EQ(*parse_store_address("postgres://h/d"), "postgres://h/d");
    EXPECT_EQ(*parse_store_address("postgresql:///d?host=/run"), "postgresql:///d?host=/run");
    for (const char* wrong : {"", "sqlite:", "mysql://u:secret@h", "/srv/x"}) {
        const auto parsed = parse_store_address(wrong);
        ASSERT_FALSE(parsed) << wrong;
        EXPECT_EQ(parsed.error().message, "expected sqlite:PATH or postgresql://...");
    }
}

TEST(StoreAddress, FindsAPasswordWhereverItIs) {
    for (const char* address :
         {"postgresql://u:secret@h/d", "postgres://u:s%40crt@h1,h2/d", "postgresql:///d?password=x",
          "postgresql://u@h/d?sslpassword=x&sslmode=require", "postgresql://:x@h"})
        EXPECT_TRUE(has_password(address)) << address;
    for (const char* address :
         {"postgresql://u@h/d", "postgresql://h:5432/d", "postgresql:///d?host=/run&user=u",
          "postgresql://u:@h/d", "postgresql://h/d?passfile=/srv/pass", "sqlite:/srv/a:b@c"})
        EXPECT_FALSE(has_password(address)) << address;
}

TEST(StoreAddress, IsReadFromAFileThatOthersMayNotRead) {
    const std::string path = ::testing::TempDir() + "/store-address-" + std::to_string(::getpid());
    const auto reads = [&](const std::string& content, mode_t mode) {
        std::ofstream(path) << content;
        ::chmod(path.c_str(), mode);
        return read_store_file(path);
    };
    EXPECT_EQ(*reads("postgresql://u:secret@h/d\n", 0600), "postgresql://u:secret@h/d");
    EXPECT_EQ(*reads("sqlite:/srv/x\r\n", 0640), "/srv/x");
    EXPECT_EQ(reads("postgresql://u:secret@h/d\n", 0644).error().kind, ErrorKind::Denied);
    for (const char* wrong : {"", "mysql://u:secret@h", "postgresql://u:secret@h/d\nmore"}) {
        const auto address = reads(wrong, 0600);
        ASSERT_FALSE(address) << wrong;
        EXPECT_EQ(address.error().kind, ErrorKind::Invalid);
        EXPECT_EQ(address.error().message.find("secret"), std::string::npos)
            << address.error().message;
    }
    ::unlink(path.c_str());
    EXPECT_EQ(read_store_file(path).error().kind, ErrorKind::NotFound);
}

}  // namespace
}  // namespace lagtrap::server::store_address_test
