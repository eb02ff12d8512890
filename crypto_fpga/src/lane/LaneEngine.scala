// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.crypto.hash.HashKind
import sallyport.crypto.suite.{AuthKind, Suite}

/** The key material of a packet, as [[LaneJob]] has it. */
class LaneLoad(config: LaneConfig) extends Bundle {
  val slot = UInt(config.slotBits.W)
  val key = UInt(256.W)

  /** Salt and IV, byte 0 in bits 7:0. */
  val nonce = UInt(96.W)
  val auth = UInt(512.W)
}

/**
 * Ciphers and authentication of a lane, on many packets at once, a block a cycle. It knows nothing
 * of ESP beyond the lengths of its headers.
 *
 * A packet owns a slot: `load` brings its keys, `start` begins it, `length` comes once its bytes
 * are there: in the cycle of `start`, or, of a fast packet with one block of associated data,
 * later. Lengths come in the order of starts, no start before the length of the packet before it.
 * Meanwhile `entered` counts the beats of the packet that are there (see [[StreamSequence]]). From
 * `start` on the engine asks for one block a cycle with `fetch`, of any packet, and takes it at
 * `data` exactly [[BlockFetch.cycles]] later. It gives back each block of text with `text`, in
 * order for each packet, and ends with `done`. `headed` says that a packet's first step has come
 * by; its text follows.
 *
 * The chained hashes read the packet themselves, by the beat, from the memory behind `read`
 * ([[HashEngine.readLatency]]): from red to black the one that `text` is written to, as `grown`
 * says, from black to red the one that the packet came into. `readsSoon` comes two cycles before
 * every `read`.
 *
 * `wipe`, held for [[LanePorts.wipeCycles]], forgets all packets and overwrites every memory and
 * register that holds key material.
 */
class LaneEngine(config: LaneConfig) extends Module {
  val io = IO(new Bundle {
    val load = Flipped(Valid(new LaneLoad(config)))
    val start = Flipped(Valid(new LaneStart(config)))
    val length = Flipped(Valid(new LaneLength(config)))
    val entered = Input(UInt(LaneFrame.beatBits.W))
    val fetch = Valid(new LaneOp(config))
    val data = Input(UInt(128.W))

    /** Four bytes for the packet in `exitSlot`: see [[LaneExit]]. */
    val exitSlot = Output(UInt(config.slotBits.W))
    val headRest = Input(UInt(32.W))
    val headed = Valid(new LaneOp(config))
    val text = Valid(new LaneText(config))
    val grown = Flipped(Valid(new HashGrown(config.slots)))
    val read = Valid(UInt(config.rowBits.W))
    val readsSoon = Output(Bool())
    val beat = Input(UInt(PacketStream.dataBits.W))
    val done = Valid(new LaneDone(config))
    val wipe = Input(Bool())
  })

  private val sequence = Module(new LaneSequence(config))
  sequence.io.start := io.start
  sequence.io.length := io.length
  sequence.io.entered := io.entered
  sequence.io.clear := io.wipe
  io.fetch := sequence.io.op

  private val cipher = Module(new LaneCipher(config))
  cipher.io.load.valid := io.load.valid
  cipher.io.load.bits.slot := io.load.bits.slot
  cipher.io.load.bits.key := io.load.bits.key
  cipher.io.load.bits.nonce := io.load.bits.nonce
  cipher.io.op := sequence.io.op
  cipher.io.data := io.data
  cipher.io.wipe := io.wipe

  // The state of each packet.
  private val starts = Mem(config.slots, new LaneStart(config))
  when(io.start.valid) { starts(io.start.bits.slot) := io.start.bits }
  private val texts = Mem(config.slots, UInt(LaneOp.lengthBits.W))
  when(io.length.valid) { texts(io.length.bits.slot) := io.length.bits.textBytes }

  // The exit of the cipher.
  private val out = cipher.io.out
  private val op = out.bits.op
  private val start = starts(op.slot)
  private val textBytes = texts(op.slot)
  private val gmac = Suite.isAuth(op.suite, AuthKind.Gmac)
  private val exit = Module(new LaneExit(config))
  exit.io.in := out
  // GMAC hashes IV and text as associated data (RFC 4543 section 3.3). The sum is of the step
  // before: a step of this packet, since packets of one cipher do not mix, and one of text, since
  // blocks that may be the last wait for the length.
  private val gmacBytes = RegEnable(start.aadBytes + textBytes + 8.U, out.valid && gmac)
  exit.io.aadBytes := start.aadBytes
  exit.io.textBytes := textBytes
  exit.io.gmacBytes := gmacBytes
  exit.io.headRest := io.headRest
  io.exitSlot := op.slot
  io.text := exit.io.text
  io.headed.valid := RegNext(out.valid && op.first && !io.wipe, false.B)
  io.headed.bits := RegNext(op)

  private val auth = Module(new LaneAuth(config))
  auth.io.wipe := io.wipe
  auth.io.load.valid := io.load.valid
  auth.io.load.bits.slot := io.load.bits.slot
  auth.io.load.bits.auth := io.load.bits.auth
  auth.io.hashed := exit.io.hashed
  auth.io.mask.valid := exit.io.hashed.valid && exit.io.hashed.bits.op.first
  auth.io.mask.bits := RegNext(out.bits.result)
  auth.io.grown := io.grown
  io.read := auth.io.read
  io.readsSoon := auth.io.readsSoon
  auth.io.beat := io.beat
  io.done := auth.io.done

  private val hash = Wire(new HashStart(config.slots, config.rowBits))
  hash.slot := op.slot
  hash.kind := LaneEngine.hashKind(op.suite)
  hash.base := start.base
  hash.messageBytes := textBytes + Suite.choose(op.suite)(_.headBytes)
  hash.textBytes := textBytes
  hash.esn := start.esn
  hash.sequenceHigh := start.sequenceHigh
  hash.head := out.bits.data
  hash.complete := (!config.encrypt).B
  auth.io.start.valid := RegNext(out.valid && op.first && !Suite.is(op.suite)(_.fast) && !io.wipe, false.B)
  auth.io.start.bits := RegNext(hash)
  auth.io.polyKey.valid := RegNext(
    out.valid && op.first && Suite.isAuth(op.suite, AuthKind.Poly1305) && !io.wipe,
    false.B
  )
  auth.io.polyKey.bits.slot := RegNext(op.slot)
  auth.io.polyKey.bits.r := RegNext(cipher.io.polyKey(127, 0))
  auth.io.polyKey.bits.s := RegNext(cipher.io.polyKey(255, 128))

  auth.io.icv.valid := RegNext(out.valid && (op.step.end || op.step.icv), false.B)
  auth.io.icv.bits.op := RegNext(op)
  auth.io.icv.bits.block := RegNext(out.bits.data)
  private val ended = starts(auth.io.slotDone)
  auth.io.icvBytes := Suite.icvLength(ended.suite, ended.icv)
}

object LaneEngine {
  private def hashKind(suite: UInt): HashKind.Type = {
    def is(kind: HashKind.Type) = Suite.isAuth(suite, AuthKind.Hmac(kind))
    Mux(
      is(HashKind.sha256),
      HashKind.sha256,
      Mux(is(HashKind.sha1), HashKind.sha1, Mux(is(HashKind.sm3), HashKind.sm3, HashKind.poly1305))
    )
  }
}
