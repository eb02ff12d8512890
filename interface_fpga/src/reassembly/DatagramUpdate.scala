// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.reassembly

import chisel3._
import chisel3.util._
import sallyport.common.stream.PacketStream
import sallyport.iface.headers.Ecn

/** What a datagram's record becomes with a fragment. */
class DatagramGrowth(p: ReassemblyConfig) extends Bundle {
  val fragments = UInt(ReassemblyEvents.frameBits.W)
  val units = UInt(p.unitBits.W)
  val reach = UInt(p.unitBits.W)
  val ended = Bool()
  val endBytes = UInt(PacketStream.lengthBits.W)
  val notes = new HeaderNotes(p)

  /** As in the record, with the fragment's. */
  val ecn = UInt(Ecn.codepoints.W)

  /** `notes.countedBytes`, and what congestion adds to the sum of the header. */
  val summedBytes = UInt(7.W)

  /** Fragments with ECN and without it. */
  val badEcn = Bool()

  /** The fragment and those before it do not agree where the datagram ends. */
  val badEnd = Bool()

  /** The fragment is the last, just as those before it say of its end. */
  val sameEnd = Bool()

  /** Every byte is there, if no unit came twice. */
  val complete = Bool()

  /** With `complete`: the packet would be longer than `maxBytes`. */
  val tooLong = Bool()
}

/**
 * Adds a fragment to its datagram's record: a pipeline of [[DatagramUpdate.latency]] stages, whose
 * inputs stay as they are until its result is used.
 */
class DatagramUpdate(p: ReassemblyConfig) extends Module {
  val io = IO(new Bundle {
    val record = Input(new DatagramRecord(p))
    val plan = Input(new FragmentPlan(p))
    val growth = Output(new DatagramGrowth(p))
  })
  import io.{plan, record}

  private def unitsOf(bytes: UInt): UInt = ((bytes +& 7.U) >> 3).asUInt

  private val endUnit1 = RegNext(unitsOf(record.endBytes))
  private val growth1 = Reg(new DatagramGrowth(p))
  growth1 := DontCare
  growth1.fragments := record.fragments + 1.U
  growth1.units := record.units + plan.units
  growth1.reach := Mux(plan.endUnit > record.reach, plan.endUnit, record.reach)
  growth1.ended := record.ended || !plan.more
  growth1.endBytes := Mux(plan.more, record.endBytes, plan.endBytes)
  growth1.notes := Mux(plan.first, plan.notes, record.notes)
  growth1.ecn := record.ecn | UIntToOH(plan.ecn)

  private val growth2 = RegNext(growth1)
  private val end2 = RegNext(Mux(plan.more, endUnit1, plan.endUnit))
  private val bytes2 = RegNext(growth1.endBytes +& growth1.notes.headerBytes)
  growth2.badEcn := Ecn.mixed(growth1.ecn)
  growth2.sameEnd := plan.more =/= (record.ended && plan.endBytes === record.endBytes)
  growth2.badEnd := Mux(
    record.ended,
    Mux(plan.more, plan.endBytes > record.endBytes, plan.endBytes =/= record.endBytes),
    !plan.more && Cat(record.reach, 0.U(3.W)) > plan.endBytes
  )

  private val growth3 = RegNext(growth2)
  growth3.complete := growth2.ended && growth2.units === end2
  growth3.summedBytes := growth2.notes.countedBytes +
    Mux(Ecn.congested(growth2.ecn), Ecn.ce.U(2.W) - growth2.notes.ecn, 0.U)
  growth3.tooLong := bytes2 > p.maxBytes.U
  io.growth := growth3
}

object DatagramUpdate {
  val latency: Int = 3
}
