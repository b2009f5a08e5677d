// Round-robin over a sorted set whose entries may come and go between two turns.
#ifndef FRESHET_SERVER_BASE_NEXT_AFTER_H_
#define FRESHET_SERVER_BASE_NEXT_AFTER_H_

namespace freshet {

// Returns an iterator to the next entry in round-robin order: the first entry after `last`, or the
// first entry of the set if none follows. `last` need not be in the set. Precondition: the set is
// not empty.
template <typename Set>
auto NextAfter(const Set& all, const typename Set::value_type& last) {
  const auto next = all.upper_bound(last);
  return next == all.end() ? all.begin() : next;
}

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_NEXT_AFTER_H_
