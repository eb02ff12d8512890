package sallyport.iface

import chisel3._
import sallyport.common._

class MacTransmitSpec extends StreamMatrix {

  private def harness = new StreamHarness(new VlanTags, new NoMeta)({ case StreamEnds(in, out, _) =>
    val transmit = Module(new MacTransmit(256))
    transmit.io.in <> in
    transmit.io.in.bits.error := false.B
    out.valid := transmit.io.mac.valid
    out.bits.data := transmit.io.mac.bits.data
    out.bits.last := transmit.io.mac.bits.last
    out.bits.bytes := transmit.io.mac.bits.bytes
    out.bits.error := transmit.io.mac.bits.error
    out.bits.meta := DontCare
    transmit.io.mac.ready := out.ready
    // Counted as the MAC sees them: frames and bytes with FCS.
    val frames = RegInit(0.U(32.W))
    val bytes = RegInit(0.U(32.W))
    frames := frames + transmit.io.events.txFrames - (out.fire && out.bits.last)
    bytes := bytes + transmit.io.events.txBytes - Mux(out.fire, out.bits.bytes + Mux(out.bits.last, 4.U, 0.U), 0.U)
    val settled = RegInit(0.U(9.W))
    settled := Mux(in.valid || out.valid, 0.U, settled + !settled(8))
    chisel3.assert(!settled(8) || (frames === 0.U && bytes === 0.U), "counters do not say what went out")
  })

  test("short frames are padded with zeros to 60 B; a frame never runs dry") {
    checkMatrix(harness, _ => matrixPackets(0), slack = 240)(packet =>
      Seq(packet.copy(bytes = packet.bytes.padTo(60, 0.toByte), error = false))
    )
  }
}
