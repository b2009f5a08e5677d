// Text of a site in whatever encoding it comes, as UTF-8.
#ifndef FRESHET_TOOLS_SITEMAP_TEXT_DECODER_H_
#define FRESHET_TOOLS_SITEMAP_TEXT_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace freshet::sitemap {

// Makes clean UTF-8 of bytes, piece by piece; how they are cut does not matter. Their encoding is
// that of a byte order mark, else what an XML declaration names, else what HTTP says (`charset`),
// else UTF-8; one that is not known counts for nothing. ISO 8859-1 and its like are read as the
// larger encodings that are meant by these names, as browsers do.
//
// What is no character of it, and controls that no XML may have, become U+FFFD. Left out are byte
// order mark, white space and XML declaration at the beginning. Thread-compatible.
class TextDecoder {
 public:
  // Where the encoding is looked for.
  static constexpr size_t kHeadBytes = 1024;

  explicit TextDecoder(std::string_view charset = {});
  ~TextDecoder();
  TextDecoder(const TextDecoder&) = delete;
  TextDecoder& operator=(const TextDecoder&) = delete;

  // Appends the text of the next bytes to `out`; with `last` of all that is left.
  void Decode(std::string_view bytes, bool last, std::string* out);
  // Characters that are U+FFFD now.
  [[nodiscard]] uint64_t replaced() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_TEXT_DECODER_H_
