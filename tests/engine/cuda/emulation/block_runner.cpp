#include "block_runner.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "device_space.h"
#include "fiber.h"
#include "warpgroup_products.h"

nanobench::emulation::Index3 threadIdx;
nanobench::emulation::Index3 blockIdx;
nanobench::emulation::Index3 blockDim;
nanobench::emulation::Index3 gridDim;

namespace nanobench::emulation {
namespace {

nanobench::core::SplitMix64 draw(0);

enum class State { kReady, kAtWarp, kAtBlock, kEnded };

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
  bool is_valid;
};

struct Thread {
  Fiber* fiber = nullptr;
  Index3 index;
  unsigned warp = 0;
  unsigned lane = 0;
  State state = State::kReady;
  std::source_location where;
  const char* waits_for = "";
  bool has_unfenced_writes = false;
  std::vector<Copy> open_copies;
  std::deque<std::vector<Copy>> copy_groups;
};

/// Lanes on their way to one warp-level instruction.
struct Meeting {
  const WarpOperation* operation = nullptr;
  std::uint32_t mask = 0;
  std::uint32_t arrived = 0;
  const char* file = nullptr;
  std::uint32_t line = 0;
  void* lanes[kWarpLanes] = {};
};

struct Warp {
  std::uint32_t existing = 0;
  std::uint32_t ready = 0;
  std::uint32_t ended = 0;
  std::vector<Meeting> meetings;
};

std::string place_of(const std::source_location& where) {
  const std::string file = where.file_name();
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line());
}

std::string text_of(const Index3& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ")";
}

/// Shared memory of exactly the size asked for, between zones that nobody may write.
class SharedMemory {
 public:
  void reset(std::size_t bytes) {
    bytes_ = bytes;
    memory_.assign(bytes + 2 * kZoneBytes + kAlignment, kZone);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + kZoneBytes;
    begin_ = memory_.data() + kZoneBytes + (kAlignment - address % kAlignment) % kAlignment;
    std::memset(begin_, 0xff, bytes);  // NaN in every format
  }
  unsigned char* begin() const { return begin_; }
  bool is_near(const void* address) const {
    const auto* byte = static_cast<const unsigned char*>(address);
    return byte >= memory_.data() && byte < memory_.data() + memory_.size();
  }
  std::size_t bytes() const { return bytes_; }
  bool holds(const void* address, std::size_t bytes) const {
    const auto* byte = static_cast<const unsigned char*>(address);
    return byte >= begin_ && byte + bytes <= begin_ + bytes_;
  }
  bool zones_are_whole() const {
    const auto is_zone = [](unsigned char byte) { return byte == kZone; };
    return std::all_of(memory_.data(), static_cast<const unsigned char*>(begin_), is_zone) &&
           std::all_of(static_cast<const unsigned char*>(begin_) + bytes_, memory_.data() + memory_.size(), is_zone);
  }

 private:
  static constexpr std::size_t kZoneBytes = 4096;
  static constexpr std::size_t kAlignment = 1024;
  static constexpr unsigned char kZone = 0xa5;
  std::vector<unsigned char> memory_;
  unsigned char* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Stacks are kept: to make a thousand for every launch takes longer than most tests.
Fiber& fiber_of_thread(std::size_t thread) {
  static std::vector<std::unique_ptr<Fiber>> fibers;
  while (fibers.size() <= thread) fibers.push_back(std::make_unique<Fiber>());
  return *fibers[thread];
}

class Block {
 public:
  Block(const Grid& grid, const std::function<void()>& body) : grid_(grid), body_(body) {
    const std::size_t threads = std::size_t{grid.threads.x} * grid.threads.y * grid.threads.z;
    constexpr std::size_t kMaxThreads = 1024;  // of a block, on every GPU
    if (threads == 0 || threads > kMaxThreads) {
      throw EmulationError(grid.kernel + ": a block of " + std::to_string(threads) + " threads");
    }
    threads_ = std::vector<Thread>(threads);
    warps_.resize((threads + kWarpLanes - 1) / kWarpLanes);
    order_.resize(warps_.size());
    std::iota(order_.begin(), order_.end(), 0U);
    for (std::size_t i = 0; i < threads; ++i) {
      Thread& thread = threads_[i];
      thread.fiber = &fiber_of_thread(i);
      thread.index.x = static_cast<unsigned>(i % grid.threads.x);
      thread.index.y = static_cast<unsigned>(i / grid.threads.x % grid.threads.y);
      thread.index.z = static_cast<unsigned>(i / grid.threads.x / grid.threads.y);
      thread.warp = static_cast<unsigned>(i / kWarpLanes);
      thread.lane = static_cast<unsigned>(i % kWarpLanes);
      warps_[thread.warp].existing |= 1U << thread.lane;
    }
  }

  void run(const Index3& index) {
    index_ = index;
    ended_ = 0;
    at_barrier_ = 0;
    failure_ = nullptr;
    shared_.reset(grid_.shared_bytes);
    for (Thread& thread : threads_) {
      thread.state = State::kReady;
      thread.has_unfenced_writes = false;
      thread.open_copies.clear();
      thread.copy_groups.clear();
      thread.fiber->start(&Block::enter, this);
    }
    for (Warp& warp : warps_) {
      warp.ready = warp.existing;
      warp.ended = 0;
      warp.meetings.clear();
    }
    products_.clear();
    for (unsigned warp = 0; warp < warps_.size(); ++warp) products_.emplace_back(warp);
    blockIdx = index;
    begin_phase();
    while (Thread* next = next_ready()) {
      current_ = next;
      threadIdx = next->index;
      next->fiber->resume();
      if (failure_) std::rethrow_exception(failure_);
    }
    if (ended_ != threads_.size()) throw EmulationError(deadlock());
    check_warpgroups();
    check_shared_bytes();
    for (const WarpProducts& products : products_) {
      if (!products.is_idle()) throw EmulationError(place() + ": a warp ended while its products were under way");
    }
    if (!shared_.zones_are_whole()) throw EmulationError(place() + ": wrote beside its dynamic shared memory");
  }

  void meet_warp(const WarpOperation& operation, std::uint32_t mask, void* operand, const std::source_location& where) {
    Warp& warp = warps_[current_->warp];
    const std::uint32_t me = 1U << current_->lane;
    if ((mask & me) == 0) fail(std::string(operation.name) + " by a lane that its mask leaves out, " + place_of(where));
    if ((mask & warp.ended) != 0)
      fail(std::string(operation.name) + " waits for lanes that have ended, " + place_of(where));
    Meeting& meeting = meeting_of(warp, operation, mask & warp.existing, where);
    meeting.arrived |= me;
    meeting.lanes[current_->lane] = operand;
    if (meeting.arrived != meeting.mask) {
      wait(State::kAtWarp, operation.name, where);
      return;
    }
    const Meeting complete = meeting;
    std::swap(meeting, warp.meetings.back());
    warp.meetings.pop_back();
    operation.combine(complete.lanes);
    warp.ready |= complete.mask & ~me;
    for (std::uint32_t rest = complete.mask & ~me; rest != 0; rest &= rest - 1) {
      threads_[current_->warp * kWarpLanes + static_cast<unsigned>(std::countr_zero(rest))].state = State::kReady;
    }
  }

  void meet_block(const std::source_location& where) {
    if (ended_ != 0) fail("__syncthreads at " + place_of(where) + " after threads of the block have ended");
    if (at_barrier_ != 0 && (barrier_.line() != where.line() || barrier_.file_name() != where.file_name())) {
      fail("threads of a block wait at different __syncthreads, " + place_of(barrier_) + " and " + place_of(where));
    }
    barrier_ = where;
    if (++at_barrier_ == threads_.size()) {
      at_barrier_ = 0;
      ++statistics().barriers;
      check_warpgroups();
      for (Thread& thread : threads_) thread.state = State::kReady;
      for (Warp& warp : warps_) warp.ready = warp.existing;
      warps_[current_->warp].ready &= ~(1U << current_->lane);
      begin_phase();
      warps_[current_->warp].ready |= 1U << current_->lane;
      current_->fiber->leave();  // so that any warp may be the first after the barrier
      return;
    }
    wait(State::kAtBlock, "__syncthreads", where);
  }

  Thread& current() { return *current_; }
  WarpProducts& products() { return products_[current_->warp]; }
  bool has_unfenced_writes() const {
    return std::any_of(threads_.begin(), threads_.end(),
                       [](const Thread& thread) { return thread.has_unfenced_writes; });
  }
  const SharedMemory& shared() const { return shared_; }

  std::string place() const { return grid_.kernel + ", block " + text_of(index_); }

  [[noreturn]] void fail(const std::string& what) const {
    throw EmulationError(place() + ", thread " + text_of(current_->index) + ": " + what);
  }

 private:
  static void enter(void* self) {
    auto* block = static_cast<Block*>(self);
    try {
      block->body_();
    } catch (...) {
      block->failure_ = std::current_exception();
    }
    block->end_thread();
  }

  void end_thread() {
    Thread& thread = *current_;
    if (!failure_ && at_barrier_ != 0) {
      failure_ = std::make_exception_ptr(EmulationError(place() + ", thread " + text_of(thread.index) +
                                                        ": ended while others wait at " + place_of(barrier_)));
    }
    thread.state = State::kEnded;
    warps_[thread.warp].ended |= 1U << thread.lane;
    ++ended_;
    thread.fiber->leave();
  }

  void wait(State state, const char* name, const std::source_location& where) {
    Thread& thread = *current_;
    thread.state = state;
    thread.waits_for = name;
    thread.where = where;
    thread.fiber->leave();
  }

  Meeting& meeting_of(Warp& warp, const WarpOperation& operation, std::uint32_t mask,
                      const std::source_location& where) {
    for (Meeting& meeting : warp.meetings) {
      const bool is_same = meeting.operation == &operation && meeting.mask == mask && meeting.line == where.line() &&
                           meeting.file == where.file_name();
      if (is_same) return meeting;
      if ((meeting.mask & mask) != 0) {
        fail(std::string("lanes of a warp diverge: some at ") + meeting.operation->name + " on line " +
             std::to_string(meeting.line) + ", this one at " + operation.name + ", " + place_of(where));
      }
    }
    warp.meetings.emplace_back();
    Meeting& meeting = warp.meetings.back();
    meeting.operation = &operation;
    meeting.mask = mask;
    meeting.file = where.file_name();
    meeting.line = where.line();
    return meeting;
  }

  /// The four warps of a warpgroup take every product together.
  /// GPUs with products of warpgroups lend a block more; what other kernels ask for must be there on every GPU.
  void check_shared_bytes() const {
    constexpr std::size_t kMaxEverywhere = 99 * 1024;  // compute capability 8.6, 8.9, 12.0
    const bool needs_more = grid_.shared_bytes > kMaxEverywhere;
    const auto has_started = [](const WarpProducts& products) { return products.has_started(); };
    if (needs_more && std::none_of(products_.begin(), products_.end(), has_started)) {
      throw EmulationError(grid_.kernel + ": " + std::to_string(grid_.shared_bytes) +
                           " bytes of shared memory, which GPUs without warpgroups lack");
    }
  }

  void check_warpgroups() const {
    constexpr std::size_t kGroupWarps = 4;
    for (std::size_t warp = 0; warp < products_.size(); ++warp) {
      if (!products_[warp].has_started()) continue;
      const std::size_t first = warp / kGroupWarps * kGroupWarps;
      for (std::size_t other = first; other < first + kGroupWarps; ++other) {
        if (other >= products_.size() || products_[other].history() != products_[warp].history()) {
          throw EmulationError(place() + ": the warps of a warpgroup took different products");
        }
      }
    }
  }

  void begin_phase() {
    draw.shuffle(order_);
    position_ = 0;
  }

  Thread* next_ready() {
    for (; position_ < order_.size(); ++position_) {
      Warp& warp = warps_[order_[position_]];
      if (warp.ready == 0) continue;
      const std::uint64_t random = draw.next();
      const int turn = static_cast<int>(random % kWarpLanes);
      const std::uint32_t turned = std::rotr(warp.ready, turn);
      const bool from_below = (random & 32U) != 0;
      const int found = from_below ? std::countr_zero(turned) : 31 - std::countl_zero(turned);
      const auto lane = static_cast<unsigned>(found + turn) % kWarpLanes;
      warp.ready &= ~(1U << lane);
      return &threads_[order_[position_] * kWarpLanes + lane];
    }
    return nullptr;
  }

  std::string deadlock() const {
    std::vector<std::pair<std::string, int>> waits;
    for (const Thread& thread : threads_) {
      const std::string what = thread.state == State::kEnded
                                   ? "have ended"
                                   : std::string("wait for ") + thread.waits_for + " at " + place_of(thread.where);
      const auto found = std::find_if(waits.begin(), waits.end(), [&](const auto& w) { return w.first == what; });
      if (found == waits.end()) {
        waits.emplace_back(what, 1);
      } else {
        ++found->second;
      }
    }
    std::string text = place() + ": deadlock:";
    for (const auto& [what, count] : waits) text += " " + std::to_string(count) + " threads " + what + ";";
    text.back() = '.';
    return text;
  }

  const Grid& grid_;
  const std::function<void()>& body_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<WarpProducts> products_;  ///< of each warp
  std::vector<unsigned> order_;         ///< of warps, until the next barrier
  std::size_t position_ = 0;            ///< in order_
  SharedMemory shared_;
  Index3 index_;
  Thread* current_ = nullptr;
  std::size_t ended_ = 0;
  std::size_t at_barrier_ = 0;
  std::source_location barrier_;
  std::exception_ptr failure_;
};

Block* running = nullptr;

Block& block() {
  if (running == nullptr) throw EmulationError("a device function was called outside a kernel");
  return *running;
}

std::vector<Index3> shuffled_blocks(const Index3& blocks) {
  std::vector<Index3> order;
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x) order.push_back({x, y, z});
    }
  }
  draw.shuffle(order);
  return order;
}

void check_limits(const Grid& grid) {
  constexpr unsigned kMaxBlocksAlongX = 2147483647;
  constexpr unsigned kMaxBlocks = 65535;               // along y and z
  constexpr std::size_t kMaxSharedBytes = 227 * 1024;  // of a block, from compute capability 9.0 on
  if (grid.blocks.x > kMaxBlocksAlongX || grid.blocks.y > kMaxBlocks || grid.blocks.z > kMaxBlocks) {
    throw EmulationError(grid.kernel + ": a grid of " + std::to_string(grid.blocks.x) + " x " +
                         std::to_string(grid.blocks.y) + " x " + std::to_string(grid.blocks.z) + " blocks");
  }
  if (grid.shared_bytes > kMaxSharedBytes) {
    throw EmulationError(grid.kernel + ": " + std::to_string(grid.shared_bytes) + " bytes of shared memory");
  }
}

}  // namespace

void run_grid(const Grid& grid, const std::function<void()>& body) {
  if (running != nullptr) throw EmulationError(grid.kernel + ": launched from inside a kernel");
  check_limits(grid);
  ++statistics().launches;
  const std::vector<Index3> order = shuffled_blocks(grid.blocks);
  if (order.empty()) throw EmulationError(grid.kernel + ": a grid without blocks");
  Block block(grid, body);
  gridDim = grid.blocks;
  blockDim = grid.threads;
  struct Running {
    explicit Running(Block* b) { running = b; }
    ~Running() { running = nullptr; }
  } const guard(&block);
  const DeviceAccess access;
  for (const Index3& index : order) block.run(index);
}

void set_seed(std::uint64_t seed) {
  draw = nanobench::core::SplitMix64(seed);
}

Statistics& statistics() {
  static Statistics counts;
  return counts;
}

void meet_warp(const WarpOperation& operation, std::uint32_t mask, void* operand, const std::source_location& where) {
  block().meet_warp(operation, mask, operand, where);
}
void meet_block(const std::source_location& where) {
  block().meet_block(where);
}
unsigned char* dynamic_shared() {
  return block().shared().begin();
}
void fail(const std::string& what) {
  block().fail(what);
}

void check_alignment(const void* address, std::size_t bytes, const char* what) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  fail(std::string(what) + " at an address that is not a multiple of " + std::to_string(bytes));
}

void check_shared(const void* address, std::size_t bytes, const char* what) {
  check_alignment(address, bytes, what);
  const SharedMemory& shared = block().shared();
  if (shared.is_near(address) && !shared.holds(address, bytes)) fail(std::string(what) + " beside shared memory");
}

void begin_copy(void* shared, const void* global, std::size_t bytes, bool is_valid) {
  check_shared(shared, bytes, "cp.async");
  if (is_valid) check_alignment(global, bytes, "cp.async");
  std::memset(shared, 0xff, bytes);  // neither what was there nor what will be
  block().current().open_copies.push_back({shared, global, bytes, is_valid});
}

void commit_copies() {
  Thread& thread = block().current();
  thread.copy_groups.push_back(std::move(thread.open_copies));
  thread.open_copies.clear();
}

void wait_copies(unsigned groups_left) {
  Thread& thread = block().current();
  for (; thread.copy_groups.size() > groups_left; thread.copy_groups.pop_front()) {
    thread.has_unfenced_writes |= !thread.copy_groups.front().empty();
    for (const Copy& copy : thread.copy_groups.front()) {
      if (copy.is_valid) {
        std::memcpy(copy.to, copy.from, copy.bytes);
      } else {
        std::memset(copy.to, 0, copy.bytes);
      }
    }
  }
}

void note_write(const void* address) {
  if (block().shared().is_near(address)) block().current().has_unfenced_writes = true;
}
void fence_writes() {
  block().current().has_unfenced_writes = false;
}
bool has_unfenced_writes() {
  return block().has_unfenced_writes();
}

WarpProducts& products_of_warp() {
  return block().products();
}
std::size_t dynamic_shared_bytes() {
  return block().shared().bytes();
}
std::uint64_t draw_number() {
  return draw.next();
}

}  // namespace nanobench::emulation
