/* Fits a line by gradient descent, with options in the manner of llm.c. In this folder:

       cc -O2 -o train train.c -lm
       nanobench run suite.json
       nanobench report --format md

   A line is flushed when it is written, or the program looks silent until it ends. llm.c's own lines, "s:20 tel:0.0123",
   are read too, but hold no time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kPoints = 64 };

static double noise(unsigned *state) { /* uniform in [-1, 1) */
  *state = *state * 1664525u + 1013904223u;
  return *state / 2147483648.0 - 1.0;
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  double learning_rate = 0.1, x[kPoints], y[kPoints], weight = 0, bias = 0, clock_ms = 0;
  unsigned seed = 1;
  int steps = 40;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "-l") == 0) learning_rate = atof(argv[i + 1]);
    if (strcmp(argv[i], "-s") == 0) seed = (unsigned)atoi(argv[i + 1]);
    if (strcmp(argv[i], "-x") == 0) steps = atoi(argv[i + 1]);
  }
  for (int i = 0; i < kPoints; i++) {
    x[i] = noise(&seed);
    y[i] = 3 * x[i] + 1 + 0.1 * noise(&seed);
  }
  for (int step = 0; step <= steps; step++) {
    double loss = 0, slope = 0, shift = 0;
    if (step % 10 == 0 || step == steps) {
      for (int i = 0; i < kPoints; i++) loss += pow(weight * x[i] + bias - y[i], 2) / kPoints;
      printf("step:%d/%d val_loss:%.4f train_time:%.0fms step_avg:%.3fms\n", step, steps, loss, clock_ms,
             step ? clock_ms / step : NAN);
      fflush(stdout);
    }
    if (step == steps) break;
    double begin = now_ms();
    for (int i = 0; i < kPoints; i++) {
      double error = weight * x[i] + bias - y[i];
      slope += 2 * error * x[i] / kPoints;
      shift += 2 * error / kPoints;
    }
    weight -= learning_rate * slope;
    bias -= learning_rate * shift;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    clock_ms += now_ms() - begin;
  }
  return 0;
}
