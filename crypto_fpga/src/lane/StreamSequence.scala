package sallyport.crypto

import chisel3._
import chisel3.util._

/**
 * The steps of the packets that are not chained, one packet after the other, a step a cycle: everything but CBC from red
 * to black.
 *
 * Packets go in the order of `start`, without a pause between them. ChaCha20 makes four blocks of key stream at a time, every 4 cycles, so steps
 * that ask it for more wait for its turn; else nothing waits. Finishing one packet before the next is begun keeps
 * latency low, and whatever must be kept from one step to the next of a packet is a register and not a memory.
 *
 * `clear` forgets every packet.
 */
class StreamSequence(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val start = Flipped(Valid(new LaneStart(config)))
    val clear = Input(Bool())
    val op = Decoupled(new LaneOp(config))
  })

  private class Plan extends Bundle {
    val slot = UInt(config.slotBits.W)
    val suite = UInt(Suite.laneBits.W)
    val aadBlocks = UInt(LaneOp.blockBits.W)
    val textBlocks = UInt(LaneOp.blockBits.W)
    val bytes = UInt(4.W)

    /** The kinds of steps behind `head`. */
    val rest = UInt(Step.kinds.W)
  }

  private val starts = Module(new Queue(new LaneStart(config), config.slots, hasFlush = true))
  starts.io.enq.valid := io.start.valid
  starts.io.enq.bits := io.start.bits
  starts.flush := io.clear

  // The next packet, its steps worked out.
  private val nextValid = RegInit(false.B)
  private val next = Reg(new Plan)
  private val load = Wire(Bool())
  starts.io.deq.ready := !nextValid || load
  nextValid := (starts.io.deq.valid || (nextValid && !load)) && !io.clear
  when(starts.io.deq.fire) { next := plan(starts.io.deq.bits) }

  private def plan(start: LaneStart): Plan = {
    def blocks(bytes: UInt): UInt = (bytes +& 15.U) >> 4
    val plan = Wire(new Plan)
    plan.slot := start.slot
    plan.suite := start.suite
    plan.aadBlocks := Mux(start.aadBytes === 0.U, 1.U, blocks(start.aadBytes))
    plan.textBlocks := blocks(start.textBytes)
    plan.bytes := start.textBytes(3, 0)
    val rest = Wire(new Step)
    rest.head := false.B
    rest.iv := (!config.encrypt).B && Suite.is(start.suite)(_.cbc)
    rest.text := start.textBytes =/= 0.U
    rest.spill := Suite.isAuth(start.suite, AuthKind.Gmac) && start.esn && plan.bytes === 0.U
    rest.end := (!config.encrypt).B || Suite.is(start.suite)(_.fast)
    rest.icv := (!config.encrypt).B && Suite.is(start.suite)(_.icvByRow) && start.icv === Suite.icvBytes.indexOf(32).U
    plan.rest := rest.asUInt
    plan
  }

  // The packet whose steps go out.
  private val active = RegInit(false.B)
  private val now = Reg(new Plan)
  private val step = Reg(new Step)
  private val index = Reg(UInt(LaneOp.blockBits.W))
  private val left = Reg(UInt(LaneOp.blockBits.W))

  /** Number of the block in GHASH, 4 for any more; its number modulo 4; and blocks of GHASH from this one on. */
  private val few = Reg(UInt(3.W))
  private val chain = Reg(UInt(2.W))
  private val hashLeft = Reg(UInt((LaneOp.blockBits + 1).W))

  private val lastOfKind = left === 1.U
  private val lastOfAll = lastOfKind && now.rest === 0.U
  load := nextValid && (!active || (io.op.fire && lastOfAll))
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
      left := Mux(following.text, now.textBlocks, 1.U)
    }
  }
  when(load) {
    now := next
    step := Step.first(1.U)
    index := 0.U
    left := next.aadBlocks
    few := 0.U
    chain := 0.U
    hashLeft := next.aadBlocks +& next.textBlocks + next.rest.asTypeOf(new Step).spill + 1.U
  }

  private val mayLaunch = if (config.hasChaCha) {
    val launches = Suite.is(now.suite)(_.cipher == CipherKind.ChaCha20) && index(1, 0) === 0.U &&
      (step.text || (step.head && index === 0.U))
    val phase = RegInit(0.U(2.W))
    phase := phase + 1.U
    !launches || phase === 0.U
  } else true.B

  io.op.valid := active && mayLaunch
  io.op.bits.slot := now.slot
  io.op.bits.suite := now.suite
  io.op.bits.step := step
  io.op.bits.index := index
  io.op.bits.last := step.text && lastOfKind
  io.op.bits.bytes := now.bytes
  io.op.bits.chain := chain
  io.op.bits.opens := !few(2)
  io.op.bits.left := Mux(hashLeft >= 5.U, 5.U, hashLeft(2, 0))
}
