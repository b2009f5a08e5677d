// Figures of clients: their connections, calls and streams, and the crawl-frontier API.
#include <string>
#include <vector>

#include "server/api/figure_makers.h"
#include "server/ports/watched_reads.h"

namespace freshet {
namespace {

Value PingsByStatus(S s) {
  Value pings = Value::object();
  for (const auto& [status, requests] : s.indexnow.requests) {
    pings[std::to_string(status)] = requests;
  }
  return pings;
}

Value Limits(S s) {
  Value limits = Value::object();
  for (const LimitInForce& limit : s.limits) limits[limit.name] = limit.most;
  return limits;
}

Value OverLimits(S s) {
  return {{"connections", {{"refused", s.connections.refused - s.connections.refused_by_client}}},
          {"connections_per_client", {{"refused", s.connections.refused_by_client}}},
          {"frames", {{"cut", ConnectionsCut()}}},
          {"streams", {{"refused", s.streams.refused - s.streams.refused_by_client}}},
          {"streams_per_client", {{"refused", s.streams.refused_by_client}}},
          {"items_per_second_per_client",
           {{"slowed", s.handled.slowed_by_client.get()},
            {"refused", s.handled.refused_by_client.get()}}},
          {"items_per_second_per_source", {{"slowed", s.handled.slowed_by_source.get()}}}};
}

Value EndedCallsOf(S s, CallKind kind) {
  Value calls = Value::object();
  for (const EndedCalls& row : s.calls.ended) {
    if (row.kind != kind) continue;
    calls[row.method][std::string(row.code)] = {
        {"bounds", CallStats::Bounds(kind)}, {"counts", row.by_bound}, {"sum", row.seconds}};
  }
  return calls;
}

Value OpenCalls(S s) {
  Value calls = Value::object();
  for (const MethodCalls& row : s.calls.methods) calls[row.method] = row.open;
  return calls;
}

Value StreamMessages(S s) {
  Value messages = Value::object();
  for (const MethodCalls& row : s.calls.methods) {
    if (row.kind != CallKind::kStream) continue;
    messages[row.method] = {{"received", row.received}, {"sent", row.sent}};
  }
  return messages;
}

}  // namespace

std::vector<Figure> ConnectionsFigures() {
  return {
      Gauge("freshet_connections", Of(&ConnectionStats::open), "open gRPC connections"),
      Gauge("freshet_connections_limit", Of(&ConnectionStats::limit),
            "`limits.connections`, or fewer if [file descriptors](limits.md#file-descriptors) are "
            "short"),
      Gauge("freshet_http_connections", Of(&HttpStats::open), "open HTTP connections"),
      Gauge("freshet_http_connections_limit", Of(&HttpStats::limit),
            "`http.max_connections`, or fewer if file descriptors are short"),
      Counter("freshet_http_connections_total{outcome}",
              {By("taken", Of(&HttpStats::taken)), By("failed", Of(&HttpStats::failed))},
              "new HTTP connections: `taken`, `failed`"),
      Counter("freshet_http_connections_ended_total{reason}",
              {By("evicted", Of(&HttpStats::evicted)), By("idle", Of(&HttpStats::idle)),
               By("timeout", Of(&HttpStats::timed_out))},
              "HTTP connections that the server closed: `evicted` to make room for another, `idle` "
              "too long, or `timeout` of a request or answer"),
      Counter("freshet_http_refused_total", Of(&HttpStats::refused),
              "HTTP requests answered with 503"),
      Counter("freshet_indexnow_requests_total{status}", PingsByStatus,
              "[pings](pings.md#indexnow) at `/indexnow`, by HTTP status of the answer"),
      Counter(
          "freshet_indexnow_urls_total{outcome}",
          {By("applied", Of(&IndexNowStats::applied)),
           By("unknown_page", Of(&IndexNowStats::unknown)),
           By("created", Of(&IndexNowStats::created)), By("refused", Of(&IndexNowStats::refused)),
           By("pending", Of(&IndexNowStats::pending)), By("dropped", Of(&IndexNowStats::dropped))},
          "URLs in pings: `applied`, `unknown_page`, `created`, `refused`, `pending` (the server "
          "fetches the key file), or `dropped` (bad key)"),
      Counter("freshet_indexnow_key_checks_total{outcome}",
              {By("good", Of(&IndexNowStats::keys_good)), By("bad", Of(&IndexNowStats::keys_bad)),
               By("unreachable", Of(&IndexNowStats::keys_unreachable))},
              "fetched key files: `good`, `bad`, `unreachable`"),
      Gauge("freshet_indexnow_pending_bytes", Of(&IndexNowStats::pending_bytes),
            "bytes of pings being checked"),
      Counter(
          "freshet_connections_total{outcome}",
          {By("taken", Of(&ConnectionStats::accepted)),
           By("refused", Of(&ConnectionStats::refused)), By("silent", Of(&ConnectionStats::silent)),
           By("failed", Of(&ConnectionStats::failed))},
          "new gRPC connections: `taken`, `refused` because too many were open, `silent` (the "
          "client sent nothing for 20 s, or no HTTP/2), or `failed`"),
  };
}

std::vector<Figure> DoorFigures() {
  return {
      Gauge("freshet_tls_not_after_timestamp_seconds{file}",
            {By("certificate",
                [](S s) {
                  return s.door.tls ? Value(UnixSeconds(s.door.certificate_not_after)) : Value();
                }),
             By("client_ca",
                [](S s) {
                  return s.door.client_ca ? Value(UnixSeconds(s.door.client_ca_not_after))
                                          : Value();
                })},
            "only with TLS: Unix time when the server's certificate (`certificate`) or the client "
            "CA's first certificate (`client_ca`) expires"),
      Counter("freshet_credential_reloads_total{outcome}",
              {By("used", Of(&DoorStats::reloads)), By("refused", Of(&DoorStats::failed_reloads))},
              "changed files of certificates and identities: `used`, or `refused` because of a "
              "mistake"),
      Gauge("freshet_identities", Of(&AuthStats::identities), "identities of the auth file"),
      Counter("freshet_denied_calls_total{reason}",
              {By("unauthenticated", Of(&AuthStats::unauthenticated)),
               By("permission_denied", Of(&AuthStats::permission_denied))},
              "refused calls and HTTP requests (not items of streams): `unauthenticated`, "
              "`permission_denied`"),
  };
}

std::vector<Figure> CallsFigures() {
  return {
      Gauge("freshet_streams", Of(&StreamStats::open), "open streams"),
      Counter("freshet_streams_refused_total", Of(&StreamStats::refused),
              "calls refused by `limits.streams`"),
      Gauge("freshet_limit{name}", Limits,
            "[limits](limits.md#limits) in force; `name` is the last part of the key"),
      Counter(
          "freshet_over_limit_total{name,outcome}", OverLimits,
          "how often clients exceeded a limit (except `limits.hosts` and `limits.pages_per_host`): "
          "the server `refused` the request, `slowed` the client, or `cut` the connection"),
      Histogram(
          "freshet_grpc_call_seconds{method,code}",
          [](S s) { return EndedCallsOf(s, CallKind::kUnary); },
          "duration of answered calls that are not streams"),
      Histogram(
          "freshet_grpc_stream_seconds{method,code}",
          [](S s) { return EndedCallsOf(s, CallKind::kStream); }, "duration of streams that ended"),
      Gauge("freshet_grpc_open_calls{method}", OpenCalls, "open calls and streams"),
      Counter("freshet_grpc_stream_messages_total{method,direction}", StreamMessages,
              "messages of streams: `received`, `sent`"),
      Gauge("freshet_queue_depth{queue}",
            {By("shards", Sum(&ShardSnapshot::waiting_events)),
             By("reads", Sum(&ShardSnapshot::waiting_reads)),
             By("background", Of(&QueueDepths::background)), By("upkeep", Of(&QueueDepths::upkeep)),
             By("frontier", Of(&QueueDepths::frontier)), By("http", Of(&HttpStats::waiting))},
            {"queues"},
            "work that waits for a thread: `shards` (events), `reads` (single pages), `background` "
            "(parts of lists), `upkeep` (checkpoints, compactions), `frontier` (crawl-frontier "
            "API), `http` (slow requests)"),
      Gauge("freshet_unacknowledged_bytes", Of(&StreamStats::unacked_bytes),
            "bytes of messages that the server has read, but not acknowledged"),
      Gauge("freshet_untaken_answer_bytes", Of(&StreamStats::answer_bytes),
            "bytes of answers on streams that clients have not read"),
      Gauge(
          "freshet_workers_at_allowance", Of(&D::workers_at_allowance),
          {"workers_at_allowance", "server.workers_at_allowance"},
          "workers that have credit (room for pages), but already hold as many leases as they may"),
      Gauge("freshet_reduced_allowances", Of(&D::allowances_reduced),
            {"", "server.reduced_allowances"},
            "worker names that may hold fewer leases than others, because leases expired"),
      Gauge("freshet_newcomer_leases", Of(&D::newcomer_leases),
            "open leases of workers with [new names](limits.md#invented-names)"),
  };
}

std::vector<Figure> CrawlFrontierFigures() {
  return {
      Gauge("freshet_frontier_urls{state}",
            {By("scheduled",
                [](S s) { return s.frontier.counts.active - s.frontier.counts.in_flight; }),
             By("in_flight", Of(&FrontierCounts::in_flight)),
             By("completed", Of(&FrontierCounts::completed))},
            "URLs by state: waiting (`scheduled`), leased by date (`in_flight`), or never due "
            "again (`completed`)"),
      Gauge("freshet_frontier_queues", Of(&FrontierCounts::queues), "queues that have URLs"),
      Gauge("freshet_frontier_kept_queues", Of(&FrontierCounts::kept_queues),
            "queues that count towards `frontier.max_queues`; those without URLs keep a setting"),
      Gauge("freshet_frontier_crawls", Of(&FrontierStatus::crawls),
            "crawl ids of the crawl-frontier API"),
      Gauge("freshet_frontier_active", Of(&FrontierStatus::active), "1 while `GetURLs` is on"),
      Gauge(
          "freshet_frontier_waiting_urls", Of(&FrontierStatus::waiting_urls),
          "URLs that wait to be stored, [at most 65,536](limits.md#tables-that-all-clients-share)"),
      Counter(
          "freshet_frontier_put_total{outcome}",
          {By("ok", Of(&FrontierTotals::put_ok)), By("skipped", Of(&FrontierTotals::put_skipped)),
           By("failed", Of(&FrontierTotals::put_failed))},
          "URLs received, by the server's answer: `ok`, `skipped` or `failed`"),
      Counter("freshet_frontier_metadata_refused_total", Of(&FrontierTotals::metadata_too_large),
              "URLs skipped because of `frontier.max_metadata_bytes`"),
      Counter(
          "freshet_frontier_served_total",
          [](S s) { return s.frontier.totals.served + s.handled.pages_of_urls; },
          "URLs given out by `GetURLs`"),
      Counter("freshet_frontier_leases_ended_total{reason}",
              {By("expired", Of(&FrontierTotals::expired)),
               By("undelivered", Of(&FrontierTotals::given_back))},
              "URLs that are due again, because the lease `expired` or the client disconnected "
              "first (`undelivered`)"),
      Gauge("freshet_frontier_store_bytes{kind}",
            {By("tables", Of(&FrontierStoreStats::table_bytes)),
             By("memtables", Of(&FrontierStoreStats::memtable_bytes))},
            "bytes of the crawl frontier: `tables` on disk, `memtables` in memory"),
  };
}

}  // namespace freshet
