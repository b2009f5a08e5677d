// Figures of assignments, crawl ids and leases.
#include <string>
#include <vector>

#include "server/api/figure_makers.h"

namespace freshet {
namespace {

Getter ByCrawl(uint64_t CrawlCounters::*count) {
  return [count](S s) {
    Value crawls = Value::object();
    for (const auto& [crawl_id, counters] : s.crawls) crawls[crawl_id] = counters.*count;
    return crawls;
  };
}

}  // namespace

std::vector<Figure> HandingOutFigures() {
  return {
      Gauge("freshet_crawl_rate", Of(&D::rate),
            {"crawl_rate", "schedule.crawl_rate_per_second", "crawl_rate"},
            "crawl rate: maximum number of assignments (pages handed out) a second"),
      Counter("freshet_assignments_total", Of(&D::assignments),
              {"assignments", "schedule.assignments", "crawls_per_second"},
              "assignments sent to workers"),
      Counter("freshet_forced_assignments_total", Of(&D::forced_assignments),
              "assignments of [forced pages](politeness.md#forced-pages)"),
      Counter("freshet_unused_ticks_total{reason}",
              {By("credit", Of(&D::ticks_without_credit),
                  {"", "schedule.ticks_without_credit", "unused_credit"}),
               By("page", Of(&D::ticks_without_page),
                  {"", "schedule.ticks_without_page", "unused_page"}),
               By("late", Of(&D::ticks_late), {"", "schedule.ticks_late", "unused_late"}),
               By("paused", Of(&D::ticks_paused), {"", "", "unused_paused"}),
               By("store", Of(&D::ticks_stalled), {"", "", "unused_store"})},
              {"unused_ticks"},
              "ticks (turns to hand out a page) that the server did not use: no worker had "
              "`credit`, no `page` could be crawled, the server was `paused` or `late`, or the "
              "`store` accepted no writes"),
  };
}

std::vector<Figure> CrawlIdsFigures() {
  return {
      Gauge("freshet_crawl_pages{crawl_id}", ByCrawl(&CrawlCounters::pages),
            "pages of the crawl id (at most 100 crawl ids with "
            "[settings](tenants.md#what-you-can-set) have metrics)"),
      Gauge("freshet_crawl_leases_open{crawl_id}", ByCrawl(&CrawlCounters::out),
            "the crawl id's open leases"),
      Counter("freshet_crawl_assignments_total{crawl_id}", ByCrawl(&CrawlCounters::assignments),
              "assignments of the crawl id"),
      Counter("freshet_crawl_forced_assignments_total{crawl_id}", ByCrawl(&CrawlCounters::forced),
              "assignments of forced pages"),
      Counter("freshet_crawl_crawls_total{crawl_id}", ByCrawl(&CrawlCounters::crawls),
              "the crawl id's successful crawls"),
      Counter("freshet_crawl_changes_total{crawl_id}", ByCrawl(&CrawlCounters::changes),
              "crawls that found changes"),
      Counter("freshet_crawl_errors_total{crawl_id}", ByCrawl(&CrawlCounters::errors),
              "the crawl id's failed crawls"),
      Counter("freshet_crawl_robots_denied_total{crawl_id}", ByCrawl(&CrawlCounters::robots_denied),
              "crawls that robots.txt forbade"),
  };
}

std::vector<Figure> LeasesFigures() {
  return {
      Gauge("freshet_paused", Of(&D::paused), {"paused", "schedule.paused"},
            "1 while crawling is paused"),
      Gauge("freshet_price", Most(&ShardSnapshot::price),
            {"price", "schedule.price", "price", Merge::kMost},
            "the price (marginal value): the value of the page that the server picked last, in "
            "importance x seconds; 0 under a rate policy"),
      Gauge("freshet_workers", Of(&D::workers), {"workers", "server.workers", "workers"},
            "workers on open `Crawl` streams"),
      Gauge("freshet_worker_credit", Of(&D::credit),
            {"worker_credit", "server.worker_credit", "worker_credit"},
            "pages that workers have room for, without credit that is lent to other "
            "[divisions](fleet.md#workers)"),
      Gauge("freshet_ready_assignments", Of(&D::ready), {"ready", "", "ready"},
            "pages that the server has leased, but not yet handed out"),
      Counter("freshet_picks_total", Sum(&ShardFigures::picks), {"index.picks"},
              "pages that the shards picked by value. Several shards together pick more pages than "
              "the server hands out"),
      Counter("freshet_evaluations_total", Sum(&ShardFigures::evaluations), {"index.evaluations"},
              "page values computed for picks"),
      Gauge("freshet_awake_pages", Sum(&ShardFigures::awake), {"index.awake_pages"},
            "pages whose values the [index](index.md#the-idea) watches closely (awake)"),
      Gauge("freshet_lookahead_seconds", Of(&D::lookahead),
            "how long before its tick the server leases a page: 20 ms or more"),
      Gauge("freshet_open_leases", Sum(&C::leases),
            {"open_leases", "schedule.open_leases", "open_leases"}, "open leases"),
      Counter("freshet_leases_ended_total{reason}",
              {By("expired", Sum(&C::expired_leases),
                  {"expired_leases", "schedule.expired_leases", "expired_per_second"}),
               By("returned", Sum(&C::returned_leases),
                  {"returned_leases", "schedule.returned_leases"})},
              "leases that ended without a result: `expired` at the deadline, or `returned` by the "
              "worker"),
      Counter("freshet_leases_given_up_total", Sum(&C::given_up), {"", "schedule.given_up_leases"},
              "pages with `leases.max_unanswered` expired leases in a row"),
      Fact(Of(&D::pause_reason), {"pause_reason", "schedule.pause_reason"}),
  };
}

}  // namespace freshet
