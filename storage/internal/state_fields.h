// Spec and state of a page in a row: four bytes of bits, one for each field that is written, then
// those fields in the order of their bits. A field that has its default is not written; for some
// the default is what a field before holds. Internal to storage/.
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

// Reads what WriteStateFields has written, into records of any content. False: it writes nothing of
// the kind. Values are not validated (storage/internal/validate.h). Thread-safe.
[[nodiscard]] bool ReadStateFields(Reader& reader, PageSpec* spec, PageState* state);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_STATE_FIELDS_H_
