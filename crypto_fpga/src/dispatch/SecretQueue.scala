package sallyport.crypto

import chisel3._
import chisel3.util._
import sallyport.common.ClockGate

/**
 * A queue of jobs in registers that forgets: an entry is overwritten with [[PathJob.none]] in the cycle in which it leaves, so
 * no key stays behind in a queue that has run empty. While `wipe` is high every job it holds or takes loses its key and becomes
 * `notReady`; it still leaves in its turn, with its metadata. One transfer a cycle, latency 1; `in.ready` and `out` come from registers, `route` and
 * `fast`, by which dispatch decides, are registers. Its clock stops while it is empty.
 */
class SecretQueue(entries: Int) extends Module {
  require(isPow2(entries) && entries >= 2, s"SecretQueue of $entries entries: make it a power of two, 2 or more")

  val io = IO(new Bundle {
    val in = Flipped(Decoupled(new PathJob))
    val out = Decoupled(new PathJob)
    val wipe = Input(Bool())

    /** Of the job at `out`: where it goes, and the class of its suite ([[Suite.fast]]) unless it is wiped. */
    val route = Output(Route())
    val fast = Output(Bool())
  })

  private val running = ClockGate(clock, io.in.valid || io.out.valid || io.wipe || reset.asBool)
  override protected def implicitClock: Clock = running

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
      slot.lane.meta := slot.lane.meta
    }
  }
  when(io.in.fire) {
    slots(slot(write)) := Mux(io.wipe, PathJob.none, io.in.bits)
    slots(slot(write)).epoch := io.in.bits.epoch
    slots(slot(write)).lane.meta := io.in.bits.lane.meta
    write := write + 1.U
  }
  when(io.out.fire) {
    slots(slot(read)) := PathJob.none
    read := read + 1.U
  }

  // The job at `out` of the next cycle: the one behind, if this one leaves; one that comes now, if there is none.
  private val behind = read + 1.U
  private val route = Reg(Route())
  private val fast = Reg(Bool())
  private def follow(now: PathJob, waits: Bool): Unit = {
    route := Mux(waits, now.route, io.in.bits.route)
    fast := Suite.is(Mux(waits, now.lane.suite, io.in.bits.lane.suite))(_.fast)
  }
  when(io.out.fire) { follow(slots(slot(behind)), behind =/= write) }
    .elsewhen(!io.out.valid) { follow(slots(slot(read)), false.B) }
  when(io.wipe) { route := Route.notReady }
  io.route := route
  io.fast := fast
  assert(!io.out.valid || route === io.out.bits.route, "the route of another job")
}
