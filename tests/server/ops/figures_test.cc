// Tests that every view of a status equals the files in tests/golden/figures. If
// FRESHET_WRITE_GOLDEN is in the environment, writes these files.
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/api/figure.h"
#include "server/api/fleet_sums.h"
#include "server/api/status.h"
#include "server/ops/console_state.h"
#include "server/ops/history_figures.h"
#include "server/ops/metrics.h"
#include "server/ops/status_json.h"

namespace freshet {
namespace {

// Fills a status with a different number for each figure.
class Filler {
 public:
  ServerStatus Full() {
    ServerStatus status;
    status.now = Instant::FromUnixSeconds(1'800'000'000) + Duration::Millis(500);
    status.started = Instant::FromUnixSeconds(1'700'000'000);
    status.policy = {"GREEDY", "LDS"};
    status.durability = "sync";
    status.failure = MakeStatus(absl::StatusCode::kResourceExhausted, "/data: is full");
    FillShards(&status);
    FillDispatch(&status.dispatch);
    FillStore(&status.store);
    FillClients(&status);
    FillFrontier(&status.frontier);
    FillIndexNow(&status.indexnow);
    FillRecovery(&status.recovery);
    FillCluster(&status.cluster);
    status.annotations = {{"true_freshness", 0.5}};
    return status;
  }

 private:
  template <typename... Numbers>
  void Fill(Numbers&... numbers) {
    ((numbers = static_cast<Numbers>(++last_)), ...);
  }
  double Share() { return static_cast<double>(++last_) / 1024; }

  // The first shard has larger values, so that sums distinguish the two.
  void FillShards(ServerStatus* status) {
    status->shards.resize(2);
    ShardSnapshot& shard = status->shards[0];
    ShardSnapshot& other = status->shards[1];
    ShardCounters& to = shard.counters;
    Fill(to.assignments, to.expired_leases, to.returned_leases, to.given_up, to.changed,
         to.unchanged, to.errors, to.throttled, to.gone, to.robots_denied, to.duplicate_results,
         to.late_results, to.signals_applied, to.signals_stale, to.signals_duplicate,
         to.signals_unknown_url, to.pages, to.gone_pages, to.hosts, to.leases, to.epochs,
         to.quarantined_sources, to.quarantines, to.site_models, to.site_model_bytes);
    other.counters.pages = 12;
    to.pages -= 12;
    BelievedFreshness& believed = shard.believed;
    Fill(believed.importance, believed.fresh_importance, believed.fresh_pages,
         believed.overdue_pages, believed.pages);
    believed.fresh_importance /= 1024;
    believed.fresh_pages /= 1024;
    other.believed.pages = 12;
    believed.pages_share_error = believed.importance_share_error = 0.0625;
    believed.pages -= 12;
    shard.price = Share();
    EpochResult& epoch = shard.last_epoch;
    Fill(epoch.number, epoch.epochs, epoch.pages, epoch.again, epoch.changed);
    epoch.ended = Instant::FromUnixSeconds(1'750'000'000);
    epoch.took = Duration::Millis(2500);
    other.last_epoch = epoch;
    other.last_epoch.pages = 12;
    epoch.pages -= 12;
    ++epoch.number;
    ++epoch.epochs;
    other.epoch_running = true;
    status->epoch_interval = Duration::Seconds(3600);
    uint64_t unused = 0;
    Fill(unused, shard.waiting_events, unused);
    ShardFigures& figures = shard.figures;
    Fill(figures.awake, figures.evaluations, figures.picks, figures.waiting);
    figures.waits.Add(5, ++last_);
    other.figures.waits.Add(1e7, ++last_);
    other.figures.longest_wait = Duration::Seconds(77);
    for (uint64_t& hosts : figures.hosts.by_standing) hosts = ++last_;
    CrawlCounters& crawl = status->crawls["news"];
    Fill(crawl.pages, crawl.hosts, crawl.out, crawl.assignments, crawl.forced, crawl.crawls,
         crawl.changes, crawl.errors, crawl.gone, crawl.robots_denied);
    status->crawls["old"].pages = ++last_;
    other.commits.count = 1;
    other.commits.seconds.Add(0.002);
    other.commits.events.Add(50);
  }

  void FillDispatch(DispatchStats* dispatch) {
    DispatchStats& to = *dispatch;
    Fill(to.assignments, to.forced_assignments, to.ticks_without_credit, to.ticks_without_page,
         to.ticks_late, to.ticks_paused, to.ticks_stalled, to.workers, to.credit, to.waiting_credit,
         to.workers_at_allowance, to.allowances_reduced, to.newcomer_leases, to.ready);
    to.lookahead = Duration::Millis(20);
    to.rate = Rate::PerSecond(12.5);
    to.paused = true;
    to.pause_reason = "a new disk";
  }

  void FillStore(StoreStats* store) {
    StoreStats& to = *store;
    Fill(to.table_bytes, to.wal_bytes, to.memtable_bytes, to.cache_bytes, to.page_cache_bytes,
         to.free_bytes, to.commits, to.syncs, to.wal_written_bytes, to.flushed_bytes,
         to.compacted_bytes, to.refused_commits, to.page_cache_hits, to.page_cache_misses,
         to.block_cache_hits, to.block_cache_misses, to.stalled_micros, to.delayed_bytes_per_second,
         to.pending_compaction_bytes, to.running_flushes, to.running_compactions);
    to.writes_stopped = true;
    for (uint64_t& files : to.table_files) files = ++last_;
  }

  void FillClients(ServerStatus* status) {
    StreamStats& streams = status->streams;
    HandlerCounters& handled = status->handled;
    Fill(streams.open, streams.refused_by_client, streams.refused, handled.slowed_by_client,
         handled.slowed_by_source, handled.refused_by_client, streams.unacked_bytes,
         streams.answer_bytes, handled.results_refused, handled.signals_refused,
         handled.upserts_applied, handled.upserts_refused);
    status->limits = {{"streams", 1000}, {"connection_idle", 0.5}};
    status->calls.ended = {{.method = "freshet.v1.PagesService/GetPage",
                            .kind = CallKind::kUnary,
                            .code = "NOT_FOUND",
                            .by_bound = std::vector<uint64_t>(12, ++last_),
                            .seconds = 1.5},
                           {.method = "freshet.v1.SchedulerService/Crawl",
                            .kind = CallKind::kStream,
                            .code = "OK",
                            .by_bound = std::vector<uint64_t>(12, ++last_),
                            .seconds = 2.5}};
    MethodCalls stream = {"freshet.v1.SchedulerService/Crawl", CallKind::kStream};
    Fill(stream.open, stream.received, stream.sent);
    status->calls.methods = {
        {.method = "freshet.v1.PagesService/GetPage", .kind = CallKind::kUnary, .open = 3}, stream};
    ConnectionStats& grpc = status->connections;
    Fill(grpc.open, grpc.limit, grpc.accepted, grpc.refused_by_client, grpc.refused, grpc.silent,
         grpc.failed);
    HttpStats& http = status->http;
    Fill(http.open, http.limit, http.taken, http.failed, http.evicted, http.idle, http.timed_out,
         http.waiting, http.refused);
    DoorStats& door = status->door;
    Fill(door.reloads, door.failed_reloads, door.auth.identities, door.auth.unauthenticated,
         door.auth.permission_denied);
    door.tls = door.client_ca = true;
    door.certificate_not_after = Instant::FromUnixSeconds(1'900'000'000);
    door.client_ca_not_after = Instant::FromUnixSeconds(1'900'000'001);
    Fill(status->audit.written, status->audit.failed);
    status->sources = {{"cdn", 70, 30.5, 0.5, 0.25, 0.75, 0.125}, {"feed", 8}};
    status->shards[0].waiting_reads = 62;
    status->queues = {.background = 63, .upkeep = 64, .frontier = 65};
  }

  void FillFrontier(FrontierStatus* frontier) {
    frontier->active = true;
    FrontierTotals& totals = frontier->totals;
    Fill(totals.put_ok, totals.put_skipped, totals.put_failed, totals.metadata_too_large,
         totals.served, totals.given_back, totals.expired);
    FrontierCounts& counts = frontier->counts;
    Fill(counts.completed, counts.in_flight, counts.flight_places, counts.queues,
         counts.active_queues, counts.kept_queues, counts.active);
    Fill(frontier->crawls, frontier->waiting_urls, frontier->store.table_bytes,
         frontier->store.memtable_bytes);
  }

  void FillIndexNow(IndexNowStats* stats) {
    stats->requests = {{200, ++last_}, {429, ++last_}};
    Fill(stats->applied, stats->unknown, stats->created, stats->refused, stats->pending,
         stats->dropped, stats->keys_good, stats->keys_bad, stats->keys_unreachable,
         stats->pending_bytes);
  }

  void FillRecovery(RecoveryStatus* recovery) {
    recovery->ready = true;
    Fill(recovery->log_bytes, recovery->checked_log_bytes, recovery->replayed_log_bytes,
         recovery->rows_taken_in, recovery->pages, recovery->expected_pages,
         recovery->stored_twice);
    recovery->share = Share();
  }

  void FillCluster(ClusterStatus* cluster) {
    cluster->name = "freshet-0";
    cluster->sure = true;
    ChangeLogStats& log = cluster->log;
    Fill(log.transactions, log.aborted, log.rows, log.bytes, log.transaction_micros, log.rows_read,
         log.waiting);
    Fill(cluster->calls.open, cluster->calls.forwarded, cluster->calls.refused,
         cluster->calls.dropped, cluster->items_sent_on, cluster->assignments_elsewhere,
         cluster->items_sent_unanswered, cluster->learned_from);
    RateSharingStatus& rate = cluster->rate;
    rate.shared = rate.leads = true;
    rate.leader = 1;
    rate.total = Rate::PerSecond(25.5);
    rate.granted = Rate::PerSecond(12.25);
    Fill(rate.grants, rate.unheard);
    rate.ungranted = Duration::Millis(1500);
    rate.price = Share();
    rate.price_gap = Share();
  }

  uint64_t last_ = 1000;
};

// Returns the metrics without those of machine and build, and without help texts, which are in
// docs/metrics.md. Families and samples are sorted, because their order has no meaning.
std::string ShownOf(const std::string& metrics) {
  std::map<std::string, std::set<std::string>> families;
  std::istringstream lines(metrics);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      name = line.substr(7, line.find(' ', 7) - 7);
    } else if (!name.starts_with("process_") && name != "freshet_build_info") {
      families[name].insert(line + "\n");
    }
  }
  std::string text;
  for (const auto& [unused, family] : families) text += absl::StrJoin(family, "");
  return text;
}

// Returns a line for each member of the object.
std::string Members(const std::string& text) {
  std::string lines;
  const auto object = nlohmann::json::parse(text);
  for (const auto& [name, value] : object.items()) lines += name + " " + value.dump() + "\n";
  return lines;
}

std::string WithoutVersion(const std::string& text) {
  return absl::StrReplaceAll(text, {{std::string("\"") + kVersion + "\"", "\"VERSION\""}});
}

std::string Series(const Figures& figures) {
  std::string text;
  for (const auto& [name, value] : figures) text += fmt::format("{} {:.6g}\n", name, value);
  return text;
}

// Returns the series of a status and of a later one with higher counters.
std::string Plots(const ServerStatus& status) {
  FigureMaker maker;
  EXPECT_TRUE(maker.Make(status).empty());
  ServerStatus next = status;
  ShardCounters& counters = next.shards.emplace_back().counters;
  next.now = status.now + Duration::Seconds(2);
  counters.changed += 2;
  counters.unchanged += 6;
  counters.errors += 10;
  counters.signals_applied += 12;
  counters.expired_leases += 14;
  next.dispatch.assignments += 16;
  next.dispatch.ticks_without_credit += 18;
  next.dispatch.ticks_without_page += 20;
  next.dispatch.ticks_late += 22;
  next.dispatch.ticks_paused += 24;
  next.dispatch.ticks_stalled += 26;
  return Series(maker.Make(next));
}

std::string StatisticsOf(const ServerStatus& status, int servers) {
  v1::GetStatisticsResponse one;
  ToProto(status, &one);
  v1::GetStatisticsResponse sum = one;
  for (int i = 1; i < servers; ++i) AddAnswer(v1::GetStatisticsRequest(), one, &sum);
  return sum.DebugString();
}

HistoryWindow Window() {
  return {.step = 1, .names = {"price", "note:true_freshness"}, .rows = {{17, {0.25, 0.5}}}};
}

std::string All(const ServerStatus& status) {
  const std::vector<RecentAssignment> recent = {
      {Instant::FromUnixSeconds(17), "http://a.test/", "w", 0.25}};
  std::string text = "== /metrics\n" + ShownOf(RenderMetrics(status));
  text += "== /status.json\n" + Members(RenderStatusJson(status, Window(), recent));
  text +=
      "== overview of the console\n" + Members(RenderOverview({"serving", "well"}, status, recent));
  text += "== GetStatistics\n" + StatisticsOf(status, 1);
  text += "== GetStatistics of three servers\n" + StatisticsOf(status, 3);
  text += "== history\n" + Plots(status);
  return WithoutVersion(text);
}

void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = FRESHET_SOURCE_DIR "/tests/golden/figures/" + name;
  if (std::getenv("FRESHET_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

TEST(FiguresTest, AllThatThereCanBeIsShown) { ExpectGolden("full.txt", All(Filler().Full())); }

TEST(FiguresTest, AnEmptyServerShowsWhatItHas) { ExpectGolden("empty.txt", All(ServerStatus())); }

TEST(FiguresTest, AStandbyShowsHowFarItHasCome) {
  const ServerStatus full = Filler().Full();
  ServerStatus status;
  status.recovery = full.recovery;
  status.recovery.ready = false;
  status.recovery.stage = OpenStage::kFollowing;
  status.recovery.at_end = Instant::FromUnixSeconds(1'800'000'000);
  status.cluster.name = "freshet-0";
  status.cluster.log.rows_read = 17;
  status.cluster.calls = full.cluster.calls;
  const std::string text = "== /metrics\n" + ShownOf(RenderMetrics(status, /*starting=*/true)) +
                           "== /status.json\n" + Members(RenderStartingJson(status)) +
                           "== overview of the console\n" +
                           Members(RenderStartingOverview({"starting", "so far"}, status));
  ExpectGolden("starting.txt", WithoutVersion(text));
}

// Every field of GetStatistics is in the table exactly once.
TEST(FiguresTest, EveryFieldOfTheStatisticsIsAFigure) {
  std::multiset<std::string> named;
  for (const FigureSection& section : AllFigures()) {
    for (const Figure& figure : section.figures) {
      for (const FigureValue& value : figure.values) {
        if (!value.shown.field.empty()) named.insert(value.shown.field);
      }
    }
  }
  const auto* response = v1::GetStatisticsResponse::descriptor();
  for (int i = 0; i < response->field_count(); ++i) {
    const auto* part = response->field(i)->message_type();
    if (response->field(i)->is_repeated()) continue;
    for (int k = 0; k < part->field_count(); ++k) {
      EXPECT_EQ(named.count(response->field(i)->name() + "." + part->field(k)->name()), 1U)
          << part->field(k)->full_name();
    }
  }
}

}  // namespace
}  // namespace freshet
