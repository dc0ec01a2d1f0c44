#include "tools/terminal/full_screen.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/process/streams.h"
#include "tools/terminal/terminal.h"

namespace nanobench::tools {
namespace {

constexpr char kSuspend = 0x1a;  // Ctrl-Z
constexpr char kQuit = 0x1c;     // Ctrl-backslash
constexpr const char* kAlternateScreen = "\x1b[?1049h\x1b[2J";
constexpr const char* kFormerScreen = "\x1b[?1049l";

/// Having a handler is enough: it interrupts a wait.
void on_resize(int) {}

/// A background process that touched the terminal's settings would be stopped.
bool is_in_foreground(int fd) {
  return isatty(fd) == 1 && tcgetpgrp(fd) == getpgrp();
}

}  // namespace

FullScreen::FullScreen(int input, int output) : input_(input), output_(output) {
  has_keys_ = is_in_foreground(input_) && tcgetattr(input_, &former_) == 0;
  struct sigaction action = {};
  action.sa_handler = on_resize;
  sigemptyset(&action.sa_mask);
  sigaction(SIGWINCH, &action, &former_resize_);
  enter();
}

FullScreen::~FullScreen() {
  leave();
  sigaction(SIGWINCH, &former_resize_, nullptr);
}

void FullScreen::enter() {
  if (has_keys_) {
    termios keys = former_;
    keys.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));  // Ctrl-C stays a signal
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    keys.c_cc[VSUSP] = _POSIX_VDISABLE;  // these two arrive as keys, so that the screen is restored first
    keys.c_cc[VQUIT] = _POSIX_VDISABLE;
    tcsetattr(input_, TCSANOW, &keys);
  }
  core::write_all(output_, kAlternateScreen);
}

void FullScreen::leave() {
  core::write_all(output_, kFormerScreen);
  if (has_keys_) tcsetattr(input_, TCSANOW, &former_);
}

void FullScreen::suspend() {
  leave();
  kill(0, SIGTSTP);  // the whole job, as the terminal would do
  enter();
}

std::size_t FullScreen::width() const {
  return std::max<std::size_t>(terminal_width(output_, 80), 1);
}

std::size_t FullScreen::height() const {
  return std::max<std::size_t>(terminal_height(output_, 24), 1);
}

bool FullScreen::draw(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "" : "\r\n") + lines[i] + "\x1b[K";
  return core::write_all(output_, text + "\x1b[J");
}

std::optional<char> FullScreen::wait(double seconds, int wake_fd) {
  const auto ready = core::wait_readable({has_keys_ ? input_ : -1, wake_fd}, std::chrono::duration<double>(seconds));
  return ready == 0U ? read_key() : std::nullopt;
}

std::optional<char> FullScreen::read_key() {
  char key = 0;
  const ssize_t count = read(input_, &key, 1);
  if (count < 0 && errno == EINTR) return std::nullopt;
  if (count <= 0 || key == kQuit) return 'q';
  if (key != kSuspend) return key;
  suspend();
  return std::nullopt;
}

}  // namespace nanobench::tools
