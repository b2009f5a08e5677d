// Reports what a poll found in documents, one by one, up to a limit.
#ifndef FRESHET_TOOLS_SITEMAP_DOCUMENT_REPORT_H_
#define FRESHET_TOOLS_SITEMAP_DOCUMENT_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace freshet::sitemap {

// The maximum number of omitted entries that a report names. Further ones are counted.
inline constexpr size_t kMaxNamedLeftOut = 10;
// The maximum number of complaints that one poll of an argument prints. Further ones are counted.
// The document that reaches this number is still printed completely, and so is the error that ends
// the poll.
inline constexpr uint64_t kMaxComplaints = 50;
// The maximum number of read or unchanged documents that one poll of an argument prints. Further
// ones are counted.
inline constexpr uint64_t kMaxListed = 50;

// The result of polling one document: how many entries it has, and how they were handled. Value
// type, thread-compatible.
struct DocumentReport {
  enum class Result { kRead, kUnchanged, kFailed };
  std::string document;
  std::string kind = "document";  // NameOf(its kind), or "robots"
  Result result = Result::kRead;
  std::string why;  // why the poll failed; empty = it did not
  // The number of pages or sitemaps that the document lists, with or without a URL. The counts
  // below are parts of this number.
  uint64_t entries = 0;
  uint64_t new_pages = 0;   // pages new to the server
  uint64_t signals = 0;     // known pages with a newer date
  uint64_t refused = 0;     // new pages and signals that the server refused
  uint64_t undated = 0;     // entries without a date
  uint64_t unreadable = 0;  // entries with an unreadable date, or one before 1990
  uint64_t future = 0;      // entries with a date in the future
  // The number of omitted entries, by reason:
  uint64_t other_hosts = 0;           // URL at another host
  uint64_t bad_urls = 0;              // unusable URL
  uint64_t without_url = 0;           // no URL
  std::vector<std::string> left_out;  // the first of these, with reasons
  // The total size of the URLs of documents that are not omitted, in bytes.
  size_t name_bytes = 0;
  // The number of faults in an XML document that was read although it is not well-formed.
  uint64_t mended = 0;
  std::vector<std::string> refusals;  // the first refused entries, with reasons
  // The poll has reached a limit for printing. `untold`: the complaints are only counted.
  // `unlisted`: the whole document is only counted.
  bool untold = false;
  bool unlisted = false;

  [[nodiscard]] uint64_t LeftOut() const { return other_hosts + bad_urls + without_url; }
  // Whether the document has entries, but no usable one.
  [[nodiscard]] bool Useless() const { return entries > 0 && LeftOut() == entries; }
  // Returns one line for each fault of the document.
  [[nodiscard]] std::vector<std::string> Complaints() const;
};

// Counts the lines that one poll of an argument has printed, and those that it only counted.
// Thread-compatible.
struct PollTally {
  uint64_t complaints = 0;
  uint64_t documents = 0;  // printed documents that were read or are unchanged
  uint64_t untold = 0;     // complaints that were only counted
  // The number of documents that were only counted, and of their pages and signals.
  uint64_t unlisted = 0;
  uint64_t new_pages = 0;
  uint64_t signals = 0;

  // Counts the document, and decides how much of it to print.
  void Take(DocumentReport* report);
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_DOCUMENT_REPORT_H_
