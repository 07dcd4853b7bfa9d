// Work in a fixed number of parts, so that sums over them have the same bits for any number of threads.
#pragma once

#include <cstddef>
#include <functional>

namespace attnlab {

/// Calls work(shard) for each shard from 0 to count, on up to `threads` threads, and returns when all are
/// done. The first exception of a shard is thrown again here.
void for_each_shard(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);

}  // namespace attnlab
