/* A driver's library as tests want it: each answer is a line "key value" of the file that $NANOBENCH_FAKE_NVML names, read
 * anew at each question. What has no line is not supported. With OLD_DRIVER it has the functions of an old one only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kInsufficientSize = 7 };

struct memory {
  unsigned long long total, free, used;
};
struct utilization {
  unsigned int gpu, memory;
};
struct process {
  unsigned int pid;
  unsigned long long used_bytes;
#ifndef OLD_DRIVER
  unsigned int gpu_instance, compute_instance;
#endif
};

/* The value of a key; 0 when the file has none. */
static int find(const char* key, char* value, size_t size) {
  const char* name = getenv("NANOBENCH_FAKE_NVML");
  FILE* file = name != NULL ? fopen(name, "r") : NULL;
  char line[1024];
  int found = 0;
  if (file == NULL) return 0;
  while (!found && fgets(line, sizeof line, file) != NULL) {
    char* space = strchr(line, ' ');
    line[strcspn(line, "\n")] = '\0';
    if (space == NULL) continue;
    *space = '\0';
    found = strcmp(line, key) == 0;
    if (found) snprintf(value, size, "%s", space + 1);
  }
  fclose(file);
  return found;
}

/* "gpu.N.KEY"; "gpu.N.KEY.error" is an error that comes in its place. */
static int answer(void* device, const char* key, char* value, size_t size) {
  char whole[128];
  snprintf(whole, sizeof whole, "gpu.%d.%s.error", (int)(size_t)device - 1, key);
  if (find(whole, value, size)) return atoi(value);
  snprintf(whole, sizeof whole, "gpu.%d.%s", (int)(size_t)device - 1, key);
  return find(whole, value, size) ? kSuccess : kNotSupported;
}

static int number(void* device, const char* key, unsigned int* to) {
  char value[64];
  const int result = answer(device, key, value, sizeof value);
  if (result == kSuccess) *to = (unsigned int)strtoul(value, NULL, 10);
  return result;
}

static int count(void) {
  char value[64];
  return find("gpus", value, sizeof value) ? atoi(value) : 0;
}

int nvmlInit_v2(void) {
  char value[64];
  return find("init", value, sizeof value) ? atoi(value) : kSuccess;
}
int nvmlShutdown(void) {
  return kSuccess;
}
const char* nvmlErrorString(int result) {
  return result == 9 ? "Driver Not Loaded" : result == 15 ? "GPU is lost" : result == 6 ? "Not Found" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* to, unsigned int size) {
  return find("driver", to, size) ? kSuccess : kNotSupported;
}
int nvmlDeviceGetCount_v2(unsigned int* to) {
  *to = (unsigned int)count();
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  char value[64];
  if (index >= (unsigned int)count()) return kInvalidArgument;
  *device = (void*)(size_t)(index + 1);
  const int result = answer(*device, "handle", value, sizeof value);
  return result == kNotSupported ? kSuccess : result;
}
int nvmlDeviceGetName(void* device, char* to, unsigned int size) {
  return answer(device, "name", to, size);
}
int nvmlDeviceGetUUID(void* device, char* to, unsigned int size) {
  return answer(device, "uuid", to, size);
}
int nvmlDeviceGetMemoryInfo(void* device, struct memory* to) {
  char value[128];
  const int result = answer(device, "memory", value, sizeof value);
  if (result == kSuccess) sscanf(value, "%llu %llu", &to->total, &to->used);
  return result;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned int* to) {
  return number(device, "power_mw", to);
}
int nvmlDeviceGetClockInfo(void* device, int clock, unsigned int* to) {
  return number(device, clock == 1 ? "sm_clock" : clock == 2 ? "memory_clock" : "other_clock", to);
}
int nvmlDeviceGetMaxClockInfo(void* device, int clock, unsigned int* to) {
  return number(device, clock == 1 ? "max_sm_clock" : clock == 2 ? "max_memory_clock" : "other_clock", to);
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned int* to) {
  return sensor == 0 ? number(device, "temperature", to) : kInvalidArgument;
}
int nvmlDeviceGetUtilizationRates(void* device, struct utilization* to) {
  char value[64];
  const int result = answer(device, "utilization", value, sizeof value);
  if (result == kSuccess) sscanf(value, "%u %u", &to->gpu, &to->memory);
  return result;
}
int nvmlDeviceGetPcieThroughput(void* device, int counter, unsigned int* to) {
  return number(device, counter == 0 ? "pcie_sent" : counter == 1 ? "pcie_received" : "other_pcie", to);
}
int nvmlDeviceGetEccMode(void* device, int* now, int* later) {
  return number(device, "ecc", (unsigned int*)now) | number(device, "ecc", (unsigned int*)later);
}
int nvmlDeviceGetPersistenceMode(void* device, int* now) {
  return number(device, "persistence", (unsigned int*)now);
}

static int throttle_reasons(void* device, unsigned long long* to) {
  char value[64];
  const int result = answer(device, "throttle", value, sizeof value);
  if (result == kSuccess) *to = strtoull(value, NULL, 0);
  return result;
}

/* "12:1000 34:?", a process and its bytes each; "none" for none. */
static int processes(void* device, unsigned int* length, struct process* to) {
  char value[1024];
  unsigned int found = 0;
  const int result = answer(device, "processes", value, sizeof value);
  if (result != kSuccess) return result;
  for (char* word = strtok(value, " "); word != NULL; word = strtok(NULL, " ")) {
    char* colon = strchr(word, ':');
    if (colon == NULL) continue;
    if (found < *length) {
      memset(&to[found], 0, sizeof to[found]);
      to[found].pid = (unsigned int)atoi(word);
      to[found].used_bytes = colon[1] == '?' ? ~0ULL : strtoull(colon + 1, NULL, 10);
    }
    ++found;
  }
  const int fits = found <= *length;
  *length = found;
  return fits ? kSuccess : kInsufficientSize;
}

#ifdef OLD_DRIVER
int nvmlDeviceGetPowerManagementLimit(void* device, unsigned int* to) {
  return number(device, "power_limit_mw", to);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* to) {
  return throttle_reasons(device, to);
}
int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned int* length, struct process* to) {
  return processes(device, length, to);
}
#else
int nvmlSystemGetCudaDriverVersion_v2(int* to) {
  char value[64];
  if (!find("cuda", value, sizeof value)) return kNotSupported;
  *to = atoi(value);
  return kSuccess;
}
static int by_key(const char* key, const char* wanted, void** device) {
  for (int i = 0; i < count(); ++i) {
    char value[128];
    if (answer((void*)(size_t)(i + 1), key, value, sizeof value) != kSuccess || strcmp(value, wanted) != 0) continue;
    *device = (void*)(size_t)(i + 1);
    return kSuccess;
  }
  return kNotFound;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  return by_key("uuid", uuid, device);
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  return by_key("bus", address, device);
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned int* to) {
  return number(device, "power_limit_mw", to);
}
int nvmlDeviceGetMigMode(void* device, unsigned int* now, unsigned int* later) {
  return number(device, "mig", now) | number(device, "mig", later);
}
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* to) {
  return throttle_reasons(device, to);
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned int* length, struct process* to) {
  return processes(device, length, to);
}
/* The first version is still there, with another layout: whoever calls it by mistake sees it. */
int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned int* length, void* to) {
  (void)device, (void)to;
  *length = 0;
  return kSuccess;
}
#endif
