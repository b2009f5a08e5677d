#include "server/api/source_figures.h"

#include <algorithm>

#include "core/estimate/host_trust.h"

namespace freshet {

void AddTrust(const SourceTrust& trust, TrustByClass* all) {
  SourceTrust& best = (*all)[{trust.source_class.source(), trust.source_class.burst()}];
  if (trust.signals > best.signals) best = trust;
}

std::vector<SourceFigures> FiguresOf(const Sources& sources, const TrustByClass& trust) {
  std::vector<SourceFigures> all;
  for (const SourceRecord& source : sources.All()) {
    SourceFigures& out = all.emplace_back();
    out.name = source.name;
    out.signals = sources.signals(source.index);
    double truth = 0;
    for (const auto& [source_class, its] : trust) {
      if (source_class.first != source.index) continue;
      out.evidence += its.signals;
      out.recall += its.recall;
      truth += its.truth;
    }
    if (out.evidence > 0) SetPrecision(out.evidence, truth, &out);
    // The sum can exceed 1, because several classes can have signalled the same change.
    out.recall = std::min(1.0, out.recall);
  }
  return all;
}

}  // namespace freshet
