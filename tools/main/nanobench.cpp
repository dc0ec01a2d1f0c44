// The program `nanobench`.
#include "tools/cli/program.h"

int main(int argc, char** argv) {
  return nanobench::tools::run_program(argc, argv);
}
