// Checks stored records. The same functions check each record before encoding and after decoding. A
// failure before encoding is a bug of the program. A failure after decoding means that the store
// was damaged or written by another program.
//
// All functions are thread-safe. Not OK: InvalidArgument, with the name of the field.
#ifndef FRESHET_STORAGE_INTERNAL_VALIDATE_H_
#define FRESHET_STORAGE_INTERNAL_VALIDATE_H_

#include <string_view>

#include "core/base/status.h"

namespace freshet {

struct Changes;
struct CrawlRecord;
struct EpochRecord;
struct HostRecord;
struct LeaseRecord;
struct PageDetail;
struct PageKey;
struct PageRecord;
struct PageSpec;
struct PageState;
struct Settings;
struct SourceRecord;

}  // namespace freshet

namespace freshet::storage {

// Importance in [0, kMaxImportance]; intervals in [0, kMaxIntervalSeconds]; rates finite and >= 0.
[[nodiscard]] Status ValidateSpec(const PageSpec& spec);

// Instants at or after the epoch; staleness and signal weight >= 0, may be infinite; the other
// rates and the sums finite and >= 0; signal counts packed to the front with known source classes.
[[nodiscard]] Status ValidateState(const PageState& state);

// Validators within kMaxValidatorBytes, changes <= crawls, a known outcome, at most
// kMaxObservations observations.
[[nodiscard]] Status ValidateDetail(const PageDetail& detail);

// Crawl id, host and URL not empty, within their limits, without zero bytes.
[[nodiscard]] Status ValidateText(const PageKey& key, std::string_view host);

// All of the above, and the number's slot is that of the host.
[[nodiscard]] Status ValidatePage(const PageRecord& page);

// Host not empty; min delay in [0, kMaxIntervalSeconds]; instants at or after the epoch.
[[nodiscard]] Status ValidateHost(const HostRecord& host);

// Id not zero; at most kMaxSignalsDuringLease signals; assigned <= deadline; worker name within
// kMaxWorkerNameBytes; the page number has a serial, and id and page are of one slot.
[[nodiscard]] Status ValidateLease(const LeaseRecord& lease);

// Index below kMaxSources; name not empty and within kMaxSourceNameBytes.
[[nodiscard]] Status ValidateSource(const SourceRecord& source);

// Crawl id not empty and within kMaxCrawlIdBytes; share in (0, 1]; maximum of the rate in
// (0, kMaxCrawlsPerSecond]; at most kMaxPageIds pages; spans in [0, kMaxIntervalSeconds].
[[nodiscard]] Status ValidateCrawl(const CrawlRecord& crawl);

// Crawl rate in [0, kMaxCrawlsPerSecond]; policy name not empty if set.
[[nodiscard]] Status ValidateSettings(const Settings& settings);

// Shard below kMaxShards.
[[nodiscard]] Status ValidateEpoch(const EpochRecord& epoch);

// Checks every record of `changes`; each removed page has the slot of its host. Fields that a page
// write leaves out are not checked.
[[nodiscard]] Status ValidateChanges(const Changes& changes);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_VALIDATE_H_
