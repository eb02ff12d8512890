package sallyport.crypto

import chisel3._
import chisel3.util._

/** What a step of a GCM packet does with its block. */
object GcmStep extends ChiselEnum {

  /** Associated data into GHASH. The first one of a packet also makes E(K, J0), the mask of the tag. */
  val aad = Value

  /** Text through counter mode, ciphertext into GHASH. */
  val text = Value

  /** The block of lengths, which ends GHASH. */
  val length = Value
}

/** One step, as it travels beside the cipher. */
class GcmOp(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)
  val step = GcmStep()

  /** Number of the block within the associated data or within the text; with `length` the number of text blocks. */
  val index = UInt(GcmEngine.blockBits.W)

  /** First step of the packet. */
  val first = Bool()

  /** Steps go to two GHASH chains in turn. */
  val chain = UInt(1.W)

  /** First step on its chain. */
  val opens = Bool()

  /** Last block of text; then `bytes` of it belong to the text, 0 meaning 16. */
  val last = Bool()
  val bytes = UInt(4.W)
}

/** The key material of a packet. */
class GcmLoad(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)
  val key = UInt(256.W)
  val size = AesKeySize()

  /** 96-bit IV, byte 0 in bits 7:0. */
  val nonce = UInt(96.W)

  /** H and H · H as blocks. */
  val hashKey = UInt(128.W)
  val hashKey2 = UInt(128.W)
}

/** The lengths of a packet, all of whose bytes can be fetched from now on. */
class GcmStart(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)
  val aadBytes = UInt(GcmEngine.lengthBits.W)
  val textBytes = UInt(GcmEngine.lengthBits.W)
}

class GcmText(slots: Int) extends Bundle {
  val op = new GcmOp(slots)

  /** Zero beyond the end of the text. */
  val block = UInt(128.W)
}

class GcmDone(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)

  /** Encrypt: the tag. */
  val tag = UInt(128.W)

  /** Decrypt: all 128 bits of the tag are those received. */
  val authentic = Bool()
}
