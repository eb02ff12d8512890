package sallyport.crypto

import chisel3._
import chisel3.util._

/**
 * AES-GCM (NIST SP 800-38D) with 96-bit IVs and 128-bit tags on many packets at once, one block a cycle.
 *
 * A packet owns a slot: `load` brings its keys, `start` its lengths once its bytes are there. From then on the
 * engine asks for one block a cycle with `fetch`, of any packet, and takes it at `data` exactly `fetchCycles`
 * later: associated data (zero-padded; one block of zeros if there is none), text, and, when it decrypts, the
 * received tag with the step `length`. It gives back each block of text with `text`, the cycle after `data`, and
 * ends with `done`. It knows nothing of ESP.
 *
 * Everything is feed-forward; only the schedule ([[GcmSequence]]) knows that GHASH is chained. A packet of n
 * blocks in all (associated data, text, lengths) takes n cycles of the engine, alone 2n.
 *
 * `wipe`, held for [[GcmEngine.wipeCycles]], forgets all packets and overwrites every memory and register that
 * holds key material.
 *
 * @param encrypt
 *   the direction
 * @param fetchCycles
 *   from `fetch` to `data`
 */
class GcmEngine(encrypt: Boolean, slots: Int, fetchCycles: Int) extends Module {
  private val slotBits = log2Ceil(slots)
  val io = IO(new Bundle {
    val load = Flipped(Valid(new GcmLoad(slots)))
    val start = Flipped(Valid(new GcmStart(slots)))

    /** The slot that has waited longest; it goes first. */
    val oldest = Input(UInt(slotBits.W))
    val fetch = Valid(new GcmOp(slots))
    val data = Input(UInt(128.W))
    val text = Valid(new GcmText(slots))
    val done = Valid(new GcmDone(slots))
    val wipe = Input(Bool())
  })

  private class Key extends Bundle { val key = UInt(256.W); val size = AesKeySize(); val nonce = UInt(96.W) }
  private class Lengths extends Bundle {
    val aad = UInt(GcmEngine.lengthBits.W)
    val text = UInt(GcmEngine.lengthBits.W)
  }

  private val wipeRow = RegInit(0.U(slotBits.W))
  wipeRow := Mux(io.wipe, wipeRow + 1.U, 0.U)

  private val keys = SyncReadMem(slots, new Key)
  private val loaded = Wire(new Key)
  loaded.key := io.load.bits.key
  loaded.size := io.load.bits.size
  loaded.nonce := io.load.bits.nonce
  when(io.load.valid || io.wipe) {
    keys.write(Mux(io.wipe, wipeRow, io.load.bits.slot), Mux(io.wipe, 0.U.asTypeOf(new Key), loaded))
  }

  private val lengths = Mem(slots, new Lengths)
  when(io.start.valid) {
    val start = Wire(new Lengths)
    start.aad := io.start.bits.aadBytes
    start.text := io.start.bits.textBytes
    lengths(io.start.bits.slot) := start
  }

  private val sequence = Module(new GcmSequence(slots))
  sequence.io.start := io.start
  sequence.io.clear := io.wipe
  sequence.io.oldest := io.oldest

  // Counter mode: J0 is the nonce and 1, text block i the nonce and i + 2, big-endian.
  private val key = keys.read(sequence.io.picked.bits, sequence.io.picked.valid)
  private val op = sequence.io.op
  private val counter = Mux(op.bits.first, 1.U, op.bits.index +& 2.U).pad(16)
  private val aes = Module(new AesPipe(new GcmOp(slots), fetchCycles))
  aes.io.in.valid := op.valid
  aes.io.in.bits.block := Cat(counter(7, 0), counter(15, 8), 0.U(16.W), key.nonce)
  aes.io.in.bits.key := key.key
  aes.io.in.bits.size := key.size
  aes.io.in.bits.tag := op.bits
  aes.io.wipe := io.wipe
  io.fetch := aes.io.ahead

  // The block of data meets its key stream.
  private val here = aes.io.out.bits.tag
  private val mask = Mux(here.last, VecInit(GcmEngine.masks.map(_.U(128.W)))(here.bytes), GcmEngine.masks.head.U)
  private val text = (aes.io.out.bits.block ^ io.data) & mask
  private val length = lengths(here.slot)
  private val hashed = MuxLookup(here.step, io.data)(
    Seq(
      GcmStep.text -> (if (encrypt) text else io.data & mask),
      GcmStep.length -> Cat(GcmEngine.bits64(length.text), GcmEngine.bits64(length.aad))
    )
  )
  private val textOut = Reg(new GcmText(slots))
  textOut.op := here
  textOut.block := text
  io.text.valid := RegNext(aes.io.out.valid && here.step === GcmStep.text && !io.wipe, false.B)
  io.text.bits := textOut

  private val ghash = Module(new GhashChains(slots, verify = !encrypt))
  ghash.io.load.valid := io.load.valid
  ghash.io.load.bits.slot := io.load.bits.slot
  ghash.io.load.bits.h := io.load.bits.hashKey
  ghash.io.load.bits.h2 := io.load.bits.hashKey2
  ghash.io.wipe := io.wipe

  private val hashIn = Reg(new GhashStep(slots))
  hashIn.slot := here.slot
  hashIn.chain := here.chain
  hashIn.opens := here.opens
  hashIn.ends := here.step === GcmStep.length
  hashIn.block := hashed
  ghash.io.in.valid := RegNext(aes.io.out.valid, false.B)
  ghash.io.in.bits := hashIn
  ghash.io.seal.valid := aes.io.out.valid && here.first
  ghash.io.seal.bits.slot := here.slot
  ghash.io.seal.bits.block := aes.io.out.bits.block
  ghash.io.icv.valid := aes.io.out.valid && here.step === GcmStep.length
  ghash.io.icv.bits.slot := here.slot
  ghash.io.icv.bits.block := io.data
  io.done := ghash.io.done
}

object GcmEngine {

  /** Bits of a length in bytes, and of a number of blocks. */
  val lengthBits = 14
  val blockBits = 11

  /** Cycles for which `wipe` is held: every row of the largest memory, and longer than any step is in a pipe. */
  def wipeCycles(slots: Int): Int = math.max(2 * slots, AesPipe.latency + GhashChains.latency + 16)

  /** The first n bytes of a block, entry 0 all of them. */
  private val masks = Seq.tabulate(16)(n => (BigInt(1) << (if (n == 0) 128 else 8 * n)) - 1)

  /** A number of bytes as a big-endian 64-bit number of bits. */
  private def bits64(bytes: UInt): UInt = {
    val bits = (bytes << 3).pad(24)
    Cat(bits(7, 0), bits(15, 8), bits(23, 16), 0.U(40.W))
  }
}
