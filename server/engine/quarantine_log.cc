#include "server/engine/quarantine_log.h"

#include <algorithm>
#include <optional>

#include "spdlog/spdlog.h"

namespace freshet {

void QuarantineLog::Say(const QuarantineNews& news, const std::string& source, Instant now) {
  std::optional<std::string> more;
  {
    const MutexLock lock(mutex_);
    more = (news.begun ? begun_ : ended_).Admit(now);
  }
  if (!more) return;
  const SourceStanding& lately = news.standing;
  const double share = 100 / std::max(lately.signals, 1e-9);
  spdlog::log(news.begun ? spdlog::level::warn : spdlog::level::info,
              "source '{}' is {} at host {}: {:.0f}% of its signals of late stood for a change, "
              "{:.0f}% were expected to{}",
              source, news.begun ? "in quarantine" : "trusted again", lately.host,
              share * lately.proved, share * lately.believed, *more);
}

}  // namespace freshet
