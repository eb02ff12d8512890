// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.queue.RingDelay
import sallyport.crypto.cipher.{AesKeySize, AesPipe, ChaChaPipe, Sm4Pipe}
import sallyport.crypto.suite.{AuthKind, CipherKind, Suite}

/** The cipher key of a packet and its nonce: salt and IV, byte 0 in bits 7:0. */
class LaneKey(config: LaneConfig) extends Bundle {
  val slot = UInt(config.slotBits.W)
  val key = UInt(256.W)
  val nonce = UInt(96.W)
}

/** A step that has been through the cipher. */
class LaneBlock(config: LaneConfig) extends Bundle {
  val op = new LaneOp(config)

  /** The block that was fetched. */
  val data = UInt(128.W)

  /**
   * What the cipher made: a block of key stream, or a block of CBC before it is chained (decrypt)
   * or after (encrypt).
   */
  val result = UInt(128.W)
}

/**
 * The ciphers of a lane: counter mode (NIST SP 800-38A 6.5), CBC (6.2) and ChaCha20 (RFC 8439).
 *
 * A step comes in with `op`, its block [[BlockFetch.cycles]] later with `data`; it comes out its
 * cipher's latency ([[LaneCipher.latency]]) + 1 cycles after that. [[LaneSequence]] ensures that
 * steps never meet at the exit. CBC from red to black takes its result back to the entrance as soon
 * as the cipher has it. `polyKey` is the first 32 bytes of ChaCha20's block 0, with the
 * step `head`.
 *
 * The IV of CBC is the encrypted counter (NIST SP 800-38A appendix C, first method). `wipe`, held
 * for [[LanePorts.wipeCycles]], overwrites every key.
 */
class LaneCipher(config: LaneConfig) extends Module {
  import CipherKind._
  val io = IO(new Bundle {
    val load = Flipped(Valid(new LaneKey(config)))
    val op = Flipped(Valid(new LaneOp(config)))
    val data = Input(UInt(128.W))
    val wipe = Input(Bool())
    val out = Valid(new LaneBlock(config))
    val polyKey = Output(UInt(256.W))
  })

  private class Key extends Bundle { val key = UInt(256.W); val nonce = UInt(96.W) }
  // A key is written out of a register, which a wipe clears: in the cycle behind, zeros are there
  // for every row. The packet's first step comes long after its key.
  private val wipes = RegNext(io.wipe, false.B)
  private val wipeRow = RegInit(0.U(config.slotBits.W))
  wipeRow := Mux(wipes, wipeRow + 1.U, 0.U)
  private val keys = SyncReadMem(config.slots, new Key)
  private val loads = RegNext(io.load.valid, false.B)
  private val loadSlot = RegNext(io.load.bits.slot)
  private val loaded = Reg(new Key)
  loaded.key := io.load.bits.key
  loaded.nonce := io.load.bits.nonce
  when(io.wipe) { loaded := 0.U.asTypeOf(loaded) }
  when(loads || wipes) { keys.write(Mux(wipes, wipeRow, loadSlot), loaded) }

  // The step meets its key, and its block, in cycle `entry`, the cycle after `data`.
  private val entry = BlockFetch.cycles + 1
  private val ops = Seq.iterate(io.op.bits, entry + 1)(RegNext(_))
  private val valids = Seq.iterate(io.op.valid, entry + 1)(v => RegNext(v && !io.wipe, false.B))
  // A board's memory keeps its last output, so a wipe reads on: at its end every row is zero.
  private val keySoon = RegNext(keys.read(ops(entry - 3).slot, valids(entry - 3) || io.wipe))
  private val key = RegNext(keySoon)

  private val soon = ops(entry - 1)
  private val op = ops(entry)
  private def at(property: Suite => Boolean): Bool = RegNext(Suite.is(soon.suite)(property))

  // GCM: J0 is the nonce and 1, text block i the nonce and i + 2. CTR begins with 1 (RFC 3686
  // section 4).
  private val counter = Reg(UInt(16.W))
  counter := Mux(
    ops(entry - 2).step.head,
    1.U,
    ops(entry - 2).index +& Mux(Suite.is(ops(entry - 2).suite)(_.hmac), 1.U, 2.U)
  )
  private val counterBlock = WireOrder.bigEndian(counter) ## 0.U(16.W) ## keySoon.nonce
  private val ivBlock = 0.U(64.W) ## keySoon.nonce(95, 32)
  private val cbcSoon = Suite.is(soon.suite)(_.cbc)
  private val data = RegNext(io.data)

  /** What enters a block cipher, but for CBC's chain. */
  private val open = RegNext(Mux(cbcSoon, Mux(config.encrypt.B && soon.step.iv, ivBlock, io.data), counterBlock))
  private val chains = RegNext(config.encrypt.B && cbcSoon && soon.step.text)

  private val throughBlock = {
    val makesIv = config.encrypt.B && soon.step.iv
    val makesMask = soon.first && Suite.is(soon.suite)(_.fast)
    makesIv || makesMask || (soon.step.text && !Suite.isAuth(soon.suite, AuthKind.Gmac))
  }
  private def enters(cipher: Suite => Boolean): Bool =
    RegNext(valids(entry - 1) && throughBlock && Suite.is(soon.suite)(cipher) && !io.wipe, false.B)

  /**
   * The block for a cipher with this result and latency. CBC takes its last result back as it comes
   * out, or, if other packets came between, as it was kept.
   */
  private def block(latency: Int, out: Valid[UInt]): UInt =
    if (config.encrypt && config.hasCbc) {
      val kept = Mem(config.slots, UInt(128.W))
      val slotSoon = ShiftRegister(op.slot, latency - 1)
      val slot = RegNext(slotSoon)
      // It keeps the key stream of suites that are not chained, so a wipe overwrites it.
      when(out.valid || io.wipe) { kept(Mux(io.wipe, wipeRow, slot)) := Mux(io.wipe, 0.U, out.bits) }
      val before = RegNext(Mux(out.valid && slot === soon.slot, out.bits, kept(soon.slot)))
      val last = Mux(RegNext(slotSoon === soon.slot) && out.valid, out.bits, before)
      open ^ Mux(chains, last, 0.U)
    } else open

  private def isAes(suite: Suite) = suite.cipher.isInstanceOf[Aes]
  private def isSm4(suite: Suite) = suite.cipher == Sm4
  private def isChaCha(suite: Suite) = suite.cipher == ChaCha20
  private val aes = Option.when(config.hasAes) {
    val deciphers = !config.encrypt && config.has(s => isAes(s) && s.cbc)
    val pipe = Module(new AesPipe(Bool(), 0, deciphers))
    val out = Wire(Valid(UInt(128.W)))
    out.valid := pipe.io.out.valid
    out.bits := pipe.io.out.bits.block
    pipe.io.in.valid := enters(isAes)
    pipe.io.in.bits.block := block(AesPipe.latency, out)
    pipe.io.in.bits.key := key.key
    pipe.io.in.bits.size := RegNext(LaneCipher.aesSize(soon.suite))
    pipe.io.in.bits.inverse := deciphers.B && at(_.cbc)
    pipe.io.in.bits.tag := false.B
    pipe.io.wipe := io.wipe
    out.bits
  }
  private val sm4 = Option.when(config.hasSm4) {
    val pipe = Module(new Sm4Pipe)
    pipe.io.in.valid := enters(isSm4)
    pipe.io.in.bits.block := block(Sm4Pipe.latency, pipe.io.out)
    pipe.io.in.bits.key := key.key(127, 0)
    pipe.io.in.bits.decrypt := (!config.encrypt).B && at(_.cbc)
    pipe.io.wipe := io.wipe
    pipe.io.out.bits
  }
  private val chacha = Option.when(config.hasChaCha) {
    val pipe = Module(new ChaChaPipe)
    val launches = soon.first || (soon.step.text && soon.index(1, 0) === 0.U)
    pipe.io.in.valid := RegNext(
      valids(entry - 1) && launches && Suite.is(soon.suite)(isChaCha) && !io.wipe,
      false.B
    )
    pipe.io.in.bits.key := key.key
    pipe.io.in.bits.nonce := key.nonce
    pipe.io.in.bits.counter := RegNext(Mux(soon.step.head, 0.U, (soon.index >> 2) +& 1.U))
    pipe.io.wipe := io.wipe
    pipe.io.out.bits
  }

  // All of it together at the exit: steps wait in a line for their cipher, and leave it where its
  // result comes out.
  private class Waiting extends Bundle { val op = new LaneOp(config); val data = UInt(128.W) }
  private val waiting = Wire(new Waiting)
  waiting.op := op
  waiting.data := data
  private val latencies = LaneCipher.latencies(config)
  private val valid = RegInit(0.U(latencies.max.W))
  valid := (valid ## (valids(entry) && !io.wipe))(latencies.max - 1, 0)
  private val exits =
    latencies.zip(0 +: latencies).scanLeft((waiting, false.B)) { case ((before, _), (latency, last)) =>
      val here = RingDelay(before, latency - last)
      (here, valid(latency - 1) && Suite.is(here.op.suite)(LaneCipher.latency(_) == latency))
    }.tail
  private val leaves = exits.map(_._2)
  private val exit = Mux1H(leaves, exits.map(_._1))
  assert(PopCount(leaves) <= 1.U, "steps meet behind the ciphers")

  /**
   * The step that leaves a cipher of this latency; here, and not at the exit, it is known which
   * result it takes.
   */
  private def leaving(latency: Int): (Waiting, Bool) = exits(latencies.indexOf(latency))
  private val streamResult = chacha.map { stream =>
    // Four blocks of key stream at a time: the step that asked for them takes the first, and the
    // steps behind it the rest.
    val rest = Reg(UInt(384.W))
    val (here, leaves) = leaving(ChaChaPipe.latency)
    val fresh = here.op.index(1, 0) === 0.U
    when(io.wipe) { rest := 0.U }
      .elsewhen(leaves && (here.op.first || here.op.step.text)) { rest := Mux(fresh, stream >> 128, rest >> 128) }
    io.polyKey := stream(255, 0)
    Mux(fresh, stream(127, 0), rest(127, 0))
  }
  if (chacha.isEmpty) io.polyKey := 0.U
  private def result(latency: Int, property: Suite => Boolean)(result: UInt): UInt = {
    val (here, leaves) = leaving(latency)
    val plain = Suite.isAuth(here.op.suite, AuthKind.Gmac) && !here.op.step.head
    Mux(leaves && Suite.is(here.op.suite)(property) && !plain, result, 0.U)
  }
  io.out.valid := leaves.reduce(_ || _)
  io.out.bits.op := exit.op
  io.out.bits.data := exit.data
  io.out.bits.result := Seq(
    aes.map(result(AesPipe.latency, isAes)),
    sm4.map(result(Sm4Pipe.latency, isSm4)),
    streamResult.map(result(ChaChaPipe.latency, isChaCha))
  ).flatten.foldLeft(0.U(128.W))(_ | _)
}

object LaneCipher {

  /** Cycles from a block's entry to its result; without a cipher as with AES. */
  def latency(suite: Suite): Int = suite.cipher match {
    case CipherKind.Sm4 => Sm4Pipe.latency
    case CipherKind.ChaCha20 => ChaChaPipe.latency
    case _ => AesPipe.latency
  }

  /** Those of a lane's suites, ascending. */
  def latencies(config: LaneConfig): Seq[Int] = config.suites.map(latency).distinct.sorted

  private def aesSize(suite: UInt): AesKeySize.Type = {
    def bits(n: Int) = Suite.is(suite)(_.cipher == CipherKind.Aes(n))
    Mux(bits(256), AesKeySize.bits256, Mux(bits(192), AesKeySize.bits192, AesKeySize.bits128))
  }
}
