#include "engine/distributed/agent_store.h"

#include <arpa/inet.h>
#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <charconv>
#include <cstdlib>
#include <future>
#include <thread>

#include "core/base/error.h"
#include "core/base/reason.h"
#include "core/base/refusal.h"
#include "core/base/text.h"
#include "engine/distributed/rendezvous.h"

namespace nanobench::core {
namespace {

constexpr int kFatalOnly = 3;
constexpr std::size_t kMaxPointBytes = 80;  ///< an IPv6 address, an interface's name and a port

/// Failures between processes are reported in a sentence of our own; LibTorch's store would add pages of call stacks.
/// TORCH_CPP_LOG_LEVEL enables those.
void quieten_store() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") != nullptr) {
    c10::initLogging();
  } else {
    FLAGS_caffe2_log_level = kFatalOnly;
  }
}

/// The result of `function`, or an error when it takes longer. The listener at the store's address may never answer, or
/// its host may be down, and the store's client would wait forever. The thread is then abandoned.
template <class Function>
auto within(std::chrono::milliseconds patience, Function function) {
  std::packaged_task<decltype(function())()> task(std::move(function));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  if (result.wait_for(patience) != std::future_status::ready)
    throw std::runtime_error("whatever listens there does not answer");
  return result.get();
}

/// Calls `use` with the store and the key of this start.
template <class Use>
auto with_store(const RendezvousPlace& place, Use use) {
  quieten_store();
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.port);
  options.waitWorkers = false;
  options.timeout = place.patience;
  const std::string key = "nanobench/" + place.job + "/first";
  try {
    return within(2 * options.timeout + std::chrono::seconds(2), [address = place.address, options, key, use] {
      const auto store = c10::make_intrusive<c10d::TCPStore>(address, options);
      return use(*store, key);
    });
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kUnavailable, "torchrun's agent cannot be used: " + first_line(error.what()));
  }
}

}  // namespace

std::string to_text(const MeetingPoint& point) {
  return std::to_string(point.port) + " " + point.address;
}

std::optional<MeetingPoint> meeting_point_from(const std::string& text) {
  const std::size_t blank = text.find(' ');
  if (text.size() > kMaxPointBytes || blank == std::string::npos) return std::nullopt;
  MeetingPoint point{.address = text.substr(blank + 1)};
  const auto [end, error] = std::from_chars(text.data(), text.data() + blank, point.port);
  if (error != std::errc() || end != text.data() + blank || point.port < 1 || point.port > 65535) return std::nullopt;
  in6_addr number{};
  const std::string address = point.address.substr(0, point.address.find('%'));  // an interface's name may follow
  if (inet_pton(AF_INET, address.c_str(), &number) != 1 && inet_pton(AF_INET6, address.c_str(), &number) != 1)
    return std::nullopt;
  return point;
}

void tell_agent(const RendezvousPlace& place, const MeetingPoint& point) {
  const std::string text = to_text(point);
  with_store(place, [text](c10d::TCPStore& store, const std::string& key) {
    store.set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
    return true;
  });
}

MeetingPoint ask_agent(const RendezvousPlace& place) {
  const std::string text = with_store(place, [](c10d::TCPStore& store, const std::string& key) {
    const std::vector<std::uint8_t> value = store.get(key);
    return std::string(value.begin(), value.end());
  });
  if (const std::optional<MeetingPoint> point = meeting_point_from(text)) return *point;
  throw Refusal(ErrorCode::kUnavailable, Reason::kMalformed, kNoFirstAddress);
}

}  // namespace nanobench::core
