// SPDX-License-Identifier: Apache-2.0
package sallyport.crypto.lane

import chisel3._
import chisel3.reflect.DataMirror

/**
 * Replaces a [[Lane]] in a simulation that has to be fast by a C++ object behind DPI
 * (sim/engine/src/model). The object does the same at the same time at every port.
 *
 * Only for Verilator. The ports are [[LaneFarPorts]]' and are the lane's in every cycle, `out.bits`
 * while `out.valid` is high. C++ is called in the cycles in which a lane's clock runs; wide
 * operands cross in those alone in which a beat comes or a new one is there to go.
 */
class LaneModel(config: LaneConfig) extends ExtModule {
  override def desiredName = if (config.encrypt) "EncryptLaneModel" else "DecryptLaneModel"

  val clock = IO(Input(Clock()))
  val reset = IO(Input(Bool()))
  val io = IO(new LaneFarPorts)

  private def leaves(data: Data, name: String): Seq[(String, Data)] = data match {
    case record: Record => record.elements.toSeq.reverse.flatMap { case (field, of) => leaves(of, s"${name}_$field") }
    case vec: Vec[_] => vec.zipWithIndex.flatMap { case (of, i) => leaves(of, s"${name}_$i") }
    case leaf => Seq(name -> leaf)
  }
  private def range(bits: Int) = if (bits == 1) "" else s"[${bits - 1}:0] "
  private val ports = leaves(io, "io").map { case (name, leaf) =>
    val direction = if (DataMirror.directionOf(leaf) == ActualDirection.Input) "input" else "output logic"
    s"$direction ${range(leaf.getWidth)}$name"
  }

  /**
   * The metadata that passes a lane unchanged: all fields but those that the lane reads or writes.
   */
  private val passed = leaves(io.in.bits.meta.meta, "").filterNot { case (name, _) =>
    name == "_length" || name == "_nextHeader"
  }
  private def passed(from: String): String = passed.map { case (name, _) => s"$from$name" }.mkString("{", ", ", "}")
  private val passedBits = passed.map(_._2.getWidth).sum
  private def places(rings: Rings) = s"${rings.places(fastRing = false)}, ${rings.places(fastRing = true)}"
  private val (job, result) = ("io_in_bits_meta", "io_out_bits_meta")

  // Bits of `state` and the arguments are those of sim/engine/src/model/lane_dpi.cpp.
  setInline(
    s"$desiredName.sv",
    s"""module $desiredName(
       |  input clock, reset,
       |  ${ports.mkString(",\n  ")}
       |);
       |  import "DPI-C" function chandle sallyport_lane_new(
       |    input int unsigned encrypt, slow_slots, fast_slots, slow_beats, fast_beats);
       |  import "DPI-C" function void sallyport_lane_free(input chandle lane);
       |  import "DPI-C" function int unsigned sallyport_lane_reset(input chandle lane);
       |  import "DPI-C" function void sallyport_lane_begin(input chandle lane,
       |    input byte unsigned suite, icv, esn, next_header, input bit [255:0] key, input bit [511:0] auth,
       |    input int unsigned salt, spi, input longint unsigned sequence_number, iv, input shortint unsigned length,
       |    input bit [${passedBits - 1}:0] passed);
       |  import "DPI-C" function void sallyport_lane_beat(input chandle lane,
       |    input bit [511:0] data, input byte unsigned count, last, error);
       |  import "DPI-C" function int unsigned sallyport_lane_tick(input chandle lane, input int unsigned inputs);
       |  import "DPI-C" function void sallyport_lane_out(input chandle lane,
       |    output bit [511:0] data, output byte unsigned count, last, verdict, next_header,
       |    output shortint unsigned length, output bit [${passedBits - 1}:0] passed);
       |  chandle lane;
       |  reg [17:0] state;
       |  int unsigned now;
       |  bit [511:0] data;
       |  byte unsigned count, last, verdict, next_header;
       |  shortint unsigned length;
       |  bit [${passedBits - 1}:0] passed;
       |  reg [${passedBits - 1}:0] result;
       |  initial lane = sallyport_lane_new(
       |    ${if (config.encrypt) 1 else 0}, ${places(config.slotRings)}, ${places(config.beatRings)});
       |  final sallyport_lane_free(lane);
       |  assign {io_freed_release_bits_beats, io_freed_release_bits_fast, io_freed_release_valid, io_freed_retired,
       |    io_out_valid, io_busy, io_done_1, io_done_0, io_ready} = state[15:0];
       |  assign ${passed(s"${result}_meta")} = result;
       |  assign io_out_bits_error = ${result}_verdict != '0;
       |  always @(posedge clock) begin
       |    if (reset) state <= 18'(sallyport_lane_reset(lane));
       |    else if (io_in_valid & ~io_noBeat | io_zeroize | state[16]) begin
       |      if (io_in_valid & ~io_noBeat) begin
       |        if (!state[17])
       |          sallyport_lane_begin(lane, 8'(${job}_suite), 8'(${job}_icv), 8'(${job}_esn), ${job}_meta_nextHeader,
       |            ${job}_key, ${job}_auth, ${job}_salt, ${job}_spi, ${job}_sequence, ${job}_iv,
       |            16'(${job}_meta_length), ${passed(s"${job}_meta")});
       |        sallyport_lane_beat(lane, io_in_bits_data, 8'(io_in_bits_bytes), 8'(io_in_bits_last), 8'(io_in_bits_error));
       |      end
       |      now = sallyport_lane_tick(lane, 32'({io_zeroize, io_stop, io_grant_1, io_grant_0}));
       |      if (now[4]) begin
       |        sallyport_lane_out(lane, data, count, last, verdict, next_header, length, passed);
       |        io_out_bits_data <= data;
       |        io_out_bits_bytes <= count[6:0];
       |        io_out_bits_last <= last[0];
       |        ${result}_verdict <= verdict[2:0];
       |        ${result}_meta_nextHeader <= next_header;
       |        ${result}_meta_length <= length[13:0];
       |        result <= passed;
       |      end
       |      state <= now[17:0];
       |    end
       |  end
       |endmodule
       |""".stripMargin
  )
}

object LaneModel {

  /** The ports of one on the clock and reset of here. */
  def apply(config: LaneConfig): LaneFarPorts = {
    val model = Module(new LaneModel(config))
    model.clock := Module.clock
    model.reset := Module.reset.asBool
    model.io
  }
}
