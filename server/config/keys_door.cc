// Keys of access (TLS, identities, pings) and of the crawl-frontier API.
#include "server/base/limits.h"
#include "server/config/key_makers.h"

namespace freshet {
namespace {

using C = ServerConfig;
using Pings = IndexNowConfig;

ConfigKey ClientCertificateKey() {
  ConfigKey key =
      MakeKey("tls.client_certificate", KeyType::kChoice, At(&C::tls_client_certificate_required));
  key.choices = {"required", "optional"};
  key.set = [choices = key.choices](const std::string& text, C* config) -> Status {
    RETURN_IF_ERROR(CheckChoice(text, choices));
    config->tls_client_certificate_required = text == "required";
    return absl::OkStatus();
  };
  key.write = [](const C& config) {
    return config.tls_client_certificate_required ? "required" : "optional";
  };
  return std::move(key).Says(
      "Whether each gRPC client must show a certificate (`required`), or can show a token instead "
      "(`optional`).");
}

ConfigKey OpenKey() {
  ConfigKey key = NamesKey("auth.open", At(&C::auth_open));
  key.choices = {"metrics", "console", "reflection", "indexnow"};
  key.check = [choices = key.choices](const C& config) -> Status {
    for (const std::string& open : config.auth_open) RETURN_IF_ERROR(CheckChoice(open, choices));
    return absl::OkStatus();
  };
  return std::move(key).Reloads().Says(
      "Parts of the server that clients can use without an identity.");
}

std::vector<ConfigKey> FileKeys() {
  return {
      TextKey("tls.certificate", At(&C::tls_certificate))
          .Flag("--tls-certificate")
          .Reloads()
          .Says("The server's certificate with its intermediate certificates. With a certificate "
                "and a key both ports speak only TLS; switching TLS on or off needs a restart."),
      TextKey("tls.key", At(&C::tls_key))
          .Flag("--tls-key")
          .Reloads()
          .Says("Private key of the server's certificate."),
      TextKey("tls.client_ca", At(&C::tls_client_ca))
          .Flag("--tls-client-ca")
          .Reloads()
          .Says("Authority that signs client certificates. Adding or removing it needs a restart."),
      ClientCertificateKey(),
      TextKey("auth.file", At(&C::auth_file))
          .Flag("--auth-file")
          .Reloads()
          .Says("YAML file of identities and their roles. Adding or removing it needs a restart."),
      OpenKey(),
      SpanKey("reload.interval", At(&C::reload_interval), Duration::Millis(10), Duration::Hours(24))
          .Says("How often the server looks for changed files of certificates and identities. "
                "After SIGHUP it looks at once."),
  };
}

std::vector<ConfigKey> PingKeys() {
  const auto in = [](auto field) { return At(&C::indexnow, field); };
  return {
      FlagKey("indexnow.enabled", in(&Pings::enabled)).Says("Whether the server accepts pings."),
      FlagKey("indexnow.verify_keys", in(&Pings::verify_keys))
          .Says("Whether a ping counts only if its key is in a file of the host. The server "
                "fetches this file from public addresses only."),
      FlagKey("indexnow.create_pages", in(&Pings::create_pages))
          .Says("Whether unknown URLs of pings become pages."),
      TextKey("indexnow.crawl_id", in(&Pings::crawl_id))
          .Says("Crawl id of the pages that pings name; empty means DEFAULT."),
      CountKey("indexnow.max_urls", in(&Pings::max_urls), 1, limits::kMaxIndexNowUrls)
          .Says("Maximum number of URLs in one request."),
      CountKey("indexnow.max_body_bytes", in(&Pings::max_body_bytes), 1,
               limits::kMaxIndexNowBodyBytes)
          .Says("Maximum bytes of one request."),
      SpanKey("indexnow.key_lifetime", in(&Pings::key_lifetime), kSecond, kYear)
          .Says("How long the server remembers a good or bad key."),
      SpanKey("indexnow.retry_interval", in(&Pings::retry_interval), kSecond, Duration::Days(1))
          .Says("Pause after a failed fetch of a key file."),
      SpanKey("indexnow.key_timeout", in(&Pings::key_timeout), kSecond, Duration::Seconds(60))
          .Says("Longest time to fetch a key file."),
  };
}

std::vector<ConfigKey> FrontierKeys() {
  const auto in = [](auto field) { return At(&C::frontier_limits, field); };
  return {
      FlagKey("frontier.enabled", At(&C::frontier_enabled))
          .Says("Whether the server offers the crawl-frontier API."),
      NamesKey("frontier.scheduled_crawls", At(&C::frontier_scheduled))
          .Says("Crawl ids in scheduled mode, 16 at most: the server hands out their URLs by crawl "
                "value."),
      NamesKey("frontier.shadow_crawls", At(&C::frontier_shadow))
          .Says("Crawl ids in shadow mode, 16 at most: clients decide when a URL is fetched, and "
                "Freshet only learns."),
      NamesKey("frontier.status_keys", At(&C::frontier_status_keys))
          .Says("Metadata keys with the HTTP status of a fetch, in upper or lower case. The first "
                "key that a URL has counts."),
      NamesKey("frontier.digest_keys", At(&C::frontier_digest_keys))
          .Says("Metadata keys with a digest of the content, in upper or lower case. The first key "
                "that a URL has counts."),
      FlagKey("frontier.zero_is_never", At(&C::frontier_zero_is_never))
          .Says("Whether date 0 means that a page is never fetched again, in scheduled and shadow "
                "mode."),
      CountKey("frontier.max_metadata_bytes", in(&FrontierLimits::metadata_bytes), 0,
               limits::kMaxMessageBytes)
          .Says("Maximum bytes of a URL's metadata. The server skips a URL with more."),
      CountKey("frontier.max_urls", in(&FrontierLimits::urls), 1, int64_t{1} << 40)
          .Says("Maximum number of URLs. A further URL fails."),
      CountKey("frontier.max_queues", in(&FrontierLimits::queues), 1, int64_t{1} << 31)
          .Says("Maximum number of queues."),
      CountKey("frontier.max_in_flight", in(&FrontierLimits::flights), 1,
               int64_t{limits::kMaxFlights})
          .Says("Maximum number of URLs in flight. At this number GetURLs returns no URLs."),
  };
}

}  // namespace

std::vector<ConfigKey> DoorKeys() {
  std::vector<ConfigKey> keys;
  for (std::vector<ConfigKey> part : {FileKeys(), PingKeys(), FrontierKeys()}) {
    std::move(part.begin(), part.end(), std::back_inserter(keys));
  }
  return keys;
}

}  // namespace freshet
