// Tests how the client shows fleets, with a fake server.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/fake_server.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(FleetCommand, ShowsTheDivisionsOfAFleetAndFailsWhereOneIsMissing) {
  FakeServer server;
  server.admin.fleet.set_cluster("news");
  v1::FleetDivision* first = server.admin.fleet.add_divisions();
  first->set_node("crawl-a");
  first->set_address("crawl-a.example.org:7071");
  first->mutable_serves_since()->set_seconds(1'700'000'000);
  first->set_sure(true);
  first->set_leads(true);
  first->set_pages(1'234'567);
  first->set_open_leases(12);
  first->set_crawl_rate_per_second(62.5);
  first->set_price(0.03125);
  const Outcome whole = server.Run({"fleet"});
  EXPECT_EQ(whole.code, kAccepted);
  EXPECT_EQ(whole.out,
            "division      pages  out  rate    price  serves since          node     "
            "address                   state\n"
            "       0  1,234,567   12  62.5  0.03125  2023-11-14 22:13:20Z  crawl-a  "
            "crawl-a.example.org:7071  serves, shares the rate out\n");

  first->set_paused(true);
  first->set_waiting_partitions(1);
  EXPECT_THAT(server.Run({"fleet"}).out,
              HasSubstr("  paused, shares the rate out, 1 partition waits for Kafka\n"));
  first->set_sure(false);
  v1::FleetDivision* second = server.admin.fleet.add_divisions();
  second->set_division(1);
  second->set_unanswered("nobody\nserves");
  v1::FleetDivision* third = server.admin.fleet.add_divisions();
  third->set_division(2);
  third->set_pages(10);
  third->set_crawl_rate_per_second(30);
  server.admin.fleet.set_crawl_rate_per_second(100);
  const Outcome part = server.Run({"fleet"});
  EXPECT_EQ(part.code, kRefused);
  EXPECT_THAT(part.out, HasSubstr("  not sure of its turn\n"));
  EXPECT_THAT(part.out, HasSubstr("  no answer\n"));
  EXPECT_THAT(
      part.out,
      HasSubstr("\nthe divisions that have answered: 1,234,577 pages, 12 out, 92.5 of 100 crawls a "
                "second granted\n"));
  second->clear_unanswered();
  EXPECT_THAT(server.Run({"fleet"}).out, HasSubstr("\nall: 1,234,577 pages, 12 out, "));
  second->set_unanswered("nobody\nserves");
  EXPECT_THAT(part.err, HasSubstr("freshet: division 1: nobody"));
  EXPECT_THAT(part.err, Not(HasSubstr("nobody\n")));
  const Outcome json = server.Run({"fleet", "--json"});
  EXPECT_EQ(json.code, kRefused);
  EXPECT_THAT(json.out, HasSubstr(R"("unanswered":"nobody\nserves")"));
}

TEST(FleetCommand, ShowsStandbysBelowWhoServes) {
  FakeServer server;
  v1::FleetDivision* division = server.admin.fleet.add_divisions();
  division->set_node("crawl-a");
  division->set_sure(true);
  v1::FleetStandby* ready = division->add_standbys();
  ready->set_node("crawl-b");
  ready->set_address("crawl-b.example.org:7071");
  ready->set_ready(true);
  ready->mutable_behind()->set_seconds(1);
  v1::FleetStandby* reading = division->add_standbys();
  reading->set_node("crawl\nc");
  reading->set_rows(12'345);
  const std::string out = server.Run({"fleet"}).out;
  EXPECT_THAT(out, HasSubstr("crawl-b   crawl-b.example.org:7071  stands by, 1 s behind\n"));
  EXPECT_THAT(out, HasSubstr("reads the log, 12,345 rows so far\n"));
  EXPECT_THAT(out, Not(HasSubstr("crawl\nc")));
  ready->set_loaded(true);
  EXPECT_THAT(server.Run({"fleet"}).out, HasSubstr("stands by with all pages loaded, 1 s behind"));
  reading->mutable_behind()->set_seconds(90);
  EXPECT_THAT(server.Run({"fleet"}).out, HasSubstr("does not keep up, "));
}

TEST(FleetCommand, DrainsANodeAndSaysWhoServesThen) {
  FakeServer server;
  v1::FleetDivision* division = server.admin.fleet.add_divisions();
  division->set_division(2);
  division->set_node("crawl-a");
  division->add_standbys()->set_node("crawl-b");
  v1::DrainedDivision* drained = server.admin.drained.add_divisions();
  drained->set_division(2);
  drained->add_standbys("crawl-b");
  server.admin.hand_over = [](v1::GetFleetResponse* fleet) {
    fleet->mutable_divisions(0)->set_node("crawl-b");
  };
  const Outcome whole = server.Run({"fleet", "drain", "--yes", "crawl-a"});
  EXPECT_EQ(whole.code, kAccepted) << whole.err;
  EXPECT_EQ(whole.out, "division 2: crawl-b serves\n");
  EXPECT_THAT(server.Run({"fleet", "drain", "crawl-a", "--yes", "--json"}).out,
              HasSubstr(R"("standbys":["crawl-b"])"));

  const Outcome standby = server.Run({"fleet", "drain", "--yes", "crawl-b"});
  EXPECT_EQ(standby.code, kAccepted);
  EXPECT_THAT(standby.err, HasSubstr("crawl-b serves no division; it is a standby for division 2"));
  const Outcome nobody = server.Run({"fleet", "drain", "--yes", "crawl-c"});
  EXPECT_EQ(nobody.code, kRefused);
  EXPECT_THAT(nobody.err, HasSubstr("no server is named crawl-c (servers without cluster.address "
                                    "are not seen), did you mean crawl-"));

  drained->set_refused("no server could take over");
  server.admin.drained.add_unanswered()->set_reason("is away");
  const Outcome refused = server.Run({"fleet", "drain", "--yes", "crawl-a"});
  EXPECT_EQ(refused.code, kRefused);
  EXPECT_THAT(refused.err, HasSubstr("division 2: no server could take over\n"));
  EXPECT_THAT(refused.err, HasSubstr("division 0: is away\n"));
  EXPECT_EQ(server.Run({"fleet", "drain"}).code, kBadUsage);
  const Outcome unasked = server.Run({"fleet", "drain", "crawl-a"});
  EXPECT_EQ(unasked.code, kBadUsage);
  EXPECT_THAT(unasked.err, HasSubstr("node crawl-a that serve"));
  EXPECT_THAT(unasked.err, HasSubstr("--yes"));
}

TEST(FleetCommand, ListsAndStatisticsFailBelowWhatTheyShowWhereADivisionIsMissing) {
  FakeServer server;
  EXPECT_EQ(server.Run({"stats"}).code, kAccepted);
  v1::UnansweredDivision& missing = *server.admin.statistics.add_unanswered();
  missing.set_division(1);
  missing.set_reason("nobody\x1b serves it");
  server.admin.statistics.mutable_pages()->set_pages(1'234);
  for (const std::string format : {"", "--json"}) {
    const Outcome part = format.empty() ? server.Run({"stats"}) : server.Run({"stats", format});
    EXPECT_EQ(part.code, kRefused);
    EXPECT_THAT(part.out, HasSubstr(format.empty() ? "1,234" : R"("pages":1234)"));
    EXPECT_EQ(part.err, "freshet: division 1: nobody\\x1b serves it\n");
  }
  server.admin.host_lists_lack_a_division = true;
  const Outcome hosts = server.Run({"hosts", "list"});
  EXPECT_EQ(hosts.code, kRefused);
  EXPECT_THAT(hosts.err, HasSubstr("freshet: division 1: is away\n"));
}

// While no server serves a division (a part of the pages), each attempt can take as long as the
// server waits for the division. All attempts together can take minutes, so the client prints the
// reason when it tries again for the first time.
TEST(UpsertTest, SaysOnceWhyItTriesAgainWhereADivisionIsAway) {
  FakeServer server;
  server.pages.upserts.judge = [&server](const v1::UpsertPagesRequest& request, v1::BatchAck* ack) {
    if (server.pages.upserts.requests.size() > 3) return;
    *ack->add_statuses() = Refusal(request.pages_size() - 1, v1::ERROR_CODE_UNAVAILABLE, "",
                                   "division 1 cannot be reached", true);
  };
  const Outcome run = server.Run({"upsert", "http://a.test/", "http://b.test/"});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  EXPECT_EQ(run.out, "2 pages: 2 applied\n");
  EXPECT_EQ(run.err,
            "freshet: 1 of the pages is sent again, attempt 2 of 10: division 1 cannot be "
            "reached\n");
  EXPECT_EQ(server.pages.upserts.requests.size(), 4U);
}

}  // namespace
}  // namespace freshet::cli
