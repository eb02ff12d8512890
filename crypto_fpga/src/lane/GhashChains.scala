package sallyport.crypto

import chisel3._
import chisel3.util._

class GhashStep(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)
  val chain = UInt(1.W)

  /** First block of its chain. */
  val opens = Bool()

  /** The block of lengths: the packet's last. */
  val ends = Bool()
  val block = UInt(128.W)
}

/** H and H · H of a packet, as blocks. */
class GhashKeys(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)
  val h = UInt(128.W)
  val h2 = UInt(128.W)
}

/** A block that goes into the sum which ends a packet. */
class GhashSecret(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)
  val block = UInt(128.W)
}

/**
 * GHASH of every packet in flight, two interleaved chains a packet, and its end: the tag (NIST SP 800-38D 6.4,
 * 7.1).
 *
 * Blocks of a packet go to chains 0 and 1 in turn. A chain steps y' = (y ^ x) · H², and the packet's last block by
 * H instead; the sum of both chains is then GHASH, because each chain's blocks are two powers of H apart. One
 * block a cycle; blocks of one chain of one packet are at least 4 cycles apart, those of its two chains at least
 * 2.
 *
 * `seal` brings E(K, J0) of a packet, `icv` the tag received (decrypt only), each at any time before 5 cycles
 * after the packet's last block. `done` follows the last block by [[GhashChains.latency]] cycles. While `wipe` is
 * high memories are overwritten one row a cycle, 2 × slots rows.
 */
class GhashChains(slots: Int, verify: Boolean) extends Module {
  private val slotBits = log2Ceil(slots)
  private class Tag extends Bundle { val slot = UInt(slotBits.W); val chain = UInt(1.W); val ends = Bool() }

  val io = IO(new Bundle {
    val load = Flipped(Valid(new GhashKeys(slots)))
    val in = Flipped(Valid(new GhashStep(slots)))
    val seal = Flipped(Valid(new GhashSecret(slots)))
    val icv = Flipped(Valid(new GhashSecret(slots)))
    val wipe = Input(Bool())
    val done = Valid(new GcmDone(slots))
  })

  private val wipeRow = RegInit(0.U((slotBits + 1).W))
  wipeRow := Mux(io.wipe, wipeRow + 1.U, 0.U)

  /** Writes a row of a memory of key material, or wipes one. */
  private def write(memory: MemBase[UInt], valid: Bool, row: UInt, data: UInt): Unit =
    when(valid || io.wipe) { memory.write(Mux(io.wipe, wipeRow(row.getWidth - 1, 0), row), Mux(io.wipe, 0.U, data)) }

  private val h = SyncReadMem(slots, UInt(128.W))
  private val h2 = SyncReadMem(slots, UInt(128.W))
  private val chains = Mem(2 * slots, UInt(128.W))
  private val seals = Mem(slots, UInt(128.W))
  write(h, io.load.valid, io.load.bits.slot, Gf128.reflect(io.load.bits.h))
  write(h2, io.load.valid, io.load.bits.slot, Gf128.reflect(io.load.bits.h2))
  write(seals, io.seal.valid, io.seal.bits.slot, Gf128.reflect(io.seal.bits.block))

  // The keys are read while the block waits a cycle; then it meets its chain.
  private val step = RegNext(io.in.bits)
  private val stepValid = RegNext(io.in.valid, false.B)
  private val hRead = h.read(io.in.bits.slot, io.in.valid)
  private val h2Read = h2.read(io.in.bits.slot, io.in.valid)

  private val multiply = Module(new GhashMultiply(new Tag))
  private val result = multiply.io.out
  private val y = chains(Cat(step.slot, step.chain))
  private val same = result.valid && result.bits.tag.slot === step.slot && result.bits.tag.chain === step.chain
  private val before = Mux(same, result.bits.product, y)
  multiply.io.in.valid := stepValid
  multiply.io.in.bits.a := Mux(step.opens, 0.U, before) ^ Gf128.reflect(step.block)
  multiply.io.in.bits.b := Mux(step.ends, hRead, h2Read)
  multiply.io.in.bits.tag.slot := step.slot
  multiply.io.in.bits.tag.chain := step.chain
  multiply.io.in.bits.tag.ends := step.ends
  multiply.io.wipe := io.wipe

  private val tag = result.bits.tag
  write(chains, result.valid, Cat(tag.slot, tag.chain), result.bits.product)

  private val other = chains(Cat(tag.slot, ~tag.chain))
  private val sum = result.bits.product ^ other ^ seals(tag.slot)
  private val difference = if (verify) {
    val icvs = Mem(slots, UInt(128.W))
    write(icvs, io.icv.valid, io.icv.bits.slot, Gf128.reflect(io.icv.bits.block))
    sum ^ icvs(tag.slot)
  } else sum

  private val end = RegNext(difference)
  private val endSlot = RegNext(tag.slot)
  private val endValid = RegNext(result.valid && tag.ends, false.B)
  io.done.valid := RegNext(endValid, false.B)
  io.done.bits.slot := RegNext(endSlot)
  io.done.bits.tag := RegNext(if (verify) 0.U else Gf128.reflect(end))
  io.done.bits.authentic := RegNext(end === 0.U)
}

object GhashChains {

  /** Cycles from a packet's last block to `done`. */
  val latency: Int = GhashMultiply.latency + 3
}
