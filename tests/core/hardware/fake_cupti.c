/* CUPTI as tests want it: fake_driver_call() is a call of the driver that it reports. $NANOBENCH_FAKE_CUPTI "busy": it is in
 * use by another tool. One subscriber at a time, as in the real one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kMultipleSubscribers = 39, kDriverDomain = 1, kEnter = 0, kExit = 1 };

typedef void (*callback)(void* user, int domain, uint32_t id, const void* data);

struct callback_data {
  int site;
  const char* function;
  const void* parameters;
};

static callback subscribed;
static void* subscriber;
static int is_enabled;

int cuptiSubscribe(void** handle, callback function, void* user) {
  const char* state = getenv("NANOBENCH_FAKE_CUPTI");
  if (subscribed != NULL || (state != NULL && strcmp(state, "busy") == 0)) return kMultipleSubscribers;
  subscribed = function;
  subscriber = user;
  *handle = &subscribed;
  return kSuccess;
}

int cuptiUnsubscribe(void* handle) {
  if (handle != &subscribed) return 1;
  subscribed = NULL;
  is_enabled = 0;
  return kSuccess;
}

int cuptiEnableDomain(uint32_t enable, void* handle, int domain) {
  if (handle != &subscribed || domain != kDriverDomain) return 1;
  is_enabled = enable != 0;
  return kSuccess;
}

void fake_driver_call(const char* function) {
  struct callback_data data = {kEnter, function, NULL};
  if (subscribed == NULL || !is_enabled) return;
  subscribed(subscriber, kDriverDomain, 0, &data);
  data.site = kExit;
  if (subscribed != NULL) subscribed(subscriber, kDriverDomain, 0, &data);
}
