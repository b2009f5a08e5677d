// Tests that the client notices failed output and incomplete lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/cli/fake_server.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;

Outcome RunIntoFullDisk(const FakeServer& server, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--server", server.address});
  std::ofstream full("/dev/full");
  std::ostringstream err;
  Outcome outcome;
  outcome.code = RunCommandLine(std::move(arguments), {0, &full, &err, false});
  outcome.err = err.str();
  return outcome;
}

v1::ListPagesResponse Part(int pages, const std::string& token) {
  v1::ListPagesResponse part;
  for (int i = 0; i < pages; ++i) part.add_pages()->set_url("http://a.test/" + std::to_string(i));
  part.set_next_page_token(token);
  return part;
}

TEST(OutputTest, ThatIsLostIsAnError) {
  FakeServer server;
  server.pages.list = {Part(1000, "abc"), Part(1, "")};
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"list"},
                                                    {"--json", "list"},
                                                    {"get", "http://a.test/"},
                                                    {"upsert", "http://a.test/"},
                                                    {"rate"},
                                                    {"--help"},
                                                    {"--version"}}) {
    const Outcome run = RunIntoFullDisk(server, arguments);
    EXPECT_EQ(run.code, kOutputLost) << arguments[0];
    EXPECT_THAT(run.err, HasSubstr("freshet: standard output: No space left on device\n"));
    EXPECT_THAT(run.err, Not(HasSubstr("complete")));
  }
}

TEST(ListOutputTest, SaysThatItIsComplete) {
  FakeServer server;
  server.pages.list = {Part(1000, "abc"), Part(1, "")};
  const Outcome run = server.Run({"list"});
  EXPECT_EQ(run.code, kAccepted);
  EXPECT_EQ(run.err, "1,001 pages, complete\n");
}

TEST(ConnectionTest, SaysWhatAnAddressLacks) {
  const std::map<std::string, std::string> lacks = {
      {"somehost", "'somehost' is not an address host:port, such as somehost:7071"},
      {"somehost:", "'somehost:' is not an address host:port, such as somehost:7071"},
      {"10.0.0.1", "'10.0.0.1' is not an address host:port, such as 10.0.0.1:7071"},
      {"[::1]", "'[::1]' is not an address host:port, such as [::1]:7071"},
      {"::1",
       "'::1' is not an address host:port; a host with colons stands in brackets, such as "
       "[::1]:7071"},
      {":7071", "':7071' is not an address host:port: the host is missing"},
      {"somehost:x", "'somehost:x' is not an address host:port with a port from 1 to 65535"},
      {"somehost:70710",
       "'somehost:70710' is not an address host:port with a port from 1 to 65535"},
      {"http://somehost:7071",
       "'http://somehost:7071' is not an address host:port, which has no scheme"}};
  for (const auto& [address, message] : lacks) {
    const Outcome run = RunClient({"--server", address, "stats"}, "");
    EXPECT_EQ(run.code, kBadUsage) << address;
    EXPECT_THAT(run.err, HasSubstr(message)) << address;
    EXPECT_THAT(run.err, HasSubstr("--server: ")) << address;
  }
  for (const char* address : {"127.0.0.1:1", "[::1]:1", "unix:/nowhere", "dns:///127.0.0.1:1"}) {
    EXPECT_EQ(RunClient({"--server", address, "--connect-timeout", "0.05", "stats"}, "").code,
              kUnreachable)
        << address;
  }
}

TEST(ComplaintTest, NamesWhatIsWrongOnce) {
  const FakeServer server;
  EXPECT_EQ(server.Run({"upsrt", "http://a.test/"}).err,
            "freshet: 'upsrt' is not a command, did you mean upsert? (see --help)\n");
  EXPECT_EQ(server.Run({}).err, "freshet: no command (see --help)\n");
  EXPECT_EQ(server.Run({"crawls", "lst"}).err,
            "freshet: 'lst' is not a command, did you mean list? (see --help)\n");
  EXPECT_EQ(server.Run({"upsert", "--crawlid", "shop", "http://a.test/"}).err,
            "freshet: unknown flag --crawlid, did you mean --crawl-id? (see --help)\n");
  EXPECT_EQ(server.Run({"stats", "--sever=a.test:1"}).err,
            "freshet: unknown flag --sever, did you mean --server? (see --help)\n");
  EXPECT_EQ(server.Run({"quack"}).err, "freshet: 'quack' is not a command (see --help)\n");
  EXPECT_THAT(server.Run({"--timeout"}).err, HasSubstr("--timeout"));
  EXPECT_THAT(server.Run({"import", "/none.tsv"}).err,
              HasSubstr("freshet: /none.tsv: No such file or directory\n"));
  EXPECT_THAT(server.Run({"signal", "--sitemap", "/none.xml"}).err,
              HasSubstr("freshet: /none.xml: No such file or directory\n"));
}

TEST(ListOutputTest, ThatEndsEarlyIsAnError) {
  FakeServer server;
  server.pages.list = {Part(3, "abc")};
  const Outcome quiet = server.Run({"list"});
  EXPECT_EQ(quiet.code, kUnreachable);
  EXPECT_EQ(quiet.err,
            "freshet: the server ended the list before it had sent all pages, after 3 pages: "
            "--page-token abc\n");
  // The client also notices a list that ends before its limit.
  EXPECT_EQ(server.Run({"list", "--limit", "4"}).code, kUnreachable);
  EXPECT_EQ(server.Run({"list", "--limit", "3"}).code, kAccepted);

  server.pages.list_status = {grpc::StatusCode::UNAVAILABLE, "going down"};
  const Outcome broken = server.Run({"list"});
  EXPECT_EQ(broken.code, kUnreachable);
  EXPECT_THAT(broken.err, HasSubstr("going down"));
  EXPECT_THAT(broken.err, HasSubstr("cut off after 3 pages; more may follow: --page-token abc"));
  server.pages.list_status = {grpc::StatusCode::CANCELLED, ""};
  const Outcome unread = server.Run({"list"});
  EXPECT_EQ(unread.code, kUnreachable);
  EXPECT_THAT(unread.err, testing::HasSubstr(": the list was left unread for too long\n"));
}

}  // namespace
}  // namespace freshet::cli
