// The management CPU's end of a punt stream: always ready, counts frames by reason, captures them with the reason as
// comment.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "capture.h"
#include "chip.h"

namespace sallyport::sim {

// PuntReason of regs/*.rdl, in order.
const char* puntReasonName(uint8_t reason);
inline constexpr int kPuntReasons = 11;

class PuntCollector {
 public:
  void push(const MacBeat& beat, uint8_t reason, Cycle now);
  void setCapture(std::unique_ptr<Capture> capture) { capture_ = std::move(capture); }
  Capture* capture() { return capture_.get(); }
  // Frames by reason; the last entry counts reasons that have no name.
  const std::array<int64_t, kPuntReasons + 1>& frames() const { return frames_; }

 private:
  std::vector<uint8_t> partial_;
  std::array<int64_t, kPuntReasons + 1> frames_{};
  std::unique_ptr<Capture> capture_;
};

}  // namespace sallyport::sim
