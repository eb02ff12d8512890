// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.parts

import chisel3._
import sallyport.boards.aurora.{AuroraLink, AuroraLinkParams, AuroraResetTimes}
import sallyport.boards.clocks.{
  AsyncFifo,
  BitSynchronizer,
  CrossingReset,
  EventCrossing,
  GrayCrossing,
  ResetSynchronizer,
  SlrPipe,
  ValueCrossing
}
import sallyport.boards.mac.MacCrossing
import sallyport.common.stream.{MacBeat, PacketStream}

/** The parts of the way of words and frames between the core and its links and MAC. */
object PathParts {
  private val word = UInt(PacketStream.dataBits.W)

  /** Trainings and resets of simulations are short. */
  private def link(channels: Int) =
    AuroraLinkParams(channels, markers = 1 << 9, reset = AuroraResetTimes(before = 16, hold = 100, after = 32))

  val all: Seq[Part] = Seq(
    Part("BitSynchronizer", () => new BitSynchronizer),
    Part("ResetSynchronizer", () => new ResetSynchronizer),
    Part("CrossingReset", () => new CrossingReset(asks = true)),
    Part("GrayCrossing", () => new GrayCrossing(6)),
    Part("ValueCrossing", () => new ValueCrossing(10)),
    Part("EventCrossing", () => new EventCrossing),
    Part("SlrPipe", () => new SlrPipe(word)),
    Part("AsyncFifo", () => new AsyncFifo(word, 32)),
    Part("SpareAsyncFifo", () => new AsyncFifo(word, 32, spare = SlrPipe.spare)),
    Part("FrameAsyncFifo", () => new AsyncFifo(new MacBeat, 512, isLast = Some((beat: MacBeat) => beat.last))),
    Part("AuroraLink1", () => new AuroraLink(link(1))),
    Part("AuroraLink2", () => new AuroraLink(link(2))),
    Part("MacCrossing", () => new MacCrossing)
  )
}
