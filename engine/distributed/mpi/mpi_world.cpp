// libnanobench_mpi.so: MpiWorld and a Mesh over MPI's point-to-point messages.
#include <mpi.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "engine/distributed/mpi_plugin.h"

namespace nanobench::core {
namespace {

constexpr int kHeaderTag = 1;
constexpr int kPayloadTag = 2;
constexpr auto kShortWait = std::chrono::microseconds(20);
constexpr auto kLongWait = std::chrono::microseconds(500);
constexpr int kEagerLooks = 200;          ///< without sleeping in between
constexpr int kLooksBetweenChecks = 200;  ///< for a death

void check(int code, const char* expression) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorCode::kUnavailable,
              "MPI: " + std::string(text, static_cast<std::size_t>(length)) + " (" + expression + ")");
}
#define NB_MPI_CHECK(expression) check((expression), #expression)

/// Before each payload.
struct MpiHeader {
  std::uint64_t tag = 0;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
};

std::string text_of(const MpiHeader& header) {
  return "operation " + std::to_string(header.tag) + " (number " + std::to_string(header.number) + ") of " +
         std::to_string(header.bytes) + " bytes";
}

int count_of(std::size_t bytes) {
  return static_cast<int>(bytes);  // a MeshTransport's chunk at most
}

class MpiMesh final : public Mesh {
 public:
  MpiMesh(MPI_Comm communicator, int rank, int size, FirstFailure first_failure, std::function<void()> check_alive)
      : communicator_(communicator),
        rank_(rank),
        size_(size),
        first_failure_(std::move(first_failure)),
        check_alive_(std::move(check_alive)) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return "mpi"; }

  void exchange(std::uint32_t tag, std::span<const std::span<const std::byte>> outgoing,
                std::span<const std::span<std::byte>> incoming) override {
    const std::uint64_t number = messages_++;
    const auto places = static_cast<std::size_t>(size_);
    std::vector<MpiHeader> out(places), in(places);
    std::vector<MPI_Request> headers, payloads;
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      const auto p = static_cast<std::size_t>(peer);
      out[p] = {.tag = tag, .number = number, .bytes = outgoing[p].size()};
      receive(&in[p], sizeof(MpiHeader), peer, kHeaderTag, headers);
      receive(incoming[p].data(), incoming[p].size(), peer, kPayloadTag, payloads);
      send(&out[p], sizeof(MpiHeader), peer, kHeaderTag, payloads);
      send(outgoing[p].data(), outgoing[p].size(), peer, kPayloadTag, payloads);
    }
    wait(headers);
    for (int peer = 0; peer < size_; ++peer) {
      const auto p = static_cast<std::size_t>(peer);
      if (peer != rank_) agree({.tag = tag, .number = number, .bytes = incoming[p].size()}, in[p], peer);
    }
    wait(payloads);
  }

 private:
  void receive(void* to, std::size_t bytes, int peer, int tag, std::vector<MPI_Request>& requests) const {
    NB_MPI_CHECK(MPI_Irecv(to, count_of(bytes), MPI_BYTE, peer, tag, communicator_, &requests.emplace_back()));
  }
  void send(const void* from, std::size_t bytes, int peer, int tag, std::vector<MPI_Request>& requests) const {
    NB_MPI_CHECK(MPI_Isend(from, count_of(bytes), MPI_BYTE, peer, tag, communicator_, &requests.emplace_back()));
  }

  /// Sleeps between polls, as other processes may need the processor, and checks that all are still alive.
  void wait(std::vector<MPI_Request>& requests) const {
    for (int looks = 0;; ++looks) {
      int is_done = 0;
      const int code = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &is_done, MPI_STATUSES_IGNORE);
      if (code != MPI_SUCCESS) find_a_death();
      NB_MPI_CHECK(code);
      if (is_done != 0) return;
      if (looks % kLooksBetweenChecks == 0) check_alive_();
      if (looks >= kEagerLooks) std::this_thread::sleep_for(looks < 10 * kEagerLooks ? kShortWait : kLongWait);
    }
  }

  /// An MPI error usually means that a process has died; the watcher soon reports that in clearer words.
  void find_a_death() const {
    for (int i = 0; i < 20; ++i) {
      check_alive_();
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
  }

  void agree(const MpiHeader& mine, const MpiHeader& theirs, int peer) const {
    if (mine.tag == theirs.tag && mine.number == theirs.number && mine.bytes == theirs.bytes) return;
    throw PeerFailed(first_failure_(
        {RunOutcome::kCrashed, "internal error: process " + std::to_string(rank_) + " communicates " + text_of(mine) +
                                   " while process " + std::to_string(peer) + " communicates " + text_of(theirs)}));
  }

  MPI_Comm communicator_;
  int rank_;
  int size_;
  FirstFailure first_failure_;
  std::function<void()> check_alive_;
  std::uint64_t messages_ = 0;
};

class World final : public MpiWorld {
 public:
  World() {
    int given = 0;
    // One thread at a time, but not always the same.
    NB_MPI_CHECK(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given));
    if (given < MPI_THREAD_SERIALIZED)
      throw Error(ErrorCode::kUnavailable, "this MPI was built without support for threads: " + library());
    NB_MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    NB_MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
    NB_MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::string library() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text, static_cast<std::size_t>(length));
    return all.substr(0, all.find_first_of(",\n"));
  }

  std::vector<std::string> exchange(const std::string& text) override {
    std::array<char, kTextBytes> mine{};
    if (text.size() >= mine.size()) throw Error(ErrorCode::kInternal, "a text too long for all processes: " + text);
    std::copy(text.begin(), text.end(), mine.begin());
    std::vector<char> all(kTextBytes * static_cast<std::size_t>(size_));
    NB_MPI_CHECK(MPI_Allgather(mine.data(), kTextBytes, MPI_CHAR, all.data(), kTextBytes, MPI_CHAR, MPI_COMM_WORLD));
    std::vector<std::string> texts;
    for (std::size_t begin = 0; begin < all.size(); begin += kTextBytes) texts.emplace_back(all.data() + begin);
    return texts;
  }

  std::unique_ptr<Mesh> mesh(FirstFailure first_failure, std::function<void()> check_alive) override {
    return std::make_unique<MpiMesh>(MPI_COMM_WORLD, rank_, size_, std::move(first_failure), std::move(check_alive));
  }

  void finalize() override { NB_MPI_CHECK(MPI_Finalize()); }

 private:
  static constexpr int kTextBytes = 1024;

  int rank_ = 0;
  int size_ = 1;
};

std::unique_ptr<MpiWorld> start() {
  return std::make_unique<World>();
}

}  // namespace
}  // namespace nanobench::core

extern "C" __attribute__((visibility("default"))) const void* nanobench_mpi_plugin() {
  static const nanobench::core::MpiPlugin plugin = {.version = nanobench::core::kMpiPluginVersion,
                                                    .start = nanobench::core::start};
  return &plugin;
}
