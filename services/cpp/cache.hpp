// The cache of the workload cache: values by key within a limit, and what is evicted to make room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

/// What is evicted to make room.
enum class Policy {
  /// What was stored first.
  fifo,
  /// What was used least recently.
  lru,
  /// The largest value; of several, the one stored first.
  largest,
  /// Nothing: what does not fit is refused.
  none,
};

struct CacheSettings {
  /// In bytes of values.
  size_t limit;
  Policy policy;
  /// That of the table; none where it is the library's.
  std::optional<float> load_factor;
};

/// Threads may share it.
class Cache {
 public:
  /// What became of a value that was put.
  enum class Put { created, replaced, too_large, full };

  /// What a cache holds.
  struct Size {
    /// Bytes of values.
    size_t used;
    size_t items;
    uint64_t evictions;
    size_t limit;
  };

  explicit Cache(const CacheSettings &settings);

  std::optional<std::string> get(const std::string &key);
  /// Stores a value. The old value of its key makes room, and the key itself is not evicted.
  Put put(const std::string &key, std::string value);
  /// Whether the key was there.
  bool remove(const std::string &key);
  Size size() const;
  /// As it was at first.
  void reset();

 private:
  struct Item {
    std::string key;
    std::string value;
    /// How many were stored before it.
    uint64_t number;
  };
  /// In the order in which `fifo` and `lru` evict them.
  using Items = std::list<Item>;
  /// In the order of `largest`: descending sizes, then ascending numbers.
  struct Larger {
    using Rank = std::pair<size_t, uint64_t>;
    bool operator()(const Rank &a, const Rank &b) const {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    }
  };

  static Larger::Rank rank(const Item &item) { return {item.value.size(), item.number}; }
  void use(Items::iterator item);
  void create(const std::string &key, std::string value);
  void replace(Items::iterator item, std::string value);
  void take_out(Items::iterator item);
  std::optional<Items::iterator> next_evicted(const std::string &key);

  const size_t limit_;
  const Policy policy_;
  mutable std::mutex mutex_;
  Items items_;
  /// By the keys of the items.
  std::unordered_map<std::string_view, Items::iterator> index_;
  /// Empty with other policies than `largest`.
  std::map<Larger::Rank, Items::iterator, Larger> largest_;
  size_t used_ = 0;
  uint64_t evictions_ = 0;
  /// How many keys were stored, replacements apart.
  uint64_t stored_ = 0;
};
