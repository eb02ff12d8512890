// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.aurora

import chisel3._
import chisel3.util._
import sallyport.boards.clocks.{AsyncFifo, BitSynchronizer, CrossingReset, EventCrossing, ResetSynchronizer, SlrPipe}

/**
 * One channel of an [[AuroraLink]]: the way of its words between the core's clock, which is this
 * module's own, and the Aurora core's user clock.
 *
 * While `flush` is high, both queues are empty and the training starts anew; it takes place as soon
 * as `flush` is low. `words` come out as soon as this receiver is aligned, `trained` or not. From a
 * word at `send` to its beat: 4 cycles and 8 of the user clock.
 *
 * @param wordBits  256 or 512
 * @param queue     words in the receive queue: those that wait for the other channel
 */
class AuroraChannel(wordBits: Int, channel: Int, queue: Int, params: AuroraLinkParams) extends Module {
  val io = IO(new Bundle {
    val port = new AuroraPort

    /** Of the link's [[AuroraReset]]. */
    val resetPb = Input(Bool())
    val pmaInit = Input(Bool())
    val send = Flipped(Valid(UInt(wordBits.W)))

    /** [[SlrPipe.spare]] more words find a place. */
    val room = Output(Bool())
    val words = Decoupled(UInt(wordBits.W))
    val flush = Input(Bool())

    val good = Output(Bool())
    val trained = Output(Bool())
    val status = Output(new AuroraChannelStatus)
  })

  private val user = io.port.clock
  private val starts = (reset.asBool, ResetSynchronizer(user, reset.asBool))
  io.port.resetPb := io.resetPb
  io.port.pmaInit := io.pmaInit

  // State and errors are told whether or not words flow.
  private val (watchCore, watchUser) = CrossingReset(clock, user, starts, None)
  private val health = withClockAndReset(user, watchUser.reset)(Module(new AuroraHealth))
  health.io.channelUp := io.port.channelUp
  health.io.hardError := io.port.hardError
  io.good := BitSynchronizer(health.io.good)
  io.status.channelUp := BitSynchronizer(withClock(user)(RegNext(io.port.channelUp)))
  io.status.trained := io.trained
  private def told(event: Bool) =
    EventCrossing(watchUser, watchCore, withClockAndReset(user, watchUser.reset)(RegNext(event, false.B)))
  io.status.softError := told(io.port.softError)
  io.status.hardError := told(io.port.hardError && !withClock(user)(RegNext(io.port.hardError)))

  // Words.
  private val (core, link) = CrossingReset(clock, user, starts, Some(io.flush))
  private val word = UInt(wordBits.W)
  private val tx = withClockAndReset(user, link.reset)(Module(new AuroraTx(wordBits, channel, params.markers)))
  private val rx = withClockAndReset(user, link.reset)(Module(new AuroraRx(wordBits, channel, params.markers)))
  io.port.tx <> tx.io.beats
  rx.io.beats := io.port.rx

  private val sending = Module(new AsyncFifo(word, 32, spare = SlrPipe.spare))
  sending.write := core
  sending.read := link
  sending.in.valid := io.send.valid
  sending.in.bits := io.send.bits
  io.room := sending.room
  tx.io.words <> sending.out

  private val received = Module(new AsyncFifo(word, queue))
  received.write := link
  received.read := core
  received.in.valid := rx.io.words.valid
  received.in.bits := rx.io.words.bits
  io.words <> received.out
  io.status.overflow := told(rx.io.words.valid && !received.in.ready)

  // Low until the user clock has seen this reset, even if it stood still: its earlier value is
  // then forgotten.
  private val trained = withClockAndReset(user, link.reset)(RegNext(tx.io.done && rx.io.aligned, false.B))
  io.trained := withReset(core.reset)(RegNext(BitSynchronizer(trained), false.B))
}
