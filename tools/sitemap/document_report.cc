#include "tools/sitemap/document_report.h"

#include "fmt/format.h"

namespace freshet::sitemap {

std::vector<std::string> DocumentReport::Complaints() const {
  std::vector<std::string> complaints;
  for (const std::string& one : refusals) complaints.push_back("refused: " + one);
  for (const std::string& one : left_out) complaints.push_back("left out: " + one);
  if (LeftOut() > left_out.size()) {
    complaints.push_back(fmt::format("left out: {} more", LeftOut() - left_out.size()));
  }
  if (Useless()) complaints.emplace_back("no page or sitemap of this document could be used");
  if (result == Result::kFailed) complaints.push_back(why);
  return complaints;
}

void PollTally::Take(DocumentReport* report) {
  const uint64_t more = report->Complaints().size();
  report->untold = more > 0 && complaints >= kMaxComplaints;
  complaints += more;
  untold += report->untold ? more : 0;
  if (report->result == DocumentReport::Result::kFailed) return;
  report->unlisted = ++documents > kMaxListed;
  if (!report->unlisted) return;
  ++unlisted;
  new_pages += report->new_pages;
  signals += report->signals;
}

}  // namespace freshet::sitemap
