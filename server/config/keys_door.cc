// Who may come in: TLS, identities, pings; and the crawl-frontier API.
#include "core/base/limits.h"
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
      "Whether the gRPC port asks each client for one, or lets them show tokens instead.");
}

ConfigKey OpenKey() {
  ConfigKey key = NamesKey("auth.open", At(&C::auth_open));
  key.choices = {"metrics", "console", "reflection", "indexnow"};
  key.check = [choices = key.choices](const C& config) -> Status {
    for (const std::string& open : config.auth_open) RETURN_IF_ERROR(CheckChoice(open, choices));
    return absl::OkStatus();
  };
  return std::move(key).Reloads().Says("Parts that need no identity.");
}

std::vector<ConfigKey> FileKeys() {
  return {
      TextKey("tls.certificate", At(&C::tls_certificate))
          .Flag("--tls-certificate")
          .Reloads()
          .Says("The server's certificate, then the intermediate ones. With it and the key both "
                "ports speak only TLS; switching TLS on or off needs a restart."),
      TextKey("tls.key", At(&C::tls_key)).Flag("--tls-key").Reloads().Says("Its private key."),
      TextKey("tls.client_ca", At(&C::tls_client_ca))
          .Flag("--tls-client-ca")
          .Reloads()
          .Says("Authority that signs the certificates of clients. Adding or removing it needs "
                "a restart."),
      ClientCertificateKey(),
      TextKey("auth.file", At(&C::auth_file))
          .Flag("--auth-file")
          .Reloads()
          .Says("YAML file of identities and their roles. Adding or removing it needs a restart."),
      OpenKey(),
      SpanKey("reload.interval", At(&C::reload_interval), Duration::Millis(10), Duration::Hours(24))
          .Says("How often files of certificates and identities are looked at. SIGHUP looks at "
                "once."),
  };
}

std::vector<ConfigKey> PingKeys() {
  const auto in = [](auto field) { return At(&C::indexnow, field); };
  return {
      FlagKey("indexnow.enabled", in(&Pings::enabled)).Says("Whether pings are taken."),
      FlagKey("indexnow.verify_keys", in(&Pings::verify_keys))
          .Says("Whether the key of a ping must be in a file of the host, which is fetched from "
                "public addresses."),
      FlagKey("indexnow.create_pages", in(&Pings::create_pages))
          .Says("Whether URLs that are not known become pages."),
      TextKey("indexnow.crawl_id", in(&Pings::crawl_id))
          .Says("The crawl id that the pages have; empty is DEFAULT."),
      CountKey("indexnow.max_urls", in(&Pings::max_urls), 1, limits::kMaxIndexNowUrls)
          .Says("URLs of one request."),
      CountKey("indexnow.max_body_bytes", in(&Pings::max_body_bytes), 1,
               limits::kMaxIndexNowBodyBytes)
          .Says("Bytes of one request."),
      SpanKey("indexnow.key_lifetime", in(&Pings::key_lifetime), kSecond, kYear)
          .Says("How long a key is remembered, good or bad."),
      SpanKey("indexnow.retry_interval", in(&Pings::retry_interval), kSecond, Duration::Days(1))
          .Says("How long a host is left alone whose key file could not be fetched."),
      SpanKey("indexnow.key_timeout", in(&Pings::key_timeout), kSecond, Duration::Seconds(60))
          .Says("How long the fetch of a key file may take."),
  };
}

std::vector<ConfigKey> FrontierKeys() {
  const auto in = [](auto field) { return At(&C::frontier_limits, field); };
  return {
      FlagKey("frontier.enabled", At(&C::frontier_enabled)).Says("Whether it is served."),
      NamesKey("frontier.scheduled_crawls", At(&C::frontier_scheduled))
          .Says("Its crawl ids, 16 at most, whose URLs are given out by crawl value, whatever date "
                "their clients sent."),
      NamesKey("frontier.shadow_crawls", At(&C::frontier_shadow))
          .Says("Its crawl ids, 16 at most, from which Freshet learns while their clients go on "
                "deciding."),
      NamesKey("frontier.status_keys", At(&C::frontier_status_keys))
          .Says("Keys of metadata that say with which HTTP status a fetch ended; the first that "
                "is there counts."),
      NamesKey("frontier.digest_keys", At(&C::frontier_digest_keys))
          .Says("Keys of metadata that change with the content; the first that is there counts."),
      FlagKey("frontier.zero_is_never", At(&C::frontier_zero_is_never))
          .Says("Whether a date of zero means never again for pages of scheduled and shadowed "
                "crawl ids."),
      CountKey("frontier.max_metadata_bytes", in(&FrontierLimits::metadata_bytes), 0,
               limits::kMaxMessageBytes)
          .Says("Bytes of metadata of a URL; the server skips a URL with more."),
      CountKey("frontier.max_urls", in(&FrontierLimits::urls), 1, int64_t{1} << 40)
          .Says("Most URLs; a further one fails."),
      CountKey("frontier.max_queues", in(&FrontierLimits::queues), 1, int64_t{1} << 31)
          .Says("Most queues."),
      CountKey("frontier.max_in_flight", in(&FrontierLimits::flights), 1,
               int64_t{limits::kMaxFlights})
          .Says("URLs that may be in flight; past it GetURLs gives none."),
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
