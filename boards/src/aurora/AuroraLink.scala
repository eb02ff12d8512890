// SPDX-License-Identifier: Apache-2.0
package sallyport.boards.aurora

import chisel3._
import chisel3.util._
import sallyport.boards.clocks.{BitSynchronizer, SlrPipe}
import sallyport.common.crossing.SlrStage
import sallyport.common.link.LinkPort
import sallyport.common.stream.PacketStream

/**
 * Parameters of an [[AuroraLink]].
 *
 * @param channels Aurora cores of four lanes, 1 or 2
 * @param markers  beats of training, a power of two: 42 us, in which both ends have to be up
 * @param reset    times of the Aurora cores' resets
 */
case class AuroraLinkParams(channels: Int, markers: Int = 1 << 14, reset: AuroraResetTimes = AuroraResetTimes()) {
  require(Set(1, 2)(channels), s"a link of $channels channels: 1 or 2")

  /** Core cycles after which a training has failed: 4 times as long as it takes. */
  val patience: Int = 4 * markers
}

/** What a chip shows and counts of one Aurora channel, in the core's clock. */
class AuroraChannelStatus extends Bundle {

  /** The Aurora core's channel_up. */
  val channelUp = Bool()

  /** This end's receiver has its place, and its sender has sent its markers. */
  val trained = Bool()

  /** Pulse: hard_err rose. */
  val hardError = Bool()

  /** Pulse for each cycle of soft_err. */
  val softError = Bool()

  /**
   * Pulse: a word was lost since the receive queue was full, which cannot be; the link
   * restarts.
   */
  val overflow = Bool()
}

/**
 * Link between two chips, from the core's [[LinkPort]] to one or two Aurora cores. Clock and reset
 * of this module are the core's, 300 MHz.
 *
 * Delivers the words that the far end's core gave, in order, unchanged but for bit errors, each
 * once, from when `up` is high at both ends until it falls at one. One channel carries a word as
 * two beats, its lower half first; of two, channel 0 carries the lower half and channel 1 the
 * upper. A beat is lost to none but the Aurora core: a word leaves whenever that has a place (195.0
 * M words/s on one channel). On two channels the core's own clock is the limit; one cycle in 1024
 * takes no word, so that a sender whose clock is fast by 100 ppm cannot overrun a receiver whose
 * clock is slow.
 *
 * Aurora's streams have no marks, and beats sent before the far end is up are lost, so each channel
 * begins with a training of fixed length ([[TrainingMarker]]). `up` is high when all channels have
 * ended it both ways as far as this end can tell. It falls with channel_up or on hard_err of any
 * channel; then the queues are emptied, and when all channels are good again, they train anew.
 * Words that come while `up` is low are lost. An Aurora core that loses its channel tells the far
 * end, which does the same; its senders have stopped before this end's channel comes up again, so a
 * receiver in training sees no words. If all channels are up and no training ends in four times its
 * length (a far end that did not begin anew, an overflow, cables swapped), all Aurora cores are
 * reset, for so long that the far end notices; `restart` does the same, and so does the core's
 * (`link.restart`): a bit error in the two bits that tell a block of data from another (soft_err)
 * can cost a beat, and every word after it is then made of the halves of two.
 *
 * The core may be in another SLR: [[SlrStage]]s are on the way to and from it. From `tx` to the
 * Aurora core: 7 cycles and 8 of the user clock; back 7 of the user clock and 11 cycles.
 */
class AuroraLink(params: AuroraLinkParams) extends Module {
  val io = IO(new Bundle {
    val ports = Vec(params.channels, new AuroraPort)

    /** Free-running, 50 MHz, with its own synchronous reset. */
    val initClock = Input(Clock())
    val initReset = Input(Bool())
    val link = Flipped(new LinkPort)

    /** Pulse: reset the Aurora cores. */
    val restart = Input(Bool())
    val status = Output(new Bundle {
      val channels = Vec(params.channels, new AuroraChannelStatus)

      /** Pulse: the Aurora cores are reset. */
      val restarted = Bool()
    })
  })

  private val resets = withClockAndReset(io.initClock, io.initReset)(Module(new AuroraReset(params.reset)))
  private val restarting = BitSynchronizer(resets.io.active)

  private val wordBits = PacketStream.dataBits / params.channels
  // Of two channels the queue of the earlier one holds what the later one has not brought yet.
  private val queue = 32 * params.channels
  private val channels = Seq.tabulate(params.channels)(n => Module(new AuroraChannel(wordBits, n, queue, params)))
  for ((channel, n) <- channels.zipWithIndex) {
    channel.io.port <> io.ports(n)
    channel.io.resetPb := resets.io.resetPb
    channel.io.pmaInit := resets.io.pmaInit
    io.status.channels(n) := channel.io.status
  }

  // State of the link.
  private val up = RegInit(false.B)
  private val flush = RegInit(true.B)
  private val good = channels.map(_.io.good).reduce(_ && _)
  flush := !good || restarting
  up := good && !restarting && !flush && channels.map(_.io.trained).reduce(_ && _)

  private val patience = RegInit(0.U((log2Ceil(params.patience) + 1).W))
  private val waiting = RegNext(channels.map(_.io.status.channelUp).reduce(_ && _) && !up && !restarting, false.B)
  patience := Mux(waiting, patience + 1.U, 0.U)
  private val overflow = channels.map(_.io.status.overflow).reduce(_ || _)
  private val restart = RegInit(false.B)
  private val coreAsks = SlrStage.way(io.link.restart) && up
  private val asks = RegNext(io.restart || coreAsks || overflow || patience.head(1).asBool, false.B)
  when(restarting) { restart := false.B }.elsewhen(asks) { restart := true.B }
  resets.io.request := restart
  io.status.restarted := RegNext(asks && !restart && !restarting, false.B)

  // To the channels.
  private val pipe = Module(new SlrPipe(UInt(PacketStream.dataBits.W)))
  private val pace = RegInit(0.U(10.W))
  pace := pace + 1.U
  private val pause = if (params.channels == 1) false.B else pace === 0.U
  pipe.io.room := RegNext(up && channels.map(_.io.room).reduce(_ && _), false.B)
  pipe.io.in.valid := io.link.tx.valid && !pause
  pipe.io.in.bits := io.link.tx.bits
  io.link.tx.ready := pipe.io.in.ready && !pause
  for ((channel, n) <- channels.zipWithIndex) {
    channel.io.send.valid := pipe.io.out.valid
    channel.io.send.bits := pipe.io.out.bits((n + 1) * wordBits - 1, n * wordBits)
    channel.io.flush := flush
  }

  // From the channels: a word when each has its part.
  private val whole = channels.map(_.io.words.valid).reduce(_ && _)
  private val received = Wire(Valid(UInt(PacketStream.dataBits.W)))
  received.valid := RegNext(whole && up, false.B)
  received.bits := RegNext(Cat(channels.reverse.map(_.io.words.bits)))
  for (channel <- channels) channel.io.words.ready := whole
  io.link.rx := SlrStage.way(received)
  io.link.up := SlrStage.way(RegNext(up, false.B))
}
