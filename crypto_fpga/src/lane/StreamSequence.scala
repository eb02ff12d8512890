// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.queue.RingQueue
import sallyport.crypto.suite.{AuthKind, CipherKind, Suite}

/**
 * The steps of the packets that are not chained, one packet after the other, a step a cycle:
 * everything but CBC from red to black.
 *
 * Packets go in the order of `start`, without a pause between them. Finishing one packet before the
 * next is begun keeps latency low, and whatever must be kept from one step to the next of a packet
 * is a register and not a memory.
 *
 * A packet whose `length` is not there yet is still coming in, and no start follows it before. Its
 * steps go on as far as its bytes are there and what GHASH must know of the end is certain: the
 * blocks of a beat when the next beat, which is not the last one, is there as well (`entered`
 * counts beats but the last); then at least 33 bytes of text follow, whatever the length. A cycle
 * passes when the length comes.
 *
 * `clear` forgets every packet.
 */
class StreamSequence(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val start = Flipped(Valid(new LaneStart(config)))
    val length = Flipped(Valid(new LaneLength(config)))
    val entered = Input(UInt(LaneFrame.beatBits.W))
    val clear = Input(Bool())
    val op = Decoupled(new LaneOp(config))

    /** The step in `op` asks ChaCha20 for four blocks of key stream. */
    val launches = Output(Bool())
  })

  private class Plan extends Bundle {
    val slot = UInt(config.slotBits.W)
    val suite = UInt(Suite.laneBits.W)
    val aadBlocks = UInt(LaneOp.blockBits.W)

    /** Blocks of GHASH without those of the text: of the associated data, and the lengths. */
    val hashBlocks = UInt(LaneOp.blockBits.W)

    /** GMAC with 64 bits of number: `spill` if the text fills its last block. */
    val lags = Bool()

    /** The kinds of steps behind `head`, as far as the length does not decide. */
    val rest = UInt(Step.kinds.W)
  }
  private class Extent extends Bundle { val blocks = UInt(LaneOp.blockBits.W); val bytes = UInt(4.W) }

  private def blocks(bytes: UInt): UInt = (bytes +& 15.U) >> 4
  private val start = io.start.bits
  private val plan = Wire(new Plan)
  plan.slot := start.slot
  plan.suite := start.suite
  plan.aadBlocks := Mux(start.aadBytes === 0.U, 1.U, blocks(start.aadBytes))
  plan.hashBlocks := plan.aadBlocks + 1.U
  plan.lags := Suite.isAuth(start.suite, AuthKind.Gmac) && start.esn
  private val rest = WireInit(0.U.asTypeOf(new Step))
  rest.iv := (!config.encrypt).B && Suite.is(start.suite)(_.cbc)
  rest.end := (!config.encrypt).B || Suite.is(start.suite)(_.fast)
  rest.icv := (!config.encrypt).B && Suite.is(start.suite)(_.icvByRow) && start.icv === Suite.icvBytes.indexOf(32).U
  plan.rest := rest.asUInt
  private val extent = Wire(new Extent)
  extent.blocks := blocks(io.length.bits.textBytes)
  extent.bytes := io.length.bits.textBytes(3, 0)
  private val plans = RingQueue(io.start.valid, plan, config.slots, io.clear)
  private val extents = RingQueue(io.length.valid, extent, config.slots, io.clear)

  // The packet whose steps go out. Until its length is known, what counts down to its end starts
  // from 0 and runs below.
  private val active = RegInit(false.B)
  private val known = Reg(Bool())
  private val now = Reg(new Plan)
  private val bytes = Reg(UInt(4.W))
  private val textBlocks = Reg(UInt(LaneOp.blockBits.W))
  private val step = Reg(new Step)
  private val index = Reg(UInt(LaneOp.blockBits.W))
  private val left = Reg(UInt(LaneOp.blockBits.W))

  /**
   * Number of the block in GHASH, 4 for any more; its number modulo 4; and blocks of GHASH from
   * this one on.
   */
  private val few = Reg(UInt(3.W))
  private val chain = Reg(UInt(2.W))
  private val hashLeft = Reg(UInt((LaneOp.blockBits + 1).W))

  private val lastOfKind = left === 1.U && (known || step.head)
  private val lastOfAll = lastOfKind && now.rest === 0.U
  private val load = plans.valid && (!active || (io.op.fire && lastOfAll))
  private val learns = active && !known && extents.valid
  plans.ready := load
  extents.ready := load || learns
  active := (load || (active && !(io.op.fire && lastOfAll))) && !io.clear

  private val following = Step.first(now.rest)
  when(io.op.fire) {
    index := index + 1.U
    left := left - 1.U
    few := Mux(few(2), few, few + 1.U)
    chain := chain + 1.U
    hashLeft := hashLeft - 1.U
    when(lastOfKind) {
      step := following
      now.rest := now.rest & ~following.asUInt
      index := 0.U
      left := Mux(following.text, textBlocks, 1.U)
    }
  }

  /** What the length adds to the steps behind `head`, and to the blocks of GHASH. */
  private val more = extents.bits
  private def spills(plan: Plan): Bool = plan.lags && more.bytes === 0.U

  /** One carry chain. */
  private def plusText(count: UInt, blocks: UInt, spill: Bool): UInt = ((count ## true.B) + (blocks ## spill)) >> 1
  private def kinds(text: Bool, spill: Bool): UInt = {
    val kinds = WireInit(0.U.asTypeOf(new Step))
    kinds.text := text
    kinds.spill := spill
    kinds.asUInt
  }
  when(load) {
    now := plans.bits
    now.rest := plans.bits.rest |
      kinds(!extents.valid || more.blocks =/= 0.U, extents.valid && spills(plans.bits))
    known := extents.valid
    step := Step.first(1.U)
    index := 0.U
    left := plans.bits.aadBlocks
    textBlocks := Mux(extents.valid, more.blocks, 0.U)
    bytes := more.bytes
    few := 0.U
    chain := 0.U
    hashLeft := plusText(
      plans.bits.hashBlocks,
      Mux(extents.valid, more.blocks, 0.U),
      extents.valid && spills(plans.bits)
    )
  }
  when(learns) {
    now.rest := now.rest | kinds(false.B, spills(now))
    known := true.B
    when(step.text) { left := left + more.blocks }
    textBlocks := more.blocks
    bytes := more.bytes
    hashLeft := plusText(hashLeft, more.blocks, spills(now))
  }

  // The index may move on in the cycle of the register: the next one is asked for. In the cycle of
  // `learns` nothing does.
  private val enough = RegNext(((index +& 5.U) >> 2) < io.entered && !io.length.valid)
  assert(!learns || !io.op.fire)

  // The associated data of ChaCha20-Poly1305 is one block: 8 or 12 bytes.
  io.launches := Suite.is(now.suite)(_.cipher == CipherKind.ChaCha20) && index(1, 0) === 0.U && (step.text || step.head)

  io.op.valid := active && (known || enough)
  io.op.bits.slot := now.slot
  io.op.bits.suite := now.suite
  io.op.bits.step := step
  io.op.bits.index := index
  io.op.bits.last := step.text && lastOfKind
  io.op.bits.bytes := bytes
  io.op.bits.lags := now.lags
  io.op.bits.chain := chain
  io.op.bits.opens := !few(2)
  io.op.bits.left := Mux(!known || hashLeft >= 5.U, 5.U, hashLeft(2, 0))
}
