#include "core/schedule/host_gate.h"

#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/schedule/leases.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

TEST(HostGate, DelayCountsFromTheAssignment) {
  HostGate gate({.min_delay = Duration::Seconds(2)});
  const HostId host = gate.Intern("a.example");
  EXPECT_EQ(gate.Intern("a.example"), host);
  EXPECT_EQ(gate.FreeAt(host), Instant());
  gate.Pick(host, At(10));
  EXPECT_EQ(gate.FreeAt(host), At(12));
  gate.OpenLease(host, At(10));
  gate.EndLease(host);
  EXPECT_EQ(gate.FreeAt(host), At(12));
}

// With several shards, most picks are put back because the page of another shard gets the tick. A
// pick that is put back must not delay its host.
TEST(HostGate, APickThatIsPutBackDelaysNobody) {
  HostGate gate({.min_delay = Duration::Seconds(2), .max_in_flight = 3});
  const HostId host = gate.Put({.host = "a.example", .last_assignment = At(5)});
  gate.Pick(host, At(10));
  EXPECT_EQ(gate.FreeAt(host), At(12));
  gate.PutBack(host);
  EXPECT_EQ(gate.FreeAt(host), At(7));
  EXPECT_EQ(gate.host(host).in_flight, 0u);

  gate.Pick(host, At(10));
  gate.Pick(host, At(12));
  gate.PutBack(host);
  EXPECT_EQ(gate.FreeAt(host), At(14)) << "another may become a lease";
  gate.OpenLease(host, At(10));
  EXPECT_EQ(gate.FreeAt(host), At(12));
}

TEST(HostGate, NewDefaultsHoldForHostsWithoutRulesOfTheirOwn) {
  HostGate gate({.min_delay = Duration::Seconds(2), .min_page_interval = Duration::Seconds(60)});
  const HostId plain = gate.Intern("a.example");
  const HostId own = gate.Put({.host = "b.example",
                               .min_delay = Duration::Seconds(7),
                               .min_page_interval = Duration::Seconds(5)});
  for (const HostId host : {plain, own}) gate.Pick(host, At(10));
  EXPECT_EQ(OwnPageInterval(gate.host(plain)), std::nullopt);
  EXPECT_EQ(OwnPageInterval(gate.host(own)), Duration::Seconds(5));
  gate.SetDefaults({.min_delay = Duration::Seconds(3)});
  EXPECT_EQ(gate.FreeAt(plain), At(13));
  EXPECT_EQ(gate.FreeAt(own), At(17));
  EXPECT_EQ(OwnPageInterval(gate.host(plain)), std::nullopt);
  EXPECT_EQ(OwnPageInterval(gate.host(own)), Duration::Seconds(5));
  gate.SetDefaults({.max_in_flight = 1});
  EXPECT_TRUE(gate.FreeAt(plain).infinite());
}

TEST(HostGate, ItsOwnRulesWinOverTheDefault) {
  HostGate gate({.min_delay = Duration::Seconds(2), .max_in_flight = 1});
  HostRecord record{.host = "a.example", .min_delay = Duration::Seconds(30), .max_in_flight = 0};
  const HostId host = gate.Put(record);
  gate.Pick(host, At(10));
  gate.Pick(host, At(11));
  EXPECT_EQ(gate.FreeAt(host), At(41));
  record.min_delay.reset();
  record.max_in_flight.reset();
  gate.Put(record);
  EXPECT_TRUE(gate.FreeAt(host).infinite());
  for (const int64_t assigned : {10, 11}) gate.OpenLease(host, At(assigned));
  for (int i = 0; i < 2; ++i) gate.EndLease(host);
  EXPECT_EQ(gate.FreeAt(host), At(13)) << "picks outlive a change of the record";
}

TEST(HostGate, BlockHoldsBeyondTheDelay) {
  HostGate gate({});
  const HostId host = gate.Put({.host = "a.example", .blocked_until = At(100)});
  gate.Pick(host, At(10));
  EXPECT_EQ(gate.FreeAt(host), At(100));
}

// Compares the gate with a list of leases that is scanned each time.
TEST(HostGate, AgreesWithAListScan) {
  std::mt19937 random(3);
  HostGate gate({.min_delay = Duration::Seconds(1), .max_in_flight = 3});
  const HostId host = gate.Intern("a.example");
  std::list<int64_t> out;
  int64_t now = 100;
  int64_t last = 0;
  for (int i = 0; i < 5000; ++i) {
    now += random() % 3;
    const bool free = gate.FreeAt(host) <= At(now);
    ASSERT_EQ(free, out.size() < 3 && now >= last + 1 - (last == 0 ? 1000 : 0));
    if (free && random() % 2 == 0) {
      gate.Pick(host, At(now));
      if (random() % 3 == 0) {
        gate.PutBack(host);
        continue;
      }
      gate.OpenLease(host, At(now));
      out.push_back(now);
      last = now;
    } else if (!out.empty() && random() % 2 == 0) {
      gate.EndLease(host);
      out.pop_front();
    }
    ASSERT_EQ(gate.host(host).in_flight, out.size());
  }
}

LeaseId NextId(Leases& leases, Slot slot) {
  const LeaseId id = leases.NextId(slot, 0);
  EXPECT_EQ(leases.NextId(slot, 0), id) << "until it is given out";
  leases.GaveOut(1);
  return id;
}

// Previously, a new host could make the table move all its hosts. This stopped a shard with
// millions of hosts for a second.
TEST(HostGate, AHostThatComesMovesNoOthers) {
  HostGate gate(PolitenessDefaults{});
  const HostRecord* const first = &gate.host(gate.Intern("0.test")).record;
  for (int i = 1; i < 10'000; ++i) (void)gate.Intern(std::to_string(i) + ".test");
  EXPECT_EQ(&gate.host(*gate.Find("0.test")).record, first);
}

TEST(HostGroups, AGroupThatIsGoneIsToldOfOnce) {
  HostGroups groups;
  const auto group_of = [](const std::string& name) {
    return std::make_shared<const HostGroup>(HostGroup{.name = name, .terms = {}});
  };
  const auto told = [&groups] {
    std::vector<GroupStanding> standings;
    groups.TakeStandings(&standings);
    return standings.size();
  };
  groups.Leave(groups.Join(group_of("a"), {}), {});
  EXPECT_EQ(told(), 1u);
  groups.Leave(groups.Join(group_of("a"), {}), {});
  (void)groups.Join(group_of("b"), {});
  EXPECT_EQ(told(), 2u);
  groups.Leave(groups.Join(group_of("a"), {}), {});
  groups.ForgetGone();
  EXPECT_EQ(told(), 0u);
}

TEST(Leases, IdsTellTheSlotAndNeverRepeatOverRuns) {
  Leases first(1);
  Leases second(2);
  const Slot slot(4095);
  const LeaseId a = NextId(first, slot);
  const LeaseId b = NextId(first, slot);
  const LeaseId c = NextId(second, slot);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
  EXPECT_EQ(a.value() % limits::kSlots, slot.value());
  first.Put({.id = a, .page = PageNumber(7)});
  ASSERT_NE(first.Find(a), nullptr);
  EXPECT_EQ(first.Find(a)->page, PageNumber(7));
  EXPECT_EQ(first.Find(b), nullptr);
  EXPECT_EQ(first.FindPast(a), nullptr);
  first.Close({.id = a, .page = PageNumber(7)}, false);
  EXPECT_EQ(first.Find(a), nullptr);
  EXPECT_EQ(first.size(), 0u);
  ASSERT_NE(first.FindPast(a), nullptr);
  EXPECT_EQ(first.FindPast(a)->page, PageNumber(7));
  EXPECT_FALSE(first.FindPast(a)->reported);
  first.MarkReported(a);
  EXPECT_TRUE(first.FindPast(a)->reported);
  EXPECT_EQ(first.FindPast(b), nullptr);
}

TEST(Leases, RememberThoseThatAreOverInTheOrderInWhichTheyEnded) {
  Leases leases(1);
  std::vector<LeaseId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(NextId(leases, Slot(static_cast<uint16_t>(9 - i))));
  for (const LeaseId id : {ids[1], ids[0], ids[2]}) {
    leases.Close({.id = id, .page = PageNumber(1)}, true);
  }
  leases.Drop(NextId(leases, Slot(3)));
  ASSERT_EQ(leases.remembered(), 3u);
  EXPECT_EQ(leases.Remembered(0), ids[1]);
  leases.ForgetOldest();
  EXPECT_EQ(leases.FindPast(ids[1]), nullptr);
  EXPECT_NE(leases.FindPast(ids[0]), nullptr);
  EXPECT_EQ(leases.Remembered(1), ids[2]);

  // At a start, leases are loaded slot by slot.
  Leases loaded(2);
  for (const LeaseId id : {ids[2], ids[0], ids[1]}) {
    loaded.Remember({.id = id, .page = PageNumber(1), .over = true, .reported = id == ids[0]});
  }
  loaded.SortRemembered();
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(loaded.Remembered(i), ids[i]);
  EXPECT_TRUE(loaded.FindPast(ids[0])->reported);
  EXPECT_FALSE(loaded.FindPast(ids[1])->reported);
}

}  // namespace
}  // namespace freshet
