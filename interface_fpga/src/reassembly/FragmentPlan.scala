// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import ReassemblyConfig._
import sallyport.common.arithmetic.WireOrder
import sallyport.common.stream.PacketStream
import sallyport.common.table.CuckooHash
import sallyport.iface.headers.Ipv6Header
import sallyport.iface.stream.LookupLaunch

/** What the header of a reassembled packet needs to be made right, from its first fragment. */
class HeaderNotes(p: ReassemblyConfig) extends Bundle {

  /** Bytes in front of the payload. */
  val headerBytes = UInt(7.W)

  /** Those among them that the length field of the IP header counts. */
  val countedBytes = UInt(7.W)

  /** Index of the IP header's offset in `ipOffsets`. */
  val ipSelect = UInt(log2Ceil(p.ipOffsets.size max 2).W)

  /** ECN field. */
  val ecn = UInt(2.W)

  /** IPv4: sum (RFC 1071) of the header without its checksum, total length, flags and offset. */
  val sum = UInt(16.W)
}

/** All that is done with one fragment, worked out before its datagram is looked up. */
class FragmentPlan(p: ReassemblyConfig) extends Bundle {
  val key = UInt(FragmentInfo.keyBits.W)

  /** Rows of the table that may hold the datagram, one a way. */
  val rows = Vec(ways, UInt(p.rowBits.W))
  val sourceIndex = UInt(p.sourceBits.W)
  val ipv6 = Bool()
  val more = Bool()
  val first = Bool()

  /**
   * First and last at once: of a datagram of its own, whatever else is under way (RFC 8200 4.5,
   * RFC 6946).
   */
  val atomic = Bool()

  /** Empty, or not the last and no multiple of 8 bytes. */
  val badLength = Bool()

  /** First of its datagram, and not all headers are in it. */
  val badHeaders = Bool()

  /** ECN field. */
  val ecn = UInt(2.W)

  /** Ends where no packet of `maxBytes` does. */
  val tooLong = Bool()
  val units = UInt(p.unitBits.W)

  /** Unit of the datagram's payload behind the fragment's last. */
  val endUnit = UInt(p.unitBits.W)

  /** Byte of the datagram's payload behind the fragment's last. */
  val endBytes = UInt(PacketStream.lengthBits.W)

  /** Units of the datagram's cells, first and last. */
  val from = UInt(p.unitBits.W)
  val to = UInt(p.unitBits.W)

  /** How the packet goes into the cells. */
  val layout = new FragmentLayout(p)

  /** Of a first fragment. */
  val notes = new HeaderNotes(p)

  def firstPage: UInt = (from >> log2Ceil(cellUnits)).asUInt
  def lastPage: UInt = (to >> log2Ceil(cellUnits)).asUInt
}

/**
 * Where the lanes (8 bytes) of a fragment's packet go, once zeros in front of it have brought its
 * payload to a lane of its own.
 */
class FragmentLayout(p: ReassemblyConfig) extends Bundle {

  /** Zero bytes in front. */
  val pad = UInt(3.W)

  /** Its header is kept: the lanes below `headerEnd`. */
  val first = Bool()

  /** Between header and payload is a lane that is not kept: the IPv6 fragment header. */
  val gap = Bool()
  val headerEnd = UInt(5.W)
  val payload = UInt(5.W)
  val payloadEnd = UInt(p.unitBits.W)

  /** Unit of the cells that lane 0 would go to. */
  val payloadBase = UInt(p.unitBits.W)
}

/**
 * Works out the plan of a fragment. A pipeline without stalls, one fragment a cycle, answered in
 * order [[FragmentPlanner.latency]] cycles later.
 */
class FragmentPlanner(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val in = Flipped(Valid(new LookupLaunch(new FragmentInfo, p.windowBytes)))
    val out = Valid(new FragmentPlan(p))
  })

  // Stage 1: the header's words that change, and sums of two.
  private val in = io.in.bits.meta
  private val select1 = RegNext(VecInit(p.ipOffsets.map(_.U === in.ipOffset)))
  private def word(at: Int): UInt = Mux1H(p.ipOffsets.map { offset =>
    (in.ipOffset === offset.U) -> WireOrder.bigEndian(io.in.bits.bytes(8 * (offset + at) + 15, 8 * (offset + at)))
  })
  private val sum1 = RegNext(~word(2) +& ~word(10))
  private val flags1 = RegNext(~word(6))
  private val info1 = RegNext(in)
  private val units1 = RegNext((in.payloadBytes +& (unitBytes - 1).U) >> 3)
  private val endBytes1 = RegNext(Cat(in.offset, 0.U(3.W)) +& in.payloadBytes)
  private val headerEnd1 = RegNext((in.headerBytes +& (unitBytes - 1).U) >> 3)
  private val first1 = RegNext(in.offset === 0.U)
  private val partial1 = RegNext(in.payloadBytes(2, 0) =/= 0.U)
  private val empty1 = RegNext(in.payloadBytes === 0.U)

  // Stage 2: where it ends; the hashes.
  private val plan2 = Reg(new FragmentPlan(p))
  private val sum2 = RegNext(sum1 +& flags1)
  private val packetBytes2 = RegNext(endBytes1 +& Mux(first1, info1.headerBytes, 0.U))
  private val payload1 = headerEnd1 + info1.ipv6
  plan2.key := info1.key
  plan2.rows.zipWithIndex.foreach { case (row, way) => row := CuckooHash.row(way, info1.key, p.tableRows) }
  // An IPv6 source is a /64: one host may use all of its addresses.
  private val network1 = Cat(info1.source(127, 64), Mux(info1.ipv6, 0.U(64.W), info1.source(63, 0)))
  plan2.sourceIndex := CuckooHash.row(3, network1, p.sources)
  plan2.ipv6 := info1.ipv6
  // What these lose is of no use: the packet is too long, and then nothing of them is used.
  plan2.more := info1.more
  plan2.first := first1
  plan2.atomic := first1 && !info1.more
  plan2.badLength := empty1 || (info1.more && partial1)
  plan2.badHeaders := info1.headless
  plan2.ecn := info1.ecn
  plan2.tooLong := DontCare
  plan2.units := units1(p.unitBits - 1, 0)
  plan2.endUnit := (info1.offset + units1)(p.unitBits - 1, 0)
  plan2.endBytes := endBytes1(PacketStream.lengthBits - 1, 0)
  plan2.from := (info1.offset + headerUnits.U)(p.unitBits - 1, 0)
  plan2.to := DontCare
  plan2.layout.pad := 0.U - info1.headerBytes(2, 0)
  plan2.layout.first := first1
  plan2.layout.gap := info1.ipv6
  plan2.layout.headerEnd := headerEnd1
  plan2.layout.payload := payload1
  plan2.layout.payloadEnd := (payload1 + units1)(p.unitBits - 1, 0)
  plan2.layout.payloadBase := DontCare
  plan2.notes.headerBytes := info1.headerBytes
  plan2.notes.countedBytes := info1.headerBytes -
    Mux1H(
      p.ipOffsets.zipWithIndex.flatMap { case (offset, i) =>
        Seq(
          (select1(i) && !info1.ipv6) -> offset.U(7.W),
          (select1(i) && info1.ipv6) -> (offset + Ipv6Header.bytes).U(7.W)
        )
      }
    )
  plan2.notes.ipSelect := OHToUInt(select1)
  plan2.notes.ecn := info1.ecn
  plan2.notes.sum := DontCare

  // Stage 3: what depends on the end; the carries of the sum.
  private val plan3 = RegNext(plan2)
  private val sum3 = RegNext(sum2(15, 0) +& (sum2 >> 16))
  plan3.tooLong := packetBytes2 > p.maxBytes.U
  plan3.to := plan2.endUnit + (headerUnits - 1).U
  plan3.layout.payloadBase := plan2.from - plan2.layout.payload

  // Stage 4: the last carry.
  private val plan4 = RegNext(plan3)
  plan4.notes.sum := sum3(15, 0) + sum3(16)
  io.out.bits := plan4
  io.out.valid := ShiftRegister(io.in.valid, FragmentPlanner.latency, false.B, true.B)
}

object FragmentPlanner {
  val latency: Int = 4
}
