// SPDX-License-Identifier: Apache-2.0
#include "model/lane_sequence.h"

namespace sallyport::model {

Op LaneSequence::tick(uint32_t now, int16_t start, bool length, uint32_t entered, bool clear) {
  const bool chained = encrypt_ && start >= 0 && slots_[static_cast<size_t>(start)].job.of().cbc;
  const bool toStream = start >= 0 && !chained;
  Op taken{-1, 0, false, 0, 0, false};

  const bool streamRuns = !stream_.idle() || !streamed_.idle() || toStream || length;
  const bool chainRuns = !chain_.idle() || !links_.idle() || chained;
  if (streamRuns || chainRuns) {
    const bool offers = stream_.valid(), link = chain_.valid();
    const Op offered = offers ? stream_.op() : Op{};
    const Op& streamed = streamed_.out(offered);
    const Op& linked = links_.out(chain_.op());
    const bool streamValid = streamed_.valid(offers) && free(streamed) && (!streamed.launches || phase_ == 0);
    const bool chainValid = links_.valid(link) && free(linked);
    const bool takesChain = chainValid && (chainFirst_ || !streamValid);
    const bool takesStream = streamValid && !takesChain;
    if (chainValid && streamValid) chainFirst_ = !chainFirst_;
    if (takesChain) taken = linked;
    if (takesStream) taken = streamed;
    const bool streamReady = streamed_.ready(), chainReady = links_.ready();
    streamed_.move(offers, offered, takesStream);
    links_.move(link, chain_.op(), takesChain);
    if (streamRuns)
      stream_.tick(offers && streamReady, toStream ? start : int16_t{-1}, length && !chained, entered, clear);
    if (chainRuns) chain_.tick(now, chainReady, takesChain ? &taken : nullptr, chained ? start : int16_t{-1}, clear);
  }
  if (taken.slot >= 0) exits_ |= uint64_t{1} << taken.cipherLatency;
  exits_ >>= 1;
  phase_ = (phase_ + 1) & 3;
  if (clear) taken.slot = -1;
  return taken;
}

}  // namespace sallyport::model
