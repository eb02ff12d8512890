package sallyport.common

import chisel3._
import chisel3.util._

/**
 * A first-in first-out queue in a block memory, with a register slice behind it.
 *
 * Sustains one transfer a cycle. Latency 1 cycle when it is empty (the memory is passed by), 3 when it is not.
 * `io.in.ready` and every output come from registers. The memory never reads a row in the cycle that writes it, so it
 * may be any kind of block RAM. Holds `entries` transfers, and two more in the slice. Never drops.
 *
 * @param entries rows of the memory, a power of two
 */
class MemoryQueue[T <: Data](gen: T, entries: Int) extends Module {
  require(isPow2(entries) && entries >= 2, s"MemoryQueue of $entries entries: make it a power of two, 2 or more")

  val io = IO(new Bundle {
    val in = Flipped(Decoupled(gen))
    val out = Decoupled(gen)

    /** Entries in the memory. */
    val count = Output(UInt(log2Ceil(entries + 1).W))
  })

  private val memory = SyncReadMem(entries, gen)
  private val pointerBits = log2Ceil(entries)
  private val write = RegInit(0.U((pointerBits + 1).W))
  private val read = RegInit(0.U((pointerBits + 1).W))
  private val empty = write === read
  private val full = write(pointerBits) =/= read(pointerBits) && write(pointerBits - 1, 0) === read(pointerBits - 1, 0)

  private val slice = Module(new ReadSlice(gen))
  slice.io.out <> io.out

  io.in.ready := !full
  io.count := write - read

  private val bypass = empty && slice.io.canPass
  when(io.in.fire && !bypass) {
    memory.write(write(pointerBits - 1, 0), io.in.bits)
    write := write + 1.U
  }
  private val issue = !empty && slice.io.canRead
  when(issue) { read := read + 1.U }

  slice.io.read := issue
  slice.io.data := memory.read(read(pointerBits - 1, 0), issue)
  slice.io.pass.valid := io.in.valid && bypass
  slice.io.pass.bits := io.in.bits
}

/**
 * The output side of a queue in block memory: takes what a read issued in the cycle before delivers, and gives it out
 * through a register slice. One transfer a cycle.
 *
 * `canRead` says that a read issued now will find room; `canPass` that a transfer may pass the memory by through `pass`
 * now: no read is on its way.
 */
class ReadSlice[T <: Data](gen: T) extends Module {
  val io = IO(new Bundle {
    val canRead = Output(Bool())

    /** A read is issued in this cycle; `data` holds it in the next. */
    val read = Input(Bool())
    val data = Input(gen)
    val canPass = Output(Bool())
    val pass = Flipped(Valid(gen))
    val out = Decoupled(gen)
  })

  private val inFlight = RegNext(io.read, false.B)
  private val slice = Module(new RegisterSlice(gen))
  // What the slice holds plus what is on its way: 0, 1 or 2.
  private val pending = RegInit(0.U(2.W))
  pending := pending + (io.read || io.pass.valid) - io.out.fire

  io.canRead := pending =/= 2.U || io.out.ready
  io.canPass := !inFlight && pending =/= 2.U
  slice.io.in.valid := inFlight || io.pass.valid
  slice.io.in.bits := Mux(inFlight, io.data, io.pass.bits)
  io.out <> slice.io.out
  assert(!slice.io.in.valid || slice.io.in.ready)
}
