package sallyport.crypto

import chisel3._
import chisel3.util._

/**
 * A queue of jobs in registers that forgets: an entry is overwritten with [[PathJob.none]] in the cycle in which it leaves, so
 * no key stays behind in a queue that has run empty. While `wipe` is high every job it holds or takes loses its key and becomes
 * `notReady`; it still leaves in its turn. One transfer a cycle, latency 1; `in.ready` and `out` come from registers.
 */
class SecretQueue(entries: Int) extends Module {
  require(isPow2(entries) && entries >= 2, s"SecretQueue of $entries entries: make it a power of two, 2 or more")

  val io = IO(new Bundle {
    val in = Flipped(Decoupled(new PathJob))
    val out = Decoupled(new PathJob)
    val wipe = Input(Bool())
  })

  private val slots = Reg(Vec(entries, new PathJob))
  private val write = RegInit(0.U((log2Ceil(entries) + 1).W))
  private val read = RegInit(0.U((log2Ceil(entries) + 1).W))
  private def slot(pointer: UInt): UInt = pointer(log2Ceil(entries) - 1, 0)

  io.in.ready := (write ^ read) =/= entries.U
  io.out.valid := write =/= read
  io.out.bits := slots(slot(read))
  when(io.wipe) {
    for (slot <- slots) {
      slot := PathJob.none
      slot.epoch := slot.epoch
    }
  }
  when(io.in.fire) {
    slots(slot(write)) := Mux(io.wipe, PathJob.none, io.in.bits)
    slots(slot(write)).epoch := io.in.bits.epoch
    write := write + 1.U
  }
  when(io.out.fire) {
    slots(slot(read)) := PathJob.none
    read := read + 1.U
  }
}
