#include "daemon/processes/command_line_mask.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::daemon::command_line_mask_test {
namespace {

std::string joined(const std::vector<std::string>& arguments) {
    std::string line;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        line += (i == 0 ? "" : std::string(1, '\0')) + arguments[i];
    return line;
}

std::string masked(const std::vector<std::string>& arguments) {
    return shown_command_line(joined(arguments), CommandLines::Masked);
}

TEST(CommandLines, HaveNoSecretsOfOptions) {
    EXPECT_EQ(masked({"app", "--password=hunter2", "--user=me"}), "app --password=*** --user=me");
    EXPECT_EQ(masked({"app", "--db-password", "hunter2", "run"}), "app --db-password *** run");
    EXPECT_EQ(masked({"app", "-token", "abc"}), "app -token ***");
    EXPECT_EQ(masked({"app", "--api-key=a b c", "x"}), "app --api-key=*** x")
        << "a value with blanks";
    EXPECT_EQ(masked({"app", "-p", "hunter2"}), "app -p ***");
    EXPECT_EQ(masked({"redis-server", "--requirepass", "x"}), "redis-server --requirepass ***");
    EXPECT_EQ(masked({"app", "--password", "--verbose"}), "app --password --verbose")
        << "it is asked for";
}

TEST(CommandLines, HideEachKindOfSecret) {
    for (const char* name :
         {"password",      "passwd",     "passphrase",  "passwort",  "secret",
          "token",         "credential", "apikey",      "accesskey", "privatekey",
          "authorization", "masterauth", "requirepass", "pass",      "pwd",
          "userpass",      "dbpass",     "cookie",      "API_Key",   "my.access-key2",
          "CLIENT_SECRET"}) {
        const std::string option = std::string("--") + name;
        EXPECT_EQ(masked({"app", option + "=x", "y"}), "app " + option + "=*** y");
        EXPECT_EQ(masked({"app", option, "x", "y"}), "app " + option + " *** y");
        EXPECT_EQ(masked({"sh", "-c", "a " + std::string(name) + ": x y"}),
                  "sh -c a " + std::string(name) + ": ***");
    }
    for (const char* name : {"compass", "pwdx", "cookies", "passing", "key", "tokenfile", "auth"})
        EXPECT_EQ(masked({"app", std::string("--") + name + "=x"}),
                  std::string("app --") + name + "=x");
}

TEST(CommandLines, HideWhatFollowsAUser) {
    EXPECT_EQ(masked({"curl", "--user", "me:x"}), "curl --user me:***");
    EXPECT_EQ(masked({"curl", "--proxy-user", "me:x:y"}), "curl --proxy-user me:***");
    EXPECT_EQ(masked({"curl", "-u", "me"}), "curl -u me");
    EXPECT_EQ(masked({"/opt/mariadb-dump", "-px"}), "/opt/mariadb-dump -p***");
    EXPECT_EQ(masked({"mysql", "-p", "-uroot"}), "mysql -p -uroot");
    EXPECT_EQ(masked({"mysqld", "-p=3306"}), "mysqld -p=3306");
}

TEST(CommandLines, HaveNoSecretsOfAssignments) {
    EXPECT_EQ(masked({"env", "DB_PASSWORD=x", "PATH=/bin", "app"}),
              "env DB_PASSWORD=*** PATH=/bin app");
    EXPECT_EQ(masked({"psql", "host=db password=x dbname=shop"}),
              "psql host=db password=*** dbname=shop");
    EXPECT_EQ(masked({"psql", "password='a b' dbname=shop"}), "psql password=***")
        << "the argument begins with it";
    EXPECT_EQ(masked({"sh", "-c", "app --password=x --user=me"}),
              "sh -c app --password=*** --user=me");
    EXPECT_EQ(masked({"curl", "https://h/path?token=abc&page=2"}),
              "curl https://h/path?token=***&page=2");
    EXPECT_EQ(masked({"curl", "-d", R"({"password":"x","page":2})"}),
              R"(curl -d {"password":***,"page":2})");
    EXPECT_EQ(masked({"curl", "-H", "Authorization: Bearer abc def"}),
              "curl -H Authorization: ***");
}

TEST(CommandLines, HaveNoCredentialsOfAddressesAndClients) {
    EXPECT_EQ(masked({"app", "postgres://me:x@db:5432/shop"}), "app postgres://***@db:5432/shop");
    EXPECT_EQ(masked({"git", "clone", "https://ghp_key@host/a@b"}),
              "git clone https://***@host/a@b");
    EXPECT_EQ(masked({"app", "http://host/a@b", "a@b"}), "app http://host/a@b a@b");
    EXPECT_EQ(masked({"curl", "-u", "me:x", "http://h/"}), "curl -u me:*** http://h/");
    EXPECT_EQ(masked({"/usr/bin/mysql", "-px", "-P", "3306"}), "/usr/bin/mysql -p*** -P 3306");
    EXPECT_EQ(masked({"gcc", "-pthread", "a.c"}), "gcc -pthread a.c");
}

TEST(Texts, OfProgramsHaveNoSecretsEither) {
    const auto masked_text = [](const char* text) {
        return shown_text(text, CommandLines::Masked);
    };
    EXPECT_EQ(masked_text("connect to postgres://me:x@db/shop"),
              "connect to postgres://***@db/shop");
    EXPECT_EQ(masked_text("std::runtime_error: login with password=x at db"),
              "std::runtime_error: login with password=*** at db");
    EXPECT_EQ(masked_text("exec mysqldump --password hunter2 shop"),
              "exec mysqldump --password *** shop");
    EXPECT_EQ(masked_text("token=abc"), "token=***");
    EXPECT_EQ(masked_text("mkdir -p folder"), "mkdir -p folder");
    EXPECT_EQ(masked_text("password authentication failed"), "password authentication failed");
    EXPECT_EQ(shown_text("password=x", CommandLines::Program), "password=***");
    EXPECT_EQ(shown_text("password=x", CommandLines::All), "password=x");
}

TEST(CommandLines, KeepWhatIsNoSecret) {
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"/usr/sbin/nginx", "-g", "daemon off;"},
             {"java", "-Xmx1g", "-Dfile.encoding=UTF-8", "-jar", "app.jar"},
             {"app", "--password-file=/etc/key"},
             {"ps", "-ef"},
             {""},
             {"password=x"},  // a program's name
             {"app", "key:", "=", "password", "token:", "://", "-", "--"}})
        EXPECT_EQ(masked(arguments), [&] {
            std::string line;
            for (const std::string& argument : arguments)
                line += (line.empty() ? "" : " ") + argument;
            return line;
        }());
}

TEST(CommandLines, AreShownAsTheSettingsSay) {
    const std::string line = joined({"app", "--password=x", "y"});
    EXPECT_EQ(shown_command_line(line, CommandLines::Program), "app");
    EXPECT_EQ(shown_command_line(line, CommandLines::All), "app --password=x y");
    EXPECT_EQ(shown_command_line("", CommandLines::Program), "");
}

// A program can write anything over its arguments.
TEST(CommandLines, OfAnyBytesAreMasked) {
    std::string bytes;
    constexpr std::string_view alphabet("\"'=:/@-p{}&; \0tokenpassword", 28);
    for (unsigned i = 0; i < 4096; ++i)
        bytes += alphabet[(i * 2654435761U >> 7U) % alphabet.size()];
    for (std::size_t from = 0; from < 512; ++from)
        EXPECT_LE(masked({"app", bytes.substr(from, from * 7)}).size(), 4 * bytes.size());
}

}  // namespace
}  // namespace lagtrap::daemon::command_line_mask_test
