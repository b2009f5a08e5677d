// Decodes a site's text from any encoding into UTF-8.
#ifndef FRESHET_TOOLS_SITEMAP_TEXT_DECODER_H_
#define FRESHET_TOOLS_SITEMAP_TEXT_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace freshet::sitemap {

// Decodes bytes piece by piece into clean UTF-8; the sizes of pieces do not matter. Uses the
// encoding of a byte order mark, else of an XML declaration, else of HTTP (`charset`), else UTF-8;
// ignores unknown names. ISO 8859-1 and similar names mean larger encodings, as in browsers.
//
// Bytes that are not a character of the encoding, and controls that XML forbids, become U+FFFD. A
// byte order mark, white space and an XML declaration at the beginning are dropped.
// Thread-compatible.
class TextDecoder {
 public:
  // The encoding must be declared within this many bytes.
  static constexpr size_t kHeadBytes = 1024;

  explicit TextDecoder(std::string_view charset = {});
  ~TextDecoder();
  TextDecoder(const TextDecoder&) = delete;
  TextDecoder& operator=(const TextDecoder&) = delete;

  // Appends the text of the next bytes to `out`; with `last`, also all buffered text.
  void Decode(std::string_view bytes, bool last, std::string* out);
  // Returns the number of characters that became U+FFFD.
  [[nodiscard]] uint64_t replaced() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_TEXT_DECODER_H_
