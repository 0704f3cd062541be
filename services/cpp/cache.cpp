// The cache of the workload cache.
#include "cache.hpp"

#include <algorithm>

Cache::Cache(const CacheSettings &settings) : limit_(settings.limit), policy_(settings.policy) {
  if (settings.load_factor) index_.max_load_factor(*settings.load_factor);
}

std::optional<std::string> Cache::get(const std::string &key) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) return {};
  use(found->second);
  return found->second->value;
}

Cache::Put Cache::put(const std::string &key, std::string value) {
  const std::lock_guard lock(mutex_);
  if (value.size() > limit_) return Put::too_large;
  const auto found = index_.find(key);
  const bool is_there = found != index_.end();
  const auto old_size = is_there ? found->second->value.size() : 0;
  while (used_ - old_size + value.size() > limit_) {
    const auto other = next_evicted(key);
    if (!other) return Put::full;
    take_out(*other);
    ++evictions_;
  }
  if (is_there) {
    replace(found->second, std::move(value));
    return Put::replaced;
  }
  create(key, std::move(value));
  return Put::created;
}

bool Cache::remove(const std::string &key) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) return false;
  take_out(found->second);
  return true;
}

Cache::Size Cache::size() const {
  const std::lock_guard lock(mutex_);
  return {used_, items_.size(), evictions_, limit_};
}

void Cache::reset() {
  const std::lock_guard lock(mutex_);
  index_.clear();
  largest_.clear();
  items_.clear();
  used_ = 0;
  evictions_ = 0;
  stored_ = 0;
}

/// Tells the policy that an item was used.
void Cache::use(Items::iterator item) {
  if (policy_ == Policy::lru) items_.splice(items_.end(), items_, item);
}

void Cache::create(const std::string &key, std::string value) {
  used_ += value.size();
  const auto item = items_.insert(items_.end(), {key, std::move(value), stored_++});
  index_.emplace(item->key, item);
  if (policy_ == Policy::largest) largest_.emplace(rank(*item), item);
}

/// Gives an item another value. It keeps its place, but that of the least recent use.
void Cache::replace(Items::iterator item, std::string value) {
  used_ = used_ - item->value.size() + value.size();
  largest_.erase(rank(*item));
  item->value = std::move(value);
  if (policy_ == Policy::largest) largest_.emplace(rank(*item), item);
  use(item);
}

void Cache::take_out(Items::iterator item) {
  used_ -= item->value.size();
  largest_.erase(rank(*item));
  index_.erase(item->key);
  items_.erase(item);
}

/// The next item to be evicted whose key is another one.
std::optional<Cache::Items::iterator> Cache::next_evicted(const std::string &key) {
  switch (policy_) {
    case Policy::none:
      return {};
    case Policy::largest: {
      const auto found = std::find_if(largest_.begin(), largest_.end(),
                                      [&](const auto &entry) { return entry.second->key != key; });
      return found == largest_.end() ? std::nullopt : std::optional(found->second);
    }
    default: {
      const auto found =
          std::find_if(items_.begin(), items_.end(), [&](const Item &item) { return item.key != key; });
      return found == items_.end() ? std::nullopt : std::optional(found);
    }
  }
}
