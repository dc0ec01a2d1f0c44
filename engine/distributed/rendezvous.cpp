#include "engine/distributed/rendezvous.h"

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cstdlib>
#include <future>
#include <thread>

#include "core/base/error.h"
#include "core/base/json.h"

namespace nanobench::core {
namespace {

std::string place_text(const RendezvousPlace& place) {
  return place.address + ":" + std::to_string(place.port);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string to_text(const ProcessFailure& failure) {
  return Json({{"outcome", enum_name(failure.outcome)}, {"message", failure.message}}).dump();
}

ProcessFailure failure_from(const std::string& text, const ProcessFailure& otherwise) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("outcome") || !json.contains("message")) return otherwise;
  return {enum_value<RunOutcome>(json.at("outcome").get<std::string>()).value_or(otherwise.outcome),
          json.at("message").get<std::string>()};
}

}  // namespace

struct Rendezvous::Store {
  c10::intrusive_ptr<c10d::TCPStore> store;
};

namespace {

constexpr int kFatalOnly = 3;
constexpr std::chrono::seconds kAnswerPatience{3};

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

c10::intrusive_ptr<c10d::TCPStore> open_store(const std::string& address, const c10d::TCPStoreOptions& options) {
  return within(options.timeout + std::chrono::seconds(2),
                [address, options] { return c10::make_intrusive<c10d::TCPStore>(address, options); });
}

}  // namespace

Rendezvous::Rendezvous(const RendezvousPlace& place, int rank, int size)
    : rank_(rank), size_(size), prefix_("nanobench/" + place.prefix + "/") {
  quieten_store();
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.port);
  options.isServer = rank == 0 && !place.is_hosted;
  options.waitWorkers = false;  // exchange() waits, and can say for whom
  options.timeout = place.patience;
  try {
    store_ = std::make_unique<Store>(Store{open_store(place.address, options)});
  } catch (const std::exception& error) {
    const std::string who = process_name(rank, size);
    const std::string what = options.isServer
                                 ? who + " cannot listen at port " + std::to_string(place.port) + " (is it taken?)"
                                 : who + " finds nobody at " + place_text(place);
    throw Error(ErrorCode::kUnavailable,
                what + "; set MASTER_ADDR and MASTER_PORT to an address of the first process's host and a free port: " +
                    first_line(error.what()));
  }
}

Rendezvous::~Rendezvous() = default;

int Rendezvous::port() const {
  return store_->store->getPort();
}

std::vector<std::string> Rendezvous::exchange(const std::string& what, const std::string& text) {
  const auto key = [&](int rank) { return prefix_ + what + "/" + std::to_string(rank); };
  std::vector<std::string> texts;
  int other = rank_;
  try {
    store_->store->set(key(rank_), std::vector<std::uint8_t>(text.begin(), text.end()));
    for (other = 0; other < size_; ++other) {
      const std::vector<std::uint8_t> value = store_->store->get(key(other));
      texts.emplace_back(value.begin(), value.end());
    }
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kUnavailable, process_name(rank_, size_) + " waited in vain for process " +
                                             std::to_string(other) + ": " + first_line(error.what()));
  }
  return texts;
}

ProcessFailure Rendezvous::first_failure(const ProcessFailure& failure) {
  try {
    const auto compare = [store = store_->store, key = prefix_ + "failure", mine = to_text(failure)] {
      return static_cast<c10d::Store&>(*store).compareSet(key, "", mine);
    };
    return failure_from(within(kAnswerPatience, compare), failure);
  } catch (const std::exception&) {
    return failure;
  }
}

}  // namespace nanobench::core
