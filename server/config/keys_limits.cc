// What clients may have: leases, connections, streams, items, workers.
#include "core/base/limits.h"
#include "server/config/key_makers.h"
#include "server/config_limits.h"

namespace freshet {
namespace {

using C = ServerConfig;

constexpr Duration kTick = Duration::Millis(10);

std::vector<ConfigKey> LeaseKeys() {
  const Duration longest = Duration::Seconds(limits::kMaxLeaseSeconds);
  return {
      SpanKey("leases.default", At(&C::default_lease), kSecond, longest)
          .Says("How long a worker may keep a page, unless it asks for another time."),
      SpanKey("leases.max", At(&C::max_lease), kSecond, longest)
          .Says("The longest lease that "
                "it can ask for."),
      SpanKey("leases.backoff", At(&C::lease_backoff), Duration(), Duration::Days(30))
          .Says("A page whose lease ran out without an answer waits this long, twice as long after "
                "each further one in a row; 0 is not at all."),
      SpanKey("leases.max_backoff", At(&C::max_lease_backoff), Duration(), kYear)
          .Says("The longest of these pauses."),
      // Counted in a byte of the page.
      CountKey("leases.max_unanswered", At(&C::max_unanswered_leases), 1, UINT8_MAX)
          .Says("From this many in a row on the page waits for its normal turn, as if it had been "
                "fetched."),
      SpanKey("keepalive.interval", At(&C::keepalive_interval), kTick, kYear, true)
          .Says("The server pings a client that has been silent for so long; 0 is never."),
      SpanKey("keepalive.timeout", At(&C::keepalive_timeout), kTick, Duration::Hours(1))
          .Says("The server closes the connection if the client does not answer within this "
                "time."),
  };
}

std::vector<ConfigKey> ConnectionKeys() {
  return {
      CountKey("limits.connections", At(&C::max_connections), 1, kMost)
          .Says("Connections of gRPC; fewer when the process may not open so many files (`ulimit "
                "-n`)."),
      CountKey("limits.connections_per_client", At(&C::max_connections_per_client), 1, kMost)
          .Says("Connections from one client: an IPv4 address, or the first half of an IPv6 "
                "address."),
      SpanKey("limits.connection_idle", At(&C::max_connection_idle), kTick, kYear, true)
          .Says("A connection without a call for so long is asked to go; 0 is never."),
      SpanKey("limits.connection_age", At(&C::max_connection_age), kTick, kYear, true)
          .Says("A connection that is so old is asked to go; 0 is never."),
      SpanKey("limits.connection_grace", At(&C::connection_grace), kTick, kYear, true)
          .Says("Calls that are still open so long after that are cut; 0 is never."),
      CountKey("limits.streams", At(&C::max_streams), 1, kMost)
          .Says("Open calls of Crawl, UpsertPages, ReportCrawls and SignalChanges."),
      CountKey("limits.streams_per_client", At(&C::max_streams_per_client), 1, kMost)
          .Says("Such calls of one client."),
      CountKey("limits.streams_per_connection", At(&C::max_streams_per_connection), 1, kMost)
          .Says("Calls of any kind that one connection may have open."),
      CountKey("limits.workers", At(&C::max_workers), 1, kMost)
          .Says("Workers on Crawl streams and waiting calls of Next."),
  };
}

std::vector<ConfigKey> MessageKeys() {
  return {
      CountKey("limits.metadata_bytes", At(&C::max_metadata_bytes), 1 << 10,
               limits::kMaxMessageBytes)
          .Says("Metadata of a call: names, values and 32 bytes for each."),
      CountKey("limits.message_bytes", At(&C::max_message_bytes), 1 << 10, limits::kMaxMessageBytes)
          .Says("Bytes of a message, also once it is inflated."),
      CountKey("limits.message_items", At(&C::max_message_items), 1, limits::kMaxItemsPerMessage)
          .Says("Items of a message."),
      CountKey("limits.url_bytes", At(&C::max_url_bytes), 64, limits::kMaxUrlBytes)
          .Says("Bytes of the URL of an added page."),
      CountKey("limits.unacknowledged_bytes", At(&C::max_unacked_bytes), limits::kMaxMessageBytes,
               int64_t{1} << 40)
          .Says("Bytes of messages of all streams that were read and are not acknowledged yet. "
                "Past it the server reads no stream."),
      SpanKey("limits.list_write_timeout", At(&C::list_write_timeout), kTick, Duration::Days(1))
          .Says("A list or an export whose client reads nothing for so long is cancelled, which "
                "frees its place."),
  };
}

std::vector<ConfigKey> ItemKeys() {
  ConfigKey by_source = MakeKey("limits.items_per_second_of_source", KeyType::kRates,
                                At(&C::items_per_second_of_source));
  by_source.read = [](const std::string& key, const YAML::Node& node, C* config) {
    return ReadItemRates(key, node, &config->items_per_second_of_source);
  };
  by_source.write = [](const C& config) { return WriteRates(config.items_per_second_of_source); };
  return {
      ItemRateKey("limits.items_per_second_per_client", At(&C::items_per_second_per_client))
          .Says("Items that a client may send in a second; 0 is any number. The server slows "
                "down a client that sends more."),
      ItemRateKey("limits.items_per_second_per_source", At(&C::items_per_second_per_source))
          .Says("Signals that a source may send in a second; 0 is any number."),
      std::move(by_source).Reloads().Says(
          "Some sources can have another rate, such as `{cdn: 500}`."),
      CountKey("limits.hosts", At(&C::max_hosts), 0, limits::kMaxPageIds)
          .Says("Hosts of the server; 0 is any number."),
      CountKey("limits.pages_per_host", At(&C::max_pages_per_host), 0, limits::kMaxPageIds)
          .Says("Pages of a host; 0 is any number."),
  };
}

std::vector<ConfigKey> WorkerKeys() {
  return {
      CountKey("workers.max_credit", At(&C::max_credit), 1, limits::kMaxCreditPerWorker)
          .Says("Credit that a worker may have."),
      CountKey("workers.max_open_leases", At(&C::max_open_leases), 1,
               limits::kMaxOpenLeasesPerWorker)
          .Says("Open leases of the workers of one name and client (identity, else network). The "
                "server halves it for each lease that expires without a result, and adds one for "
                "each result."),
      CountKey("workers.max_newcomer_leases", At(&C::max_newcomer_leases), 1,
               limits::kMaxNewcomerLeases)
          .Says("Open leases of all workers together whose names have sent no result yet. Each "
                "client has a share. GetURLs has as many of its own."),
      SpanKey("workers.half_closed_wait", At(&C::half_closed_wait), Duration(), Duration::Hours(1))
          .Says(
              "A worker that closes its side of a Crawl stream with credit left waits so long for "
              "each page."),
  };
}

}  // namespace

std::vector<ConfigKey> LimitKeys() {
  std::vector<ConfigKey> keys;
  for (std::vector<ConfigKey> part :
       {LeaseKeys(), ConnectionKeys(), MessageKeys(), ItemKeys(), WorkerKeys()}) {
    std::move(part.begin(), part.end(), std::back_inserter(keys));
  }
  return keys;
}

}  // namespace freshet
