// What Freshet knows of a lease, as the store keeps it. Value types, thread-compatible.
#ifndef FRESHET_CORE_MODEL_LEASE_H_
#define FRESHET_CORE_MODEL_LEASE_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/model/page_number.h"
#include "core/model/signal.h"

namespace freshet {

// A signal that arrived while its page was out on a lease: it may be newer than the fetch.
struct LeaseSignal {
  Instant time;
  SourceClass source_class;
  bool operator==(const LeaseSignal&) const = default;
};

struct LeaseRecord {
  LeaseId id;
  PageNumber page;
  std::string worker;  // the name that it gives itself
  // Whose worker it is: kIdentityClient and the name of an identity, or the network that it comes
  // from; empty: a release that did not say has written it.
  std::string client;
  Instant assigned;
  Instant deadline;
  std::vector<LeaseSignal> signals;  // at most limits::kMaxSignalsDuringLease, the newest
  // The host that is fetched from although the page was removed meanwhile; empty: the page is
  // there, or the lease is over.
  std::string host;
  // A lease that is over is kept for a while, with id and page alone, so that a result that is sent
  // again, or late, is known for what it is.
  bool over = false;
  bool reported = false;  // a result under it was taken; only of one that is over
  bool operator==(const LeaseRecord&) const = default;
};

// How LeaseRecord::client begins where it names an identity.
inline constexpr std::string_view kIdentityClient = "identity ";

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_LEASE_H_
