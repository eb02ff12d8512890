// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.crypto.hash.GhashSum

/** The authentication key of a packet ([[LaneJob.auth]]). */
class LaneAuthKey(config: LaneConfig) extends Bundle {
  val slot = UInt(config.slotBits.W)
  val auth = UInt(512.W)
}

/** The end of a packet. */
class LaneDone(config: LaneConfig) extends Bundle {
  val slot = UInt(config.slotBits.W)

  /** Encrypt: the ICV, as many bytes as the suite has count. */
  val tag = UInt(256.W)

  /** Decrypt: all bytes of the ICV are those received. */
  val authentic = Bool()
}

/**
 * The authentication of a lane: GHASH beside the cipher, the chained hashes on their own, and the
 * judgement of the ICV.
 *
 * `hashed` brings GHASH its blocks, `mask` E(K, J0); `start`, `grown`, `beat` and `readsSoon` are
 * the [[HashEngine]]'s. `icv` brings the ICV received, in one or two blocks, before the packet's
 * hash can be done. `icvBytes` is that of `slotDone`. `done` comes once a packet.
 */
class LaneAuth(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val load = Flipped(Valid(new LaneAuthKey(config)))
    val hashed = Flipped(Valid(new LaneHashed(config)))
    val mask = Flipped(Valid(UInt(128.W)))
    val polyKey = Flipped(Valid(new HashPolyKey(config.slots)))
    val start = Flipped(Valid(new HashStart(config.slots, config.rowBits)))
    val grown = Flipped(Valid(new HashGrown(config.slots)))
    val read = Valid(UInt(config.rowBits.W))
    val readsSoon = Output(Bool())
    val beat = Input(UInt(PacketStream.dataBits.W))
    val icv = Flipped(Valid(new LaneHashed(config)))
    val slotDone = Output(UInt(config.slotBits.W))
    val icvBytes = Input(UInt(6.W))
    val done = Valid(new LaneDone(config))
    val wipe = Input(Bool())
  })

  private class Tag extends Bundle { val slot = UInt(config.slotBits.W); val tag = UInt(256.W) }

  // The fast ring's slots are the low ones.
  private val fast = Option.when(config.hasGhash) {
    val places = config.slotRings.places(fastRing = true)
    val ghash = Module(new GhashSum(places))
    def own(slot: UInt): UInt = slot(log2Ceil(places) - 1, 0)
    ghash.io.load.valid := io.load.valid && config.slotRings.isFast(io.load.bits.slot)
    ghash.io.load.bits.slot := own(io.load.bits.slot)
    ghash.io.load.bits.powers := io.load.bits.auth
    ghash.io.in.valid := io.hashed.valid
    ghash.io.in.bits.slot := own(io.hashed.bits.op.slot)
    ghash.io.in.bits.chain := io.hashed.bits.op.chain
    ghash.io.in.bits.opens := io.hashed.bits.op.opens
    ghash.io.in.bits.left := io.hashed.bits.op.left
    ghash.io.in.bits.block := io.hashed.bits.block
    ghash.io.seal.valid := io.mask.valid
    ghash.io.seal.bits.slot := own(io.hashed.bits.op.slot)
    ghash.io.seal.bits.block := io.mask.bits
    ghash.io.wipe := io.wipe
    val tag = Wire(Valid(new Tag))
    tag.valid := ghash.io.done.valid && !io.wipe
    tag.bits.slot := ghash.io.done.bits.slot
    tag.bits.tag := ghash.io.done.bits.block
    tag
  }
  private val slow = if (config.hashes.nonEmpty) {
    val engine = Module(new HashEngine(config.slots, config.rowBits, config.hashes, config.beatRings.after))
    engine.io.polyKey := io.polyKey
    engine.io.start := io.start
    engine.io.grown := io.grown
    io.read := engine.io.read
    io.readsSoon := engine.io.readsSoon
    engine.io.beat := io.beat
    engine.io.wipe := io.wipe
    engine.io.load.valid := io.load.valid
    engine.io.load.bits.slot := io.load.bits.slot
    engine.io.load.bits.auth := io.load.bits.auth
    val waiting = Module(new Queue(new Tag, 4, hasFlush = true))
    waiting.flush := io.wipe
    waiting.io.enq.valid := engine.io.done.valid
    waiting.io.enq.bits.slot := engine.io.done.bits.slot
    waiting.io.enq.bits.tag := engine.io.done.bits.tag
    assert(!waiting.io.enq.valid || waiting.io.enq.ready || io.wipe, "packets end faster than they can be judged")
    waiting.io.deq.ready := !fast.map(_.valid).getOrElse(false.B)
    Some(waiting.io.deq)
  } else {
    io.read.valid := false.B
    io.read.bits := 0.U
    io.readsSoon := false.B
    None
  }

  private val valid = RegNext((fast.map(_.valid) ++ slow.map(_.valid)).reduce(_ || _) && !io.wipe, false.B)
  private val tag =
    RegNext(fast.map(f => Mux(f.valid, f.bits, slow.map(_.bits).getOrElse(f.bits))).orElse(slow.map(_.bits)).get)
  io.slotDone := tag.slot

  if (config.encrypt) {
    io.done.valid := valid && !io.wipe
    io.done.bits.slot := tag.slot
    io.done.bits.tag := tag.tag
    io.done.bits.authentic := true.B
  } else {
    val low = Mem(config.slots, UInt(128.W))
    val high = Mem(config.slots, UInt(128.W))
    val icv = io.icv.bits
    when(io.icv.valid && icv.op.step.end) { low(icv.op.slot) := icv.block }
    when(io.icv.valid && icv.op.step.icv) { high(icv.op.slot) := icv.block }
    val used = FillInterleaved(32, VecInit.tabulate(8)(i => io.icvBytes > (4 * i).U).asUInt)
    val difference = Reg(UInt(256.W))
    difference := (tag.tag ^ (high(tag.slot) ## low(tag.slot))) & used
    val differs = RegNext(VecInit(difference.asBools.grouped(32).map(VecInit(_).asUInt.orR).toSeq).asUInt)
    io.done.valid := ShiftRegister(valid, 2, false.B, true.B) && !io.wipe
    io.done.bits.slot := ShiftRegister(tag.slot, 2)
    io.done.bits.tag := 0.U
    io.done.bits.authentic := differs === 0.U
  }
}
