// Keys that limit clients: leases, connections, streams, items, workers.
#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "server/base/limits.h"
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
          .Says("Length of a lease, unless the worker asks for another."),
      SpanKey("leases.max", At(&C::max_lease), kSecond, longest)
          .Says("Longest lease that a worker can ask for."),
      SpanKey("leases.backoff", At(&C::lease_backoff), Duration(), Duration::Days(30))
          .Says("Pause of a page whose lease has expired. Each further expired lease in a row "
                "doubles the pause; 0: no pause."),
      SpanKey("leases.max_backoff", At(&C::max_lease_backoff), Duration(), kYear)
          .Says("Longest pause of a page after expired leases."),
      // The record of a page stores this count in one byte.
      CountKey("leases.max_unanswered", At(&C::max_unanswered_leases), 1, UINT8_MAX)
          .Says(
              "After this number of expired leases in a row, the page waits for its normal turn."),
      SpanKey("keepalive.interval", At(&C::keepalive_interval), kTick, kYear, true)
          .Says("The server pings a client that has been silent for this time; 0: never."),
      SpanKey("keepalive.timeout", At(&C::keepalive_timeout), kTick, Duration::Hours(1))
          .Says("The server closes the connection of a client that does not answer a ping within "
                "this time."),
  };
}

std::vector<ConfigKey> ConnectionKeys() {
  return {
      CountKey("limits.connections", At(&C::max_connections), 1, kMost)
          .Says("Maximum number of gRPC connections. It is lower if the process cannot open so "
                "many files (`ulimit -n`)."),
      CountKey("limits.connections_per_client", At(&C::max_connections_per_client), 1, kMost)
          .Says("Maximum number of connections from one client: an IPv4 address, or the first half "
                "of an IPv6 address."),
      SpanKey("limits.connection_idle", At(&C::max_connection_idle), kTick, kYear, true)
          .Says("The server asks a client to close a connection without a call for this time; 0: "
                "never."),
      SpanKey("limits.connection_age", At(&C::max_connection_age), kTick, kYear, true)
          .Says("The server asks a client to close a connection of this age; 0: never."),
      SpanKey("limits.connection_grace", At(&C::connection_grace), kTick, kYear, true)
          .Says("The server cuts open calls this long after it has asked the client to close the "
                "connection; 0: never."),
      CountKey("limits.streams", At(&C::max_streams), 1, kMost)
          .Says("Maximum number of open calls of Crawl, UpsertPages, ReportCrawls and "
                "SignalChanges."),
      CountKey("limits.streams_per_client", At(&C::max_streams_per_client), 1, kMost)
          .Says("Maximum number of these calls (`limits.streams`) of one client."),
      CountKey("limits.streams_per_connection", At(&C::max_streams_per_connection), 1, kMost)
          .Says("Maximum number of open calls of any kind on one connection."),
      CountKey("limits.workers", At(&C::max_workers), 1, kMost)
          .Says("Maximum number of workers on Crawl streams and of waiting calls of Next."),
  };
}

std::vector<ConfigKey> MessageKeys() {
  return {
      CountKey("limits.metadata_bytes", At(&C::max_metadata_bytes), 1 << 10,
               limits::kMaxMessageBytes)
          .Says("Maximum bytes of the metadata of a call: names, values, and 32 bytes for each "
                "pair."),
      CountKey("limits.message_bytes", At(&C::max_message_bytes), 1 << 10, limits::kMaxMessageBytes)
          .Says("Maximum bytes of a message, also after decompression."),
      CountKey("limits.message_items", At(&C::max_message_items), 1, limits::kMaxItemsPerMessage)
          .Says("Maximum items in a message."),
      CountKey("limits.url_bytes", At(&C::max_url_bytes), 64, limits::kMaxUrlBytes)
          .Says("Maximum bytes of the URL of an added page."),
      CountKey("limits.unacknowledged_bytes", At(&C::max_unacked_bytes), limits::kMaxMessageBytes,
               int64_t{1} << 40)
          .Says("Bytes of messages read and not acknowledged, over all streams. Above this number "
                "the server reads no stream."),
      SpanKey("limits.list_write_timeout", At(&C::list_write_timeout), kTick, Duration::Days(1))
          .Says("The server cancels a list or an export whose client reads nothing for this time."),
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
          .Says("Items that a client can send in a second; 0: any number. The server slows down a "
                "faster client."),
      ItemRateKey("limits.items_per_second_per_source", At(&C::items_per_second_per_source))
          .Says("Signals that a source can send in a second; 0: any number."),
      std::move(by_source).Reloads().Says(
          "Different rates for some sources, such as `{cdn: 500}`."),
      CountKey("limits.hosts", At(&C::max_hosts), 0, limits::kMaxPageIds)
          .Says("Maximum number of hosts; 0: any number."),
      CountKey("limits.pages_per_host", At(&C::max_pages_per_host), 0, limits::kMaxPageIds)
          .Says("Maximum number of pages of a host; 0: any number."),
  };
}

std::vector<ConfigKey> WorkerKeys() {
  return {
      CountKey("workers.max_credit", At(&C::max_credit), 1, limits::kMaxCreditPerWorker)
          .Says("Maximum credit of a worker."),
      CountKey("workers.max_open_leases", At(&C::max_open_leases), 1,
               limits::kMaxOpenLeasesPerWorker)
          .Says("Maximum number of open leases of all workers with the same name and client "
                "(identity, otherwise network). Each expired lease halves the number; each result "
                "adds one."),
      CountKey("workers.max_newcomer_leases", At(&C::max_newcomer_leases), 1,
               limits::kMaxNewcomerLeases)
          .Says("Maximum number of open leases of all workers whose names have sent no result yet. "
                "Each client has a share. GetURLs has as many leases of its own."),
      SpanKey("workers.half_closed_wait", At(&C::half_closed_wait), Duration(), Duration::Hours(1))
          .Says("If a worker with credit closes its side of a Crawl stream, the server waits this "
                "long for each further page, and then ends the stream."),
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
