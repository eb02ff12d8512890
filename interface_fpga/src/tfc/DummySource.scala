// SPDX-License-Identifier: Apache-2.0
package sallyport.iface.tfc

import chisel3._
import chisel3.util._
import sallyport.common.stream.{PacketStream, RegisterSlice}
import sallyport.common.table.TablePort
import sallyport.iface.headers.IpHeader
import sallyport.iface.receive.FrameVerdict

/**
 * Puts dummy packets of SAs (RFC 4303 2.6) into the gaps between the packets for the link:
 * [[DummySchedule]] decides the SA, the length and the time.
 *
 * A dummy leaves as one beat of 4 zero bytes with next header 59 and the length that [[TfcPadder]]
 * makes of it. It goes between two packets, when none has come for [[DummySource.quiet]] cycles: a
 * path with packets in arrears brings one every 2 cycles, and a stalled one holds the next, so
 * packets never wait but for the dummy that is leaving, and where there is no room no dummy is
 * made. One that waits for a gap is made later, and its SA's next one an interval behind its turn.
 *
 * Its SA is asked once whether it has reached a hard limit, and counts the dummy then: `asks` holds
 * until `asked`, which comes a cycle after it at the earliest and counts even if `asks` has just
 * fallen; `passes` comes later. A dummy is given up without a trace, but for that count, when its
 * SA has expired, software has written its row or `enable` falls.
 *
 * Packets pass at a beat a cycle. Latency 1 cycle, outputs registered. `in.ready` depends on
 * registers alone. Drops nothing.
 *
 * @param verdict what travels beside a packet
 * @param least   where it says what [[TfcPadder]] makes of the packet, in units of 4 bytes
 */
class DummySource[V <: FrameVerdict](verdict: V)(least: V => UInt) extends Module {
  val io = IO(new Bundle {
    val enable = Input(Bool())
    val in = Flipped(PacketStream(verdict))
    val out = PacketStream(verdict)
    val asks = Valid(new Dummy)
    val asked = Input(Bool())
    val passes = Flipped(Valid(Bool()))
    val table = Flipped(new TablePort)
    val ready = Output(Bool())

    /** A dummy has been made. */
    val made = Output(Bool())

    /** A row of the table has a flipped bit. */
    val rowUpset = Output(Bool())
  })

  private val schedule = Module(new DummySchedule)
  schedule.io.enable := io.enable
  schedule.io.table <> io.table
  io.ready := schedule.io.ready
  io.rowUpset := schedule.io.rowUpset
  private val due = schedule.io.due

  private object State extends ChiselEnum { val ask, answer, gap, send = Value }
  import State._
  private val state = RegInit(ask)
  private val ends = !io.enable || schedule.io.revoked

  private val slice = Module(new RegisterSlice(chiselTypeOf(io.out.bits)))
  io.out <> slice.io.out
  private val out = slice.io.in
  private val sends = state === send
  io.in.ready := out.ready && !sends
  out.valid := io.in.valid || sends
  out.bits := io.in.bits
  when(sends) {
    out.bits := 0.U.asTypeOf(out.bits)
    out.bits.last := true.B
    out.bits.bytes := TfcPadder.unitBytes.U
    out.bits.meta.toLink := true.B
    least(out.bits.meta) := due.bits.units
    out.bits.meta.link.length := TfcPadder.unitBytes.U
    out.bits.meta.link.sa := due.bits.sa
    out.bits.meta.link.nextHeader := IpHeader.noNextHeader.U
  }

  private val inPacket = RegInit(false.B)
  when(io.in.fire) { inPacket := !io.in.bits.last }
  private val rested = RegInit(0.U(log2Ceil(DummySource.quiet).W))
  private val isQuiet = rested === (DummySource.quiet - 1).U
  private val rests = !inPacket && !io.in.valid
  rested := Mux(rests, Mux(isQuiet, rested, rested + 1.U), 0.U)

  io.asks.valid := state === ask && due.valid && !ends
  io.asks.bits := due.bits
  due.ready := false.B
  switch(state) {
    is(ask) {
      due.ready := ends && !io.asked
      when(io.asked) { state := answer }
    }
    is(answer) {
      when(io.passes.valid) {
        due.ready := !io.passes.bits
        state := Mux(io.passes.bits, gap, ask)
      }
    }
    is(gap) {
      due.ready := ends
      when(ends) { state := ask }.elsewhen(isQuiet && rests) { state := send }
    }
    is(send) {
      due.ready := out.ready
      when(out.ready) { state := ask }
    }
  }
  io.made := RegNext(sends && out.ready, false.B)
}

object DummySource {

  /** Cycles without a packet before a dummy. */
  val quiet: Int = 4
}
