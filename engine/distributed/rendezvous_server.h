/// The texts that the processes of a run leave for each other, in process 0, which the others ask over authenticated
/// connections.
///
///   request   'p' (post) or 'r' (read), length of the key in 1 byte, length of the text in 2, key, text
///   reply     length of the text in 2 bytes, text; to 'r' once somebody has posted the key
///
/// Lengths are little-endian, and no longer ones can be said. One request of a process at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/distributed/authenticated_connection.h"

namespace nanobench::core {

inline constexpr std::size_t kMaxKeyBytes = 255;
inline constexpr std::size_t kMaxTextBytes = 65535;

struct RendezvousRequest {
  enum class Kind : char { kPost = 'p', kRead = 'r' };
  Kind kind = Kind::kRead;
  std::string key;   ///< at most kMaxKeyBytes
  std::string text;  ///< at most kMaxTextBytes
};

/// Throws Error{kInternal} for texts that are too long.
std::string to_bytes(const RendezvousRequest& request);
/// The request at the beginning of `bytes`, which it removes; nullopt if it is not complete. Any first letter but the
/// two above makes a request of no known kind.
std::optional<RendezvousRequest> take_request(std::string& bytes);
/// The length in the first two bytes of a reply.
std::size_t reply_length(const char* two_bytes);
inline constexpr std::size_t kReplyHeaderBytes = 2;

/// Answers in a thread of its own. Thread-safe.
class RendezvousServer {
 public:
  RendezvousServer(Listening listening, const Membership& membership);
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;

  int port() const { return listener_.port(); }

  /// Leaves `text` under `key`, unless a text is there. Returns the one that is there then.
  std::string post(const std::string& key, const std::string& text);
  /// The text under `key`; nullopt if there is none by `end`.
  std::optional<std::string> read(const std::string& key, Deadline end);
  /// Connections of strangers so far.
  std::int64_t dropped() const { return listener_.dropped(); }

 private:
  struct Client {
    Socket socket;
    std::string received;
    std::optional<std::string> awaited;  ///< the key that it wants to read
  };

  void serve();
  void wait_for_work();
  bool serve(Client& client);
  bool answer(Client& client);
  std::optional<std::string> find(const std::string& key);

  AuthenticatedListener listener_;
  Fd wake_;  ///< an event counter: the thread looks again
  std::vector<Client> clients_;
  std::mutex mutex_;
  std::condition_variable has_changed_;
  std::map<std::string, std::string> texts_;  ///< guarded by mutex_
  std::atomic<bool> is_ending_{false};
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace nanobench::core
