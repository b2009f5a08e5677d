// The spec and state of a page as they are stored in a row: four bytes with one bit for each field,
// and then the fields whose bits are set, in the same order. A field with its default value is not
// stored. The default of some fields is the value of an earlier field. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_STATE_FIELDS_H_
#define FRESHET_STORAGE_INTERNAL_STATE_FIELDS_H_

#include <string>

#include "storage/internal/codec.h"

namespace freshet {

struct PageSpec;
struct PageState;

}  // namespace freshet

namespace freshet::storage {

// Appends the fields. Thread-safe.
void WriteStateFields(const PageSpec& spec, const PageState& state, std::string* out);

// Reads what WriteStateFields has written, and overwrites the records. Returns false for bytes that
// WriteStateFields does not write. Values are not validated (storage/internal/validate.h).
// Thread-safe.
[[nodiscard]] bool ReadStateFields(Reader& reader, PageSpec* spec, PageState* state);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_STATE_FIELDS_H_
