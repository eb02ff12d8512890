// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.crypto.hash.HashKind

/** The HMAC key of a packet. */
class HashLoad(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)

  /**
   * As the key rows have it: the state after the inner pad in the low half, the one after the
   * outer pad above.
   */
  val auth = UInt(512.W)
}

/**
 * The one-time key of a packet under Poly1305: the two halves of the first block of key stream
 * (RFC 8439 2.6).
 */
class HashPolyKey(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)
  val r = UInt(128.W)
  val s = UInt(128.W)
}

/**
 * A packet to authenticate: its message is the ESP packet from the SPI to the end of the
 * ciphertext.
 */
class HashStart(slots: Int, rowBits: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)
  val kind = HashKind()

  /** Row of the packet's first beat. */
  val base = UInt(rowBits.W)

  /** ESP header, IV and ciphertext; a multiple of 4, not 0. */
  val messageBytes = UInt(HashEngine.lengthBits.W)

  /** Ciphertext alone; Poly1305 reads it. */
  val textBytes = UInt(HashEngine.lengthBits.W)

  /**
   * The sequence number has 64 bits: HMAC appends the high half, the associated data of Poly1305
   * is 12 bytes.
   */
  val esn = Bool()

  /** Bytes as on the wire; HMAC reads it, under `esn`. */
  val sequenceHigh = UInt(32.W)

  /**
   * Poly1305: SPI and sequence number padded to a block, instead of the packet's first 16 bytes.
   */
  val head = UInt(128.W)

  /** All of the message is in the memory; no `grown` follows. */
  val complete = Bool()
}

/** Another whole beat of a packet's message is in the memory. */
class HashGrown(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)

  /**
   * All of the message is in the memory. The packet's last event, whether its beat is whole
   * or not.
   */
  val last = Bool()
}

class HashDone(slots: Int) extends Bundle {
  val slot = UInt(log2Ceil(slots).W)

  /** HMAC: the whole digest, which SHA-1 fills up with zeros. Poly1305: its tag in the low half. */
  val tag = UInt(256.W)
}

/**
 * Ports of a [[HashEngine]]. Byte strings have byte 0 in bits 7:0.
 *
 * A packet owns a slot from `start` to `done`. `load` or `polyKey` of a slot come no later than its
 * `start`, its `grown` events after it, in any cycle. Nothing may be asked while `wipe` is high.
 *
 * `beat` is the row of the beat memory that `read` named [[HashEngine.readLatency]] cycles before.
 * No row beside those of the message is read, and none before it is there. A row is read every 4
 * cycles at most.
 */
class HashEnginePorts(slots: Int, rowBits: Int) extends Bundle {
  val load = Flipped(Valid(new HashLoad(slots)))
  val polyKey = Flipped(Valid(new HashPolyKey(slots)))
  val start = Flipped(Valid(new HashStart(slots, rowBits)))
  val grown = Flipped(Valid(new HashGrown(slots)))
  val read = Valid(UInt(rowBits.W))

  /**
   * A row may be read in two cycles, and none will be without: what shares the memory's port has
   * to leave it free.
   */
  val readsSoon = Output(Bool())
  val beat = Input(UInt(PacketStream.dataBits.W))
  val done = Valid(new HashDone(slots))

  /** Held for [[HashEngine.wipeCycles]]: forgets every packet and every key. */
  val wipe = Input(Bool())
}
